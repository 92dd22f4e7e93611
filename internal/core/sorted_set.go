package core

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
)

// ScoreIf restricts the scores that ZEdit stores.
type ScoreIf uint8

// The conditions.
const (
	ScoreAlways  ScoreIf = iota
	ScoreAbsent          // only of members that are new
	ScorePresent         // only of members that exist
	ScoreGreater         // of new members, and ones that are greater than before
	ScoreLess            // of new members, and ones that are less than before
)

func (s ScoreIf) met(before, score float64, found bool) bool {
	switch s {
	case ScoreAbsent:
		return !found
	case ScorePresent:
		return found
	case ScoreGreater:
		return !found || score > before
	case ScoreLess:
		return !found || score < before
	}
	return true
}

// ZChange says what ZEdit does to a sorted set.
type ZChange struct {
	Add    []values.Member
	If     ScoreIf
	Remove []string
	TTL    time.Duration // of a sorted set that is made
}

// errNaN is the error for a score that is not a number.
var errNaN = errors.New("howdah: a score is NaN, which has no place in an order")

// ZEdit removes members of a sorted set and stores scores in one step.
func (c *Cache) ZEdit(ctx context.Context, key []byte, change ZChange) (Changed, error) {
	for _, m := range change.Add {
		if math.IsNaN(m.Score) {
			return Changed{}, errNaN
		}
	}
	bytes := sizeOf(change.Remove)
	for _, m := range change.Add {
		bytes += len(m.Name)
	}
	if len(change.Add) == 0 {
		return remove(ctx, c, key, bytes, change.run)
	}
	return add(ctx, c, key, bytes, change.TTL, change.run)
}

func (change *ZChange) run(z *values.SortedSet, o *occasion) (n Changed, changed bool, err error) {
	for _, name := range change.Remove {
		if z.Remove(name) {
			n.Removed++
		}
	}
	for _, m := range change.Add {
		before, found := z.Score(m.Name)
		if !change.If.met(before, m.Score, found) || found && m.Score == before {
			continue
		}
		z.Set(m.Name, m.Score)
		changed = true
		if !found {
			n.Added++
		}
	}
	o.nameIf(n.Removed > 0, "zrem")
	o.nameIf(changed, "zadd")
	return n, changed || n.Removed > 0, nil
}

// ZIncrement adds to the score of a member and returns the sum.
func (c *Cache) ZIncrement(ctx context.Context, key []byte, member string, delta float64, ttl time.Duration) (float64, error) {
	return add(ctx, c, key, len(member), ttl, func(z *values.SortedSet, o *occasion) (float64, bool, error) {
		o.name("zincr")
		before, _ := z.Score(member)
		sum := before + delta
		if math.IsNaN(sum) {
			return 0, false, errNaN
		}
		z.Set(member, sum)
		return sum, true, nil
	})
}

// ZScore returns the score of a member. Error: ErrMiss.
func (c *Cache) ZScore(ctx context.Context, key []byte, member string) (float64, error) {
	z, err := read[values.SortedSet](ctx, c, key)
	if err != nil {
		return 0, err
	}
	score, ok := z.Score(member)
	if !ok {
		return 0, fault.ErrMiss
	}
	return score, nil
}

// ZRank returns the place of a member, 0 for that with the lowest score or, with
// reverse, the highest. Error: ErrMiss.
func (c *Cache) ZRank(ctx context.Context, key []byte, member string, reverse bool) (int, error) {
	z, err := read[values.SortedSet](ctx, c, key)
	if err != nil {
		return 0, err
	}
	rank, ok := z.Rank(member)
	switch {
	case !ok:
		return 0, fault.ErrMiss
	case reverse:
		return z.Len() - 1 - rank, nil
	}
	return rank, nil
}

// ZCard returns how many members a sorted set has.
func (c *Cache) ZCard(ctx context.Context, key []byte) (int, error) {
	z, err := read[values.SortedSet](ctx, c, key)
	return z.Len(), err
}

// ZCount returns how many members have scores in a range.
func (c *Cache) ZCount(ctx context.Context, key []byte, r values.ScoreRange) (int, error) {
	z, err := read[values.SortedSet](ctx, c, key)
	return z.Count(r), err
}

// ZRange returns members by their places.
func (c *Cache) ZRange(ctx context.Context, key []byte, start, stop int64, reverse bool) ([]values.Member, error) {
	z, err := read[values.SortedSet](ctx, c, key)
	return z.ByRank(start, stop, reverse), err
}

// ZRangeByScore returns members by their scores: limit of them after the first
// offset, all if limit is negative.
func (c *Cache) ZRangeByScore(ctx context.Context, key []byte, r values.ScoreRange, reverse bool, offset, limit int64) ([]values.Member, error) {
	z, err := read[values.SortedSet](ctx, c, key)
	return z.ByScore(r, reverse, offset, limit), err
}

// ZRemoveByScore removes the members with scores in a range, and returns how many.
func (c *Cache) ZRemoveByScore(ctx context.Context, key []byte, r values.ScoreRange) (int, error) {
	return remove(ctx, c, key, 0, func(z *values.SortedSet, o *occasion) (int, bool, error) {
		o.name("zremrangebyscore")
		n := z.RemoveByScore(r)
		return n, n > 0, nil
	})
}

// ZRemoveByRank removes the members at places, and returns how many.
func (c *Cache) ZRemoveByRank(ctx context.Context, key []byte, start, stop int64) (int, error) {
	return remove(ctx, c, key, 0, func(z *values.SortedSet, o *occasion) (int, bool, error) {
		o.name("zremrangebyrank")
		n := z.RemoveByRank(start, stop)
		return n, n > 0, nil
	})
}
