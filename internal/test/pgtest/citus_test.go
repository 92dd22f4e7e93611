//go:build citus

package pgtest_test

import (
	"testing"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/stretchr/testify/require"
)

func TestCitus(t *testing.T) {
	c := pgtest.StartCitus(t, 2)
	c.Migrate()
	c.Role("app")
	coordinator := c.Coordinator()
	for _, node := range c.Nodes() {
		conn := connect(t, node.URL())
		require.Equal(t, 3, ask[int](t, conn, "SELECT count(*) FROM pg_dist_node WHERE isactive"))
		require.True(t, ask[bool](t, conn, "SELECT to_regclass('howdah_internal.cache') IS NOT NULL"))
		require.Equal(t, "app", ask[string](t, connect(t, pgtest.TCP(pgtest.AsRole(node.URL(), "app"))), "SELECT current_user::text"))
	}
	run(t, coordinator.URL(), "SET citus.enable_schema_based_sharding = on; CREATE SCHEMA part")
	run(t, coordinator.URL(), "CREATE TABLE part.kept (n int)")
	run(t, coordinator.URL(), "INSERT INTO part.kept VALUES (1)")
	conn := connect(t, coordinator.URL())
	require.Equal(t, 1, ask[int](t, conn, "SELECT count(*) FROM part.kept"))

	added := c.AddNode()
	c.MigrateNode(added)
	run(t, coordinator.URL(), "SELECT citus_schema_move('part', n.nodeid, 'block_writes') FROM pg_dist_node AS n ORDER BY n.nodeid DESC LIMIT 1")
	shard := ask[string](t, conn, "SELECT shard_name FROM citus_shards")
	require.Equal(t, 1, ask[int](t, connect(t, added.URL()), "SELECT count(*) FROM "+shard))

	// The data goes with the node, and survives its end.
	standby := added.Standby("follower")
	standby.AwaitReplay(added)
	added.Kill()
	_, err := conn.Exec(t.Context(), "SELECT count(*) FROM part.kept")
	require.Error(t, err)
	added.Start()
	require.Equal(t, 1, ask[int](t, conn, "SELECT count(*) FROM part.kept"))
	added.Kill()
	standby.Promote()
	c.Replace(added, standby)
	require.Equal(t, 1, ask[int](t, conn, "SELECT count(*) FROM part.kept"))
}
