package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/pgtest"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

func openDB(t *testing.T, databaseURL string) *DB {
	t.Helper()
	db, err := Open(t.Context(), databaseURL, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func number(t *testing.T, db *DB, sql string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, db.Pool().QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// A get whose answer is to be kept in memory learns all that the copy needs, also
// when the key is absent, together with gets of others.
func TestNearGets(t *testing.T) {
	ctx := t.Context()
	db := openDB(t, pgtest.New(t))
	require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: "n", Near: true}))
	cache := db.Cache("n")
	get := func(key string, near bool) *verb.Call {
		return &verb.Call{Verb: statement.Get, Key: []byte(key), Near: near}
	}
	start := number(t, db, "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint")
	require.NoError(t, cache.One(ctx, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte("v"), Expiry: verb.Expiry{Kind: verb.In, Value: 3_600_000_000}}))
	require.NoError(t, cache.One(ctx, &verb.Call{Verb: statement.Set, Key: []byte("l"), Value: []byte("w")}))
	_, err := db.Pool().Exec(ctx, "UPDATE "+pgtest.Table(t, db.Pool(), "n")+" SET kind = 7 WHERE key = 'l'")
	require.NoError(t, err)

	for _, calls := range [][]*verb.Call{
		{get("k", true)},
		{get("absent", true)},
		{get("k", true), get("l", true), get("absent", true), get("k", true), get("k", false), get("absent", false)},
	} {
		require.NoError(t, cache.Do(ctx, calls...))
		for _, c := range calls {
			key := string(c.Key)
			require.Equal(t, key != "absent", c.Status == verb.OK, key)
			if !c.Near {
				require.Zero(t, c.ServerStart)
				require.Zero(t, c.Result.Version)
				continue
			}
			require.Equal(t, start, c.ServerStart, key)
			switch key {
			case "k":
				require.Equal(t, "v", string(c.Result.Value))
				require.Equal(t, number(t, db, "SELECT version FROM howdah.get_entry('n', 'k')"), c.Result.Version)
				require.InDelta(t, time.Hour, c.Result.TTL, float64(time.Minute))
				require.False(t, c.Result.ExpiresAt.IsZero())
				require.Zero(t, c.Result.Kind)
			case "l":
				require.Equal(t, "w", string(c.Result.Value))
				require.Equal(t, verb.NoExpiry, c.Result.TTL)
				require.EqualValues(t, 7, c.Result.Kind)
			}
		}
	}
}

// A program that knows the settings of before writes nothing past the log: its
// statements fail, and it makes those of the new state.
func TestProgramsFollowTheChangeLog(t *testing.T) {
	ctx := t.Context()
	url := pgtest.New(t)
	db, other := openDB(t, url), openDB(t, url)
	require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: "n"}))
	set := func(db *DB, key string) {
		t.Helper()
		require.NoError(t, db.Cache("n").One(ctx, &verb.Call{Verb: statement.Set, Key: []byte(key), Value: []byte("v")}))
	}
	noted := func() int64 {
		t.Helper()
		return number(t, db, "SELECT count(*) FROM howdah_internal.change WHERE cache = (SELECT id FROM howdah_internal.cache WHERE name = 'n')")
	}
	set(db, "k")
	set(other, "k")
	require.Zero(t, noted())
	for range 3 {
		require.NoError(t, db.AlterCache(ctx, CacheConfig{Name: "n", Near: true}, AlterOptions{Only: []string{"near"}}))
		set(other, "k")
		require.EqualValues(t, 1, noted())
		set(db, "k")
		require.EqualValues(t, 2, noted())
		require.NoError(t, other.Cache("n").Rename(ctx, "k", "l", false))
		require.EqualValues(t, 4, noted(), "both keys")
		n, err := other.Cache("n").DeletePrefix(ctx, []byte("l"))
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.EqualValues(t, 5, noted())
		require.NoError(t, other.Cache("n").Flush(ctx))
		require.EqualValues(t, 6, noted())

		configs, err := db.Caches(ctx)
		require.NoError(t, err)
		require.True(t, configs[1].Near)
		require.NoError(t, db.AlterCache(ctx, configs[1], AlterOptions{}), "what is the same stays")
		set(other, "k")
		require.EqualValues(t, 7, noted())

		configs[1].Near = false
		require.NoError(t, db.AlterCache(ctx, configs[1], AlterOptions{}))
		set(other, "k")
		set(db, "k")
		require.Zero(t, noted())
	}
	require.Empty(t, schema.Unknown([]string{schema.Near}))
}
