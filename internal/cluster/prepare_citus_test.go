//go:build citus

package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/pgtest"
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
	t.Parallel()
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
	t.Parallel()
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

	// Somebody has dropped the schema of a partition: it comes again, empty, and no other loses entries.
	const entries = 40
	other := connect(t, c.Nodes()[2].URL())
	store := func() {
		for i := range entries {
			_, here := worker.Exec(ctx(t), "SELECT howdah.set('db0', convert_to($1, 'UTF8'), 'v')", fmt.Sprint("key", i))
			_, there := other.Exec(ctx(t), "SELECT howdah.set('db0', convert_to($1, 'UTF8'), 'v')", fmt.Sprint("key", i))
			require.True(t, (here == nil) != (there == nil), "one of them holds it: %v, %v", here, there)
		}
	}
	store()
	kept := one[int](t, worker, "SELECT count(*) FROM howdah.cache_db0 AS e WHERE howdah_internal._partition(e.key) <> 3")
	run(t, connect(t, c.Coordinator().URL()), "DROP SCHEMA howdah_p03 CASCADE")
	_, err := prepare(t, c, cluster.Options{})
	require.NoError(t, err)
	alike(t, c)
	require.Equal(t, kept, one[int](t, worker, "SELECT count(*) FROM howdah.cache_db0"))
	require.Less(t, kept, entries)
	store()
	require.Equal(t, entries, one[int](t, worker, "SELECT count(*) FROM howdah.cache_db0"))

	// The coordinator has a cache whose tables Citus does not have yet.
	home := connect(t, pgtest.LocalURL(c.Coordinator().URL()))
	run(t, home, "SET howdah.all_servers = on")
	run(t, home, "SELECT howdah.create_cache('late')")
	_, err = prepare(t, c, cluster.Options{})
	require.NoError(t, err)
	alike(t, c)
	require.Zero(t, one[int](t, worker, "SELECT count(*) FROM howdah.cache_late"))
}

func TestCitusRefusals(t *testing.T) {
	t.Parallel()
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

	// The coordinator has entries: they stay as they are.
	c.MigrateNode(c.Coordinator())
	home := connect(t, c.Coordinator().URL())
	run(t, home, "SELECT howdah.set('db0', 'k', 'v')")
	_, err = prepare(t, c, cluster.Options{Partitions: 4})
	require.ErrorIs(t, err, migrate.ErrPartitions)
	refused(t, err, "howdah.flush")
	require.Equal(t, 1, one[int](t, home, "SELECT count(*) FROM howdah.cache_db0"))
	run(t, home, "SELECT howdah.flush('db0')")

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

	// A server without the schema is named, and nothing is lost when it gets it again.
	local := connect(t, pgtest.LocalURL(worker.URL()))
	run(t, local, "ALTER SCHEMA howdah RENAME TO away")
	states, err := cluster.List(ctx(t), config(t, c.Coordinator().URL()))
	require.NoError(t, err)
	require.Equal(t, `it has no schema of this version: run "howdah migrate --citus"`, states[1].Problem)
	run(t, local, "ALTER SCHEMA away RENAME TO howdah")
	alike(t, c)

	// The seed decides which keys are found.
	run(t, connect(t, pgtest.LocalURL(worker.URL())), "UPDATE howdah.meta SET seed = set_byte(seed, 0, 255 - get_byte(seed, 0))")
	states, err = cluster.List(ctx(t), config(t, c.Coordinator().URL()))
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

// Watches of tables could not reach entries on other servers: they are named, with what ends them.
func TestCitusRefusesWatches(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 1)
	c.Migrate()
	for i, node := range c.Nodes() {
		local := connect(t, pgtest.LocalURL(node.URL()))
		run(t, local, "CREATE TABLE public.articles (id int PRIMARY KEY)")
		run(t, local, "SELECT howdah.watch_table('public.articles', 'db0', key => $$'a:' || id$$)")
		_, err := prepare(t, c, cluster.Options{Partitions: 4})
		require.ErrorIs(t, err, cluster.ErrUnfit)
		host, port := pgtest.Address(node)
		refused(t, err, fmt.Sprintf("server %s:%d watches tables, whose entries may be on other servers: public.articles (db0); "+
			"end that with SELECT howdah.unwatch_table('public.articles', 'db0')", host, port))
		require.Equal(t, 1, one[int](t, local, "SELECT count(*) FROM howdah_internal._watches()"), "nothing is changed")
		if i == 0 {
			require.Zero(t, one[int](t, local, "SELECT partitions FROM howdah.meta"))
		}
		run(t, local, "SELECT howdah.unwatch_table('public.articles', 'db0')")
	}
	c.Divide(4)
	alike(t, c)
	_, err := connect(t, c.Coordinator().URL()).Exec(ctx(t), "SELECT howdah.watch_table('public.articles', 'db0', key => $$'a:' || id$$)")
	require.ErrorContains(t, err, "Tables cannot be watched")
}

