package howdah

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/core"
)

// HSet stores fields of a hash, all or none, and returns how many are new. It replaces
// the values of fields that exist, takes their own TTL (HExpire) away, and keeps other
// fields. An absent hash is made with ttl; an existing one keeps its TTL.
func (c *Cache) HSet(ctx context.Context, key string, fields map[string][]byte, ttl time.Duration) (added int, err error) {
	n, err := c.core().HEdit(ctx, []byte(key), core.HChange{Set: fields, TTL: ttl})
	return n.Added, err
}

// HSetNX is HSet that stores only fields that are absent, as HSETNX does, and returns
// how many it stored.
func (c *Cache) HSetNX(ctx context.Context, key string, fields map[string][]byte, ttl time.Duration) (added int, err error) {
	n, err := c.core().HEdit(ctx, []byte(key), core.HChange{Set: fields, Absent: true, TTL: ttl})
	return n.Added, err
}

// HGet returns the value of a field, or ErrMiss if the hash or the field is absent.
func (c *Cache) HGet(ctx context.Context, key, field string) ([]byte, error) {
	return c.core().HGet(ctx, []byte(key), field)
}

// HMGet returns what exists of some fields, as they were at one moment. Fields that are
// absent are not in the map.
func (c *Cache) HMGet(ctx context.Context, key string, fields []string) (map[string][]byte, error) {
	return c.core().HGetMany(ctx, []byte(key), fields)
}

// HGetAll returns all fields of a hash, none if it is absent.
func (c *Cache) HGetAll(ctx context.Context, key string) (map[string][]byte, error) {
	return c.core().HGetAll(ctx, []byte(key))
}

// HLen returns how many fields a hash has, 0 if it is absent.
func (c *Cache) HLen(ctx context.Context, key string) (int, error) {
	return c.core().HLen(ctx, []byte(key))
}

// HDel removes fields and returns how many there were.
func (c *Cache) HDel(ctx context.Context, key string, fields ...string) (removed int, err error) {
	n, err := c.core().HEdit(ctx, []byte(key), core.HChange{Remove: fields})
	return n.Removed, err
}

// HIncrBy adds delta to the decimal integer of a field and returns the sum. An absent
// field counts as 0. An absent hash is made with ttl; an existing one keeps its TTL, as
// does the field. Errors: ErrNotInteger, ErrOverflow.
func (c *Cache) HIncrBy(ctx context.Context, key, field string, delta int64, ttl time.Duration) (int64, error) {
	return c.core().HIncrement(ctx, []byte(key), field, delta, ttl)
}

// HExpire lets a field live ttl from now, NoExpiry: as long as its hash, which it does
// not outlive. It counts in milliseconds, by the clock of the database. ErrMiss if the
// hash or the field is absent, ErrInvalidTTL if ttl is 0 or negative.
func (c *Cache) HExpire(ctx context.Context, key, field string, ttl time.Duration) error {
	return c.core().HExpire(ctx, []byte(key), field, ttl)
}

// HTTL returns how long a field has to live, NoExpiry if it has no TTL of its own.
// ErrMiss if the hash or the field is absent.
func (c *Cache) HTTL(ctx context.Context, key, field string) (time.Duration, error) {
	return c.core().HTTL(ctx, []byte(key), field)
}
