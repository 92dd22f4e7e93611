package contract

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
)

// testCollections is the part of the contract that is about hashes, sets, sorted sets
// and lists.
func testCollections(t *testing.T, f *fixture) {
	testHashes(t, f)
	testFieldExpiry(t, f)
	testSets(t, f)
	testSortedSets(t, f)
	testScoreConditions(t, f)
	testLists(t, f)
	testCollectionTTL(t, f)
	testCollectionKinds(t, f)
	testCollectionLimits(t, f)
}

func testHashes(t *testing.T, f *fixture) {
	ctx, k := t.Context(), f.key("h")
	_, err := f.HGet(ctx, k, "name")
	require.ErrorIs(t, err, howdah.ErrMiss)
	all, err := f.HGetAll(ctx, k)
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = f.Type(ctx, k)
	require.ErrorIs(t, err, howdah.ErrMiss)

	fields := map[string][]byte{"name": []byte("Ada"), "\xff\x00": {0xfe, 0, '\''}, "": {}}
	n, err := f.HSet(ctx, k, fields, time.Hour)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	for range 3 { // by PostgreSQL, and by memory if there is one
		all, err = f.HGetAll(ctx, k)
		require.NoError(t, err)
		require.Equal(t, fields, all)
		value, err := f.HGet(ctx, k, "\xff\x00")
		require.NoError(t, err)
		require.Equal(t, []byte{0xfe, 0, '\''}, value)
		_, err = f.HGet(ctx, k, "none")
		require.ErrorIs(t, err, howdah.ErrMiss)
	}
	n, err = f.HSet(ctx, k, map[string][]byte{"name": []byte("Ada L."), "new": []byte("1")}, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = f.HSetNX(ctx, k, map[string][]byte{"name": []byte("other"), "newer": []byte("2")}, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	some, err := f.HMGet(ctx, k, []string{"name", "newer", "none"})
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"name": []byte("Ada L."), "newer": []byte("2")}, some)

	sum, err := f.HIncrBy(ctx, k, "newer", 40, 0)
	require.NoError(t, err)
	require.EqualValues(t, 42, sum)
	_, err = f.HIncrBy(ctx, k, "name", 1, 0)
	require.ErrorIs(t, err, howdah.ErrNotInteger)
	_, err = f.HIncrBy(ctx, k, "newer", math.MaxInt64, 0)
	require.ErrorIs(t, err, howdah.ErrOverflow)
	length, err := f.HLen(ctx, k)
	require.NoError(t, err)
	require.Equal(t, 5, length)

	n, err = f.HDel(ctx, k, "name", "none", "new", "newer")
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = f.HDel(ctx, k, "", "\xff\x00")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = f.Type(ctx, k)
	require.ErrorIs(t, err, howdah.ErrMiss, "a hash without fields is removed")
}

