package howdah

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Get returns the value of a key, or ErrMiss. The slice is the caller's.
func (c *Cache) Get(ctx context.Context, key string) ([]byte, error) {
	if e, ok := c.core().RecallOne(key); ok {
		if e.Absent {
			return nil, ErrMiss
		}
		return bytes.Clone(e.Value), nil
	}
	call := freshGet(key)
	if err := c.one(ctx, call); err != nil {
		return nil, err // not reused: its flight may still hold it
	}
	value := owned(call, call.Result.Value)
	call.Free()
	return value, nil
}

// GetAppend appends the value of a key to dst and returns it, or dst and ErrMiss.
// A hit in memory (Options.Near) allocates nothing if dst has room.
func (c *Cache) GetAppend(ctx context.Context, dst []byte, key string) ([]byte, error) {
	if e, ok := c.core().RecallOne(key); ok {
		if e.Absent {
			return dst, ErrMiss
		}
		return append(dst, e.Value...), nil
	}
	call := freshGet(key)
	if err := c.one(ctx, call); err != nil {
		return dst, err
	}
	dst = append(dst, call.Result.Value...)
	call.Free()
	return dst, nil
}

// freshGet is the call of a get that memory could not answer.
func freshGet(key string) *verb.Call {
	call := verb.New(statement.Get, key)
	call.Fresh = true
	return call
}

// GetEntry returns the value of a key with its version and expiry, or ErrMiss.
func (c *Cache) GetEntry(ctx context.Context, key string) (Entry, error) {
	return c.entry(ctx, statement.GetEntry, key)
}

// Stat returns what GetEntry does, without the value, or ErrMiss.
func (c *Cache) Stat(ctx context.Context, key string) (Entry, error) {
	return c.entry(ctx, statement.Stat, key)
}

func (c *Cache) entry(ctx context.Context, v *verb.Verb, key string) (Entry, error) {
	call := &verb.Call{Verb: v, Key: []byte(key)}
	if err := c.one(ctx, call); err != nil {
		return Entry{}, err
	}
	return entry(call, key), nil
}

// TTL returns how long a key has to live by the database's clock, NoExpiry if
// it does not expire, or ErrMiss.
func (c *Cache) TTL(ctx context.Context, key string) (time.Duration, error) {
	e, err := c.Stat(ctx, key)
	return e.TTL, err
}

// GetMany returns what exists of keys, in one snapshot. Misses are not in the
// map. In a database with partitions each partition has a snapshot of its own.
func (c *Cache) GetMany(ctx context.Context, keys []string) (map[string][]byte, error) {
	call := &verb.Call{Verb: statement.GetMany, Keys: toBytes(keys)}
	found := make(map[string][]byte, len(keys))
	switch err := c.one(ctx, call); {
	case errors.Is(err, ErrMiss): // failing open
		return found, nil
	case err != nil:
		return nil, err
	}
	for i, e := range call.Entries {
		if e.Found {
			found[keys[i]] = owned(call, e.Value)
		}
	}
	return found, nil
}

func toBytes(keys []string) [][]byte {
	out := make([][]byte, len(keys))
	for i, key := range keys {
		out[i] = []byte(key)
	}
	return out
}
