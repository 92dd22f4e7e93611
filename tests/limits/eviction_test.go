package limits_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// TestPolicies lets each policy choose half of 4,000 entries, which differ in
// when they were written and read, how often, and when they expire, so that
// only one policy keeps each set.
func TestPolicies(t *testing.T) {
	t.Parallel()
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
	db := dbtest.Open(t, pgtest.New(t), nil)
	for _, test := range tests {
		t.Run(test.policy, func(t *testing.T) {
			dbtest.Exec(t, db, "SELECT howdah.drop_cache('c', true)")
			dbtest.Exec(t, db, "SELECT howdah.create_cache('c', eviction => $1, max_entries => 2400)", test.policy)
			dbtest.Fill(t, db, "c", 4000, "'infinity'")
			dbtest.Exec(t, db, strings.ReplaceAll(rows, "{table}", pgtest.Table(t, db.Pool(), "c")))
			var evicted int64
			for range 100 {
				r := dbtest.Maintain(t, db, howdah.MaintainOptions{Cache: "c", MaxTime: time.Second})
				evicted += r.Evicted
				if r.Evicted == 0 {
					break
				}
			}
			left := dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c"))
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
		dbtest.Exec(t, db, "SELECT howdah.drop_cache('c', true)")
		dbtest.Exec(t, db, "SELECT howdah.create_cache('c', eviction => 'volatile-ttl', max_entries => 3000)")
		dbtest.Fill(t, db, "c", 4000, "'infinity'")
		dbtest.Exec(t, db, strings.ReplaceAll(rows, "{table}", pgtest.Table(t, db.Pool(), "c")))
		for dbtest.Maintain(t, db, howdah.MaintainOptions{Cache: "c", MaxTime: time.Second}).Evicted > 0 {
		}
		// Of the even ones, those with large i expire first: 1150 of 2000 went.
		require.LessOrEqual(t, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c")+" WHERE expires_at < now() + interval '2900 minutes'"), int64(20))
		require.GreaterOrEqual(t, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c")+" WHERE expires_at < 'infinity'"), int64(800))
	})
}

// What is read stays, by the reads that callers make: no write but the notes
// of Run.
func TestReadsDecide(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, pgtest.New(t), nil)
			dbtest.Run(t, db)
			dbtest.Eventually(t, "it leads", func() bool { return db.Stats().Upkeep.Leader })
			// Reads are noted to the minute: what is written in the next one is
			// more recent. So all of it must happen in one minute.
			for round := 0; ; round++ {
				require.Less(t, round, 5, "each round took a minute")
				name := fmt.Sprint("c", round)
				before := readsDecide(t, db, name, policy)
				if dbtest.Number(t, db, thisMinute) > before {
					continue
				}
				require.GreaterOrEqual(t, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), name)+" WHERE accessed > 0"), int64(98), "a scan of 3,000 keys passed through")
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
	dbtest.Exec(t, db, "SELECT howdah.create_cache($1, eviction => $2, max_entries => 1000)", name, policy)
	cache, table := db.Cache(name), pgtest.Table(t, db.Pool(), name)
	dbtest.Fill(t, db, name, 900, "'infinity'")
	// Written long ago, so that what comes later is more recent but for the reads.
	dbtest.Exec(t, db, "UPDATE "+table+" SET version = version - 600000000")
	hot := make([]string, 100)
	for i := range hot {
		hot[i] = fmt.Sprintf("key:%d", i+1)
	}
	dbtest.Eventually(t, "the reads are noted", func() bool {
		found, err := cache.GetMany(t.Context(), hot)
		require.NoError(t, err)
		require.Len(t, found, 100)
		return dbtest.Number(t, db, "SELECT count(*) FROM "+table+" WHERE accessed > 0") == 100
	})
	minute = dbtest.Number(t, db, "SELECT min(accessed)::bigint FROM "+table+" WHERE accessed > 0")
	if policy == "allkeys-lfu" {
		require.Positive(t, dbtest.Number(t, db, "SELECT min(frequency) FROM "+table+" WHERE accessed > 0"))
	}
	for i := range 3000 {
		require.NoError(t, cache.Set(t.Context(), fmt.Sprintf("scan:%d", i), []byte("v"), 0))
	}
	dbtest.Eventually(t, "the budget holds", func() bool { return dbtest.Number(t, db, "SELECT howdah.count('"+name+"')") <= 1000 })
	return minute
}

// A table that an old snapshot has let grow is mostly empty. Its estimates must
// be as good as before: a cache whose size is overestimated every now and then
// evicts each time, and keeps far less than its budget.
func TestSparseTableIsCounted(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	dbtest.Exec(t, db, "SELECT howdah.create_cache('c', eviction => 'allkeys-lru', max_entries => 1000000)")
	dbtest.Exec(t, db, "ALTER TABLE "+pgtest.Table(t, db.Pool(), "c")+" SET (autovacuum_enabled = off)")
	for part := range 4 { // of each all go but a few stretches; of the last, half
		dbtest.Exec(t, db, `INSERT INTO `+pgtest.Table(t, db.Pool(), "c")+` (hash, version, expires_at, key, value)
			SELECT $1 * 30000 + i, 1, 'infinity', '', convert_to(repeat('x', 800), 'UTF8') FROM generate_series(1, 30000) AS i`, part)
		dbtest.Exec(t, db, "DELETE FROM "+pgtest.Table(t, db.Pool(), "c")+" WHERE hash > $1 * 30000 AND (hash % 1000 > 20 OR $1 = 3) AND ($1 < 3 OR hash % 30000 > 10000)", part)
	}
	blocks := dbtest.Number(t, db, "SELECT pg_relation_size('"+pgtest.Table(t, db.Pool(), "c")+"') / current_setting('block_size')::bigint")
	entries := dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c"))
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
