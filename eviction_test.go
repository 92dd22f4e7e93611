package howdah_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// TestPolicies lets each policy choose half of 4,000 entries, which differ in
// when they were written and read, how often, and when they expire, so that
// only one policy keeps each set.
func TestPolicies(t *testing.T) {
	// Of 4,000 keys i: written in their order, a minute for 100 of them; each
	// fourth read just now; each fourth one after it read often, long ago in
	// part; even ones with a TTL, the longer the smaller i.
	const rows = `
		UPDATE {table} AS c
		SET version    = howdah_internal._clock() - (4000 - i) * 600000::bigint,
		    accessed   = CASE WHEN i % 4 = 0 THEN extract(epoch FROM now())::bigint / 60 + 1 ELSE 0 END,
		    frequency  = CASE WHEN i % 4 = 1 THEN 200 ELSE 0 END,
		    expires_at = CASE WHEN i % 2 = 0 THEN now() + (5000 - i) * interval '1 minute' ELSE 'infinity' END
		FROM (SELECT hash, substring(encode(key, 'escape') FROM 5)::integer AS i FROM {table}) AS n
		WHERE n.hash = c.hash`
	tests := []struct {
		policy string
		// What a key's number must satisfy to be kept, and in which share at least.
		kept  func(i int) bool
		share float64
	}{
		{"allkeys-lru", func(i int) bool { return i%4 == 0 }, 1},
		{"allkeys-lru", func(i int) bool { return i > 2800 }, 1},
		{"allkeys-lfu", func(i int) bool { return i%4 == 1 }, 1},
		{"allkeys-random", func(i int) bool { return i%4 == 3 }, 0.40},
		{"volatile-lru", func(i int) bool { return i%2 == 1 }, 1},
		{"volatile-lfu", func(i int) bool { return i%2 == 1 }, 1},
		{"volatile-random", func(i int) bool { return i%2 == 1 }, 1},
		{"volatile-ttl", func(i int) bool { return i%2 == 1 }, 1},
	}
	db := open(t, pgtest.New(t), nil)
	for _, test := range tests {
		t.Run(test.policy, func(t *testing.T) {
			execute(t, db, "SELECT howdah.drop_cache('c', true)")
			execute(t, db, "SELECT howdah.create_cache('c', eviction => $1, max_entries => 2400)", test.policy)
			fill(t, db, "c", 4000, "'infinity'")
			execute(t, db, strings.ReplaceAll(rows, "{table}", pgtest.Table(t, db.Pool(), "c")))
			var evicted int64
			for range 100 {
				r := maintain(t, db, howdah.MaintainOptions{Cache: "c", MaxTime: time.Second})
				evicted += r.Evicted
				if r.Evicted == 0 {
					break
				}
			}
			left := number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c"))
			require.EqualValues(t, 4000-evicted, left)
			require.InDelta(t, 2250, left, 100, "from 97 %% of the budget down to 95 %%, or a little less")
			var all, kept int
			for i := 1; i <= 4000; i++ {
				if test.kept(i) {
					all++
				}
			}
			found, err := db.Pool().Query(t.Context(), "SELECT substring(encode(key, 'escape') FROM 5)::integer FROM "+pgtest.Table(t, db.Pool(), "c"))
			require.NoError(t, err)
			for found.Next() {
				var i int
				require.NoError(t, found.Scan(&i))
				if test.kept(i) {
					kept++
				}
			}
			require.NoError(t, found.Err())
			require.GreaterOrEqual(t, float64(kept)/float64(all), test.share, "kept %d of %d", kept, all)
			if test.policy == "allkeys-random" {
				require.Less(t, float64(kept)/float64(all), 0.75)
			}
		})
	}

	t.Run("volatile-ttl takes the soonest", func(t *testing.T) {
		execute(t, db, "SELECT howdah.drop_cache('c', true)")
		execute(t, db, "SELECT howdah.create_cache('c', eviction => 'volatile-ttl', max_entries => 3000)")
		fill(t, db, "c", 4000, "'infinity'")
		execute(t, db, strings.ReplaceAll(rows, "{table}", pgtest.Table(t, db.Pool(), "c")))
		for maintain(t, db, howdah.MaintainOptions{Cache: "c", MaxTime: time.Second}).Evicted > 0 {
		}
		// Of the even ones, those with large i expire first: 1150 of 2000 went.
		require.LessOrEqual(t, number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c")+" WHERE expires_at < now() + interval '2900 minutes'"), int64(20))
		require.GreaterOrEqual(t, number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c")+" WHERE expires_at < 'infinity'"), int64(800))
	})
}

// What is read stays, by the reads that callers make: no write but the notes
// of Run.
func TestReadsDecide(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			db := open(t, pgtest.New(t), nil)
			running(t, db)
			eventually(t, "it leads", func() bool { return db.Stats().Upkeep.Leader })
			// Reads are noted to the minute: what is written in the next one is
			// more recent. So all of it must happen in one minute.
			for round := 0; ; round++ {
				require.Less(t, round, 5, "each round took a minute")
				name := fmt.Sprint("c", round)
				before := readsDecide(t, db, name, policy)
				if number(t, db, thisMinute) > before {
					continue
				}
				require.GreaterOrEqual(t, number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), name)+" WHERE accessed > 0"), int64(98), "a scan of 3,000 keys passed through")
				break
			}
		})
	}
}

