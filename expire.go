package howdah

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Touch lets a key live at least ttl from now; it never shortens its life and
// keeps its version. ErrMiss if it is absent.
func (c *Cache) Touch(ctx context.Context, key string, ttl time.Duration) error {
	return c.store(ctx, &verb.Call{Verb: statement.Touch, Key: []byte(key)}, ttl)
}

// Expire lets a key live exactly ttl from now. ErrMiss if it is absent.
func (c *Cache) Expire(ctx context.Context, key string, ttl time.Duration) error {
	if ttl == NoExpiry {
		return c.Persist(ctx, key)
	}
	return c.store(ctx, &verb.Call{Verb: statement.Expire, Key: []byte(key)}, ttl)
}

// ExpireAt lets a key live until an instant of the database's clock. One that
// has passed removes it. ErrMiss if it is absent.
func (c *Cache) ExpireAt(ctx context.Context, key string, at time.Time) error {
	return c.one(ctx, &verb.Call{Verb: statement.Expire, Key: []byte(key), Expiry: verb.ExpireAt(at)})
}

// Persist takes the TTL of a key away. ErrMiss if it is absent.
func (c *Cache) Persist(ctx context.Context, key string) error {
	return c.store(ctx, &verb.Call{Verb: statement.Touch, Key: []byte(key)}, NoExpiry)
}

// GetAndExpire returns the value of a key and lets it live exactly ttl from now,
// in one step. ErrMiss if it is absent.
func (c *Cache) GetAndExpire(ctx context.Context, key string, ttl time.Duration) ([]byte, error) {
	call := &verb.Call{Verb: statement.GetExpire, Key: []byte(key)}
	if err := c.store(ctx, call, ttl); err != nil {
		return nil, err
	}
	return owned(call, call.Result.Value), nil
}
