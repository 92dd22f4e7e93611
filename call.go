package howdah

import (
	"math"
	"time"
)

// Limits that hold for every cache.
const (
	// MaxKeyBytes is the longest key: 64 KiB. The empty key is a key.
	MaxKeyBytes = 64 << 10

	// DefaultMaxValueBytes is the default of Options.MaxValueBytes: 64 MiB.
	DefaultMaxValueBytes = 64 << 20
)

// NoExpiry as a TTL stores an entry that does not expire (unless the cache
// has a maximum TTL, which then applies).
const NoExpiry time.Duration = math.MaxInt64

// Verb names what a Call does to its key or keys.
type Verb uint8

// The verbs. Each is one SQL statement, whoever asks for it.
const (
	// VerbGet reads the value. Results: Status, Result.Value.
	VerbGet Verb = iota
	// VerbGetEntry reads value, version and expiry. Results: Status, Result.
	VerbGetEntry
	// VerbStat is VerbGetEntry without the value.
	VerbStat
	// VerbGetMany reads Keys in one snapshot. Results: Status OK, Entries in
	// the order of Keys (Found tells a miss; repeated keys are answered each).
	VerbGetMany
	// VerbStatMany is VerbGetMany without the values.
	VerbStatMany

	// VerbSet stores Value under Key; with Condition, KeepTTL or WantOld it
	// is the conditional form. Results: Status (NotStored if a condition
	// failed), Result.Version; with WantOld Result.Found and Result.Value tell of
	// the old value, whether or not the condition held.
	VerbSet
	// VerbSetMany stores Keys and Values with one Expiry, all or none.
	// A key named twice takes its last value.
	VerbSetMany
	// VerbDelete removes Key. Results: Status (Miss if it was absent).
	VerbDelete
	// VerbDeleteMany removes Keys, all or none. Results: Status OK, Count.
	VerbDeleteMany
	// VerbGetDelete removes Key and answers what it held. Results: Status, Result.Value.
	VerbGetDelete
	// VerbExpire sets Expiry on an existing key, under ExpireIf; an Expiry
	// that is already past deletes it. ExpireNever changes only an entry that
	// has a TTL. Results: Status: Miss if absent; with a condition NotStored
	// if it is absent or the condition failed; ExpireNever counts as one.
	VerbExpire
	// VerbTouch extends the expiry of an existing key to Expiry, never
	// shortening it. Results: Status.
	VerbTouch
	// VerbGetExpire reads the value and sets Expiry (GETEX). Results: Status, Result.Value.
	VerbGetExpire
	// VerbIncrement adds Delta to a decimal integer, beginning at zero with
	// Expiry; an existing entry keeps its expiry. Results: Status (NotInteger,
	// Overflow), Int, Result.Version.
	VerbIncrement
	// VerbIncrementFloat adds DeltaFloat to a decimal number, beginning at
	// zero. An existing entry keeps its expiry. Results: Status (NotFloat),
	// Result.Value (the new number as text), Result.Version. A DeltaFloat that
	// is not a decimal number, NaN and infinities included, is ErrNotFloat.
	VerbIncrementFloat
	// VerbAppend appends Value, creating the entry with Expiry; an existing
	// entry keeps its expiry. Results: Status (TooLarge), Int (new length), Result.Version.
	VerbAppend
	// VerbSetRange overwrites from Offset, padding with zero bytes. Results:
	// Status (TooLarge), Int (new length), Result.Version. With an empty Value an
	// absent key stays absent.
	VerbSetRange
	// VerbSetManyIfAbsent stores Keys and Values only if none of Keys exists
	// (MSETNX). Results: Status (NotStored).
	VerbSetManyIfAbsent
	verbCount
)

// Condition restricts VerbSet.
type Condition uint8

// Conditions of VerbSet.
const (
	Always    Condition = iota
	IfAbsent            // only if the key is absent (add, NX)
	IfPresent           // only if the key exists (replace, XX)
	IfVersion           // only if the key exists with Call.IfVersion; 0 = only if absent
)

