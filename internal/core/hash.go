package core

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// HGetAll returns the fields of a hash and their values.
func (c *Cache) HGetAll(ctx context.Context, key []byte) (map[string][]byte, error) {
	h, err := read[values.Hash](ctx, c, key)
	if err != nil {
		return nil, err
	}
	fields := make(map[string][]byte, h.Len())
	for field, value := range h.All() {
		fields[field] = []byte(value)
	}
	return fields, nil
}

// HGetMany returns those of the fields that exist, and their values.
func (c *Cache) HGetMany(ctx context.Context, key []byte, fields []string) (map[string][]byte, error) {
	h, err := read[values.Hash](ctx, c, key)
	if err != nil {
		return nil, err
	}
	found := make(map[string][]byte, len(fields))
	for _, field := range fields {
		if value, ok := h.Get(field); ok {
			found[field] = []byte(value)
		}
	}
	return found, nil
}

// HGet returns the value of a field. Error: ErrMiss.
func (c *Cache) HGet(ctx context.Context, key []byte, field string) ([]byte, error) {
	h, err := read[values.Hash](ctx, c, key)
	if err != nil {
		return nil, err
	}
	value, ok := h.Get(field)
	if !ok {
		return nil, fault.ErrMiss
	}
	return []byte(value), nil
}

// HLen returns how many fields a hash has.
func (c *Cache) HLen(ctx context.Context, key []byte) (int, error) {
	h, err := read[values.Hash](ctx, c, key)
	return h.Len(), err
}

// HChange says what HEdit does to a hash.
type HChange struct {
	Set    map[string][]byte
	Absent bool // Set takes only fields that are absent
	Remove []string
	TTL    time.Duration // of a hash that is made
}

// HEdit removes and stores fields of a hash in one step.
func (c *Cache) HEdit(ctx context.Context, key []byte, change HChange) (Changed, error) {
	run := func(h *values.Hash, o *occasion) (n Changed, changed bool, err error) {
		for _, field := range change.Remove {
			if h.Remove(field) {
				n.Removed++
			}
		}
		o.nameIf(n.Removed > 0, "hdel")
		for field, value := range change.Set {
			if _, found := h.Get(field); change.Absent && found {
				continue
			}
			changed = true
			if h.Set(field, string(value)) {
				n.Added++
			}
		}
		o.nameIf(changed, "hset")
		return n, changed || n.Removed > 0, nil
	}
	bytes := sizeOf(change.Remove)
	for field, value := range change.Set {
		bytes += len(field) + len(value)
	}
	if len(change.Set) == 0 {
		return remove(ctx, c, key, bytes, run)
	}
	return add(ctx, c, key, bytes, change.TTL, run)
}

// Changed counts what an edit of a collection did.
type Changed struct {
	Added   int // elements that were not there
	Removed int
}

// HIncrement adds to the integer of a field and returns the sum.
func (c *Cache) HIncrement(ctx context.Context, key []byte, field string, delta int64, ttl time.Duration) (int64, error) {
	return add(ctx, c, key, len(field), ttl, func(h *values.Hash, o *occasion) (int64, bool, error) {
		o.name("hincrby")
		sum, err := h.Increment(field, delta)
		return sum, true, fieldError(err)
	})
}

// HExpire lets a field live ttl from now. Error: ErrMiss.
func (c *Cache) HExpire(ctx context.Context, key []byte, field string, ttl time.Duration) error {
	if ttl <= 0 {
		return fault.ErrInvalidTTL
	}
	_, err := remove(ctx, c, key, len(field), func(h *values.Hash, o *occasion) (struct{}, bool, error) {
		at := int64(0)
		if ttl != verb.NoExpiry {
			at = o.now + max(1, ttl.Milliseconds())
		}
		if !h.SetFieldExpiry(field, at) {
			return struct{}{}, false, fault.ErrMiss
		}
		o.nameIf(at != 0, "hexpire")
		o.nameIf(at == 0, "hpersist")
		return struct{}{}, true, nil
	})
	return err
}

// HTTL returns how long a field has to live, NoExpiry if it does not expire. Error:
// ErrMiss.
func (c *Cache) HTTL(ctx context.Context, key []byte, field string) (time.Duration, error) {
	found, err := c.load(ctx, key)
	if err != nil {
		return 0, err
	}
	h, err := decode[values.Hash](found)
	if err != nil {
		return 0, err
	}
	at, ok := h.FieldExpiry(field)
	switch {
	case !ok:
		return 0, fault.ErrMiss
	case at == 0:
		return verb.NoExpiry, nil
	}
	return time.UnixMilli(at).Sub(time.UnixMicro(found.Now)), nil
}
