package contract

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	empty := pgtest.Empty(t)
	newer := pgtest.New(t)
	dbtest.ExecURL(t, newer, `INSERT INTO howdah.migration (version, name, breaking) VALUES (9999, 'future', true)`)
	for _, c := range []struct {
		name, url string
		opts      *howdah.Options
		is        error
		says      string
	}{
		{"no schema", empty, nil, howdah.ErrSchemaMissing, "howdah migrate"},
		{"newer schema", newer, nil, howdah.ErrSchemaTooNew, "9999"},
		{"nobody listens", "postgres://howdah@127.0.0.1:1/howdah", nil, howdah.ErrUnavailable, "cannot reach PostgreSQL at 127.0.0.1:1: start it"},
		{"no such database", strings.Replace(empty, dbtest.ParseURL(t, empty).Path+"?", "/nowhere?", 1), nil, howdah.ErrUnavailable, "CREATE DATABASE"},
		{"not a URL", "postgres://%zz", nil, nil, "database URL is not valid"},
		{"unknown pooler", empty + "&pooler=statement", nil, nil, "pooler=transaction"},
		{"too few connections", empty, &howdah.Options{MaxConns: 1}, nil, "MaxConns is 1; it must be between"},
		{"timeout", empty, &howdah.Options{Timeout: 1}, nil, "Timeout is 1ns; it must be at least"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := howdah.Open(ctx, c.url, c.opts)
			require.Error(t, err)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.Contains(t, err.Error(), c.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestOpeningChangesNothing(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	fingerprint := func() (n string) {
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT string_agg(oid::text || xmin::text, ',' ORDER BY oid) FROM pg_class`).Scan(&n))
		return n
	}
	before := fingerprint()
	db := dbtest.Open(t, url, nil)
	_, err := db.Cache("db0").Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
	require.Equal(t, before, fingerprint())
}

func TestCaches(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, nil)
	want := howdah.CacheConfig{Name: "pages", Durability: "async", DefaultTTL: time.Hour, MaxTTL: 2 * time.Hour,
		MaxBytes: 1 << 30, MaxEntries: 1000, Eviction: "volatile-lfu", Fillfactor: 70, PrefixIndex: true}
	require.NoError(t, db.CreateCache(ctx, want))
	require.ErrorIs(t, db.CreateCache(ctx, want), howdah.ErrCacheExists)
	caches, err := db.Caches(ctx)
	require.NoError(t, err)
	require.Len(t, caches, 2)
	require.Equal(t, want, caches[1])

	pages := db.Cache("pages")
	require.NoError(t, pages.Set(ctx, "default", nil, 0))
	ttl, err := pages.TTL(ctx, "default")
	require.NoError(t, err)
	require.InDelta(t, time.Hour, ttl, float64(time.Minute))
	for _, beyond := range []time.Duration{5 * time.Hour, howdah.NoExpiry} {
		require.NoError(t, pages.Set(ctx, "capped", nil, beyond))
		ttl, err = pages.TTL(ctx, "capped")
		require.NoError(t, err)
		require.InDelta(t, 2*time.Hour, ttl, float64(time.Minute))
	}
	want = howdah.CacheConfig{Name: "pages", Durability: "sync", MaxTTL: time.Minute}
	require.NoError(t, db.AlterCache(ctx, want, howdah.AlterOptions{}))
	require.NoError(t, pages.Set(ctx, "capped", nil, howdah.NoExpiry))
	ttl, err = pages.TTL(ctx, "capped")
	require.NoError(t, err)
	require.LessOrEqual(t, ttl, time.Minute)
	caches, err = db.Caches(ctx)
	require.NoError(t, err)
	want.Eviction, want.Fillfactor = "allkeys-lru", 85
	require.Equal(t, want, caches[1])

	for _, bad := range []howdah.CacheConfig{{Name: "x", Durability: "eternal"}, {Name: "x", Eviction: "oldest"}, {Name: "x", MaxBytes: -1}, {Name: "x", DefaultTTL: -time.Second}, {Name: "x", Fillfactor: 101},
		{Name: "x", Fillfactor: math.MaxInt}, {Name: "x", TTLJitter: math.MaxInt}, {Name: "x", TTLJitter: math.MinInt},
		{Name: "x", Durability: "\x00"}, {Name: "x", Eviction: "\xff"}} {
		require.ErrorIs(t, db.CreateCache(ctx, bad), howdah.ErrInvalidSetting, "%+v", bad)
		bad.Name = "pages"
		require.ErrorIs(t, db.AlterCache(ctx, bad, howdah.AlterOptions{}), howdah.ErrInvalidSetting, "%+v", bad)
	}
	for _, name := range []string{"", "Pages", "1x", "a-b", `a"; DROP SCHEMA howdah --`, strings.Repeat("x", 49), "x\x00", "x\xff"} {
		require.ErrorIs(t, db.CreateCache(ctx, howdah.CacheConfig{Name: name}), howdah.ErrInvalidName, "%q", name)
		require.ErrorIs(t, db.AlterCache(ctx, howdah.CacheConfig{Name: name}, howdah.AlterOptions{}), howdah.ErrInvalidName, "%q", name)
		require.ErrorIs(t, db.DropCache(ctx, name), howdah.ErrInvalidName, "%q", name)
		_, err := db.Cache(name).Get(ctx, "k")
		require.ErrorIs(t, err, howdah.ErrInvalidName, "%q", name)
	}
	_, err = db.Cache("nowhere").Get(ctx, "k")
	require.ErrorIs(t, err, howdah.ErrCacheNotFound)
	require.ErrorIs(t, db.DropCache(ctx, "nowhere"), howdah.ErrCacheNotFound)

	// SQL can set longer TTLs than Go can name.
	dbtest.ExecURL(t, url, `SELECT howdah.alter_cache('pages', default_ttl => '900 years', max_ttl => '100000000 years')`)
	caches, err = db.Caches(ctx)
	require.NoError(t, err)
	require.Equal(t, 292, int(caches[1].DefaultTTL.Hours()/24/365))
	require.Zero(t, caches[1].MaxTTL)

	require.NoError(t, db.DropCache(ctx, "pages"))
	require.ErrorIs(t, pages.Set(ctx, "k", nil, 0), howdah.ErrCacheNotFound)
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "pages"}))
	require.NoError(t, pages.Set(ctx, "k", nil, 0), "a cache made anew is found again")
}

