package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
	"github.com/stretchr/testify/require"
)

// With noeviction, writes that need room are refused through every door, and
// reads and deletes go on.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	dbtest.Exec(t, db, "SELECT howdah.create_cache('c', eviction => 'noeviction', max_entries => 100)")
	cache := db.Cache("c")
	ctx := t.Context()
	for i := range 101 {
		require.NoError(t, cache.Set(ctx, fmt.Sprintf("k%d", i), []byte("1"), 0))
	}
	dbtest.Run(t, db)
	dbtest.Eventually(t, "a write is refused", func() bool {
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
	dbtest.Exec(t, db, "SELECT howdah.expire('c', 'k1', '1 hour'), howdah.delete('c', 'k5')")
	for i := range 10 {
		require.NoError(t, cache.Delete(ctx, fmt.Sprintf("k%d", i)))
	}
	dbtest.Eventually(t, "there is room again", func() bool { return cache.Set(ctx, "k1", []byte("2"), 0) == nil })
	dbtest.Eventually(t, "and it is known", func() bool { return !full(db) })

	// volatile-* with nothing that expires: the same.
	dbtest.Exec(t, db, "SELECT howdah.alter_cache('c', eviction => 'volatile-lru', max_entries => 50)")
	dbtest.Eventually(t, "a write is refused", func() bool { return strings.Contains(fmt.Sprint(cache.Set(ctx, "k1", nil, 0)), "budget") })
	dbtest.Exec(t, db, "SELECT howdah.alter_cache('c', eviction => 'allkeys-lru')")
	dbtest.Exec(t, db, "SELECT howdah.set('c', 'at once', 'v')")
	dbtest.Eventually(t, "writes go on", func() bool { return cache.Set(ctx, "k1", nil, 0) == nil })
}

func full(db *howdah.DB) bool {
	for _, c := range db.Stats().Caches {
		if c.Name == "c" {
			return c.Full
		}
	}
	return false
}
