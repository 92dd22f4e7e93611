package limits_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// entry is a row of TestEachPolicyKeepsWhatItsNameSays. Its traits do not
// depend on one another: each combination is there equally often.
type entry struct{ volatile, recent, frequent, soon bool }

func entryOf(i int) entry {
	return entry{volatile: i&1 == 0, recent: i&2 == 0, frequent: i&4 == 0, soon: i&8 == 0}
}

// Each policy lets a quarter of 4,000 entries go, and takes all of them where
// its name says.
func TestEachPolicyKeepsWhatItsNameSays(t *testing.T) {
	t.Parallel()
	const (
		entries = 4000
		traits  = `
			UPDATE {table} AS c
			SET version    = howdah_internal._clock() - 3600000000,
			    accessed   = CASE WHEN i & 2 = 0 THEN extract(epoch FROM now())::bigint / 60 ELSE 0 END,
			    frequency  = CASE WHEN i & 4 = 0 THEN 200 ELSE 0 END,
			    expires_at = CASE WHEN i & 1 = 0 THEN now() + CASE WHEN i & 8 = 0 THEN interval '1 hour' ELSE interval '1 day' END
			                      ELSE 'infinity' END
			FROM (SELECT hash, substring(encode(key, 'escape') FROM 5)::integer AS i FROM {table}) AS n
			WHERE n.hash = c.hash`
	)
	all := func(entry) bool { return true }
	tests := map[string]struct {
		victim func(entry) bool // whom it may take
		even   bool             // it takes of all of them alike
	}{
		"allkeys-lru":     {victim: func(e entry) bool { return !e.recent }},
		"allkeys-lfu":     {victim: func(e entry) bool { return !e.frequent }},
		"allkeys-random":  {victim: all, even: true},
		"volatile-lru":    {victim: func(e entry) bool { return e.volatile && !e.recent }},
		"volatile-lfu":    {victim: func(e entry) bool { return e.volatile && !e.frequent }},
		"volatile-ttl":    {victim: func(e entry) bool { return e.volatile && e.soon }},
		"volatile-random": {victim: func(e entry) bool { return e.volatile }, even: true},
		"noeviction":      {victim: func(entry) bool { return false }},
	}
	db := dbtest.Open(t, pgtest.New(t), nil)
	for policy, test := range tests {
		t.Run(policy, func(t *testing.T) {
			dbtest.Exec(t, db, "SELECT howdah.drop_cache('c', true)")
			dbtest.Exec(t, db, "SELECT howdah.create_cache('c', eviction => $1, max_entries => 3200)", policy)
			dbtest.Fill(t, db, "c", entries, "'infinity'")
			dbtest.Exec(t, db, strings.ReplaceAll(traits, "{table}", pgtest.Table(t, db.Pool(), "c")))
			for dbtest.Maintain(t, db, howdah.MaintainOptions{Cache: "c", MaxTime: time.Second}).Evicted > 0 {
			}
			kept := make(map[int]bool)
			rows, err := db.Pool().Query(t.Context(), "SELECT substring(encode(key, 'escape') FROM 5)::integer FROM "+pgtest.Table(t, db.Pool(), "c"))
			require.NoError(t, err)
			for rows.Next() {
				var i int
				require.NoError(t, rows.Scan(&i))
				kept[i] = true
			}
			require.NoError(t, rows.Err())

			victims := make(map[entry]int)
			for i := 1; i <= entries; i++ {
				if e := entryOf(i); !kept[i] {
					require.True(t, test.victim(e), "took entry %d: %+v", i, e)
					victims[e]++
				}
			}
			if policy == "noeviction" {
				require.Len(t, kept, entries)
				require.EqualValues(t, 1, dbtest.Number(t, db, "SELECT count(full_since) FROM howdah_internal.cache WHERE name = 'c'"))
				return
			}
			require.InDelta(t, 3000, len(kept), 105, "from 97 %% of 3,200 down to 95 %%, or a little less")
			if test.even {
				kinds := 0
				for i := range 16 {
					if test.victim(entryOf(i)) {
						kinds++
					}
				}
				for e, n := range victims {
					fair := float64(entries-len(kept)) / float64(kinds)
					require.InDelta(t, fair, n, 0.6*fair, "%+v", e)
				}
				require.Len(t, victims, kinds)
			}
		})
	}
}

// A scan writes 3,000 keys that nobody reads, ten minutes after 200 keys were
// read often. Frequency keeps the 200; recency lets them go.
func TestScanTellsFrequencyFromRecency(t *testing.T) {
	t.Parallel()
	for policy, survives := range map[string]bool{"allkeys-lfu": true, "allkeys-lru": false} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, pgtest.New(t), nil)
			dbtest.Exec(t, db, "SELECT howdah.create_cache('c', eviction => $1, max_entries => 2000)", policy)
			cache := db.Cache("c")
			hot := make([]string, 200)
			for i := range hot {
				hot[i] = fmt.Sprintf("key:%d", i+1)
			}
			dbtest.Fill(t, db, "c", len(hot), "'infinity'")
			dbtest.Exec(t, db, "UPDATE "+pgtest.Table(t, db.Pool(), "c")+" SET version = version - 600000000")
			found, err := cache.GetMany(t.Context(), hot) // the engine knows the cache
			require.NoError(t, err)
			require.Len(t, found, len(hot))
			stop := dbtest.Run(t, db)
			// As often as it takes for a count of 14: some 900 reads in Redis. Ten idle
			// minutes later they are still ahead of new entries, which begin at 5.
			dbtest.Eventually(t, "the reads are noted", func() bool {
				for range 50 {
					_, err := cache.GetMany(t.Context(), hot)
					require.NoError(t, err)
				}
				noted := dbtest.Number(t, db, "SELECT min(accessed) FROM "+pgtest.Table(t, db.Pool(), "c")) > 0
				return noted && (!survives || dbtest.Number(t, db, "SELECT min(frequency) FROM "+pgtest.Table(t, db.Pool(), "c")) >= 14)
			})
			stop()
			dbtest.Exec(t, db, "UPDATE "+pgtest.Table(t, db.Pool(), "c")+" SET accessed = accessed - 10")

			for i := range 150 { // of one statement all would be equally old
				var items []howdah.Item
				for j := range 20 {
					items = append(items, howdah.Item{Key: fmt.Sprintf("scan:%d:%d", i, j), Value: make([]byte, 200)})
				}
				require.NoError(t, cache.SetMany(t.Context(), items, 0))
			}
			for dbtest.Maintain(t, db, howdah.MaintainOptions{Cache: "c", MaxTime: time.Second}).Evicted > 0 {
			}
			require.LessOrEqual(t, dbtest.Number(t, db, "SELECT howdah.count('c')"), int64(2000))
			found, err = cache.GetMany(t.Context(), hot)
			require.NoError(t, err)
			if survives {
				require.Equal(t, len(hot), len(found))
			} else {
				require.Zero(t, len(found))
			}
		})
	}
}
