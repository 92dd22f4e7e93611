package backend

import (
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend/memcached"
	"github.com/howdah/howdah/backend/memory"
	"github.com/howdah/howdah/backend/redis"
)

// Trait is one property of a store: how far it goes, why no farther, and how
// the store refuses what lies beyond.
type Trait[T any] struct {
	Value T

	// Reason says, in one sentence, why the store stops there. Empty where it
	// stops at nothing that another store offers.
	Reason string

	// Refusal is what an error matches (errors.Is) when a call asks for more.
	// Nil where nothing is refused: the store then does what Reason says.
	Refusal error
}

// Capabilities are what a store can do beyond the methods of howdah.Backend.
// The conformance suite, package backendtest, holds a store to them: what it
// says it can do must work, what it says it cannot do must be refused.
type Capabilities struct {
	// Store is the store's name, for people.
	Store string

	// MaxKeyBytes and MaxValueBytes are the longest key and value.
	MaxKeyBytes   Trait[int]
	MaxValueBytes Trait[int]

	// EmptyKeys: the key of no bytes is a key like another.
	EmptyKeys Trait[bool]

	// BinaryKeys: keys may hold any byte.
	BinaryKeys Trait[bool]

	// TTLResolution is the step in which expiry is counted. A TTL is rounded
	// up to it.
	TTLResolution Trait[time.Duration]

	// LatestExpiry is the last instant at which an entry can be told to
	// expire; zero if no time.Duration reaches it.
	LatestExpiry Trait[time.Time]

	// AtomicMany: SetMany stores all or nothing, and GetMany sees all of a
	// SetMany or nothing of it.
	AtomicMany Trait[bool]

	// Shared: every process that opens the same URL sees the same entries.
	Shared Trait[bool]

	// Persistent: entries outlive an orderly restart of the store.
	Persistent Trait[bool]
}

// CapabilitiesOf tells what a store can do. It knows the stores of Open, and
// any other that has a method Capabilities() Capabilities; of the rest it
// reports false.
func CapabilitiesOf(store howdah.Backend) (Capabilities, bool) {
	switch store := store.(type) {
	case *Postgres:
		return postgresCapabilities(store.maxValueBytes), true
	case *howdah.Cache:
		return postgresCapabilities(howdah.DefaultMaxValueBytes), true
	case *redis.Store:
		return redisCapabilities(store.MaxValueBytes()), true
	case *memcached.Store:
		return memcachedCapabilities(store.MaxValueBytes()), true
	case *memory.Store:
		return memoryCapabilities(store.MaxValueBytes()), true
	case interface{ Capabilities() Capabilities }:
		return store.Capabilities(), true
	}
	return Capabilities{}, false
}

func postgresCapabilities(maxValueBytes int) Capabilities {
	return Capabilities{
		Store:         "PostgreSQL",
		MaxKeyBytes:   keyLimit(),
		MaxValueBytes: valueLimit(maxValueBytes, "Options.MaxValueBytes, 64 MiB by default and 512 MiB at most."),
		EmptyKeys:     Trait[bool]{Value: true},
		BinaryKeys:    Trait[bool]{Value: true},
		TTLResolution: Trait[time.Duration]{Value: time.Microsecond, Reason: "A timestamptz counts microseconds."},
		AtomicMany:    Trait[bool]{Value: true},
		Shared:        Trait[bool]{Value: true},
		Persistent:    Trait[bool]{Value: true, Reason: "A crash or a failover empties a cache of durability unlogged, the default; async and sync survive it."},
	}
}

func redisCapabilities(maxValueBytes int) Capabilities {
	return Capabilities{
		Store:         "Redis",
		MaxKeyBytes:   keyLimit(),
		MaxValueBytes: valueLimit(maxValueBytes, "Options.MaxValueBytes or max_value_bytes, 64 MiB by default; Redis itself stops at 512 MiB."),
		EmptyKeys:     Trait[bool]{Value: true},
		BinaryKeys:    Trait[bool]{Value: true},
		TTLResolution: Trait[time.Duration]{Value: time.Millisecond, Reason: "Redis counts milliseconds."},
		AtomicMany:    Trait[bool]{Reason: "Many keys go as a pipeline, so that a cluster works too; other clients' commands may run between."},
		Shared:        Trait[bool]{Value: true},
		Persistent:    Trait[bool]{Reason: "Only if the server is set up for it, with RDB or AOF files."},
	}
}

func memcachedCapabilities(maxValueBytes int) Capabilities {
	return Capabilities{
		Store: "Memcached",
		MaxKeyBytes: Trait[int]{
			Value:   memcached.MaxKeyBytes,
			Reason:  "The protocol's limit.",
			Refusal: howdah.ErrKeyTooLong,
		},
		MaxValueBytes: valueLimit(maxValueBytes, "A server's item of 1 MiB (-I) holds the key and a header too; raise max_value_bytes with -I."),
		EmptyKeys:     Trait[bool]{Reason: "The text protocol cannot name it.", Refusal: memcached.ErrUnsupportedKey},
		BinaryKeys:    Trait[bool]{Reason: "In the text protocol a space or a control character ends a key.", Refusal: memcached.ErrUnsupportedKey},
		TTLResolution: Trait[time.Duration]{Value: time.Second, Reason: "Memcached counts seconds, on a clock that ticks once a second: an entry may go up to one second early."},
		LatestExpiry:  Trait[time.Time]{Value: memcached.LatestExpiry(), Reason: "The protocol's time has 32 bits.", Refusal: howdah.ErrInvalidTTL},
		AtomicMany:    Trait[bool]{Reason: "The protocol stores items one by one, and several servers share the keys."},
		Shared:        Trait[bool]{Value: true},
		Persistent:    Trait[bool]{Reason: "Memcached keeps entries in memory only."},
	}
}

func memoryCapabilities(maxValueBytes int) Capabilities {
	return Capabilities{
		Store:         "memory",
		MaxKeyBytes:   keyLimit(),
		MaxValueBytes: valueLimit(maxValueBytes, "MaxValueBytes, 64 MiB by default; never more than the budget holds."),
		EmptyKeys:     Trait[bool]{Value: true},
		BinaryKeys:    Trait[bool]{Value: true},
		TTLResolution: Trait[time.Duration]{Value: time.Nanosecond},
		AtomicMany:    Trait[bool]{Reason: "Entries are stored one by one; other goroutines may see some before the rest."},
		Shared:        Trait[bool]{Reason: "Entries live in one process."},
		Persistent:    Trait[bool]{Reason: "Entries end with the process."},
	}
}

// keyLimit is the limit of howdah, which stores without one keep too: a key
// that one of them takes, all of them take.
func keyLimit() Trait[int] {
	return Trait[int]{
		Value:   howdah.MaxKeyBytes,
		Reason:  "The limit of howdah.",
		Refusal: howdah.ErrKeyTooLong,
	}
}

func valueLimit(max int, reason string) Trait[int] {
	return Trait[int]{Value: max, Reason: reason, Refusal: howdah.ErrValueTooLarge}
}