func testFieldExpiry(t *testing.T, f *fixture) {
	ctx, k := t.Context(), f.key("fields")
	_, err := f.HSet(ctx, k, map[string][]byte{"a": nil, "b": nil}, 0)
	require.NoError(t, err)
	ttl, err := f.HTTL(ctx, k, "a")
	require.NoError(t, err)
	require.Equal(t, howdah.NoExpiry, ttl)
	require.NoError(t, f.HExpire(ctx, k, "a", time.Hour))
	ttl, err = f.HTTL(ctx, k, "a")
	require.NoError(t, err)
	require.InDelta(t, time.Hour.Seconds(), ttl.Seconds(), 30)
	require.NoError(t, f.HExpire(ctx, k, "a", howdah.NoExpiry))
	ttl, err = f.HTTL(ctx, k, "a")
	require.NoError(t, err)
	require.Equal(t, howdah.NoExpiry, ttl)
	require.ErrorIs(t, f.HExpire(ctx, k, "none", time.Hour), howdah.ErrMiss)
	require.ErrorIs(t, f.HExpire(ctx, f.key("none"), "a", time.Hour), howdah.ErrMiss)
	require.ErrorIs(t, f.HExpire(ctx, k, "a", 0), howdah.ErrInvalidTTL)
	_, err = f.HTTL(ctx, k, "none")
	require.ErrorIs(t, err, howdah.ErrMiss)

	require.NoError(t, f.HExpire(ctx, k, "a", 1)) // a nanosecond is not for ever
	dbtest.Eventually(t, "the field expires", func() bool {
		all, err := f.HGetAll(ctx, k)
		require.NoError(t, err)
		return len(all) == 1
	})
	require.NoError(t, f.HExpire(ctx, k, "b", 1))
	dbtest.Eventually(t, "the hash has no field", func() bool {
		n, err := f.HLen(ctx, k)
		require.NoError(t, err)
		return n == 0
	})
	n, err := f.HSet(ctx, k, map[string][]byte{"a": []byte("again")}, time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	f.lives("fields", time.Hour)
}

func testSets(t *testing.T, f *fixture) {
	ctx, k := t.Context(), f.key("s")
	n, err := f.SAdd(ctx, k, []string{"a", "b", "b", "\xff"}, 0)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = f.SAdd(ctx, k, []string{"b", "c"}, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for range 3 {
		members, err := f.SMembers(ctx, k)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"a", "b", "c", "\xff"}, members)
		for member, want := range map[string]bool{"a": true, "\xff": true, "d": false} {
			is, err := f.SIsMember(ctx, k, member)
			require.NoError(t, err)
			require.Equal(t, want, is, member)
		}
	}
	_, err = f.SAdd(ctx, f.key("s2"), []string{"b", "c", "d"}, 0)
	require.NoError(t, err)
	for name, test := range map[string]struct {
		combine func(context.Context, ...string) ([]string, error)
		keys    []string
		want    []string
	}{
		"inter":        {f.SInter, []string{k, f.key("s2")}, []string{"b", "c"}},
		"inter absent": {f.SInter, []string{k, f.key("none")}, nil},
		"union":        {f.SUnion, []string{k, f.key("s2"), f.key("none")}, []string{"a", "b", "c", "d", "\xff"}},
		"diff":         {f.SDiff, []string{k, f.key("s2")}, []string{"a", "\xff"}},
		"diff absent":  {f.SDiff, []string{f.key("none"), k}, nil},
		"no keys":      {f.SUnion, nil, nil},
	} {
		got, err := test.combine(ctx, test.keys...)
		require.NoError(t, err, name)
		require.ElementsMatch(t, test.want, got, name)
	}
	n, err = f.SRem(ctx, k, "a", "d")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = f.SCard(ctx, k)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = f.SRem(ctx, k, "b", "c", "\xff")
	require.NoError(t, err)
	require.Equal(t, 3, n)
	_, err = f.Type(ctx, k)
	require.ErrorIs(t, err, howdah.ErrMiss)
	n, err = f.SCard(ctx, k)
	require.NoError(t, err)
	require.Zero(t, n)
}