// TestCollision plants another key in the slot of a key's hash.
func TestCollision(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "strict", Durability: "sync"}))
	plant := func(cache, expires string) {
		_, err := db.Pool().Exec(ctx, fmt.Sprintf(`INSERT INTO %s (hash, key, value, version, expires_at)
			VALUES (howdah.key_hash('k'), 'other', 'other', 1, '%s')
			ON CONFLICT (hash) DO UPDATE SET key = 'other', value = 'other', expires_at = excluded.expires_at`, pgtest.Table(t, db.Pool(), cache), expires))
		require.NoError(t, err)
	}
	writes := map[string]func(c *howdah.Cache) error{
		"set":     func(c *howdah.Cache) error { return c.Set(ctx, "k", []byte("1"), 0) },
		"set all": func(c *howdah.Cache) error { return c.SetMany(ctx, []howdah.Item{{Key: "k"}, {Key: "l"}}, 0) },
		"add":     func(c *howdah.Cache) error { return c.Add(ctx, "k", []byte("1"), 0) },
		"keep": func(c *howdah.Cache) error {
			return status(c, &verb.Call{Verb: statement.Set, Key: []byte("k"), Expiry: verb.KeepExpiry()})
		},
		"exchange": func(c *howdah.Cache) error {
			return status(c, &verb.Call{Verb: statement.Set, Key: []byte("k"), WantOld: true})
		},
		"increment": func(c *howdah.Cache) error { _, err := c.Increment(ctx, "k", 1, 0); return err },
		"append": func(c *howdah.Cache) error {
			return status(c, &verb.Call{Verb: statement.Append, Key: []byte("k"), Value: []byte("1")})
		},
		"set range": func(c *howdah.Cache) error {
			return status(c, &verb.Call{Verb: statement.SetRange, Key: []byte("k"), Value: []byte("1")})
		},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			for _, cache := range []string{"db0", "strict"} {
				c := db.Cache(cache)
				plant(cache, "infinity")
				_, err := c.Get(ctx, "k")
				require.ErrorIs(t, err, howdah.ErrMiss, "never another key's value")
				require.NoError(t, c.Delete(ctx, "k"))
				other := status(c, &verb.Call{Verb: statement.Stat, Key: []byte("k")})
				require.ErrorIs(t, other, howdah.ErrMiss)
				err = write(c)
				if cache == "db0" {
					require.NoError(t, err)
					_, err = c.Get(ctx, "k")
					require.NoError(t, err)
				} else {
					require.Error(t, err, "class sync refuses to evict")
					if name != "add" && name != "append" {
						require.ErrorIs(t, err, howdah.ErrCollision)
					}
					_, err = c.Get(ctx, "k")
					require.ErrorIs(t, err, howdah.ErrMiss)
					plant(cache, "-infinity") // an expired one gives way
					require.NoError(t, write(c))
				}
			}
		})
	}
}

// status is an error for a call that ended with a status other than OK.
func status(c *howdah.Cache, call *verb.Call) error {
	if err := dbtest.Do(context.Background(), c, call); err != nil {
		return err
	}
	return map[verb.Status]error{verb.Miss: howdah.ErrMiss, verb.Collision: howdah.ErrCollision,
		verb.TooLarge: howdah.ErrValueTooLarge, verb.NotStored: howdah.ErrNotStored}[call.Status]
}

// TestHashes compares the key hash of Go with that of SQL: what one door
// stores, the other must find.
func TestSQLSeesTheSame(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	for _, key := range []string{"", "k", "\x00\xff", strings.Repeat("long", 1000)} {
		require.NoError(t, db.Cache("db0").Set(ctx, key, []byte("go"), 0))
		var got []byte
		require.NoError(t, db.Pool().QueryRow(ctx, `SELECT howdah.get('db0', $1::bytea)`, []byte(key)).Scan(&got))
		require.Equal(t, "go", string(got))
		_, err := db.Pool().Exec(ctx, `SELECT howdah.set('db0', $1::bytea, 'sql')`, []byte(key))
		require.NoError(t, err)
		got, err = db.Cache("db0").Get(ctx, key)
		require.NoError(t, err)
		require.Equal(t, "sql", string(got))
	}
}

// TestRuntimeRole works with the least privileges, and no more.
func TestRuntimeRole(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	owner := pgtest.New(t)
	role, app := dbtest.NewRole(t, owner)
	_, err := howdah.Open(ctx, app, dbtest.Patient())
	require.ErrorIs(t, err, howdah.ErrPermission)
	dbtest.ExecURL(t, owner, fmt.Sprintf(`SELECT howdah.grant_runtime('%s')`, role))
	db := dbtest.Open(t, app, nil)
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(ctx, "k", []byte("1"), 0))
	_, err = cache.Increment(ctx, "k", 1, 0)
	require.NoError(t, err)
	require.NoError(t, cache.Flush(ctx))
	require.ErrorIs(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "x"}), howdah.ErrPermission)
	_, err = db.Pool().Exec(ctx, `CREATE TABLE howdah.mine ()`)
	require.Error(t, err)
}
