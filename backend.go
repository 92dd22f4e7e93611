package howdah

import (
	"context"
	"time"
)

// Backend is what every store under Howdah's small interface can do: the
// PostgreSQL cache (*Cache), Redis, Memcached and memory (package backend).
// All are safe for concurrent use. Keys are arbitrary bytes unless the
// store's Capabilities say otherwise.
//
// A TTL of 0 is the store's default, NoExpiry none; a negative one is refused
// with ErrInvalidTTL.
type Backend interface {
	// Get returns the value, or ErrMiss. The slice is the caller's.
	Get(ctx context.Context, key string) ([]byte, error)
	// Set stores the value, replacing any, TTL included.
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) error
	// Delete removes the key; an absent one is not an error.
	Delete(ctx context.Context, key string) error
	// GetMany returns what exists of keys; misses are not in the map.
	GetMany(ctx context.Context, keys []string) (map[string][]byte, error)
	// SetMany stores the items with one TTL. A key named twice takes its last value.
	SetMany(ctx context.Context, items []Item, ttl time.Duration) error
	// Close releases what the backend opened.
	Close() error
}
