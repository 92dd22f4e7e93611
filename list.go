package howdah

import (
	"context"
	"time"
)

// LPush adds elements at the beginning of a list, one after the other, so that the last
// one comes first, and returns the new length. An absent list is made with ttl; an
// existing one keeps its TTL.
func (c *Cache) LPush(ctx context.Context, key string, elements [][]byte, ttl time.Duration) (length int, err error) {
	return c.core().LPush(ctx, []byte(key), elements, ttl)
}

// RPush adds elements at the end of a list and returns the new length. An absent list
// is made with ttl; an existing one keeps its TTL.
func (c *Cache) RPush(ctx context.Context, key string, elements [][]byte, ttl time.Duration) (length int, err error) {
	return c.core().RPush(ctx, []byte(key), elements, ttl)
}

// LPop removes the first element and returns it, or ErrMiss if the list is absent.
func (c *Cache) LPop(ctx context.Context, key string) ([]byte, error) {
	return c.core().LPop(ctx, []byte(key))
}

// RPop removes the last element and returns it, or ErrMiss if the list is absent.
func (c *Cache) RPop(ctx context.Context, key string) ([]byte, error) {
	return c.core().RPop(ctx, []byte(key))
}

// LRange returns the elements from position start to stop, both included. Negative
// positions count from the end: 0, -1 for all. It returns none if the list is absent.
func (c *Cache) LRange(ctx context.Context, key string, start, stop int) ([][]byte, error) {
	return c.core().LRange(ctx, []byte(key), int64(start), int64(stop))
}

// LTrim removes all elements but those that LRange returns. An absent list stays absent.
func (c *Cache) LTrim(ctx context.Context, key string, start, stop int) error {
	return c.core().LTrim(ctx, []byte(key), int64(start), int64(stop))
}

// LLen returns how many elements a list has, 0 if it is absent.
func (c *Cache) LLen(ctx context.Context, key string) (int, error) {
	return c.core().LLen(ctx, []byte(key))
}
