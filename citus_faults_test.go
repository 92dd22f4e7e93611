//go:build citus

package howdah_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/pgtest"
	"github.com/howdah/howdah/internal/seed"
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
		near    bool
		without string // what a function is replaced by
	}{
		{name: "without memory"},
		{name: "with memory", near: true},
		{name: "writes are not guarded", without: `CREATE OR REPLACE FUNCTION howdah_internal._here(shard bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`},
		{name: "memory does not ask for placements", near: true,
			without: `CREATE OR REPLACE FUNCTION howdah_internal._placements(shards bigint[]) RETURNS bigint[] LANGUAGE sql AS 'SELECT array_fill(1::bigint, ARRAY[cardinality(shards)])'`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cluster := pgtest.StartCitus(t, 2)
			h := newHistory(t, cluster, howdah.CacheConfig{Name: "moved", Near: test.near})
			if test.without != "" {
				cluster.Exec(test.without)
			}
			choices := seed.Rand(t)
			h.during(func() { h.moves(choices) })
			require.Empty(t, h.failures)
			require.Equal(t, test.without == "", h.isLinearizable())
		})
	}
}

// A server that is killed takes its own keys away, and no other's. Its unlogged partitions
// are empty then, and what was acknowledged in class sync is there.
func TestKilledServerOnCitus(t *testing.T) {
	for _, config := range []howdah.CacheConfig{
		{Name: "unlogged"},
		{Name: "near", Near: true},
		{Name: "sync", Durability: howdah.Sync},
	} {
		t.Run(config.Name, func(t *testing.T) {
			cluster := pgtest.StartCitus(t, 2)
			h := newHistory(t, cluster, config)
			victim := cluster.Nodes()[1]
			lost := h.on(victim)
			require.NotEmpty(t, lost)
			require.Less(t, len(lost), historyPartitions)
			h.during(func() {
				for range 2 {
					h.awaitCalls(500)
					begin := h.now()
					victim.Kill()
					h.awaitFailures(50)
					victim.Start()
					if config.Durability != howdah.Sync {
						h.lose(begin, lost)
					}
				}
				h.awaitCalls(500)
			})
			h.failedOnly(lost)
			require.True(t, h.isLinearizable())
			h.awaitConnections()
		})
	}
}

// A standby that is promoted in the place of its primary is found without a restart.
func TestPromotedServerOnCitus(t *testing.T) {
	for _, config := range []howdah.CacheConfig{
		{Name: "unlogged"},
		{Name: "sync", Durability: howdah.Sync},
	} {
		t.Run(config.Name, func(t *testing.T) {
			cluster := pgtest.StartCitus(t, 2)
			h := newHistory(t, cluster, config)
			victim := cluster.Nodes()[2]
			lost := h.on(victim)
			standby := victim.Standby("follower")
			victim.Synchronous(standby)
			h.during(func() {
				h.awaitCalls(500)
				begin := h.now()
				victim.Kill()
				h.awaitFailures(50)
				standby.Promote()
				cluster.Replace(victim, standby)
				h.awaitCalls(500)
				if config.Durability != howdah.Sync {
					h.lose(begin, lost)
				}
			})
			h.failedOnly(lost)
			require.True(t, h.isLinearizable())
			h.awaitConnections()
		})
	}
}

// awaitCalls waits until so many calls have been made from now on.
func (h *history) awaitCalls(number int) { h.awaitMore(number, func() int { return len(h.calls) }) }

// awaitFailures waits until so many calls have failed from now on.
func (h *history) awaitFailures(number int) {
	h.awaitMore(number, func() (sum int) {
		for _, n := range h.failures {
			sum += n
		}
		return sum
	})
}

func (h *history) awaitMore(number int, count func() int) {
	h.t.Helper()
	locked := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return count()
	}
	limit := locked() + number
	eventually(h.t, "calls go on", func() bool { return locked() >= limit })
}

// failedOnly expects that calls failed on the keys of some partitions, and on no others.
func (h *history) failedOnly(partitions []int) {
	h.t.Helper()
	for partition := range h.failures {
		require.Contains(h.t, partitions, partition, "%v", h.kinds)
	}
	require.NotEmpty(h.t, h.failures)
}

// awaitConnections waits until no process has more connections to a server than it may.
func (h *history) awaitConnections() {
	h.t.Helper()
	for _, node := range h.cluster.Nodes() {
		var number int
		conn := open(h.t, node.URL(), nil).Pool()
		eventually(h.t, "connections are given up", func() bool {
			require.NoError(h.t, conn.QueryRow(h.t.Context(),
				"SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND backend_type = 'client backend'").Scan(&number))
			return number <= (len(h.processes)+2)*(8+2)
		})
	}
}
