package howdah

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/core"
)

// SAdd adds members and returns how many are new. An absent set is made with ttl; an
// existing one keeps its TTL.
func (c *Cache) SAdd(ctx context.Context, key string, members []string, ttl time.Duration) (added int, err error) {
	n, err := c.core().SEdit(ctx, []byte(key), core.SChange{Add: members, TTL: ttl})
	return n.Added, err
}

// SRem removes members and returns how many there were.
func (c *Cache) SRem(ctx context.Context, key string, members ...string) (removed int, err error) {
	n, err := c.core().SEdit(ctx, []byte(key), core.SChange{Remove: members})
	return n.Removed, err
}

// SMembers returns all members, in no order, none if the set is absent.
func (c *Cache) SMembers(ctx context.Context, key string) ([]string, error) {
	return c.core().SMembers(ctx, []byte(key))
}

// SIsMember reports whether the set has a member.
func (c *Cache) SIsMember(ctx context.Context, key, member string) (bool, error) {
	are, err := c.core().SIsMember(ctx, []byte(key), []string{member})
	return err == nil && are[0], err
}

// SCard returns how many members a set has, 0 if it is absent.
func (c *Cache) SCard(ctx context.Context, key string) (int, error) {
	return c.core().SCard(ctx, []byte(key))
}

// SInter returns the members that all of the sets have, as they were at one moment. An
// absent set is empty. Memory (Options.Near) is not asked.
func (c *Cache) SInter(ctx context.Context, keys ...string) ([]string, error) {
	return c.core().SInter(ctx, toBytes(keys))
}

// SUnion returns the members that any of the sets has, as SInter does.
func (c *Cache) SUnion(ctx context.Context, keys ...string) ([]string, error) {
	return c.core().SUnion(ctx, toBytes(keys))
}

// SDiff returns the members that the first set has and none of the others, as SInter
// does.
func (c *Cache) SDiff(ctx context.Context, keys ...string) ([]string, error) {
	return c.core().SDiff(ctx, toBytes(keys))
}
