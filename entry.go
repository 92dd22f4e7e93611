package howdah

import (
	"bytes"
	"time"

	"github.com/howdah/howdah/internal/verb"
)

// Limits that hold for every cache.
const (
	// MaxKeyBytes is the longest key: 64 KiB. The empty key is a key.
	MaxKeyBytes = verb.MaxKeyBytes

	// DefaultMaxValueBytes is the default of Options.MaxValueBytes: 64 MiB.
	DefaultMaxValueBytes = verb.DefaultMaxValueBytes
)

// NoExpiry as a TTL stores an entry that does not expire (unless the cache
// has a maximum TTL, which then applies).
const NoExpiry time.Duration = verb.NoExpiry

// Entry is what a cache holds under a key.
type Entry struct {
	Key       string
	Found     bool          // false: the key is absent, and the rest is zero
	Value     []byte        // nil where it was not asked for
	Length    int           // bytes of the value, also where it was not asked for
	Version   int64         // increases with every write of the key
	ExpiresAt time.Time     // zero: does not expire
	TTL       time.Duration // what remained by the database's clock; NoExpiry if none
}

// Item is one key and value of SetMany.
type Item struct {
	Key   string
	Value []byte
}

// owned returns a value that no other caller has: calls that asked for the same
// at the same time were given the same memory.
func owned(call *verb.Call, value []byte) []byte {
	if call.Shared {
		return bytes.Clone(value)
	}
	return value
}

// entry returns a call's result under its key.
func entry(call *verb.Call, key string) Entry {
	call.Result.Value = owned(call, call.Result.Value)
	return entryOf(key, call.Result)
}

func entryOf(key string, e verb.Entry) Entry {
	return Entry{
		Key: key, Found: e.Found, Value: e.Value, Length: e.Length,
		Version: e.Version, ExpiresAt: e.ExpiresAt, TTL: e.TTL,
	}
}
