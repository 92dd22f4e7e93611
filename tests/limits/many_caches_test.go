package limits_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Calls of many caches share flights, and what goes wrong in one cache is not
// the others' failure: a row that is refused, a table that is gone, one that is
// locked, a row that is locked, a class with a commit of its own.
func TestTroubleOfOneCacheAmongMany(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), &howdah.Options{Timeout: 20 * time.Second})
	const caches = 12
	name := func(i int) string { return fmt.Sprint("c", i) }
	classes := []howdah.Durability{howdah.Unlogged, howdah.Async, howdah.Sync}
	for i := range caches {
		require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: name(i), Durability: classes[i%len(classes)]}))
		require.NoError(t, db.Cache(name(i)).Set(ctx, "old", []byte("v"), 0))
	}
	dbtest.Exec(t, db, "ALTER TABLE "+pgtest.Table(t, db.Pool(), name(1))+" ADD CHECK (key <> 'bad')")
	dbtest.Exec(t, db, "SELECT howdah.drop_cache('"+name(2)+"')")
	holder, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer holder.Rollback(context.WithoutCancel(ctx))
	_, err = holder.Exec(ctx, "LOCK TABLE "+pgtest.Table(t, db.Pool(), name(3)))
	require.NoError(t, err)
	require.NoError(t, db.Cache(name(4)).With(holder).Set(ctx, "held", nil, 0))

	// On a machine that starves this test a caller may leave before it can know
	// that its write was not applied; held_row_test.go is strict.
	late := func(err error) {
		t.Helper()
		require.True(t, errors.Is(err, howdah.ErrTimeout) || errors.Is(err, howdah.ErrUnknownOutcome), err)
	}
	dbtest.Together(64, func(g int) {
		for n := range 20 {
			i := (g + n) % caches
			cache := db.Cache(name(i))
			key := fmt.Sprint(g, ".", n)
			switch i {
			case 1:
				require.ErrorContains(t, cache.Set(ctx, "bad", nil, 0), "check")
			case 2:
				require.ErrorIs(t, cache.Set(ctx, key, nil, 0), howdah.ErrCacheNotFound)
				_, err := cache.Get(ctx, key)
				require.ErrorIs(t, err, howdah.ErrCacheNotFound)
				continue
			case 3: // locked until the end
				if n >= caches {
					continue
				}
				short, cancel := context.WithTimeout(ctx, 2*time.Second)
				late(cache.Set(short, key, nil, 0))
				_, err := cache.Get(short, key)
				require.Error(t, err)
				cancel()
				continue
			case 4:
				if n < caches {
					short, cancel := context.WithTimeout(ctx, 2*time.Second)
					late(cache.Set(short, "held", nil, 0))
					cancel()
				}
			}
			require.NoError(t, cache.Set(ctx, key, []byte(key), 0))
			value, err := cache.Get(ctx, key)
			require.NoError(t, err)
			require.Equal(t, key, string(value))
			value, err = cache.Get(ctx, "old")
			require.NoError(t, err)
			require.Equal(t, "v", string(value))
			sum, err := cache.Increment(ctx, "sum", 1, 0)
			require.NoError(t, err)
			require.Positive(t, sum)
		}
	})
	require.NoError(t, holder.Rollback(ctx))
	dbtest.Eventually(t, "the lock is gone", func() bool { return db.Cache(name(3)).Set(ctx, "k", nil, 0) == nil })

	// Each increment was applied once.
	for i := range caches {
		if i == 2 || i == 3 {
			continue
		}
		value, err := db.Cache(name(i)).Get(ctx, "sum")
		require.NoError(t, err)
		want := 0
		for g := range 64 {
			for n := range 20 {
				if (g+n)%caches == i {
					want++
				}
			}
		}
		require.Equal(t, fmt.Sprint(want), string(value), name(i))
	}
}