const thisMinute = "SELECT (ceil(extract(epoch FROM statement_timestamp()) / 60))::bigint"

// readsDecide reads a hundred keys of a new cache until that is noted, and
// then writes three times as many keys as it has room for. It returns the
// minute in which the reads were noted first.
func readsDecide(t *testing.T, db *howdah.DB, name, policy string) (minute int64) {
	t.Helper()
	execute(t, db, "SELECT howdah.create_cache($1, eviction => $2, max_entries => 1000)", name, policy)
	cache, table := db.Cache(name), pgtest.Table(t, db.Pool(), name)
	fill(t, db, name, 900, "'infinity'")
	// Written long ago, so that what comes later is more recent but for the reads.
	execute(t, db, "UPDATE "+table+" SET version = version - 600000000")
	hot := make([]string, 100)
	for i := range hot {
		hot[i] = fmt.Sprintf("key:%d", i+1)
	}
	eventually(t, "the reads are noted", func() bool {
		found, err := cache.GetMany(t.Context(), hot)
		require.NoError(t, err)
		require.Len(t, found, 100)
		return number(t, db, "SELECT count(*) FROM "+table+" WHERE accessed > 0") == 100
	})
	minute = number(t, db, "SELECT min(accessed)::bigint FROM "+table+" WHERE accessed > 0")
	if policy == "allkeys-lfu" {
		require.Positive(t, number(t, db, "SELECT min(frequency) FROM "+table+" WHERE accessed > 0"))
	}
	for i := range 3000 {
		require.NoError(t, cache.Set(t.Context(), fmt.Sprintf("scan:%d", i), []byte("v"), 0))
	}
	eventually(t, "the budget holds", func() bool { return number(t, db, "SELECT howdah.count('"+name+"')") <= 1000 })
	return minute
}

