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
	// Replaced is set by commands that stored a new value whatever was there before,
	// without an expiry of its own.
	Replaced bool
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
	return e
}

// Expire removes what has expired: the value, or fields of a hash. now is in
// milliseconds since 1970.
func (e *Entry) Expire(now int64) {
	if e.ExpiresAt != 0 && e.ExpiresAt <= now {
		e.Value, e.ExpiresAt = nil, 0
	}
	if h, ok := e.Value.(*Hash); ok {
		if h.expire(now); h.Len() == 0 {
			e.Value, e.ExpiresAt = nil, 0
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
	e.Value, e.Changed, e.Replaced = v, true, true
}

func (e *Entry) remove() {
	e.Value, e.ExpiresAt, e.Changed = nil, 0, true
}
