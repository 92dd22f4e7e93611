package contract

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Another process drops a cache and makes it again, in one transaction: calls
// that are under way go to the new table, and none of them fails.
func TestCacheIsMadeAgainUnderLoad(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, other := dbtest.Open(t, url, dbtest.Patient()), dbtest.Open(t, url, nil)
	cache := db.Cache("db0")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls atomic.Int64
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := string(rune('a' + i))
				err := cache.Set(t.Context(), key, []byte("v"), 0)
				if err == nil && n%2 == 0 {
					if _, err = cache.Get(t.Context(), key); err == howdah.ErrMiss {
						err = nil
					}
				}
				if err != nil {
					t.Errorf("caller %d: %v", i, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	tables := map[string]bool{}
	for range 10 {
		made := calls.Load()
		dbtest.Eventually(t, "calls go on", func() bool { return calls.Load() > made+200 || t.Failed() })
		tables[pgtest.Table(t, other.Pool(), "db0")] = true
		require.NoError(t, pgx.BeginFunc(t.Context(), other.Pool(), func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "SET LOCAL lock_timeout = '30s'; SELECT howdah.drop_cache('db0'); SELECT howdah.create_cache('db0')")
			return err
		}))
	}
	cancel()
	callers.Wait()
	require.Len(t, tables, 10)

	// A transaction that meets a table that is gone fails, and the next one does not.
	_, err := other.Pool().Exec(t.Context(), "SELECT howdah.drop_cache('db0'), howdah.create_cache('db0')")
	require.NoError(t, err)
	for i, want := range []error{howdah.ErrCacheNotFound, nil} {
		err := pgx.BeginFunc(t.Context(), db.Pool(), func(tx pgx.Tx) error {
			return cache.With(tx).Set(t.Context(), "k", []byte("v"), 0)
		})
		require.ErrorIs(t, err, want, "transaction %d", i)
	}
}

// A program refuses a cache that needs what it does not know.
func TestUnknownFeature(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, nil)
	require.NoError(t, db.Cache("db0").Set(t.Context(), "k", []byte("v"), 0))
	dbtest.Exec(t, db, "UPDATE howdah_internal.cache SET features = '{tomorrow}'")
	fresh := dbtest.Open(t, url, nil)
	err := fresh.Cache("db0").Set(t.Context(), "k", []byte("new"), 0)
	require.ErrorIs(t, err, howdah.ErrSchemaTooNew)
	require.ErrorContains(t, err, `cache "db0" uses "tomorrow", which this program does not know: upgrade the program`)
	// One that runs sees it within seconds.
	require.Eventually(t, func() bool {
		_, err := db.Cache("db0").Get(t.Context(), "k")
		return err != nil
	}, time.Minute, 10*time.Millisecond)
	_, err = db.Cache("db0").Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrSchemaTooNew)
}
