package howdah

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Set stores a value, replacing whatever the key held, TTL included.
func (c *Cache) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	call := verb.New(statement.Set, key)
	call.Value = value
	err := c.store(ctx, call, ttl)
	if err == nil {
		call.Free()
	}
	return err
}

// Add stores a value if the key is absent; otherwise ErrNotStored.
func (c *Cache) Add(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return c.store(ctx, &verb.Call{Verb: statement.Set, Key: []byte(key), Value: value, Condition: verb.IfAbsent}, ttl)
}

// Replace stores a value if the key exists; otherwise ErrNotStored.
func (c *Cache) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return c.store(ctx, &verb.Call{Verb: statement.Set, Key: []byte(key), Value: value, Condition: verb.IfPresent}, ttl)
}

// CompareAndSet stores a value if the key still has the version that GetEntry
// or Stat returned (0: if it is absent) and returns the new version; otherwise
// ErrNotStored.
func (c *Cache) CompareAndSet(ctx context.Context, key string, version int64, value []byte, ttl time.Duration) (int64, error) {
	call := &verb.Call{Verb: statement.Set, Key: []byte(key), Value: value, Condition: verb.IfVersion, IfVersion: version}
	if err := c.store(ctx, call, ttl); err != nil {
		return 0, err
	}
	return call.Result.Version, nil
}

// SetMany stores items with one TTL, all or none. A key named twice takes its
// last value. In a database with partitions that holds of the keys of each
// partition: after an error those of others may have been stored.
func (c *Cache) SetMany(ctx context.Context, items []Item, ttl time.Duration) error {
	call := &verb.Call{Verb: statement.SetMany, Keys: make([][]byte, len(items)), Values: make([][]byte, len(items))}
	for i, item := range items {
		call.Keys[i], call.Values[i] = []byte(item.Key), item.Value
	}
	return c.store(ctx, call, ttl)
}

// Append appends to the value of a key and returns its new length. An absent key
// is made with ttl; an existing one keeps its TTL. Error: ErrValueTooLarge.
func (c *Cache) Append(ctx context.Context, key string, value []byte, ttl time.Duration) (length int, err error) {
	call := &verb.Call{Verb: statement.Append, Key: []byte(key), Value: value}
	err = c.store(ctx, call, ttl)
	return int(call.Int), err
}

// SetRange overwrites the value of a key from a byte offset, pads with zero
// bytes, and returns the new length. An absent key is made with ttl, unless
// value is empty; an existing one keeps its TTL. Error: ErrValueTooLarge.
func (c *Cache) SetRange(ctx context.Context, key string, offset int, value []byte, ttl time.Duration) (length int, err error) {
	call := &verb.Call{Verb: statement.SetRange, Key: []byte(key), Offset: offset, Value: value}
	err = c.store(ctx, call, ttl)
	return int(call.Int), err
}

// store runs a call that stores something with a TTL.
func (c *Cache) store(ctx context.Context, call *verb.Call, ttl time.Duration) (err error) {
	if call.Expiry, err = verb.TTL(ttl); err != nil {
		return err
	}
	return c.one(ctx, call)
}
