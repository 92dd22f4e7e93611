//go:build citus

package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

const limit = time.Minute

func ctx(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// config is how to connect to a server.
func config(t testing.TB, url string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	return config
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(ctx(t), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func run(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(ctx(t), sql, args...)
	require.NoError(t, err, sql)
}

func one[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (value T) {
	t.Helper()
	require.NoError(t, conn.QueryRow(ctx(t), sql, args...).Scan(&value), sql)
	return value
}

// facts are what must be equal on all servers.
func facts(t testing.TB, conn *pgx.Conn) string {
	t.Helper()
	return one[string](t, conn, `SELECT jsonb_build_array(m.seed, m.partitions, m.functions_digest,
		(SELECT jsonb_agg(to_jsonb(c) - '{full_since,events}'::text[] ORDER BY c.name) FROM howdah_internal.cache AS c),
		(SELECT jsonb_agg(r.role ORDER BY r.role) FROM howdah.runtime_role AS r),
		(SELECT jsonb_agg(table_name ORDER BY table_name) FROM information_schema.views WHERE table_schema = 'howdah'))::text FROM howdah.meta AS m`)
}

// alike expects that all servers have the caches of the coordinator.
func alike(t testing.TB, c *pgtest.Citus) {
	t.Helper()
	want := facts(t, connect(t, c.Coordinator().URL()))
	for _, node := range c.Nodes()[1:] {
		require.Equal(t, want, facts(t, connect(t, node.URL())))
	}
}

// do makes a change on all servers.
func do(t testing.TB, c *pgtest.Citus, change cluster.Change) error {
	t.Helper()
	return cluster.Do(ctx(t), config(t, c.Coordinator().URL()), change)
}

// create makes a cache with default settings but these.
func create(t testing.TB, c *pgtest.Citus, name, durability string, prefixIndex, near bool) error {
	t.Helper()
	require.NotEmpty(t, schema.Query("create_cache"))
	return do(t, c, cluster.Change{Query: "create_cache", Makes: true, Args: []any{
		name, durability, nil, nil, int64(0), int64(0), "", prefixIndex, int32(0), int32(0), near, false}})
}