// A new server is given the schema before Citus hears of it, and partitions by Rebalance.
func TestCitusAddAndRebalance(t *testing.T) {
	t.Parallel()
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

// A server that is not one of these stays away, and nothing is lost: neither its own, nor here.
func TestCitusRefusesServers(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 1)
	c.Divide(4)
	home := connect(t, c.Coordinator().URL())
	run(t, home, "SET citus.enable_ddl_propagation = off")
	super := config(t, c.Coordinator().SuperURL())
	add := func(node *pgtest.Server) error {
		host, port := pgtest.Address(node)
		_, err := cluster.Add(ctx(t), super, host, port)
		return err
	}
	servers := func() int { return one[int](t, home, "SELECT count(*) FROM pg_dist_node") }

	// It was one of another database: its seed finds other rows.
	seeded := c.StartNode()
	c.MigrateNode(seeded)
	run(t, connect(t, pgtest.LocalURL(seeded.URL())), "SELECT howdah.set('db0', 'k', 'v')")
	refused(t, add(seeded), "cannot join: Cache 'db0' of this server holds entries")
	require.Equal(t, 1, one[int](t, connect(t, seeded.URL()), "SELECT count(*) FROM howdah.cache_db0"))
	require.Equal(t, 2, servers())

	// It is the coordinator of others, or their worker.
	leads, led := c.StartNode(), c.StartNode()
	lead := connect(t, leads.SuperURL())
	host, port := pgtest.Address(leads)
	run(t, lead, "SELECT citus_set_coordinator_host($1, $2)", host, port)
	host, port = pgtest.Address(led)
	run(t, lead, "SELECT citus_add_node($1, $2)", host, port)
	for _, node := range []*pgtest.Server{leads, led} {
		err := add(node)
		require.ErrorIs(t, err, cluster.ErrUnfit)
		refused(t, err, "is one of several servers of Citus already")
	}
	require.Equal(t, 2, servers())
	require.Equal(t, 2, one[int](t, lead, "SELECT count(*) FROM pg_dist_node"))
	_, err := lead.Exec(ctx(t), "SELECT FROM howdah.meta")
	require.ErrorContains(t, err, "does not exist", "it got no schema")

	// Citus is too old.
	admin := connect(t, c.Coordinator().SuperURL())
	run(t, admin, "UPDATE pg_extension SET extversion = '11.3-2' WHERE extname = 'citus'")
	_, err = prepare(t, c, cluster.Options{})
	require.ErrorIs(t, err, cluster.ErrUnfit)
	refused(t, err, "Citus 11.3-2 is too old: upgrade it to 12.0 or newer")
}

// toast is what the tables for values out of line lack on servers, in their order.
func toast(t testing.TB, c *pgtest.Citus) (lacking []int) {
	t.Helper()
	states, err := cluster.List(ctx(t), config(t, c.Coordinator().URL()))
	require.NoError(t, err)
	for _, s := range states {
		require.Empty(t, s.Problem)
		lacking = append(lacking, s.Lacking)
	}
	return lacking
}

