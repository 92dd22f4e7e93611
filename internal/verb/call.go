package verb

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/tracking"
)

// Limits that hold for every cache.
const (
	MaxKeyBytes          = 64 << 10 // the longest key; the empty key is a key
	DefaultMaxValueBytes = 64 << 20 // of Options.MaxValueBytes
)

// Condition restricts a set or a delete.
type Condition uint8

// The conditions.
const (
	Always    Condition = iota
	IfAbsent            // only if the key is absent (add, NX)
	IfPresent           // only if the key exists (replace, XX)
	IfVersion           // only if the key exists with Call.IfVersion; 0 = only if absent
	IfValue             // only if the key exists with Call.Value; for a delete
)

// ExpireIf restricts an expire: a sum of conditions that must all hold (as in
// schema/statements/expire.sql). An entry without a TTL counts as infinite.
type ExpireIf uint8

// Conditions of an expire.
const (
	ExpireAlways  ExpireIf = 0
	ExpireNoTTL   ExpireIf = 1 // only if the entry has no TTL (NX)
	ExpireHasTTL  ExpireIf = 2 // only if the entry has a TTL (XX)
	ExpireGreater ExpireIf = 4 // only if the new expiry is later (GT)
	ExpireLess    ExpireIf = 8 // only if the new expiry is sooner (LT)
)

// OtherKind is the Kind of an entry that is no string, where the statement does not
// ask what it is.
const OtherKind int16 = -1

// Entry is one answer of a read. An entry of a kind that the read does not take is
// not Found, and has a Kind but no Value.
type Entry struct {
	Key       []byte // only where the caller does not know it: in pages of a scan
	Found     bool
	Value     []byte
	Length    int           // bytes of the value, also where it was not asked for
	Version   int64         // increases with every write of the key
	Kind      int16         // see Call.Kind; a read of the value alone says only whether it is a string
	ExpiresAt time.Time     // zero: does not expire
	TTL       time.Duration // what remained by the database's clock; NoExpiry if none
	Now       int64         // that clock, in microseconds since 1970; 0: the read did not ask for it
}

// Call is one verb on one key (or several) with its arguments and, once it is
// done, its results. It is the form in which every door asks.
//
// The caller owns the slices: they must not change until the call is done.
// Result slices belong to the caller from then on, unless Shared says that other
// calls have the same ones.
type Call struct {
	Verb      *Verb
	Key       []byte
	Value     []byte
	Keys      [][]byte // for the verbs on many keys
	Values    [][]byte // one for each of Keys
	Group     []Edit   // commit: one for each of Keys
	Expiry    Expiry
	Condition Condition
	IfVersion int64
	ExpireIf  ExpireIf
	WantOld   bool // a set: answer the old value
	Fresh     bool // a get: PostgreSQL answers, not memory
	Recall    bool // a get of an entry: memory may answer, as it may a get
	// WantVersion asks a plain set for Result.Version. It then does not share
	// its row with other sets of the same key.
	WantVersion bool
	// Kind is what a set with a condition stores: 0 a string, otherwise a collection,
	// as values.Kind numbers them, packed into Value. Sets without a condition store
	// strings.
	Kind int16
	// AnyKind says that a read takes entries of any kind; Result.Kind says which it
	// found. Other reads answer WrongType where an entry is no string, and those of
	// many keys answer that it is absent.
	AnyKind bool
	// WantExpiry says that a get_many also reads what get_entry does, of strings.
	WantExpiry bool
	Delta      int64
	DeltaFloat string // decimal text, as it came
	Offset     int
	Lease      time.Duration // claim, refresh: how long the caller may load
	Token      int64         // refresh: the version; fulfil, release: of the lease
	Snapshot   string        // fulfil with Tags: Claim.Snapshot of the claim or refresh
	Stale      time.Duration // fulfil: how long the value may be served after it expired
	Absent     bool          // fulfil: there was nothing to load, which is remembered until Expiry
	Tags       []string      // fulfil, set: what the entry is invalidated by
	// NoRoom says that the call makes nothing larger: a full cache does not refuse it.
	NoRoom bool
	// Held says that the caller holds the keys (engine.Engine.Hold): the call does
	// not wait for others that use them.
	Held bool
	// Alter, of a get_entry with Held, is called by the flight that has found the entry, or
	// that there is none. If it returns true, it has made the call a write of the key: the
	// flight sends that on the same connection, and the call ends with its outcome. It must
	// be quick. A call with it flies with the writes.
	Alter func(*Call) bool
	// Landed is called when the call has ended without an error, before another call of
	// this process can use its keys. answer has the results: those of the call that this
	// one merged with, if it did. It must be quick, must not use the arguments, which
	// belong to the caller again, and may call Start. It is not called in a transaction of
	// the caller, nor where memory answers.
	Landed func(answer *Call)
	// Silent says that it is no event where a read finds nothing: nobody asked for the
	// key, or who did says so himself.
	Silent bool
	// WantRemoved asks a delete of many keys for Removed.
	WantRemoved bool
	// WantGone asks a verb with Removes for Gone. Set by the engine.
	WantGone bool
	// Near says that the answer of a get, or the value of a plain set, will be kept
	// in memory. Set by the engine.
	Near bool

	// InTx says that the call runs in a transaction of the caller, which may see two
	// rows of one key. Set by the engine.
	InTx bool

	// Writer is the client whose command this is, if it tracks keys; nil: none.
	Writer *tracking.Client

	// Caller is who calls, and by which command, for what is remembered of it.
	Caller observe.Caller
	// Part says that the call is a part of something that is timed as a whole.
	Part bool
	// Traces are the contexts of the calls of the application that this call serves and
	// that a tracer follows.
	Traces []context.Context

	// Err is set if the call failed; the results are then void.
	Err error

	Status  Status
	Result  Entry   // reads of one key; the old value (WantOld); Version after writes
	Entries []Entry // reads of many keys
	Int     int64   // increments; lengths after an append or a set-range
	Count   int64   // keys that a delete of many removed
	Removed []int64 // their hashes, if they were asked for; see also Watch and RemoveExpired
	Gone    []int64 // hashes of the entries that were removed, expired ones too, if they were asked for
	Claim   Claim   // of a claim; Result.Version is the token
	// ServerStart is when the server that answered a call with Near was started, in
	// microseconds since 1970.
	ServerStart int64
	// Recalled says that memory answered.
	Recalled bool
	// Shared says that the values are those of other calls too, which asked for
	// the same at the same time: they must not be modified.
	Shared bool

	// The rest belongs to the engine.

	Op     coalesce.Op
	Began  int64        // coalesce.Now when the call was made
	Limit  int64        // Options.MaxValueBytes
	Repeat bool         // it lost a race without effect: it is to be run once more
	Memory *near.Cache  // where the answer may be kept; nil: nowhere
	Tokens []near.Token // one for each key, if there is Memory

	timing timing

	// Stored is a copy of Value, if reads may ask for it after the caller has left.
	Stored []byte

	TagHashes []int64 // of Tags, each once

	keep []byte // the memory of Key, for reuse
}

