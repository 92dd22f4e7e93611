//go:build citus

package citus_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

// citusMoves is how many moves of partitions a test makes.
const citusMoves = 12

// moves moves partitions to and fro.
func (h *history) moves(choices *rand.Rand) {
	nodes := h.cluster.Nodes()[1:]
	for range citusMoves {
		partition := choices.IntN(historyPartitions)
		at := slices.Index(nodes, h.cluster.Holder(partition))
		h.cluster.Move(partition, nodes[1-at])
	}
}

// Partitions that move have one state at a time, and no call fails. What makes that so is
// taken away in turn, and is missed.
func TestMovesOnCitus(t *testing.T) {
	for _, test := range []struct {
		name    string
		class   howdah.Durability
		near    bool
		without string // what a function is replaced by
	}{
		{name: "without memory"},
		{name: "sync", class: howdah.Sync},
		{name: "with memory", near: true},
		{name: "writes are not guarded", without: `CREATE OR REPLACE FUNCTION howdah_internal._here(shard bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`},
		{name: "memory does not ask for placements", near: true,
			without: `CREATE OR REPLACE FUNCTION howdah_internal._placements(shards bigint[]) RETURNS bigint[] LANGUAGE sql AS 'SELECT array_fill(1::bigint, ARRAY[cardinality(shards)])'`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cluster := pgtest.StartCitus(t, 2)
			h := newHistory(t, cluster, howdah.CacheConfig{Name: "moved", Durability: test.class, Near: test.near})
			if test.without != "" {
				cluster.Exec(test.without)
			}
			choices := seed.Rand(t)
			h.during(func() { h.moves(choices) })
			require.Empty(t, h.failures, "%v", h.kinds)
			require.Empty(t, h.together, "%v", h.kinds)
			require.Empty(t, h.walks)
			require.Equal(t, test.without == "", h.isLinearizable())
		})
	}
}

// withVictim lets a server fail that holds a part of the keys, for caches that promise
// different things. Only calls on its keys may fail.
func withVictim(t *testing.T, fault func(h *history, victim *pgtest.Server)) {
	for _, config := range []howdah.CacheConfig{
		{Name: "unlogged"},
		{Name: "near", Near: true},
		{Name: "sync", Durability: howdah.Sync},
	} {
		t.Run(config.Name, func(t *testing.T) {
			cluster := pgtest.StartCitus(t, 2)
			h := newHistory(t, cluster, config)
			victim := cluster.Nodes()[2]
			h.victims = h.on(victim)
			require.NotEmpty(t, h.victims)
			require.Less(t, len(h.victims), historyPartitions)
			h.during(func() { fault(h, victim) })
			h.failedOnly(h.victims)
			require.True(t, h.isLinearizable())
			h.awaitConnections()
		})
	}
}

// A server that is killed takes its own keys away, and no other's. Its unlogged partitions
// are empty then, and what was acknowledged in class sync is there.
func TestKilledServerOnCitus(t *testing.T) {
	withVictim(t, func(h *history, victim *pgtest.Server) {
		for range 2 {
			h.awaitCalls(500)
			begin := h.now()
			victim.Kill()
			h.awaitFailures(50)
			victim.Start()
			h.lose(begin, h.victims)
		}
		h.awaitCalls(500)
	})
}

// A standby that is promoted in the place of its primary is found without a restart.
func TestPromotedServerOnCitus(t *testing.T) {
	withVictim(t, func(h *history, victim *pgtest.Server) {
		standby := victim.Standby("follower")
		victim.Synchronous(standby)
		h.awaitCalls(500)
		begin := h.now()
		victim.Kill()
		h.awaitFailures(50)
		standby.Promote()
		h.cluster.Replace(victim, standby)
		h.awaitCalls(500)
		h.lose(begin, h.victims)
	})
}

// Without the coordinator, calls on the keys of other servers go on.
func TestKilledCoordinatorOnCitus(t *testing.T) {
	cluster := pgtest.StartCitus(t, 2)
	h := newHistory(t, cluster, howdah.CacheConfig{Name: "unlogged"})
	require.Empty(t, h.on(cluster.Coordinator()))
	h.during(func() {
		h.awaitCalls(500)
		cluster.Coordinator().Kill()
		h.awaitCalls(1000)
		cluster.Coordinator().Start()
		h.awaitCalls(500)
	})
	require.Empty(t, h.failures, "%v", h.kinds)
	require.Empty(t, h.together, "%v", h.kinds)
	require.True(t, h.isLinearizable())
}

// awaitCalls waits until so many calls have been made from now on.
func (h *history) awaitCalls(number int) { h.awaitMore(number, func() int { return len(h.calls) }) }

// awaitFailures waits until so many calls have failed from now on.
func (h *history) awaitFailures(number int) {
	h.awaitMore(number, h.failedCalls)
}

// failedCalls is how many calls on one key have failed. h.mu is held.
func (h *history) failedCalls() (sum int) {
	for _, n := range h.failures {
		sum += n
	}
	return sum
}

func (h *history) awaitMore(number int, count func() int) {
	h.t.Helper()
	locked := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return count()
	}
	least := locked() + number
	dbtest.Eventually(h.t, "calls go on", func() bool { return locked() >= least })
}

// failedOnly expects that calls failed on the keys of some partitions, and on no others.
func (h *history) failedOnly(partitions []int) {
	h.t.Helper()
	for partition := range h.failures {
		require.Contains(h.t, partitions, partition, "%v", h.kinds)
	}
	require.NotEmpty(h.t, h.failures)
	for _, call := range h.together {
		require.True(h.t, slices.ContainsFunc(call, func(p int) bool { return slices.Contains(partitions, p) }), "%v", h.kinds)
	}
}

// awaitConnections waits until no process has more connections to a server than it may.
func (h *history) awaitConnections() {
	h.t.Helper()
	for _, node := range h.cluster.Nodes() {
		var number int
		conn := dbtest.Open(h.t, node.URL(), nil).Pool()
		dbtest.Eventually(h.t, "connections are given up", func() bool {
			require.NoError(h.t, conn.QueryRow(h.t.Context(),
				"SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND backend_type = 'client backend'").Scan(&number))
			return number <= (len(h.processes)+2)*(8+2)
		})
	}
}
