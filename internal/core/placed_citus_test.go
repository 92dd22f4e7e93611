//go:build citus

package core

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/upkeep"
	"github.com/howdah/howdah/internal/verb"
)

// openPlaced opens a database on several servers as a role.
func openPlaced(t *testing.T, url string) *DB {
	t.Helper()
	db, err := Open(t.Context(), url, Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// fill stores entries and expects that they are there.
func fill(t *testing.T, cache *Cache, number int) {
	t.Helper()
	for i := range number {
		key := []byte(fmt.Sprint("k", i))
		require.NoError(t, cache.One(t.Context(), &verb.Call{Verb: statement.Set, Key: key, Value: key}))
	}
	require.Equal(t, number, kept(t, cache, number))
}

// kept is how many of those that fill has stored are there.
func kept(t *testing.T, cache *Cache, number int) (found int) {
	t.Helper()
	for i := range number {
		call := &verb.Call{Verb: statement.Get, Key: []byte(fmt.Sprint("k", i))}
		err := cache.One(t.Context(), call)
		require.True(t, err == nil || errors.Is(err, fault.ErrMiss), err)
		if call.Result.Found {
			require.Equal(t, string(call.Key), string(call.Result.Value))
			found++
		}
	}
	return found
}

// Caches are made, changed and dropped on all servers at once.
func TestCitusCaches(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 2)
	c.Role("app")
	c.Divide(4)
	owner := openPlaced(t, c.Coordinator().URL())
	app := openPlaced(t, pgtest.AsRole(c.Coordinator().URL(), "app"))
	ctx := t.Context()

	require.NoError(t, owner.CreateCache(ctx, CacheConfig{Name: "pages", MaxEntries: 1000}))
	require.ErrorIs(t, owner.CreateCache(ctx, CacheConfig{Name: "pages"}), fault.ErrCacheExists)
	require.NoError(t, owner.EnsureCache(ctx, CacheConfig{Name: "pages"}))
	require.NoError(t, app.EnsureCache(ctx, CacheConfig{Name: "pages"}))
	require.ErrorIs(t, app.CreateCache(ctx, CacheConfig{Name: "others"}), fault.ErrPermission)
	require.ErrorContains(t, app.DropCache(ctx, "pages"), `connect as "howdah", who owns the schema howdah`)
	fill(t, app.Cache("pages"), 50)
	fill(t, owner.Cache("pages"), 50)

	for name, config := range map[string]CacheConfig{
		"budget": {Name: "pages", MaxEntries: 500}, "filling": {Name: "pages", Fillfactor: 70},
		"index": {Name: "pages", PrefixIndex: true}, "log": {Name: "pages", Near: true}, "none": {Name: "pages"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, owner.AlterCache(ctx, config, AlterOptions{}))
			require.Equal(t, 50, kept(t, app.Cache("pages"), 50))
			fill(t, app.Cache("pages"), 50)
		})
	}
	err := owner.AlterCache(ctx, CacheConfig{Name: "pages", Durability: "async"}, AlterOptions{Only: []string{"durability"}})
	require.ErrorIs(t, err, fault.ErrInvalidSetting)
	require.ErrorContains(t, err, "it is on several servers")
	require.NoError(t, owner.AlterCache(ctx, CacheConfig{Name: "pages"}, AlterOptions{Empty: true}))
	require.Zero(t, kept(t, app.Cache("pages"), 50))

	fill(t, app.Cache("pages"), 50)
	require.NoError(t, app.Cache("pages").Flush(ctx))
	require.Zero(t, kept(t, app.Cache("pages"), 50))

	rounds, err := app.Maintain(ctx, upkeep.Options{})
	require.NoError(t, err)
	_ = rounds

	require.NoError(t, owner.CreateDatabase(ctx, 3))
	require.NoError(t, owner.CreateDatabase(ctx, 3))
	require.NoError(t, app.CreateDatabase(ctx, 3), "it is there")
	require.ErrorIs(t, app.CreateDatabase(ctx, 4), fault.ErrPermission)
	fill(t, app.Cache("db3"), 10)
	require.ErrorIs(t, owner.SwapCaches(ctx, "db0", "db3"), fault.ErrInvalidSetting)

	require.NoError(t, owner.DropCache(ctx, "pages"))
	require.ErrorIs(t, owner.DropCache(ctx, "pages"), fault.ErrCacheNotFound)
	err = app.Cache("pages").One(ctx, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte("v")})
	require.ErrorIs(t, err, fault.ErrCacheNotFound)
}