// ExpireIf restricts VerbExpire: a sum of conditions that must all hold (as in
// schema/statements/expire.sql). An entry without a TTL counts as infinite.
type ExpireIf uint8

// Conditions of VerbExpire.
const (
	ExpireAlways  ExpireIf = 0
	ExpireNoTTL   ExpireIf = 1 // only if the entry has no TTL (NX)
	ExpireHasTTL  ExpireIf = 2 // only if the entry has a TTL (XX)
	ExpireGreater ExpireIf = 4 // only if the new expiry is later (GT)
	ExpireLess    ExpireIf = 8 // only if the new expiry is sooner (LT)
)

// Expiry says when an entry dies. The zero value is the cache's default TTL.
type Expiry struct {
	kind  expiryKind
	value int64 // microseconds: a duration, or since the Unix epoch
}

type expiryKind uint8

const (
	expiryDefault expiryKind = iota
	expiryNone
	expiryIn
	expiryAt
	expiryKeep
)

// ExpireIn is a TTL from now, by the database's clock: 0 is the cache's
// default, NoExpiry none.
func ExpireIn(ttl time.Duration) Expiry {
	switch ttl {
	case 0:
		return Expiry{}
	case NoExpiry:
		return Expiry{kind: expiryNone}
	}
	return Expiry{kind: expiryIn, value: ceilMicroseconds(ttl)}
}

// ExpireAt is an instant; the database's clock decides when it has come.
func ExpireAt(t time.Time) Expiry { return Expiry{kind: expiryAt, value: t.UnixMicro()} }

// ExpireNever stores without a TTL, or takes one away (PERSIST).
func ExpireNever() Expiry { return Expiry{kind: expiryNone} }

// KeepExpiry keeps the expiry of the entry that is overwritten (KEEPTTL); a
// new entry gets the cache's default.
func KeepExpiry() Expiry { return Expiry{kind: expiryKeep} }

// ceilMicroseconds rounds up, so that a TTL of a nanosecond is not zero.
func ceilMicroseconds(d time.Duration) int64 {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	return us
}

// Status is how a Call ended when no error stopped it.
type Status uint8

// The statuses. Everything but OK left the data unchanged.
const (
	StatusOK Status = iota
	StatusMiss
	StatusNotStored
	StatusNotInteger
	StatusOverflow
	StatusNotFloat
	StatusTooLarge
	StatusCollision
	StatusOutOfMemory
)

// Entry is one answer of a read.
type Entry struct {
	Key       []byte
	Found     bool
	Value     []byte
	Length    int           // bytes of the value, also where it was not asked for
	Version   int64         // increases with every write of the key
	ExpiresAt time.Time     // zero: does not expire
	TTL       time.Duration // what remained by the database's clock; NoExpiry if none
}

// Call is one verb on one key (or several) with its arguments and, once it is
// done, its results. It is the form in which every door (the methods of
// Cache, RESP, HTTP) asks; applications use the methods of Cache.
//
// The caller owns the slices: they must not change until the call is done.
// Result slices belong to the caller from then on.
type Call struct {
	Verb      Verb
	Key       []byte
	Value     []byte
	Keys      [][]byte // for the verbs on many keys
	Values    [][]byte // for VerbSetMany
	Expiry    Expiry
	Condition Condition
	IfVersion int64
	ExpireIf  ExpireIf
	WantOld   bool // VerbSet: answer the old value
	// WantVersion asks a plain VerbSet for Result.Version. It then does not
	// share its row with other sets of the same key.
	WantVersion bool
	Delta       int64
	DeltaFloat  string // decimal text, as it came
	Offset      int

	// Err is set if the call failed; the results are then void.
	Err error

	Status  Status
	Result  Entry   // reads of one key; the old value (WantOld); Version after writes
	Entries []Entry // VerbGetMany, VerbStatMany
	Int     int64   // VerbIncrement, VerbAppend, VerbSetRange
	Count   int64   // VerbDeleteMany

	flight flightState
	keep   []byte // the memory of Key, for reuse
}
