package contract

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// Every way of storing a value spreads its TTL; what sets a TTL by itself, or
// an instant, is exact; nothing outlives what was asked, or the maximum.
func TestJitter(t *testing.T) {
	t.Parallel()
	const ttl = 1000 * time.Second
	stores := map[string]func(ctx context.Context, c *howdah.Cache, key string) error{
		"set":     func(ctx context.Context, c *howdah.Cache, key string) error { return c.Set(ctx, key, []byte("1"), ttl) },
		"default": func(ctx context.Context, c *howdah.Cache, key string) error { return c.Set(ctx, key, []byte("1"), 0) },
		"maximum": func(ctx context.Context, c *howdah.Cache, key string) error {
			return c.Set(ctx, key, []byte("1"), howdah.NoExpiry)
		},
		"add": func(ctx context.Context, c *howdah.Cache, key string) error { return c.Add(ctx, key, []byte("1"), ttl) },
		"replace": func(ctx context.Context, c *howdah.Cache, key string) error {
			if err := c.Set(ctx, key, nil, time.Second*10); err != nil {
				return err
			}
			return c.Replace(ctx, key, []byte("1"), ttl)
		},
		"compare and set": func(ctx context.Context, c *howdah.Cache, key string) error {
			_, err := c.CompareAndSet(ctx, key, 0, []byte("1"), ttl)
			return err
		},
		"increment": func(ctx context.Context, c *howdah.Cache, key string) error {
			_, err := c.Increment(ctx, key, 1, ttl)
			return err
		},
	}
	for name, call := range map[string]verb.Call{
		"exchange":        {Verb: statement.Set, WantOld: true},
		"with version":    {Verb: statement.Set, WantVersion: true},
		"append":          {Verb: statement.Append},
		"set range":       {Verb: statement.SetRange},
		"increment float": {Verb: statement.IncrementFloat, DeltaFloat: "0.5"},
	} {
		stores[name] = func(ctx context.Context, c *howdah.Cache, key string) error {
			call := call
			call.Key, call.Value, call.Expiry = []byte(key), []byte("1"), verb.ExpireIn(ttl)
			return dbtest.Do(ctx, c, &call)
		}
	}
	many := map[string]func(ctx context.Context, c *howdah.Cache, keys [][]byte) error{
		"set many": func(ctx context.Context, c *howdah.Cache, keys [][]byte) error {
			return dbtest.Do(ctx, c, &verb.Call{Verb: statement.SetMany, Keys: keys, Values: keys, Expiry: verb.ExpireIn(ttl)})
		},
		"set many if absent": func(ctx context.Context, c *howdah.Cache, keys [][]byte) error {
			return dbtest.Do(ctx, c, &verb.Call{Verb: statement.SetManyIfAbsent, Keys: keys, Values: keys, Expiry: verb.ExpireIn(ttl)})
		},
	}

	for name, options := range map[string]string{"named": "", "behind a pooler": "&pooler=transaction"} {
		t.Run(name, func(t *testing.T) {
			db := dbtest.Open(t, pgtest.New(t)+options, nil)
			ctx := t.Context()
			config := howdah.CacheConfig{Name: "c", DefaultTTL: ttl, MaxTTL: 2 * ttl, TTLJitter: 50}
			require.NoError(t, db.CreateCache(ctx, config))
			cache := db.Cache("c")
			const each = 20
			spread := func(t *testing.T, most time.Duration) {
				t.Helper()
				// Twenty that fell into one hundredth of the range: 1 in 10^38.
				require.EqualValues(t, each, dbtest.Number(t, db, `
					SELECT count(*) FROM `+pgtest.Table(t, db.Pool(), "c")+`
					WHERE expires_at - to_timestamp(version / 1e6) BETWEEN $1::interval / 2 - interval '1 s' AND $1::interval + interval '1 ms'`, most))
				require.Greater(t, dbtest.Number(t, db, "SELECT extract(epoch FROM max(expires_at) - min(expires_at))::bigint FROM "+pgtest.Table(t, db.Pool(), "c")),
					int64(most.Seconds()/200))
				dbtest.Exec(t, db, "SELECT howdah.flush('c')")
			}
			for name, store := range stores {
				t.Run(name, func(t *testing.T) {
					for i := range each {
						require.NoError(t, store(ctx, cache, fmt.Sprint(i)))
					}
					most := ttl
					if name == "maximum" {
						most *= 2
					}
					spread(t, most)
				})
			}
			for name, store := range many {
				t.Run(name, func(t *testing.T) {
					var keys [][]byte
					for i := range each {
						keys = append(keys, fmt.Append(nil, i))
					}
					require.NoError(t, store(ctx, cache, keys))
					spread(t, ttl)
				})
			}
			for _, sql := range []string{
				"howdah.set('c', k, '1', '1000 s')", "howdah.set('c', k, '1')", "howdah.add('c', k, '1', '1000 s')",
				"howdah.compare_and_set('c', k, 0, '1', '1000 s')", "howdah.increment('c', k, 1, '1000 s')",
			} {
				t.Run(sql, func(t *testing.T) {
					dbtest.Exec(t, db, "SELECT "+sql+" FROM (SELECT int4send(i) AS k FROM generate_series(1, 20) AS i) AS s")
					spread(t, ttl)
				})
			}
			t.Run("howdah.replace", func(t *testing.T) {
				dbtest.Exec(t, db, "SELECT howdah.set_many('c', array_agg(int4send(i)), array_agg(''::bytea)) FROM generate_series(1, 20) AS i")
				dbtest.Exec(t, db, "SELECT howdah.replace('c', key, '1', '1000 s') FROM "+pgtest.Table(t, db.Pool(), "c"))
				spread(t, ttl)
			})
			t.Run("howdah.set_many", func(t *testing.T) {
				dbtest.Exec(t, db, "SELECT howdah.set_many('c', array_agg(int4send(i)), array_agg(int4send(i)), '1000 s') FROM generate_series(1, 20) AS i")
				spread(t, ttl)
			})

			t.Run("exact", func(t *testing.T) {
				require.NoError(t, cache.Set(ctx, "k", []byte("v"), time.Minute))
				exactly := func(what string) {
					t.Helper()
					require.Zero(t, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "c")+" WHERE expires_at <> '2100-01-01'"), what)
				}
				require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "free", TTLJitter: 90}))
				dbtest.Exec(t, db, "SELECT howdah.alter_cache('c', reset => '{max_ttl}')")
				other := dbtest.Open(t, db.Pool().Config().ConnString(), nil).Cache("c") // knows no maximum
				at := verb.ExpireAt(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
				require.NoError(t, dbtest.Do(ctx, other, &verb.Call{Verb: statement.Set, Key: []byte("k"), Expiry: at}))
				exactly("SET EXAT")
				require.NoError(t, dbtest.Do(ctx, other, &verb.Call{Verb: statement.Expire, Key: []byte("k"), Expiry: at}))
				exactly("EXPIREAT")
				for _, reexpire := range []func() error{
					func() error { return other.Expire(ctx, "k", ttl) },
					func() error { return other.Touch(ctx, "k", ttl) },
					func() error {
						return dbtest.Do(ctx, other, &verb.Call{Verb: statement.GetExpire, Key: []byte("k"), Expiry: verb.ExpireIn(ttl)})
					},
					func() error { _, err := db.Pool().Exec(ctx, "SELECT howdah.expire('c', 'k', '1000 s')"); return err },
				} {
					before := dbtest.Number(t, db, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
					require.NoError(t, reexpire())
					require.GreaterOrEqual(t, dbtest.Number(t, db, "SELECT (extract(epoch FROM expires_at) * 1000000)::bigint - $1 FROM "+pgtest.Table(t, db.Pool(), "c"), before), ttl.Microseconds())
				}
				// KEEPTTL keeps it to the microsecond.
				before := dbtest.Number(t, db, "SELECT (extract(epoch FROM expires_at) * 1000000)::bigint FROM "+pgtest.Table(t, db.Pool(), "c"))
				require.NoError(t, dbtest.Do(ctx, other, &verb.Call{Verb: statement.Set, Key: []byte("k"), Expiry: verb.KeepExpiry()}))
				require.Equal(t, before, dbtest.Number(t, db, "SELECT (extract(epoch FROM expires_at) * 1000000)::bigint FROM "+pgtest.Table(t, db.Pool(), "c")))
				// Without a TTL there is nothing to shorten.
				require.NoError(t, db.Cache("free").Set(ctx, "k", nil, 0))
				require.EqualValues(t, 1, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "free")+" WHERE expires_at = 'infinity'"))
			})
		})
	}
}