// Functions work on the server of a key, and name it on others; what looks after a server
// looks at what is there.
func TestCitusFunctions(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 2)
	c.Role("app")
	c.Divide(4)
	ctx := t.Context()
	served, refused := 0, 0
	var conns []*pgx.Conn
	for _, node := range c.Nodes() {
		conn, err := pgx.Connect(ctx, pgtest.AsRole(node.URL(), "app"))
		require.NoError(t, err)
		defer conn.Close(ctx)
		conns = append(conns, conn)
		for i := range 20 {
			var value []byte
			_, err := conn.Exec(ctx, "SELECT howdah.set('db0', $1, 'v')", []byte(fmt.Sprint(i)))
			if err == nil {
				served++
				require.NoError(t, conn.QueryRow(ctx, "SELECT howdah.get('db0', $1)", []byte(fmt.Sprint(i))).Scan(&value))
				require.Equal(t, "v", string(value))
				continue
			}
			refused++
			require.Equal(t, "HW098", fault.State(err), err)
			require.Regexp(t, "Partition . of cache 'db0' is on the server 127.0.0.1:[0-9]+", err.Error())
			require.Equal(t, "HW098", fault.State(conn.QueryRow(ctx, "SELECT howdah.get('db0', $1)", []byte(fmt.Sprint(i))).Scan(&value)))
		}
	}
	require.Equal(t, 20, served)
	require.Equal(t, 40, refused)

	for number, conn := range conns {
		for _, part := range []string{"db0/00", "db0/01", "db0/02", "db0/03"} {
			for _, sql := range []string{
				"SELECT howdah.count($1)", "SELECT howdah.scan($1)", "SELECT howdah.delete_prefix($1, 'none')",
				"SELECT howdah.invalidate_tags($1, '{t}')", "SELECT howdah.maintain($1)", "SELECT howdah.flush($1)",
			} {
				_, err := conn.Exec(ctx, sql, part)
				if err != nil {
					require.Equal(t, "HW098", fault.State(err), "%s %s: %v", sql, part, err)
				}
			}
		}
		for _, sql := range []string{"SELECT howdah.maintain()", "SELECT howdah.caches()"} {
			_, err := conn.Exec(ctx, sql)
			require.NoError(t, err, "%d %s", number, sql)
		}
		for _, sql := range []string{"SELECT howdah.create_cache('x')", "SELECT howdah.drop_cache('db0')", "SELECT howdah.alter_cache('db0', max_entries => 5)"} {
			_, err := conn.Exec(ctx, "SET ROLE howdah")
			_ = err
			_, err = conn.Exec(ctx, sql)
			require.Contains(t, []string{"0A000", "42501"}, fault.State(err), sql)
		}
	}
	for _, node := range c.Nodes() {
		owner, err := pgx.Connect(ctx, node.URL())
		require.NoError(t, err)
		defer owner.Close(ctx)
		for _, sql := range []string{"SELECT howdah.create_cache('x')", "SELECT howdah.drop_cache('db0')",
			"SELECT howdah.alter_cache('db0', max_entries => 5)", "SELECT howdah.grant_runtime('app')", "SELECT howdah.create_database(2)"} {
			_, err = owner.Exec(ctx, sql)
			require.Equal(t, "0A000", fault.State(err), sql)
		}
	}
}
