package contract

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// writing counts up keys of a cache until stop, which checks that each holds
// what was acknowledged last, unless emptied. Who meets the lock of the table is
// told that nothing was written, and tries again.
func writing(t *testing.T, cache *howdah.Cache) (acknowledged *atomic.Int64, stop func(emptied bool)) {
	t.Helper()
	const keys = 8
	var done atomic.Bool
	var writers sync.WaitGroup
	last := make([]int, keys)
	acknowledged = new(atomic.Int64)
	for k := range keys {
		writers.Go(func() {
			for i := 1; !done.Load(); i++ {
				switch err := cache.Set(context.Background(), fmt.Sprint("counter:", k), []byte(strconv.Itoa(i)), 0); {
				case err == nil:
					last[k] = i
					acknowledged.Add(1)
				case !errors.Is(err, howdah.ErrTimeout) || errors.Is(err, howdah.ErrUnknownOutcome):
					t.Error(err)
					return
				}
			}
		})
	}
	return acknowledged, func(emptied bool) {
		t.Helper()
		done.Store(true)
		writers.Wait()
		for k, want := range last {
			value, err := cache.Get(t.Context(), fmt.Sprint("counter:", k))
			if emptied && err == howdah.ErrMiss {
				continue
			}
			require.NoError(t, err)
			require.Equal(t, strconv.Itoa(want), string(value))
		}
	}
}

// A live cache changes its class under its writers, and what was acknowledged
// stays. A transaction that holds the table makes the
// change give up after its bound, with nothing done.
func TestClassChangeOfALiveCache(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), dbtest.Patient())
	ctx := t.Context()
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "c", DefaultTTL: time.Hour}))
	// Autovacuum gives way after half of the time that a change of class waits.
	dbtest.Exec(t, db, "ALTER TABLE "+pgtest.Table(t, db.Pool(), "c")+" SET (autovacuum_enabled = off)")
	dbtest.Fill(t, db, "c", 20_000, "'infinity'")
	cache := db.Cache("c")
	class := func() (class, table string) {
		t.Helper()
		require.NoError(t, db.Pool().QueryRow(ctx, `
			SELECT c.durability, t.relpersistence::text FROM howdah_internal.cache AS c
			JOIN pg_class AS t ON t.oid = '`+pgtest.Table(t, db.Pool(), "c")+`'::regclass WHERE c.name = 'c'`).Scan(&class, &table))
		return class, table
	}
	config := howdah.CacheConfig{Name: "c", Durability: "sync", DefaultTTL: time.Hour}

	t.Run("in use", func(t *testing.T) {
		acknowledged, stop := writing(t, cache)
		tx, err := db.Pool().Begin(ctx)
		require.NoError(t, err)
		defer tx.Rollback(context.Background())
		_, err = tx.Exec(ctx, "SELECT FROM "+pgtest.Table(t, tx, "c")+" LIMIT 1")
		require.NoError(t, err)
		for name, change := range map[string]func() error{
			"Go":           func() error { return db.AlterCache(ctx, config, howdah.AlterOptions{}) },
			"Go, emptying": func() error { return db.AlterCache(ctx, config, howdah.AlterOptions{Empty: true}) },
			"drop":         func() error { return db.DropCache(ctx, "c") },
		} {
			began := time.Now()
			err = change()
			require.ErrorIs(t, err, howdah.ErrCacheInUse, name)
			require.ErrorContains(t, err, "pg_locks", name)
			require.GreaterOrEqual(t, time.Since(began), 2*time.Second, name)
		}
		_, err = db.Pool().Exec(ctx, "SELECT howdah.alter_cache('c', durability => 'async', fillfactor => 50, max_entries => 5)")
		require.ErrorContains(t, err, "55P03")
		require.ErrorContains(t, err, "nothing was changed")
		got, table := class()
		require.Equal(t, "unlogged u", got+" "+table)
		require.Zero(t, dbtest.Number(t, db, "SELECT count(*) FROM howdah_internal.cache WHERE fillfactor = 50 OR max_entries = 5"))
		before := acknowledged.Load()
		dbtest.Eventually(t, "writes go on", func() bool { return acknowledged.Load() > before+100 })
		stop(false)
		require.GreaterOrEqual(t, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c")), int64(20_000))

		// What needs no lock of the table does not wait.
		dbtest.Exec(t, db, "SELECT howdah.alter_cache('c', max_ttl => '1 day')")
		dbtest.Exec(t, db, "SELECT howdah.alter_cache('c', reset => '{max_ttl}')")
	})

	t.Run("rewritten", func(t *testing.T) {
		for _, step := range []struct{ class, table string }{{"sync", "p"}, {"unlogged", "u"}, {"async", "p"}, {"sync", "p"}, {"unlogged", "u"}} {
			acknowledged, stop := writing(t, cache)
			dbtest.Eventually(t, "writes", func() bool { return acknowledged.Load() > 50 })
			config.Durability = howdah.Durability(step.class)
			require.NoError(t, db.AlterCache(ctx, config, howdah.AlterOptions{}))
			before := acknowledged.Load()
			dbtest.Eventually(t, "writes go on", func() bool { return acknowledged.Load() > before+100 })
			stop(false)
			got, table := class()
			require.Equal(t, step.class+" "+step.table, got+" "+table)
			require.EqualValues(t, 20_008, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c")))
		}
	})

	t.Run("emptied", func(t *testing.T) {
		acknowledged, stop := writing(t, cache)
		dbtest.Eventually(t, "writes", func() bool { return acknowledged.Load() > 50 })
		config.Durability = "sync"
		require.NoError(t, db.AlterCache(ctx, config, howdah.AlterOptions{Empty: true}))
		before := acknowledged.Load()
		dbtest.Eventually(t, "writes go on", func() bool { return acknowledged.Load() > before+100 })
		stop(true)
		got, table := class()
		require.Equal(t, "sync p", got+" "+table)
		require.LessOrEqual(t, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c")), int64(8))
	})
}

// Whoever leaves while caches are made, changed or dropped is told that this may have been
// done, but not where there was no connection for it.
func TestCallerLeavesAChangeOfCaches(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	db := dbtest.Open(t, database, &howdah.Options{Timeout: time.Minute, LockTimeout: time.Minute})
	for call, change := range map[string]func(context.Context) error{
		"create": func(ctx context.Context) error { return db.CreateCache(ctx, howdah.CacheConfig{Name: "new"}) },
		"alter": func(ctx context.Context) error {
			return db.AlterCache(ctx, howdah.CacheConfig{Name: "db0", MaxEntries: 5}, howdah.AlterOptions{})
		},
		"drop": func(ctx context.Context) error { return db.DropCache(ctx, "db0") },
	} {
		tx, err := db.Pool().Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "LOCK TABLE howdah_internal.cache")
		require.NoError(t, err)
		for err = howdah.ErrCacheInUse; errors.Is(err, howdah.ErrCacheInUse); { // it waits for 2 s only
			ctx, leave := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- change(ctx) }()
			dbtest.AwaitLockWaits(t, database, 1)
			leave()
			err = <-ended
		}
		require.ErrorIs(t, err, context.Canceled, call)
		require.ErrorIs(t, err, howdah.ErrUnknownOutcome, call)
		require.NoError(t, tx.Rollback(t.Context()))

		ctx, leave := context.WithCancel(t.Context())
		leave()
		err = change(ctx)
		require.ErrorIs(t, err, context.Canceled, call)
		require.NotErrorIs(t, err, howdah.ErrUnknownOutcome, call)
	}
}
