package howdah

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/values"
)

// ZMember is a member of a sorted set.
type ZMember struct {
	Score  float64 // may be infinite, but not NaN
	Member string
}

// ZScoreIf restricts which scores ZAddWith stores.
type ZScoreIf uint8

// The values of ZScoreIf.
const (
	// ZAlways stores every score. It is the default.
	ZAlways = ZScoreIf(core.ScoreAlways)
	// ZIfAbsent stores only scores of new members (NX).
	ZIfAbsent = ZScoreIf(core.ScoreAbsent)
	// ZIfPresent stores only scores of members that exist (XX).
	ZIfPresent = ZScoreIf(core.ScorePresent)
	// ZIfGreater stores scores of new members, and greater ones of members that
	// exist (GT): the best result of each player, say.
	ZIfGreater = ZScoreIf(core.ScoreGreater)
	// ZIfLess stores scores of new members, and lower ones of members that exist (LT).
	ZIfLess = ZScoreIf(core.ScoreLess)
)

// ZAddOptions say more of what ZAddWith does.
type ZAddOptions struct {
	// If restricts which scores are stored. Default ZAlways.
	If ZScoreIf
}

// ScoreRange is the scores from Min to Max, both included. The infinities of package
// math are scores; the zero value is the score 0 alone.
type ScoreRange struct {
	Min, Max float64
	// ExcludeMin and ExcludeMax take the ends themselves out of the range.
	ExcludeMin, ExcludeMax bool
}

func (r ScoreRange) values() values.ScoreRange {
	return values.ScoreRange{Low: r.Min, High: r.Max, OpenLow: r.ExcludeMin, OpenHigh: r.ExcludeMax}
}

// ZRangeOptions choose the order and the part of a range. The zero value is all of it,
// from the lowest score.
type ZRangeOptions struct {
	// Reverse begins at the highest score. Ranks count from there too.
	Reverse bool
	// Offset is how many members are left out at the beginning, and Limit how many are
	// returned at most; 0 is no limit. Only ZRangeByScore uses them.
	Offset, Limit int
}

// ZAdd stores the scores of members and returns how many members are new. An absent
// sorted set is made with ttl; an existing one keeps its TTL.
func (c *Cache) ZAdd(ctx context.Context, key string, members []ZMember, ttl time.Duration) (added int, err error) {
	return c.ZAddWith(ctx, key, members, ttl, ZAddOptions{})
}

// ZAddWith is ZAdd with options.
func (c *Cache) ZAddWith(ctx context.Context, key string, members []ZMember, ttl time.Duration, o ZAddOptions) (added int, err error) {
	change := core.ZChange{Add: make([]values.Member, len(members)), If: core.ScoreIf(o.If), TTL: ttl}
	for i, m := range members {
		change.Add[i] = values.Member{Score: m.Score, Name: m.Member}
	}
	n, err := c.core().ZEdit(ctx, []byte(key), change)
	return n.Added, err
}

// ZIncrBy adds delta to the score of a member and returns the sum. An absent member
// counts as 0. An absent sorted set is made with ttl; an existing one keeps its TTL.
func (c *Cache) ZIncrBy(ctx context.Context, key, member string, delta float64, ttl time.Duration) (float64, error) {
	return c.core().ZIncrement(ctx, []byte(key), member, delta, ttl)
}

// ZScore returns the score of a member, or ErrMiss if there is none.
func (c *Cache) ZScore(ctx context.Context, key, member string) (float64, error) {
	return c.core().ZScore(ctx, []byte(key), member)
}

// ZRank returns how many members are before a member, by lower scores, or ErrMiss if
// there is no such member.
func (c *Cache) ZRank(ctx context.Context, key, member string) (int, error) {
	return c.core().ZRank(ctx, []byte(key), member, false)
}

// ZRevRank is ZRank by higher scores: 0 is the member with the highest.
func (c *Cache) ZRevRank(ctx context.Context, key, member string) (int, error) {
	return c.core().ZRank(ctx, []byte(key), member, true)
}

// ZCard returns how many members a sorted set has, 0 if it is absent.
func (c *Cache) ZCard(ctx context.Context, key string) (int, error) {
	return c.core().ZCard(ctx, []byte(key))
}

// ZCount returns how many members have scores in a range.
func (c *Cache) ZCount(ctx context.Context, key string, r ScoreRange) (int, error) {
	return c.core().ZCount(ctx, []byte(key), r.values())
}

// ZRange returns the members from rank start to stop, both included. Negative ranks
// count from the end: 0, -1 for all. It returns none if the sorted set is absent.
func (c *Cache) ZRange(ctx context.Context, key string, start, stop int, o ZRangeOptions) ([]ZMember, error) {
	return zMembers(c.core().ZRange(ctx, []byte(key), int64(start), int64(stop), o.Reverse))
}

// ZRangeByScore returns the members with scores in a range, in the order of their
// scores.
func (c *Cache) ZRangeByScore(ctx context.Context, key string, r ScoreRange, o ZRangeOptions) ([]ZMember, error) {
	limit := int64(o.Limit)
	if limit == 0 {
		limit = -1
	}
	return zMembers(c.core().ZRangeByScore(ctx, []byte(key), r.values(), o.Reverse, int64(o.Offset), limit))
}

// ZRem removes members and returns how many there were.
func (c *Cache) ZRem(ctx context.Context, key string, members ...string) (removed int, err error) {
	n, err := c.core().ZEdit(ctx, []byte(key), core.ZChange{Remove: members})
	return n.Removed, err
}

// ZRemRangeByScore removes the members with scores in a range, and returns how many.
func (c *Cache) ZRemRangeByScore(ctx context.Context, key string, r ScoreRange) (removed int, err error) {
	return c.core().ZRemoveByScore(ctx, []byte(key), r.values())
}

// ZRemRangeByRank removes the members from rank start to stop, both included, counted
// from the lowest score, and returns how many. 0, -101 leaves the 100 highest.
func (c *Cache) ZRemRangeByRank(ctx context.Context, key string, start, stop int) (removed int, err error) {
	return c.core().ZRemoveByRank(ctx, []byte(key), int64(start), int64(stop))
}

func zMembers(found []values.Member, err error) ([]ZMember, error) {
	if err != nil {
		return nil, err
	}
	members := make([]ZMember, len(found))
	for i, m := range found {
		members[i] = ZMember{Score: m.Score, Member: m.Name}
	}
	return members, nil
}
