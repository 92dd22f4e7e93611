//go:build citus

package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// What a DB says of a cache is of all servers, its bounds hold for all of them together, and
// a server that is away takes its share only.
func TestCitusServed(t *testing.T) {
	t.Parallel()
	const bytes = 8 << 20
	c := pgtest.StartCitus(t, 2)
	c.Divide(4)
	nodes := c.Nodes()
	for partition, to := range []int{1, 1, 1, 2} {
		if at := c.Holder(partition); at != nodes[to] {
			c.Move(partition, nodes[to])
		}
	}
	db, err := Open(t.Context(), c.Coordinator().URL(), Options{MaxConns: 3, Timeout: 20 * time.Second, Near: NearOptions{Bound: time.Second, Bytes: bytes}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })

	servers := db.Servers()
	require.Len(t, servers, 3)
	for i, of := range servers {
		require.Equal(t, i, of.Number)
		require.NoError(t, of.DB.Ping(t.Context()))
	}
	require.Empty(t, servers[0].Partitions)
	require.Equal(t, []int{0, 1, 2}, servers[1].Partitions)
	require.Equal(t, []int{3}, servers[2].Partitions)
	shares := func() (all []int64) {
		for _, of := range db.Servers() {
			all = append(all, of.DB.Near().Budget())
		}
		return all
	}
	require.Equal(t, []int64{1, bytes / 4 * 3, bytes / 4}, shares())
	require.EqualValues(t, bytes, db.Stats().Near.MaxBytes)

	fill(t, db.Cache("db0"), 200)
	c.Exec("SET citus.override_table_visibility = off", "ANALYZE")
	n, err := db.Cache("db0").Estimate(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 200, n)
	_, err = db.Cache("none").Estimate(t.Context())
	require.ErrorIs(t, err, fault.ErrCacheNotFound)
	pool := db.Stats().Pool
	require.EqualValues(t, 9, pool.Max)
	require.Greater(t, pool.Opened, servers[1].DB.Pool().Stat().NewConnsCount())

	c.Move(0, nodes[2])
	require.Eventually(t, func() bool {
		require.NoError(t, db.servers().reroute(t.Context()))
		return len(db.Servers()[2].Partitions) == 2
	}, time.Minute, time.Millisecond)
	require.Equal(t, []int64{1, bytes / 2, bytes / 2}, shares())

	nodes[2].Stop("immediate")
	n, err = db.Cache("db0").Estimate(t.Context())
	require.NoError(t, err)
	require.Positive(t, n)
	require.Less(t, n, int64(200))
}
