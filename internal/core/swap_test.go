package core

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// openNear opens a database with entries in memory, which follows the change log.
func openNear(t *testing.T, url string) *DB {
	t.Helper()
	db, err := Open(t.Context(), url, Options{Timeout: 20 * time.Second, Near: NearOptions{Bound: 100 * time.Millisecond}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = db.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; require.NoError(t, db.Close()) })
	return db
}

// recall reads a key until memory answers.
func recall(t *testing.T, cache *Cache, key string) (value string) {
	t.Helper()
	eventually(t, func() bool {
		call := &verb.Call{Verb: statement.GetEntry, Key: []byte(key), Recall: true, AnyKind: true}
		require.NoError(t, cache.One(t.Context(), call))
		value = string(call.Result.Value)
		return call.Recalled
	})
	return value
}

// What processes keep in memory of two caches goes when they are swapped: at once in
// the process that swaps, and in others within the bound.
func TestSwapNearCaches(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db, other := openNear(t, url), openNear(t, url)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: name, Near: true}))
		require.NoError(t, db.Cache(name).One(ctx, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte(name)}))
	}
	for range 5 {
		for _, name := range []string{"a", "b"} {
			before := recall(t, db.Cache(name), "k")
			// Each cache within the bound, one perhaps before the other.
			eventually(t, func() bool { return recall(t, other.Cache(name), "k") == before })
		}
		was := recall(t, db.Cache("a"), "k")
		require.NoError(t, db.SwapCaches(ctx, "a", "b"))
		call := &verb.Call{Verb: statement.Get, Key: []byte("k")}
		require.NoError(t, db.Cache("a").One(ctx, call))
		require.NotEqual(t, was, string(call.Result.Value))
		eventually(t, func() bool { return recall(t, other.Cache("a"), "k") != was })
	}
	require.NoError(t, db.DropCache(ctx, "b"))
	require.ErrorIs(t, db.SwapCaches(ctx, "a", "b"), fault.ErrCacheNotFound)
	require.ErrorIs(t, db.SwapCaches(ctx, "a", "B"), fault.ErrInvalidName)
}
