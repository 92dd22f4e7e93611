package redisapi

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// Go and SQL take part: what they change through a cache is published under its name.
func TestEventsOfOtherCaches(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	require.NoError(t, s.db.EnsureCache(t.Context(), howdah.CacheConfig{Name: "shop"}))
	h := listenTo(t, s)
	dial(t, s.addr()).setEvents("KEA")
	shop := s.db.Cache("shop")
	require.NoError(t, shop.Set(t.Context(), "k", []byte("v"), time.Hour))
	require.NoError(t, shop.Delete(t.Context(), "k"))
	require.Equal(t, []string{
		"__keyspace@shop__:k set", "__keyevent@shop__:set k", "__keyspace@shop__:k expire", "__keyevent@shop__:expire k",
		"__keyspace@shop__:k del", "__keyevent@shop__:del k",
	}, h.take())
}

// The collections of the Go library name the events that the commands do.
func TestEventsOfGoCollections(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	h, ctx, cache := listenTo(t, s), t.Context(), (*core.DB)(s.db).Cache("db0")
	dial(t, s.addr()).setEvents("KAn")
	key := []byte("k")
	for _, c := range []struct {
		what   string
		run    func() error
		events []string
	}{
		{"HEdit", func() error {
			_, err := cache.HEdit(ctx, key, core.HChange{Set: map[string][]byte{"f": []byte("v"), "g": nil}})
			return err
		}, []string{"new", "hset"}},
		{"HIncrement", func() error { _, err := cache.HIncrement(ctx, key, "n", 1, 0); return err }, []string{"hincrby"}},
		{"HExpire", func() error { return cache.HExpire(ctx, key, "f", time.Hour) }, []string{"hexpire"}},
		{"HEdit both", func() error {
			_, err := cache.HEdit(ctx, key, core.HChange{Set: map[string][]byte{"f": nil}, Remove: []string{"g"}})
			return err
		}, []string{"hdel", "hset"}},
		{"HEdit nothing", func() error { _, err := cache.HEdit(ctx, key, core.HChange{Remove: []string{"none"}}); return err }, nil},
		{"HEdit all", func() error { _, err := cache.HEdit(ctx, key, core.HChange{Remove: []string{"f", "n"}}); return err }, []string{"hdel", "del"}},
		{"SEdit", func() error { _, err := cache.SEdit(ctx, key, core.SChange{Add: []string{"a"}}); return err }, []string{"new", "sadd"}},
		{"SEdit all", func() error { _, err := cache.SEdit(ctx, key, core.SChange{Remove: []string{"a"}}); return err }, []string{"srem", "del"}},
		{"RPush", func() error { _, err := cache.RPush(ctx, key, [][]byte{[]byte("a"), []byte("b")}, 0); return err }, []string{"new", "rpush"}},
		{"LTrim", func() error { return cache.LTrim(ctx, key, 0, 0) }, []string{"ltrim"}},
		{"LPop", func() error { _, err := cache.LPop(ctx, key); return err }, []string{"lpop", "del"}},
		{"ZEdit", func() error {
			_, err := cache.ZEdit(ctx, key, core.ZChange{Add: []values.Member{{Score: 1, Name: "a"}}})
			return err
		}, []string{"new", "zadd"}},
		{"ZIncrement", func() error { _, err := cache.ZIncrement(ctx, key, "a", 1, 0); return err }, []string{"zincr"}},
		{"ZRemoveByRank", func() error { _, err := cache.ZRemoveByRank(ctx, key, 0, -1); return err }, []string{"zremrangebyrank", "del"}},
	} {
		require.NoError(t, c.run(), c.what)
		var want []string
		for _, event := range c.events {
			want = append(want, "__keyspace@0__:k "+event)
		}
		require.Equal(t, want, h.take(), c.what)
	}
}

