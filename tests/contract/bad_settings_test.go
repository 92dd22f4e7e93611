package contract

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Whatever is wrong with a setting, from Go and from SQL it is refused with a
// sentence that says what to do, and nothing is half-done.
func TestBadSettingsChangeNothing(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	db := dbtest.Open(t, databaseURL, nil)
	ctx := t.Context()
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "c", MaxEntries: 1000, DefaultTTL: time.Minute, MaxTTL: time.Hour}))
	state := func() (text string) {
		t.Helper()
		require.NoError(t, db.Pool().QueryRow(ctx, `
			SELECT (SELECT string_agg(c::text, E'\n' ORDER BY c.name) FROM howdah_internal.cache AS c)
			    || (SELECT string_agg(relname || relpersistence::text || coalesce(reloptions::text, ''), E'\n' ORDER BY relname)
			        FROM pg_class WHERE relnamespace = 'howdah'::regnamespace)`).Scan(&text))
		return text
	}
	before := state()

	bad := map[string]struct {
		change func(*howdah.CacheConfig)
		sql    string // the argument
		says   string
	}{
		"unknown policy":         {func(c *howdah.CacheConfig) { c.Eviction = "random" }, "eviction => 'random'", "allkeys-lru"},
		"unknown class":          {func(c *howdah.CacheConfig) { c.Durability = "hard" }, "durability => 'hard'", "unlogged, async or sync"},
		"negative bytes":         {func(c *howdah.CacheConfig) { c.MaxBytes = -1 }, "max_bytes => -1", "max_bytes must be positive"},
		"negative entries":       {func(c *howdah.CacheConfig) { c.MaxEntries = -1 }, "max_entries => -1", "max_entries must be positive"},
		"no entries":             {nil, "max_entries => 0", "max_entries must be positive"},
		"negative TTL":           {func(c *howdah.CacheConfig) { c.DefaultTTL = -time.Second }, "default_ttl => '-1 s'", "default_ttl must be positive"},
		"negative maximum":       {func(c *howdah.CacheConfig) { c.MaxTTL = -time.Second }, "max_ttl => '-1 s'", "max_ttl must be positive"},
		"default beyond maximum": {func(c *howdah.CacheConfig) { c.DefaultTTL = 2 * time.Hour }, "default_ttl => '2 hours', max_ttl => '1 hour'", "must not exceed"},
		"fillfactor":             {func(c *howdah.CacheConfig) { c.Fillfactor = 101 }, "fillfactor => 101", "from 10 to 100"},
		"jitter":                 {func(c *howdah.CacheConfig) { c.TTLJitter = 91 }, "ttl_jitter => 91", "from 0 to 90"},
	}
	for name, b := range bad {
		t.Run(name, func(t *testing.T) {
			if b.change != nil {
				for _, base := range []string{"c", "new"} {
					config := howdah.CacheConfig{Name: base, MaxEntries: 1000, DefaultTTL: time.Minute, MaxTTL: time.Hour}
					b.change(&config)
					change := db.AlterCache
					if base == "new" {
						change = func(ctx context.Context, c howdah.CacheConfig, _ howdah.AlterOptions) error {
							return db.CreateCache(ctx, c)
						}
					}
					err := change(ctx, config, howdah.AlterOptions{})
					require.ErrorIs(t, err, howdah.ErrInvalidSetting)
					require.ErrorContains(t, err, b.says)
				}
			}
			for _, call := range []string{"alter_cache('c', ", "alter_cache('c', empty => true, ", "create_cache('new', "} {
				_, err := db.Pool().Exec(ctx, "SELECT howdah."+call+b.sql+")")
				require.ErrorContains(t, err, "HW004", call)
			}
			require.Equal(t, before, state())
		})
	}

	t.Run("names", func(t *testing.T) {
		require.ErrorIs(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "c"}), howdah.ErrCacheExists)
		require.ErrorIs(t, db.AlterCache(ctx, howdah.CacheConfig{Name: "none"}, howdah.AlterOptions{}), howdah.ErrCacheNotFound)
		require.ErrorIs(t, db.AlterCache(ctx, howdah.CacheConfig{Name: "none"}, howdah.AlterOptions{Empty: true}), howdah.ErrCacheNotFound)
		require.ErrorIs(t, db.DropCache(ctx, "none"), howdah.ErrCacheNotFound)
		_, err := db.Maintain(ctx, howdah.MaintainOptions{Cache: "none"})
		require.ErrorIs(t, err, howdah.ErrCacheNotFound)
		for _, name := range []string{"", "C", "c;drop", "1c", "c_pkey"} {
			require.ErrorIs(t, db.CreateCache(ctx, howdah.CacheConfig{Name: name}), howdah.ErrInvalidName, name)
			require.ErrorIs(t, db.AlterCache(ctx, howdah.CacheConfig{Name: name}, howdah.AlterOptions{}), howdah.ErrInvalidName, name)
			require.ErrorIs(t, db.DropCache(ctx, name), howdah.ErrInvalidName, name)
		}
		require.ErrorIs(t, db.AlterCache(ctx, howdah.CacheConfig{Name: "c"}, howdah.AlterOptions{Only: []string{"size"}}), howdah.ErrInvalidSetting)
		require.Equal(t, before, state())
	})

	t.Run("no privilege", func(t *testing.T) {
		super, err := pgx.Connect(ctx, pgtest.SuperURL(databaseURL))
		require.NoError(t, err)
		t.Cleanup(func() { super.Close(context.Background()) })
		u, err := url.Parse(databaseURL)
		require.NoError(t, err)
		role := "guest_" + u.Path[1:]
		_, err = super.Exec(ctx, "CREATE ROLE "+role+" LOGIN PASSWORD 'p'")
		require.NoError(t, err)
		t.Cleanup(func() {
			_, err := super.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
			require.NoError(t, err)
		})
		u.User = url.UserPassword(role, "p")
		_, err = howdah.Open(ctx, u.String(), nil)
		require.ErrorIs(t, err, howdah.ErrPermission, "a stranger")
		dbtest.Exec(t, db, "SELECT howdah.grant_runtime($1)", role)
		before := state()
		app := dbtest.Open(t, u.String(), nil)
		for what, err := range map[string]error{
			"create": app.CreateCache(ctx, howdah.CacheConfig{Name: "new"}),
			"alter":  app.AlterCache(ctx, howdah.CacheConfig{Name: "c", MaxEntries: 5}, howdah.AlterOptions{}),
			"empty":  app.AlterCache(ctx, howdah.CacheConfig{Name: "c"}, howdah.AlterOptions{Empty: true}),
			"drop":   app.DropCache(ctx, "c"),
		} {
			require.ErrorIs(t, err, howdah.ErrPermission, what)
		}
		require.Equal(t, before, state())
		require.NoError(t, app.Cache("c").Set(ctx, "k", []byte("v"), 0))
	})

	t.Run("bounds of a round", func(t *testing.T) {
		for _, opts := range []howdah.MaintainOptions{{MaxRows: -1}, {MaxBlocks: -1}, {MaxTime: -time.Second}} {
			_, err := db.Maintain(ctx, opts)
			require.ErrorContains(t, err, "not positive", "%+v", opts)
		}
		_, err := db.Pool().Exec(ctx, "SELECT howdah.maintain(max_lag => 0)")
		require.ErrorContains(t, err, "HW012")
	})
}