// Reset makes the results those of a call that has not begun.
func (c *Call) Reset() {
	c.Result, c.Entries, c.Int, c.Count, c.Removed, c.Gone, c.ServerStart, c.Shared = Entry{}, nil, 0, 0, nil, nil, 0, false
	c.Status, c.Recalled, c.Claim = OK, false, Claim{}
}

// Hits returns how many keys a read found and how many it did not, for a write whether
// it took effect.
func (c *Call) Hits() (hits, misses int) {
	switch {
	case c.Entries != nil:
		for i := range c.Entries {
			if c.Entries[i].Found {
				hits++
			}
		}
		return hits, len(c.Entries) - hits
	case c.Status == OK:
		return 1, 0
	}
	return 0, 1
}

// RefuseFull ends the call as a full cache does.
func (c *Call) RefuseFull() {
	c.Reset()
	c.Status = CacheFull
}

// Found makes a value the call's result.
func (c *Call) Found(value []byte) {
	c.Status = OK
	c.Result.Found = true
	c.Result.Value = append(make([]byte, 0, len(value)), value...)
	c.Result.Length = len(value)
}

// FoundString makes a value the call's result, or WrongType if there is none: the entry
// is no string.
func (c *Call) FoundString(value []byte) {
	if value == nil {
		c.Status, c.Result.Kind = WrongType, OtherKind
		return
	}
	c.Found(value)
}

// CheckKind takes away an entry that a read has met, if the call does not take its
// kind.
func (c *Call) CheckKind(e *Entry) {
	if e.Kind == 0 || c.AnyKind {
		return
	}
	*e = Entry{Version: e.Version, Kind: e.Kind}
	if c.Keys == nil {
		c.Status = WrongType
	}
}

// Check returns what is wrong with the arguments that all verbs have. Errors:
// ErrKeyTooLong, ErrValueTooLarge, or a mistake of the door.
func (c *Call) Check(maxValue int) error {
	if c.Verb == nil {
		return fmt.Errorf("howdah: the call has no verb")
	}
	if many := c.Verb.Many; many != (c.Keys != nil) {
		switch {
		case !many:
			return fmt.Errorf("howdah: %s takes Key, not Keys", c.Verb)
		case len(c.Key) > 0:
			return fmt.Errorf("howdah: %s takes Keys, not Key", c.Verb)
		}
		c.Keys = [][]byte{}
	}
	if c.Verb.Values && len(c.Values) != len(c.Keys) {
		return fmt.Errorf("howdah: %d values for %d keys", len(c.Values), len(c.Keys))
	}
	if len(c.Key) > MaxKeyBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", fault.ErrKeyTooLong, len(c.Key), MaxKeyBytes)
	}
	for _, key := range c.Keys {
		if len(key) > MaxKeyBytes {
			return fmt.Errorf("%w: %d bytes, at most %d", fault.ErrKeyTooLong, len(key), MaxKeyBytes)
		}
	}
	if c.Offset < 0 {
		return fmt.Errorf("howdah: offset %d is negative", c.Offset)
	}
	size := len(c.Value) + c.Offset
	for _, value := range c.Values {
		size = max(size, len(value))
	}
	if size > maxValue || size < 0 {
		return fmt.Errorf("%w: %d bytes, at most %d (Options.MaxValueBytes)", fault.ErrValueTooLarge, size, maxValue)
	}
	if total := sizeOf(c.Keys) + sizeOf(c.Values); total > maxCallBytes {
		return fmt.Errorf("%w: the call has %d bytes of keys and values together, at most %d", fault.ErrValueTooLarge, total, maxCallBytes)
	}
	return nil
}

// maxCallBytes is what fits into one message to PostgreSQL, which is less than 1 GiB, with
// what else a call brings along.
const maxCallBytes = 960 << 20

func sizeOf(list [][]byte) (bytes int) {
	for _, b := range list {
		bytes += len(b)
	}
	return bytes
}