// What a program changes in a transaction of its own is published when that commits, and
// not at all if it does not.
func TestEventsOfOwnTransactions(t *testing.T) {
	t.Parallel()
	s := serveURL(t, pgtest.New(t), Options{})
	s.running(t)
	s.joined(t)
	dial(t, s.addr()).setEvents("KAnm")
	db, ctx := (*core.DB)(s.db), t.Context()
	h := listenTo(t, s)
	change := func(tx core.Tx, key string) {
		cache := db.Cache("db0").With(tx)
		facade := s.db.Cache("db0").With(tx)
		require.NoError(t, facade.Set(ctx, key, []byte("1"), time.Hour))
		_, err := facade.Increment(ctx, key, 1, 0)
		require.NoError(t, err)
		_, err = cache.HEdit(ctx, []byte("h"), core.HChange{Set: map[string][]byte{"f": []byte("v")}})
		require.NoError(t, err)
		require.NoError(t, cache.Rename(ctx, key, "renamed", false))
		require.NoError(t, facade.Delete(ctx, "h"))
		_, err = facade.Get(ctx, "absent")
		require.ErrorIs(t, err, howdah.ErrMiss)
		_, err = cache.DeletePrefix(ctx, []byte("ren"))
		require.NoError(t, err)
	}
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	change(tx, "lost")
	require.NoError(t, tx.Rollback(ctx))

	tx, err = db.Pool().Begin(ctx)
	require.NoError(t, err)
	change(tx, "k")
	inner, err := tx.Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, s.db.Cache("db0").With(inner).Set(ctx, "of a savepoint", []byte("v"), 0))
	require.NoError(t, inner.Rollback(ctx))
	require.NoError(t, s.db.Cache("db0").With(tx).Set(ctx, "last", []byte("v"), 0))
	require.Empty(t, h.take(), "before the commit")
	require.NoError(t, tx.Commit(ctx))
	h.await(t, "__keyspace@0__:last set")
	require.Equal(t, []string{
		"__keyspace@0__:k set", "__keyspace@0__:k expire", "__keyspace@0__:k incrby", "__keyspace@0__:h new", "__keyspace@0__:h hset",
		"__keyspace@0__:renamed new", "__keyspace@0__:k rename_from", "__keyspace@0__:renamed rename_to", "__keyspace@0__:h del",
		"__keyspace@0__:renamed del", "__keyspace@0__:last set",
	}, h.take())
}

// A transaction that may only read is not disturbed by what its reads do not find.
func TestEventsOfReadOnlyTransactions(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	s.running(t)
	s.joined(t)
	dial(t, s.addr()).setEvents("KAxm")
	ctx := t.Context()
	tx, err := (*core.DB)(s.db).Pool().BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	require.NoError(t, err)
	_, err = s.db.Cache("db0").With(tx).Get(ctx, "absent")
	require.ErrorIs(t, err, howdah.ErrMiss)
	require.NoError(t, tx.Commit(ctx))
}

// Each key that is deleted with its prefix is an event, but not where a cache is emptied.
func TestEventsOfPrefixes(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	h, ctx := listenTo(t, s), t.Context()
	cache := s.db.Cache("db0")
	for _, indexed := range []bool{false, true} {
		dial(t, s.addr()).setEvents("")
		if indexed {
			s.sql("SELECT howdah.alter_cache('db0', prefix_index => true)")
		}
		for _, key := range []string{"a:1", "a:2", "b:1"} {
			require.NoError(t, cache.Set(ctx, key, []byte("v"), 0))
		}
		dial(t, s.addr()).setEvents("Kg")
		removed, err := cache.DeletePrefix(ctx, "a:")
		require.NoError(t, err)
		require.EqualValues(t, 2, removed)
		require.ElementsMatch(t, []string{"__keyspace@0__:a:1 del", "__keyspace@0__:a:2 del"}, h.take())
		require.NoError(t, cache.Flush(ctx))
		require.Empty(t, h.take())
	}
}

// While nothing is published, calls and edits are what they would be without events.
func TestCallsWithoutEvents(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	cache, ctx := (*core.DB)(s.db).Cache("db0"), t.Context()
	for _, classes := range []string{"", "KE", "A", "KEt"} {
		dial(t, s.addr()).setEvents(classes)
		for _, call := range []*verb.Call{
			{Verb: statement.Get, Key: []byte("absent")}, {Verb: statement.Set, Key: []byte("k"), Value: []byte("v")},
			{Verb: statement.GetMany, Keys: [][]byte{[]byte("absent")}}, {Verb: statement.DeleteMany, Keys: [][]byte{[]byte("k")}},
		} {
			require.NoError(t, cache.Do(ctx, call))
			require.False(t, call.Fresh || call.WantRemoved, "%s with %q", call.Verb.Name, classes)
			require.Equal(t, classes == "KEt" && call.Verb.Writes, call.Landed != nil, "%s with %q", call.Verb.Name, classes)
		}
	}
}
