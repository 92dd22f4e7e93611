//go:build citus

package cluster_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgtest"
	"github.com/howdah/howdah/migrate"
)

// prepare is cluster.Prepare on the coordinator.
func prepare(t testing.TB, c *pgtest.Citus, opts cluster.Options) (cluster.Result, error) {
	t.Helper()
	return cluster.Prepare(ctx(t), config(t, c.Coordinator().URL()), opts)
}

// refused expects an error of one sentence.
func refused(t testing.TB, err error, says string) {
	t.Helper()
	require.ErrorContains(t, err, says)
	require.NotContains(t, err.Error(), "\n")
}

func TestCitusPrepare(t *testing.T) {
	c := pgtest.StartCitus(t, 2)
	c.Role("app")
	c.Divide(4)
	alike(t, c)

	home := connect(t, c.Coordinator().URL())
	require.Equal(t, 4, one[int](t, home, "SELECT count(*) FROM howdah_internal._places()"))
	require.Equal(t, 4, one[int](t, home, "SELECT count(*) FROM howdah_internal.cache WHERE shard IS NOT NULL AND relation IS NOT NULL"))
	for _, node := range c.Nodes() {
		app := connect(t, pgtest.AsRole(node.URL(), "app"))
		require.Zero(t, one[int](t, app, "SELECT count(*) FROM howdah.cache_db0"))
	}

	again, err := prepare(t, c, cluster.Options{})
	require.NoError(t, err)
	require.Zero(t, again.Changed)
	require.Equal(t, 4, again.Partitions)
	for _, s := range again.Servers {
		require.Empty(t, s.Applied)
		require.False(t, s.FunctionsReplaced)
	}

	require.NoError(t, create(t, c, "pages", "unlogged", true, true))
	alike(t, c)
	require.ErrorIs(t, create(t, c, "pages", "unlogged", true, true), fault.ErrCacheExists)
	require.NoError(t, create(t, c, "kept", "sync", false, false))
	require.NoError(t, do(t, c, cluster.Change{Query: "drop_cache", Args: []any{"pages"}}))
	alike(t, c)
	require.ErrorIs(t, do(t, c, cluster.Change{Query: "drop_cache", Args: []any{"pages"}}), fault.ErrCacheNotFound)
}

// What was interrupted is repaired by the next run, and what differs is found.
func TestCitusRepair(t *testing.T) {
	c := pgtest.StartCitus(t, 2)
	c.Role("app")
	c.Divide(4)
	worker := connect(t, c.Nodes()[1].URL())
	local := connect(t, pgtest.LocalURL(c.Nodes()[1].URL()))
	for what, sql := range map[string]string{
		"rows":     "DELETE FROM howdah_internal.cache WHERE partition < 2",
		"settings": "UPDATE howdah_internal.cache SET fillfactor = 50, shard = 7",
		"view":     "DROP VIEW howdah.cache_db0",
		"role":     "DELETE FROM howdah.runtime_role",
	} {
		t.Run(what, func(t *testing.T) {
			run(t, local, sql)
			if what != "view" && what != "role" {
				states, err := cluster.List(ctx(t), config(t, c.Coordinator().URL()))
				require.NoError(t, err)
				require.Contains(t, states[1].Problem, "other caches, or other settings")
				require.Empty(t, states[2].Problem)
			}
			_, err := prepare(t, c, cluster.Options{})
			require.NoError(t, err)
			alike(t, c)
			require.Zero(t, one[int](t, worker, "SELECT count(*) FROM howdah.cache_db0"))
		})
	}

	// The coordinator has a cache whose tables Citus does not have yet.
	home := connect(t, pgtest.LocalURL(c.Coordinator().URL()))
	run(t, home, "SET howdah.all_servers = on")
	run(t, home, "SELECT howdah.create_cache('late')")
	_, err := prepare(t, c, cluster.Options{})
	require.NoError(t, err)
	alike(t, c)
	require.Zero(t, one[int](t, worker, "SELECT count(*) FROM howdah.cache_late"))
}

func TestCitusRefusals(t *testing.T) {
	c := pgtest.StartCitus(t, 1)
	_, err := prepare(t, c, cluster.Options{})
	refused(t, err, "say into how many partitions")
	_, err = prepare(t, c, cluster.Options{Partitions: 6})
	require.ErrorIs(t, err, migrate.ErrPartitions)
	_, err = cluster.List(ctx(t), config(t, c.Coordinator().URL()))
	refused(t, err, "has no schema of this version")

	worker := c.Nodes()[1]
	_, err = cluster.Prepare(ctx(t), config(t, worker.URL()), cluster.Options{Partitions: 4})
	refused(t, err, "this server is not the coordinator: connect to 127.0.0.1:")
	_, err = cluster.Prepare(ctx(t), config(t, pgtest.Own(t).URL()), cluster.Options{Partitions: 4})
	refused(t, err, "Citus is not there")

	// A server with entries of its own does not join, and then nothing is placed.
	c.MigrateNode(worker)
	there := connect(t, worker.URL())
	run(t, there, "SELECT howdah.set('db0', 'k', 'v')")
	_, err = prepare(t, c, cluster.Options{Partitions: 4})
	require.ErrorIs(t, err, cluster.ErrUnfit)
	refused(t, err, "cannot join: Cache 'db0' of this server holds entries")
	run(t, there, "SELECT howdah.flush('db0')")
	c.Divide(4)
	alike(t, c)

	// The seed decides which keys are found.
	run(t, connect(t, pgtest.LocalURL(worker.URL())), "UPDATE howdah.meta SET seed = set_byte(seed, 0, 255 - get_byte(seed, 0))")
	states, err := cluster.List(ctx(t), config(t, c.Coordinator().URL()))
	require.NoError(t, err)
	require.Contains(t, states[1].Problem, "another seed")
	_, err = prepare(t, c, cluster.Options{})
	refused(t, err, "holds entries")
	_, err = prepare(t, c, cluster.Options{Partitions: 8})
	require.ErrorIs(t, err, migrate.ErrPartitions)

	worker.Kill()
	require.ErrorIs(t, create(t, c, "pages", "", false, false), fault.ErrUnavailable)
	states, err = cluster.List(ctx(t), config(t, c.Coordinator().URL()))
	require.NoError(t, err)
	require.Contains(t, states[1].Problem, "it does not answer")
}