func testSortedSets(t *testing.T, f *fixture) {
	ctx, k := t.Context(), f.key("z")
	_, err := f.ZScore(ctx, k, "a")
	require.ErrorIs(t, err, howdah.ErrMiss)
	n, err := f.ZAdd(ctx, k, []howdah.ZMember{{Score: 3, Member: "c"}, {Score: 1, Member: "a"}, {Score: math.Inf(1), Member: "z"}, {Score: 1, Member: "b"}}, 0)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	a, b, c, z := howdah.ZMember{Score: 1, Member: "a"}, howdah.ZMember{Score: 1, Member: "b"}, howdah.ZMember{Score: 3, Member: "c"}, howdah.ZMember{Score: math.Inf(1), Member: "z"}
	reverse := howdah.ZRangeOptions{Reverse: true}
	for range 3 {
		all, err := f.ZRange(ctx, k, 0, -1, howdah.ZRangeOptions{})
		require.NoError(t, err)
		require.Equal(t, []howdah.ZMember{a, b, c, z}, all)
	}
	top, err := f.ZRange(ctx, k, 0, 1, reverse)
	require.NoError(t, err)
	require.Equal(t, []howdah.ZMember{z, c}, top)
	none, err := f.ZRange(ctx, f.key("none"), 0, -1, reverse)
	require.NoError(t, err)
	require.Empty(t, none)

	finite := howdah.ScoreRange{Min: 1, Max: math.Inf(1), ExcludeMax: true}
	for _, test := range []struct {
		r    howdah.ScoreRange
		o    howdah.ZRangeOptions
		want []howdah.ZMember
	}{
		{finite, howdah.ZRangeOptions{}, []howdah.ZMember{a, b, c}},
		{finite, reverse, []howdah.ZMember{c, b, a}},
		{finite, howdah.ZRangeOptions{Offset: 1, Limit: 1}, []howdah.ZMember{b}},
		{finite, howdah.ZRangeOptions{Offset: 1, Limit: 9, Reverse: true}, []howdah.ZMember{b, a}},
		{howdah.ScoreRange{Min: 1, Max: 3, ExcludeMin: true}, howdah.ZRangeOptions{}, []howdah.ZMember{c}},
		{howdah.ScoreRange{Min: 2, Max: 1}, howdah.ZRangeOptions{}, []howdah.ZMember{}},
	} {
		got, err := f.ZRangeByScore(ctx, k, test.r, test.o)
		require.NoError(t, err)
		require.Equal(t, test.want, got, "%+v", test)
	}
	n, err = f.ZCount(ctx, k, finite)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	rank, err := f.ZRank(ctx, k, "c")
	require.NoError(t, err)
	require.Equal(t, 2, rank)
	rank, err = f.ZRevRank(ctx, k, "c")
	require.NoError(t, err)
	require.Equal(t, 1, rank)
	_, err = f.ZRank(ctx, k, "none")
	require.ErrorIs(t, err, howdah.ErrMiss)

	sum, err := f.ZIncrBy(ctx, k, "a", 9.5, 0)
	require.NoError(t, err)
	require.Equal(t, 10.5, sum)
	score, err := f.ZScore(ctx, k, "a")
	require.NoError(t, err)
	require.Equal(t, 10.5, score)
	_, err = f.ZIncrBy(ctx, k, "z", math.Inf(-1), 0)
	require.ErrorContains(t, err, "NaN")
	_, err = f.ZAdd(ctx, k, []howdah.ZMember{{Score: math.NaN(), Member: "n"}}, 0)
	require.ErrorContains(t, err, "NaN")
	n, err = f.ZRemRangeByScore(ctx, k, howdah.ScoreRange{Min: math.Inf(-1), Max: 1})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = f.ZRemRangeByRank(ctx, k, 0, -3)
	require.NoError(t, err)
	require.Equal(t, 1, n, "all but the two highest")
	n, err = f.ZRem(ctx, k, "z", "none")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = f.ZCard(ctx, k)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = f.ZRem(ctx, k, "a")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = f.Type(ctx, k)
	require.ErrorIs(t, err, howdah.ErrMiss)
}

