package howdah_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/pgtest"
)

// Writers push the budget through a cache, on a machine that is busy: at a given
// pace, and as fast as they can, from one process and from two.
func TestBudgetHoldsUnderOverload(t *testing.T) {
	if testing.Short() {
		t.Skip("takes twenty seconds")
	}
	const byteBudget = "max_bytes => 5000000, eviction => 'volatile-lfu', default_ttl => '1 hour'"
	for _, test := range []struct {
		name, settings string
		used           string
		budget         float64
		processes      int
		pause          time.Duration // of each of 32 writers, between two sets
	}{
		{"entries", "max_entries => 20000", "count(*)", 20000, 1, 4 * time.Millisecond},
		{"bytes", byteBudget, "sum(octet_length(key) + octet_length(value) + 88)", 5_000_000, 1, 4 * time.Millisecond},
		{"flat out", "max_entries => 20000", "count(*)", 20000, 1, 0},
		{"two processes flat out", "max_entries => 20000", "count(*)", 20000, 2, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := pgtest.New(t)
			dbs := []*howdah.DB{open(t, url, nil)}
			execute(t, dbs[0], "SELECT howdah.create_cache('c', "+test.settings+")")
			running(t, dbs[0])
			eventually(t, "it leads", func() bool { return dbs[0].Stats().Upkeep.Leader })
			for len(dbs) < test.processes {
				db := open(t, url, nil)
				running(t, db)
				dbs = append(dbs, db)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			var writers sync.WaitGroup
			var written atomic.Int64
			for g := range 32 * len(dbs) {
				cache := dbs[g%len(dbs)].Cache("c")
				writers.Go(func() {
					value, random := make([]byte, 400), rand.New(rand.NewPCG(seed, uint64(g)))
					for i := 0; ctx.Err() == nil; i++ {
						time.Sleep(test.pause)
						if err := cache.Set(context.Background(), fmt.Sprintf("%d:%d", g, i), value[:100+random.IntN(300)], 0); err != nil {
							t.Error(err)
							return
						}
						written.Add(1)
					}
				})
			}
			most, least := 0.0, 2.0
			filled := false
			var when time.Duration
			began := time.Now()
			evicted := func() (n uint64) {
				for _, db := range dbs {
					n += db.Stats().Upkeep.Evicted
				}
				return n
			}
			for ctx.Err() == nil {
				used := float64(number(t, dbs[0], "SELECT coalesce("+test.used+", 0)::bigint FROM "+pgtest.Table(t, dbs[0].Pool(), "c"))) / test.budget
				filled = filled || used > 0.95
				if filled {
					if used > most {
						when = time.Since(began)
					}
					most, least = max(most, used), min(least, used)
				}
				if filled && evicted() > 3000 && time.Since(began) > 5*time.Second {
					cancel()
				}
				time.Sleep(20 * time.Millisecond) // the pace of the measurement
			}
			writers.Wait()
			t.Logf("%d sets in %v, %d evicted; used %.3f to %.3f of the budget, most after %v", written.Load(),
				time.Since(began).Round(time.Millisecond), evicted(), least, most, when.Round(time.Millisecond))
			require.True(t, filled)
			require.Greater(t, evicted(), uint64(3000))
			// docs/operations.md has what it holds on a machine of its own; here
			// the writers may starve whoever evicts, and the bound tells only that
			// the cache does not grow on.
			require.Less(t, most, 1.30)
			require.Greater(t, least, 0.70)
		})
	}
}