// The storage parameters for values out of line are those of any cache after Citus has taken
// tables, and after each move. One that Citus makes by itself is found and repaired.
func TestCitusKeepsToast(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 1)
	c.Divide(4)
	require.NoError(t, create(t, c, "pages", "", false, false))
	require.Equal(t, []int{0, 0}, toast(t, c))
	c.AddNode()
	c.Divide(0)
	moves, err := cluster.Rebalance(ctx(t), config(t, c.Coordinator().URL()), cluster.RebalanceOptions{})
	require.NoError(t, err)
	require.Len(t, moves, 2)
	require.Equal(t, []int{0, 0, 0}, toast(t, c))

	home := connect(t, c.Coordinator().URL())
	fresh := pgtest.New(t)
	plain := connect(t, fresh)
	want := one[[]string](t, plain, `SELECT s.reloptions FROM howdah_internal.cache AS c JOIN pg_class AS t ON t.oid = to_regclass(howdah_internal._table(c))
		JOIN pg_class AS s ON s.oid = t.reltoastrelid WHERE c.name = 'db0'`)
	there := connect(t, c.Holder(moves[0].Partition).URL())
	got := one[[]string](t, there, `SELECT s.reloptions FROM howdah_internal.cache AS c CROSS JOIN LATERAL howdah_internal._class(to_regclass(c.relation)) AS t
		JOIN pg_class AS s ON s.oid = t.reltoastrelid WHERE c.name = format('db0/%s', lpad($1::text, 2, '0'))`, fmt.Sprint(moves[0].Partition))
	require.ElementsMatch(t, want, got)

	run(t, home, "SELECT citus_schema_move($1::text::regnamespace, n.nodename, n.nodeport, 'block_writes') FROM pg_dist_node AS n WHERE n.groupid = 1",
		fmt.Sprintf("howdah_p%02d", moves[0].Partition))
	require.Equal(t, []int{0, 2, 0}, toast(t, c), "db0 and pages")
	c.Divide(0)
	require.Equal(t, []int{0, 0, 0}, toast(t, c))
}

// One program moves partitions at a time; another is told, and can still plan.
func TestCitusRebalancesOnce(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 1)
	c.Divide(4)
	c.AddNode()
	c.Divide(0)
	to := config(t, c.Coordinator().URL())
	moves, err := cluster.Rebalance(ctx(t), to, cluster.RebalanceOptions{Moved: func(_ cluster.Move, left int) {
		_, err := cluster.Rebalance(ctx(t), to, cluster.RebalanceOptions{})
		require.ErrorIs(t, err, cluster.ErrUnfit)
		refused(t, err, "another program moves partitions")
		planned, err := cluster.Rebalance(ctx(t), to, cluster.RebalanceOptions{DryRun: true})
		require.NoError(t, err)
		require.Len(t, planned, left)
	}})
	require.NoError(t, err)
	require.Len(t, moves, 2)
	moves, err = cluster.Rebalance(ctx(t), to, cluster.RebalanceOptions{})
	require.NoError(t, err)
	require.Empty(t, moves)
}

// Citus's own rebalancer fails on UNLOGGED tables for ever, unless it is told how to move.
func TestCitusWrongMode(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 1)
	c.Divide(4)
	c.AddNode()
	home := connect(t, c.Coordinator().URL())
	run(t, home, "SELECT citus_rebalance_start()")
	_, err := cluster.Rebalance(ctx(t), config(t, c.Coordinator().URL()), cluster.RebalanceOptions{})
	require.ErrorIs(t, err, cluster.ErrUnfit)
	refused(t, err, "citus_rebalance_stop()")
	run(t, home, "SELECT citus_rebalance_stop()")
	require.Eventually(t, func() bool { // a task that runs is told to end, and does a while later
		return one[int](t, home, "SELECT count(*) FROM pg_dist_background_task WHERE status::text IN ('runnable', 'running', 'cancelling')") == 0
	}, time.Minute, 10*time.Millisecond)
	c.Divide(0)
	_, err = cluster.Rebalance(ctx(t), config(t, c.Coordinator().URL()), cluster.RebalanceOptions{})
	require.NoError(t, err)
}