func testScoreConditions(t *testing.T, f *fixture) {
	ctx := t.Context()
	for condition, want := range map[howdah.ZScoreIf]struct {
		low, high, added float64 // the scores of members that were offered 1, 9 instead of 5, and 7 as new
	}{
		howdah.ZAlways:    {1, 9, 7},
		howdah.ZIfAbsent:  {5, 5, 7},
		howdah.ZIfPresent: {1, 9, 0},
		howdah.ZIfGreater: {5, 9, 7},
		howdah.ZIfLess:    {1, 5, 7},
	} {
		k := f.key("condition")
		_, err := f.ZAdd(ctx, k, []howdah.ZMember{{Score: 5, Member: "low"}, {Score: 5, Member: "high"}}, 0)
		require.NoError(t, err)
		n, err := f.ZAddWith(ctx, k, []howdah.ZMember{{Score: 1, Member: "low"}, {Score: 9, Member: "high"}, {Score: 7, Member: "new"}}, 0, howdah.ZAddOptions{If: condition})
		require.NoError(t, err)
		members, err := f.ZRange(ctx, k, 0, -1, howdah.ZRangeOptions{})
		require.NoError(t, err)
		scores := map[string]float64{}
		for _, m := range members {
			scores[m.Member] = m.Score
		}
		require.Equal(t, want.low, scores["low"], condition)
		require.Equal(t, want.high, scores["high"], condition)
		require.Equal(t, want.added, scores["new"], condition)
		require.Equal(t, len(scores)-2, n, condition)
		require.NoError(t, f.Delete(ctx, k))
	}
}

func testLists(t *testing.T, f *fixture) {
	ctx, k := t.Context(), f.key("l")
	_, err := f.LPop(ctx, k)
	require.ErrorIs(t, err, howdah.ErrMiss)
	n, err := f.RPush(ctx, k, [][]byte{{'c'}, {0xff}}, 0)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = f.LPush(ctx, k, [][]byte{{'b'}, {'a'}}, 0)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	for range 3 {
		all, err := f.LRange(ctx, k, 0, -1)
		require.NoError(t, err)
		require.Equal(t, [][]byte{{'a'}, {'b'}, {'c'}, {0xff}}, all)
	}
	some, err := f.LRange(ctx, k, -3, 2)
	require.NoError(t, err)
	require.Equal(t, [][]byte{{'b'}, {'c'}}, some)
	require.NoError(t, f.LTrim(ctx, k, 0, -2))
	first, err := f.LPop(ctx, k)
	require.NoError(t, err)
	require.Equal(t, []byte("a"), first)
	last, err := f.RPop(ctx, k)
	require.NoError(t, err)
	require.Equal(t, []byte("c"), last)
	n, err = f.LLen(ctx, k)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, f.LTrim(ctx, k, 1, 0))
	_, err = f.Type(ctx, k)
	require.ErrorIs(t, err, howdah.ErrMiss)
}

// collections are writes that make a collection, or make one larger.
func collections(f *fixture) map[string]func(ctx context.Context, key, element string, ttl time.Duration) error {
	return map[string]func(context.Context, string, string, time.Duration) error{
		"hash": func(ctx context.Context, key, element string, ttl time.Duration) error {
			_, err := f.HSet(ctx, key, map[string][]byte{element: nil}, ttl)
			return err
		},
		"hash number": func(ctx context.Context, key, element string, ttl time.Duration) error {
			_, err := f.HIncrBy(ctx, key, element, 1, ttl)
			return err
		},
		"set": func(ctx context.Context, key, element string, ttl time.Duration) error {
			_, err := f.SAdd(ctx, key, []string{element}, ttl)
			return err
		},
		"zset": func(ctx context.Context, key, element string, ttl time.Duration) error {
			_, err := f.ZAdd(ctx, key, []howdah.ZMember{{Member: element}}, ttl)
			return err
		},
		"zset score": func(ctx context.Context, key, element string, ttl time.Duration) error {
			_, err := f.ZIncrBy(ctx, key, element, 1, ttl)
			return err
		},
		"list": func(ctx context.Context, key, element string, ttl time.Duration) error {
			_, err := f.RPush(ctx, key, [][]byte{[]byte(element)}, ttl)
			return err
		},
		"list left": func(ctx context.Context, key, element string, ttl time.Duration) error {
			_, err := f.LPush(ctx, key, [][]byte{[]byte(element)}, ttl)
			return err
		},
	}
}

