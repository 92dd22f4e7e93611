package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// The plans that our connections keep, made while a cache is empty, find the
// rows by the index of their walk, and change them by their hashes.
func TestDeletePagePlans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := Open(ctx, pgtest.New(t), Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: "c", PrefixIndex: true}))
	conn, err := db.Pool().Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	table := pgtest.Table(t, conn, "c")
	_, relation, _ := strings.Cut(table, ".")
	// Once VACUUM has seen a table empty, the planner expects one row.
	for i, when := range []string{"SELECT 'new'", "VACUUM " + table} {
		_, err := conn.Exec(ctx, when)
		require.NoError(t, err)
		for index, walk := range map[string]string{relation + "_prefix": "delete_page_by_key", relation + "_pkey": "delete_page_by_hash"} {
			name := fmt.Sprint(index, i)
			_, err := conn.Exec(ctx, "PREPARE "+name+" AS "+schema.Statement(walk, schema.Table{Name: table}))
			require.NoError(t, err)
			rows, err := conn.Query(ctx, "EXPLAIN EXECUTE "+name+" (NULL, NULL, NULL, true)", pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			plan := when + ":\n" + strings.Join(lines, "\n")
			var used []string
			for i, line := range lines {
				require.NotContains(t, line, "Seq Scan on "+relation, plan)
				if _, scan, ok := strings.Cut(line, "Scan using "); ok {
					used = append(used, strings.Fields(scan)[0])
					require.Contains(t, lines[i+1], "Index Cond", plan)
				}
			}
			slices.Sort(used)
			want := []string{relation + "_pkey", relation + "_pkey", index, index}
			slices.Sort(want)
			require.Equal(t, want, used, plan)
		}
	}
}
