package limits_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Rows that a transaction has inserted and not committed are seen by nobody,
// and hold their keys nevertheless. Their callers wait; those who share
// statements with these, in this process or in another, do not.
func TestUncommittedInsertsDelayOnlyTheirOwnCallers(t *testing.T) {
	t.Parallel()
	const held = 60
	// One LockTimeout for each held key would outlast Timeout.
	options := &howdah.Options{Timeout: 20 * time.Second, LockTimeout: 500 * time.Millisecond}
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprint(processes, " processes"), func(t *testing.T) {
			ctx, url := t.Context(), pgtest.New(t)
			caches := make([]*howdah.Cache, processes)
			for i := range caches {
				caches[i] = dbtest.Open(t, url, options).Cache("db0")
				require.NoError(t, caches[i].Set(ctx, "k", nil, 0))
			}
			db := dbtest.Open(t, url, nil)
			tx, err := db.Pool().Begin(ctx)
			require.NoError(t, err)
			defer tx.Rollback(ctx)
			items := make([]howdah.Item, held)
			for i := range items {
				items[i].Key = fmt.Sprint("held", i)
			}
			require.NoError(t, db.Cache("db0").With(tx).SetMany(ctx, items, 0))

			var owners sync.WaitGroup
			dbtest.Together(4*held*processes, func(i int) {
				cache, i := caches[i%processes], i/processes
				if i < held {
					owners.Go(func() {
						require.NoError(t, cache.Set(ctx, fmt.Sprint("held", i), []byte("own"), 0))
					})
					return
				}
				for range 3 {
					require.NoError(t, cache.Set(ctx, fmt.Sprint("free", i), nil, 0))
				}
			})
			require.NoError(t, tx.Commit(ctx))
			owners.Wait()
			for i := range held {
				got, err := caches[0].Get(ctx, fmt.Sprint("held", i))
				require.NoError(t, err)
				require.Equal(t, "own", string(got))
			}
		})
	}
}