// A TTL is of a collection that is made, by the clock of the database.
func testCollectionTTL(t *testing.T, f *fixture) {
	ctx := t.Context()
	for name, write := range collections(f) {
		k := "ttl " + name
		require.ErrorIs(t, write(ctx, f.key(k), "a", -1), howdah.ErrInvalidTTL, name)
		require.NoError(t, write(ctx, f.key(k), "a", time.Hour), name)
		f.lives(k, time.Hour)
		require.NoError(t, write(ctx, f.key(k), "b", 2*time.Hour), name)
		f.lives(k, time.Hour)
		require.NoError(t, f.Touch(ctx, f.key(k), 3*time.Hour))
		require.NoError(t, write(ctx, f.key(k), "c", 0), name)
		f.lives(k, 3*time.Hour)
		f.kill(k)
		require.NoError(t, write(ctx, f.key(k), "d", howdah.NoExpiry), name)
		require.Equal(t, howdah.NoExpiry, f.ttlOrMax(k), "what expired is made anew: "+name)
	}
}

// A collection is of one kind, and no method takes it for another.
func testCollectionKinds(t *testing.T, f *fixture) {
	ctx := t.Context()
	require.NoError(t, f.Set(ctx, f.key("kind string"), []byte("v"), 0))
	kinds := map[string]howdah.Kind{"string": howdah.KindString, "hash": howdah.KindHash, "set": howdah.KindSet, "zset": howdah.KindSortedSet, "list": howdah.KindList}
	for name, kind := range kinds {
		if write := collections(f)[name]; write != nil {
			require.NoError(t, write(ctx, f.key("kind "+name), "a", 0))
		}
		got, err := f.Type(ctx, f.key("kind "+name))
		require.NoError(t, err)
		require.Equal(t, kind, got)
		require.Equal(t, name, got.String())
		before := f.any("kind " + name)
		for other, write := range collections(f) {
			if !strings.HasPrefix(other, name) {
				require.ErrorIs(t, write(ctx, f.key("kind "+name), "b", 0), howdah.ErrWrongType, "%s on %s", other, name)
			}
		}
		for other, read := range map[string]func(key string) error{
			"string": func(key string) error { _, err := f.Get(ctx, key); return err },
			"hash":   func(key string) error { _, err := f.HGetAll(ctx, key); return err },
			"set":    func(key string) error { _, err := f.SMembers(ctx, key); return err },
			"zset":   func(key string) error { _, err := f.ZCard(ctx, key); return err },
			"list":   func(key string) error { _, err := f.LLen(ctx, key); return err },
		} {
			if other == name {
				require.NoError(t, read(f.key("kind "+name)))
			} else {
				require.ErrorIs(t, read(f.key("kind "+name)), howdah.ErrWrongType, "%s on %s", other, name)
			}
		}
		require.Equal(t, lasting(before), lasting(f.any("kind "+name)))
	}
	_, err := f.SInter(ctx, f.key("kind set"), f.key("kind hash"))
	require.ErrorIs(t, err, howdah.ErrWrongType)
}

// A collection ends at 1 MiB, and one that does not fit changes nothing.
func testCollectionLimits(t *testing.T, f *fixture) {
	ctx := t.Context()
	for name, write := range collections(f) {
		k := f.key("large " + name)
		require.NoError(t, write(ctx, k, "a", 0))
		before := f.any("large " + name)
		require.ErrorIs(t, write(ctx, k, strings.Repeat("x", 1<<20), 0), howdah.ErrValueTooLarge, name)
		require.Equal(t, lasting(before), lasting(f.any("large "+name)))
		require.NoError(t, write(ctx, k, strings.Repeat("x", 1<<19), 0), name)
		require.ErrorIs(t, write(ctx, k, strings.Repeat("y", 1<<19), 0), howdah.ErrValueTooLarge, name)
		require.NoError(t, f.Delete(ctx, k))
	}
}
