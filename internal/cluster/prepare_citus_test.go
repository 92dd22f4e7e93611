//go:build citus

package cluster_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/pgtest"
)

func TestCitusPrepare(t *testing.T) {
	c := pgtest.StartCitus(t, 2)
	c.Role("app")
	c.Divide(4)
	alike(t, c)

	home := connect(t, c.Coordinator().URL())
	require.Equal(t, 4, one[int](t, home, "SELECT count(*) FROM howdah_internal._places()"))
	require.Equal(t, 4, one[int](t, home, "SELECT count(*) FROM howdah_internal.cache WHERE shard IS NOT NULL AND relation IS NOT NULL"))
	require.Zero(t, one[int](t, home, "SELECT count(*) FROM howdah.cache_db0"))
	for _, node := range c.Nodes() {
		app := connect(t, pgtest.AsRole(node.URL(), "app"))
		require.Zero(t, one[int](t, app, "SELECT count(*) FROM howdah.cache_db0"))
	}

	again, err := cluster.Prepare(ctx(t), config(t, c.Coordinator().URL()), cluster.Options{})
	require.NoError(t, err)
	require.Zero(t, again.Changed)
	require.Equal(t, 4, again.Partitions)
	for _, s := range again.Servers {
		require.Empty(t, s.Applied)
		require.False(t, s.FunctionsReplaced)
	}

	require.NoError(t, create(t, c, "pages", "unlogged", true, true))
	alike(t, c)
	require.NoError(t, do(t, c, cluster.Change{Query: "drop_cache", Args: []any{"pages"}}))
	alike(t, c)
	_ = pgx.ErrNoRows
}
