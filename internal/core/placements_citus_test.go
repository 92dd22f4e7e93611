//go:build citus

package core

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// The number of a copy is its own: it does not come again when the copy comes back, on the
// coordinator and on workers.
func TestCitusPlacementNumbers(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 2)
	c.Divide(2)
	conns := map[*pgtest.Server]*pgx.Conn{}
	for _, node := range c.Nodes() {
		conn, err := pgx.Connect(t.Context(), node.SuperURL())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		conns[node] = conn
	}
	host, port := pgtest.Address(c.Coordinator())
	_, err := conns[c.Coordinator()].Exec(t.Context(), "SELECT citus_set_node_property($1, $2, 'shouldhaveshards', true)", host, port)
	require.NoError(t, err)
	var shard int64
	require.NoError(t, conns[c.Coordinator()].QueryRow(t.Context(), "SELECT shard FROM howdah_internal.cache WHERE name = 'db0/00'").Scan(&shard))
	seen := map[int64]bool{}
	for range 2 {
		for _, to := range c.Nodes() {
			if c.Holder(0) != to {
				c.Move(0, to)
			}
			for node, conn := range conns {
				var numbers []int64
				require.NoError(t, conn.QueryRow(t.Context(), schema.Query("placements"), []int64{shard}).Scan(&numbers))
				if node != to {
					require.Equal(t, []int64{0}, numbers)
					continue
				}
				require.Len(t, numbers, 1)
				require.Positive(t, numbers[0])
				require.False(t, seen[numbers[0]], "the copy has a former number")
				seen[numbers[0]] = true
			}
		}
	}
}