// The setting goes through every door and back, and nonsense is refused.
func TestJitterSetting(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	ctx := t.Context()
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "c", TTLJitter: 10}))
	find := func() howdah.CacheConfig {
		t.Helper()
		all, err := db.Caches(ctx)
		require.NoError(t, err)
		require.Equal(t, "c", all[0].Name)
		return all[0]
	}
	config := find()
	require.Equal(t, 10, config.TTLJitter)
	config.TTLJitter = 90
	require.NoError(t, db.AlterCache(ctx, config, howdah.AlterOptions{}))
	require.Equal(t, 90, find().TTLJitter)
	dbtest.Exec(t, db, "SELECT howdah.alter_cache('c', ttl_jitter => 20)")
	require.EqualValues(t, 20, dbtest.Number(t, db, "SELECT ttl_jitter FROM howdah.caches() WHERE name = 'c'"))
	dbtest.Exec(t, db, "SELECT howdah.alter_cache('c', max_entries => 5)")
	require.Equal(t, 20, find().TTLJitter)
	for _, jitter := range []int{-1, 91} {
		config.TTLJitter = jitter
		require.ErrorIs(t, db.AlterCache(ctx, config, howdah.AlterOptions{}), howdah.ErrInvalidSetting)
		require.ErrorIs(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "d", TTLJitter: jitter}), howdah.ErrInvalidSetting)
	}
	require.Equal(t, 20, find().TTLJitter)
	dbtest.Exec(t, db, "SELECT howdah.alter_cache('c', reset => '{ttl_jitter}')")
	require.Zero(t, find().TTLJitter)
	config.TTLJitter = 30
	require.NoError(t, db.AlterCache(ctx, config, howdah.AlterOptions{}))
	config.TTLJitter = 0
	require.NoError(t, db.AlterCache(ctx, config, howdah.AlterOptions{}))
	require.Zero(t, find().TTLJitter)
}