func TestCheckVersion(t *testing.T) {
	for version, says := range map[string]string{
		"": "Citus is not there", "11.3-2": "Citus 11.3-2 is too old", "none": "too old", "12.0-1": "", "13.2-1": "",
	} {
		err := cluster.CheckVersion(version)
		if says == "" {
			require.NoError(t, err, version)
			continue
		}
		require.True(t, errors.Is(err, cluster.ErrUnfit))
		refused(t, err, says)
	}
}

// A new server is given the schema before Citus hears of it, and partitions by Rebalance.
func TestCitusAddAndRebalance(t *testing.T) {
	c := pgtest.StartCitus(t, 1)
	c.Role("app")
	c.Divide(4)
	url, super := c.Coordinator().URL(), c.Coordinator().SuperURL()
	moves, err := cluster.Rebalance(ctx(t), config(t, url), cluster.RebalanceOptions{})
	require.NoError(t, err)
	require.Empty(t, moves)

	node := c.StartNode()
	host, port := pgtest.Address(node)
	_, err = cluster.Add(ctx(t), config(t, url), host, port)
	require.ErrorIs(t, err, fault.ErrPermission)
	refused(t, err, "only a superuser may change the servers")
	_, err = cluster.Add(ctx(t), config(t, super), host, 1)
	require.ErrorIs(t, err, fault.ErrUnavailable)
	for range 2 {
		_, err = cluster.Add(ctx(t), config(t, super), host, port)
		require.NoError(t, err)
		alike(t, c)
	}

	planned, err := cluster.Rebalance(ctx(t), config(t, url), cluster.RebalanceOptions{DryRun: true})
	require.NoError(t, err)
	require.Len(t, planned, 2)
	var left []int
	made, err := cluster.Rebalance(ctx(t), config(t, url), cluster.RebalanceOptions{Moved: func(_ cluster.Move, n int) { left = append(left, n) }})
	require.NoError(t, err)
	require.Len(t, made, 2)
	require.Equal(t, []int{1, 0}, left)
	states, err := cluster.List(ctx(t), config(t, url))
	require.NoError(t, err)
	require.Len(t, states, 3)
	for _, s := range states {
		require.Empty(t, s.Problem)
		require.Len(t, s.Partitions, map[bool]int{true: 0, false: 2}[s.Number == 0])
	}

	drain := cluster.RebalanceOptions{Drain: states[2].Address()}
	_, err = cluster.Rebalance(ctx(t), config(t, url), drain)
	require.ErrorIs(t, err, fault.ErrPermission)
	for _, wrong := range []string{"nowhere", "127.0.0.1:1"} {
		_, err = cluster.Rebalance(ctx(t), config(t, super), cluster.RebalanceOptions{Drain: wrong})
		require.ErrorIs(t, err, cluster.ErrUnfit)
	}
	drain.DryRun = true
	planned, err = cluster.Rebalance(ctx(t), config(t, super), drain)
	require.NoError(t, err)
	require.Len(t, planned, 2)
	drain.DryRun = false
	made, err = cluster.Rebalance(ctx(t), config(t, super), drain)
	require.NoError(t, err)
	require.Len(t, made, 2)
	moves, err = cluster.Rebalance(ctx(t), config(t, url), cluster.RebalanceOptions{})
	require.NoError(t, err)
	require.Empty(t, moves, "it holds none from now on")
}

// Citus's own rebalancer fails on UNLOGGED tables for ever, unless it is told how to move.
func TestCitusWrongMode(t *testing.T) {
	c := pgtest.StartCitus(t, 1)
	c.Divide(4)
	c.AddNode()
	home := connect(t, c.Coordinator().URL())
	run(t, home, "SELECT citus_rebalance_start()")
	_, err := cluster.Rebalance(ctx(t), config(t, c.Coordinator().URL()), cluster.RebalanceOptions{})
	require.ErrorIs(t, err, cluster.ErrUnfit)
	refused(t, err, "citus_rebalance_stop()")
	run(t, home, "SELECT citus_rebalance_stop()")
	c.Divide(0)
	_, err = cluster.Rebalance(ctx(t), config(t, c.Coordinator().URL()), cluster.RebalanceOptions{})
	require.NoError(t, err)
}
