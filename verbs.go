package howdah

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// one runs a call and makes an error of a status that is not OK.
func (c *Cache) one(ctx context.Context, call *Call) error {
	if err := c.Do(ctx, call); err != nil {
		return err
	}
	return call.Status.error()
}

// Get returns the value of a key, or ErrMiss. The slice is the caller's.
func (c *Cache) Get(ctx context.Context, key string) ([]byte, error) {
	call := newCall(key)
	call.Verb = VerbGet
	if err := c.one(ctx, call); err != nil {
		return nil, err // not reused: its flight may still hold it
	}
	value := call.Result.Value
	freeCall(call)
	return value, nil
}

// GetEntry returns the value of a key with its version and expiry, or ErrMiss.
func (c *Cache) GetEntry(ctx context.Context, key string) (Entry, error) {
	call := &Call{Verb: VerbGetEntry, Key: []byte(key)}
	if err := c.one(ctx, call); err != nil {
		return Entry{}, err
	}
	return call.Result, nil
}

// Stat returns what GetEntry does, without the value, or ErrMiss.
func (c *Cache) Stat(ctx context.Context, key string) (Entry, error) {
	call := &Call{Verb: VerbStat, Key: []byte(key)}
	if err := c.one(ctx, call); err != nil {
		return Entry{}, err
	}
	return call.Result, nil
}

// TTL returns how long a key has to live by the database's clock, NoExpiry if
// for ever, or ErrMiss.
func (c *Cache) TTL(ctx context.Context, key string) (time.Duration, error) {
	entry, err := c.Stat(ctx, key)
	return entry.TTL, err
}

// GetMany returns what exists of keys, in one snapshot. Misses are not in the
// map.
func (c *Cache) GetMany(ctx context.Context, keys []string) (map[string][]byte, error) {
	call := &Call{Verb: VerbGetMany, Keys: toBytes(keys)}
	found := make(map[string][]byte, len(keys))
	switch err := c.one(ctx, call); {
	case errors.Is(err, ErrMiss): // failing open
		return found, nil
	case err != nil:
		return nil, err
	}
	for i, entry := range call.Entries {
		if entry.Found {
			found[keys[i]] = entry.Value
		}
	}
	return found, nil
}

// Set stores a value, replacing whatever the key held, TTL included.
func (c *Cache) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	call := newCall(key)
	call.Value = value
	_, err := c.store(ctx, call, ttl)
	if err == nil {
		freeCall(call)
	}
	return err
}

// Add stores a value if the key is absent; otherwise ErrNotStored.
func (c *Cache) Add(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := c.store(ctx, &Call{Key: []byte(key), Value: value, Condition: IfAbsent}, ttl)
	return err
}

// Replace stores a value if the key exists; otherwise ErrNotStored.
func (c *Cache) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := c.store(ctx, &Call{Key: []byte(key), Value: value, Condition: IfPresent}, ttl)
	return err
}

// CompareAndSet stores a value if the key still has the version that GetEntry
// or Stat returned (0: if it is absent) and returns the new version; otherwise
// ErrNotStored.
func (c *Cache) CompareAndSet(ctx context.Context, key string, version int64, value []byte, ttl time.Duration) (int64, error) {
	return c.store(ctx, &Call{Key: []byte(key), Value: value, Condition: IfVersion, IfVersion: version}, ttl)
}

func (c *Cache) store(ctx context.Context, call *Call, ttl time.Duration) (version int64, err error) {
	call.Verb = VerbSet
	if call.Expiry, err = ttlExpiry(ttl); err != nil {
		return 0, err
	}
	if err := c.one(ctx, call); err != nil {
		return 0, err
	}
	return call.Result.Version, nil
}

// SetMany stores items with one TTL, all or none. A key named twice takes its
// last value.
func (c *Cache) SetMany(ctx context.Context, items []Item, ttl time.Duration) error {
	expiry, err := ttlExpiry(ttl)
	if err != nil {
		return err
	}
	call := &Call{Verb: VerbSetMany, Expiry: expiry, Keys: make([][]byte, len(items)), Values: make([][]byte, len(items))}
	for i, item := range items {
		call.Keys[i], call.Values[i] = []byte(item.Key), item.Value
	}
	return c.one(ctx, call)
}

// Delete removes a key. That it was absent is no error.
func (c *Cache) Delete(ctx context.Context, key string) error {
	return c.Do(ctx, &Call{Verb: VerbDelete, Key: []byte(key)})
}

// DeleteMany removes keys, all or none, and returns how many existed.
func (c *Cache) DeleteMany(ctx context.Context, keys []string) (int64, error) {
	call := &Call{Verb: VerbDeleteMany, Keys: toBytes(keys)}
	if err := c.one(ctx, call); err != nil {
		return 0, err
	}
	return call.Count, nil
}

// GetAndDelete removes a key and returns what it held, or ErrMiss. Of several
// callers at once, one gets the value.
func (c *Cache) GetAndDelete(ctx context.Context, key string) ([]byte, error) {
	call := &Call{Verb: VerbGetDelete, Key: []byte(key)}
	if err := c.one(ctx, call); err != nil {
		return nil, err
	}
	return call.Result.Value, nil
}

// Touch lets a key live at least ttl from now; it never shortens its life and
// keeps its version. ErrMiss if it is absent.
func (c *Cache) Touch(ctx context.Context, key string, ttl time.Duration) error {
	return c.reexpire(ctx, VerbTouch, key, ttl)
}

// Expire lets a key live exactly ttl from now. ErrMiss if it is absent.
func (c *Cache) Expire(ctx context.Context, key string, ttl time.Duration) error {
	if ttl == NoExpiry {
		return c.reexpire(ctx, VerbTouch, key, ttl)
	}
	return c.reexpire(ctx, VerbExpire, key, ttl)
}

// Persist takes the TTL of a key away. ErrMiss if it is absent.
func (c *Cache) Persist(ctx context.Context, key string) error {
	return c.reexpire(ctx, VerbTouch, key, NoExpiry)
}

func (c *Cache) reexpire(ctx context.Context, verb Verb, key string, ttl time.Duration) error {
	expiry, err := ttlExpiry(ttl)
	if err != nil {
		return err
	}
	return c.one(ctx, &Call{Verb: verb, Key: []byte(key), Expiry: expiry})
}

// Increment adds delta to the decimal integer of a key and returns the sum. An
// absent key counts as 0 and is made with ttl; an existing one keeps its TTL.
// Errors: ErrNotInteger, ErrOverflow.
func (c *Cache) Increment(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	expiry, err := ttlExpiry(ttl)
	if err != nil {
		return 0, err
	}
	call := &Call{Verb: VerbIncrement, Key: []byte(key), Delta: delta, Expiry: expiry}
	if err := c.one(ctx, call); err != nil {
		return 0, err
	}
	return call.Int, nil
}

func toBytes(keys []string) [][]byte {
	out := make([][]byte, len(keys))
	for i, key := range keys {
		out[i] = []byte(key)
	}
	return out
}

// after returns the first byte string that is greater than all that begin
// with prefix, nil if there is none.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
