package core

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/values"
)

// SMembers returns the members of a set, in no order.
func (c *Cache) SMembers(ctx context.Context, key []byte) ([]string, error) {
	s, err := read[values.Set](ctx, c, key)
	return s.Members(), err
}

// SIsMember reports which of these are members of a set.
func (c *Cache) SIsMember(ctx context.Context, key []byte, members []string) ([]bool, error) {
	s, err := read[values.Set](ctx, c, key)
	if err != nil {
		return nil, err
	}
	are := make([]bool, len(members))
	for i, member := range members {
		are[i] = s.Has(member)
	}
	return are, nil
}

// SCard returns how many members a set has.
func (c *Cache) SCard(ctx context.Context, key []byte) (int, error) {
	s, err := read[values.Set](ctx, c, key)
	return s.Len(), err
}

// SInter returns what all of the sets have, in no order.
func (c *Cache) SInter(ctx context.Context, keys [][]byte) ([]string, error) {
	return c.combine(ctx, keys, values.Intersect)
}

// SUnion returns what any of the sets has, in no order.
func (c *Cache) SUnion(ctx context.Context, keys [][]byte) ([]string, error) {
	return c.combine(ctx, keys, values.Unite)
}

// SDiff returns what the first set has and none of the others, in no order.
func (c *Cache) SDiff(ctx context.Context, keys [][]byte) ([]string, error) {
	return c.combine(ctx, keys, values.Subtract)
}

func (c *Cache) combine(ctx context.Context, keys [][]byte, operation func([]*values.Set) *values.Set) ([]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	sets, err := readMany[values.Set](ctx, c, keys)
	if err != nil {
		return nil, err
	}
	return operation(sets).Members(), nil
}

// SChange says what SEdit does to a set.
type SChange struct {
	Add, Remove []string
	TTL         time.Duration // of a set that is made
}

// SEdit removes and adds members of a set in one step.
func (c *Cache) SEdit(ctx context.Context, key []byte, change SChange) (Changed, error) {
	run := func(s *values.Set, o *occasion) (n Changed, changed bool, err error) {
		for _, member := range change.Remove {
			if s.Remove(member) {
				n.Removed++
			}
		}
		for _, member := range change.Add {
			if s.Add(member) {
				n.Added++
			}
		}
		o.nameIf(n.Removed > 0, "srem")
		o.nameIf(n.Added > 0, "sadd")
		return n, n != Changed{}, nil
	}
	bytes := sizeOf(change.Add) + sizeOf(change.Remove)
	if len(change.Add) == 0 {
		return remove(ctx, c, key, bytes, run)
	}
	return add(ctx, c, key, bytes, change.TTL, run)
}
