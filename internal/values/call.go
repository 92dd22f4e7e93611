package values

import (
	"math/rand/v2"
)

// Call is one execution of a command. The arguments are only read, and may be
// reused once the command has returned.
type Call struct {
	Args  [][]byte // the whole command line, with the name
	Keys  Keyspace
	Now   int64      // milliseconds since 1970
	Rand  *rand.Rand // for the commands that choose at random
	Reply Reply

	// MaxString is the length of the longest string that a command may make, in
	// bytes. Default: 512 MiB, as in Redis.
	MaxString int64

	// Notify is called for each keyspace event, in Redis's order. nil: nobody wants
	// them. The key must not be kept.
	Notify func(class Class, event string, key []byte)
	// ReadOnly says that the command cannot write: keys that it does not find are events.
	ReadOnly bool
	// Script says that a script calls the command.
	Script bool
	// Nothing is set by a command that takes something, if there is nothing for it.
	Nothing bool
}

// Keyspace gives the entry of a key: the same pointer whenever it is asked for
// the same key, and an entry without a value for a key that does not exist. It
// holds at least the keys that [Command.Keys] names.
type Keyspace interface {
	Entry(key []byte) *Entry
}

// Entry is what is stored under a key. Commands change it in place, and own its
// value.
type Entry struct {
	Value     Value // nil: the key does not exist
	ExpiresAt int64 // milliseconds since 1970; 0: never

	// Changed is set by commands that changed Value or ExpiresAt. The entry must
	// then be written, or deleted if it has no value.
	Changed bool
	// Replaced is set where the value that was loaded has gone: what is stored has a
	// life of its own, and no expiry before it is given one.
	Replaced bool

	created       bool // by a command, which has not named that event yet
	fieldsExpired bool // and that event is not named yet
}

// Value is the value of a key: [String], [*Hash], [*List], [*Set] or [*SortedSet].
type Value interface {
	Kind() Kind
	Len() int // elements; bytes of a string

	appendPacked(dst []byte) []byte
}

// Kind is the type of a value, as the column kind of a cache's table has it.
type Kind uint8

// The kinds.
const (
	KindString Kind = iota
	KindHash
	KindList
	KindSet
	KindSortedSet
)

var kindNames = [...]string{"string", "hash", "list", "set", "zset"}

// String returns the name that TYPE gives.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "none"
	}
	return kindNames[k]
}

// String is a value of bytes. Commands do not change it in place.
type String []byte

// Kind returns [KindString].
func (String) Kind() Kind { return KindString }

// Len returns the length in bytes.
func (s String) Len() int { return len(s) }

func (s String) appendPacked(dst []byte) []byte { return append(dst, s...) }

const defaultMaxString = 512 << 20

func (c *Call) maxString() int64 {
	if c.MaxString == 0 {
		return defaultMaxString
	}
	return c.MaxString
}

// entry returns the entry of a key as it is now: without what has expired.
func (c *Call) entry(key []byte) *Entry {
	e := c.Keys.Entry(key)
	e.Expire(c.Now)
	if c.ReadOnly {
		c.miss(e, key)
	} else {
		e.NotifyExpiredFields(key, c.Notify)
	}
	return e
}

// Expire removes what has expired: the value, or fields of a hash. now is in
// milliseconds since 1970.
func (e *Entry) Expire(now int64) {
	if e.ExpiresAt != 0 && e.ExpiresAt <= now {
		e.Value, e.ExpiresAt, e.Replaced = nil, 0, true
	}
	if h, ok := e.Value.(*Hash); ok {
		e.fieldsExpired = h.expire(now) || e.fieldsExpired
		if h.Len() == 0 {
			e.Value, e.ExpiresAt, e.Replaced = nil, 0, true
		}
	}
}

// Put stores a value that was made or changed. An empty collection is removed. The
// expiry of the key stays.
func (e *Entry) Put(v Value) { e.put(v) }

// lookup returns the entry of a key and its value, nil if there is none.
func lookup[T Value](c *Call, key []byte) (*Entry, T, error) {
	var v T
	e := c.entry(key)
	if e.Value == nil {
		return e, v, nil
	}
	v, ok := e.Value.(T)
	if !ok {
		return e, v, ErrWrongType
	}
	return e, v, nil
}

// put stores a value that a command has made or changed; an empty collection
// vanishes. The expiry of the key stays.
func (e *Entry) put(v Value) {
	if v.Kind() != KindString && v.Len() == 0 {
		e.remove()
		return
	}
	e.created = e.created || e.Value == nil
	e.Value, e.Changed = v, true
}

// replace stores a value in place of whatever the key held, without expiry.
func (e *Entry) replace(v Value) {
	e.ExpiresAt = 0
	if v.Kind() != KindString && v.Len() == 0 {
		if e.Value != nil {
			e.remove()
		}
		return
	}
	e.created = e.created || e.Value == nil
	e.Value, e.Changed, e.Replaced = v, true, true
}

// storeResult replaces what a key holds by the result of a command, or removes it if that
// is empty.
func (c *Call) storeResult(key []byte, result Value, class Class, event string) {
	e := c.entry(key)
	existed := e.Value != nil
	e.replace(result)
	c.notifyStored(existed, e, class, event, key)
}

func (e *Entry) remove() {
	e.Value, e.ExpiresAt, e.Changed, e.Replaced, e.created = nil, 0, true, true, false
}