// With noeviction, writes that need room are refused through every door, and
// reads and deletes go on.
func TestOutOfMemory(t *testing.T) {
	db := open(t, pgtest.New(t), nil)
	execute(t, db, "SELECT howdah.create_cache('c', eviction => 'noeviction', max_entries => 100)")
	cache := db.Cache("c")
	ctx := t.Context()
	for i := range 101 {
		require.NoError(t, cache.Set(ctx, fmt.Sprintf("k%d", i), []byte("1"), 0))
	}
	running(t, db)
	eventually(t, "a write is refused", func() bool {
		return cache.Set(ctx, "k1", []byte("1"), 0) != nil
	})
	require.ErrorIs(t, cache.Set(ctx, "k1", []byte("2"), 0), howdah.ErrCacheFull)
	require.ErrorIs(t, cache.Add(ctx, "new", nil, 0), howdah.ErrCacheFull)
	require.ErrorIs(t, cache.SetMany(ctx, []howdah.Item{{Key: "new"}}, 0), howdah.ErrCacheFull)
	_, err := cache.Increment(ctx, "k2", 1, 0)
	require.ErrorIs(t, err, howdah.ErrCacheFull)
	require.ErrorIs(t, cache.Copy(ctx, "k1", cache, "k1 again", howdah.CopyOptions{}), howdah.ErrCacheFull)
	require.NoError(t, cache.Rename(ctx, "k3", "k3 moved", howdah.RenameOptions{}))
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, cache.With(tx).Set(ctx, "k1", nil, 0), howdah.ErrCacheFull)
	require.NoError(t, cache.With(tx).Delete(ctx, "k4"))
	require.NoError(t, tx.Commit(ctx))
	f := &fixture{T: t, Cache: cache}
	require.Equal(t, verb.CacheFull, f.commit(put("k1", "2", f.version("k1")), onlyRead("new", 0)).Status)
	require.Equal(t, verb.OK, f.commit(onlyRead("k1", f.version("k1")), onlyRead("new", 0), remove("k6", f.version("k6"))).Status)
	for _, verb := range []string{
		"set('c', 'k', 'v')", "set_text('c', 'k', 'v')", "set_many('c', '{k}', '{v}')", "add('c', 'k', 'v')",
		"replace('c', 'k1', 'v')", "compare_and_set('c', 'k', 0, 'v')", "compare_and_set('c', 'k1', 1, 'v')", "increment('c', 'k1')",
	} {
		_, err := db.Pool().Exec(ctx, "SELECT howdah."+verb)
		require.ErrorContains(t, err, "HW011", verb)
	}
	require.True(t, full(db))

	value, err := cache.Get(ctx, "k1")
	require.NoError(t, err)
	require.Equal(t, "1", string(value), "nothing was written")
	require.NoError(t, cache.Expire(ctx, "k1", time.Hour))
	execute(t, db, "SELECT howdah.expire('c', 'k1', '1 hour'), howdah.delete('c', 'k5')")
	for i := range 10 {
		require.NoError(t, cache.Delete(ctx, fmt.Sprintf("k%d", i)))
	}
	eventually(t, "there is room again", func() bool { return cache.Set(ctx, "k1", []byte("2"), 0) == nil })
	eventually(t, "and it is known", func() bool { return !full(db) })

	// volatile-* with nothing that expires: the same.
	execute(t, db, "SELECT howdah.alter_cache('c', eviction => 'volatile-lru', max_entries => 50)")
	eventually(t, "a write is refused", func() bool { return strings.Contains(fmt.Sprint(cache.Set(ctx, "k1", nil, 0)), "budget") })
	execute(t, db, "SELECT howdah.alter_cache('c', eviction => 'allkeys-lru')")
	execute(t, db, "SELECT howdah.set('c', 'at once', 'v')")
	eventually(t, "writes go on", func() bool { return cache.Set(ctx, "k1", nil, 0) == nil })
}

func full(db *howdah.DB) bool {
	for _, c := range db.Stats().Caches {
		if c.Name == "c" {
			return c.Full
		}
	}
	return false
}

// A table that an old snapshot has let grow is mostly empty. Its estimates must
// be as good as before: a cache whose size is overestimated every now and then
// evicts each time, and keeps far less than its budget.
func TestSparseTableIsCounted(t *testing.T) {
	db := open(t, pgtest.New(t), nil)
	execute(t, db, "SELECT howdah.create_cache('c', eviction => 'allkeys-lru', max_entries => 1000000)")
	execute(t, db, "ALTER TABLE "+pgtest.Table(t, db.Pool(), "c")+" SET (autovacuum_enabled = off)")
	for part := range 4 { // of each all go but a few stretches; of the last, half
		execute(t, db, `INSERT INTO `+pgtest.Table(t, db.Pool(), "c")+` (hash, version, expires_at, key, value)
			SELECT $1 * 30000 + i, 1, 'infinity', '', convert_to(repeat('x', 800), 'UTF8') FROM generate_series(1, 30000) AS i`, part)
		execute(t, db, "DELETE FROM "+pgtest.Table(t, db.Pool(), "c")+" WHERE hash > $1 * 30000 AND (hash % 1000 > 20 OR $1 = 3) AND ($1 < 3 OR hash % 30000 > 10000)", part)
	}
	blocks := number(t, db, "SELECT pg_relation_size('"+pgtest.Table(t, db.Pool(), "c")+"') / current_setting('block_size')::bigint")
	entries := number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c"))
	require.Greater(t, blocks, entries)
	_, err := db.Maintain(t.Context(), howdah.MaintainOptions{Cache: "c"})
	require.NoError(t, err)
	// The standard error is 0.031; with a sixth of the blocks it is 0.076. One
	// estimate in a thousand is off by 0.15, hence all together.
	const n = 20
	squares := 0.0
	for range n {
		rounds, err := db.Maintain(t.Context(), howdah.MaintainOptions{Cache: "c"})
		require.NoError(t, err)
		off := float64(rounds[0].Entries)/float64(entries) - 1
		squares += off * off
	}
	require.Less(t, math.Sqrt(squares/n), 0.055, "the standard error of the estimates")
}
