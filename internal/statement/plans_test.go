package statement_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

var parameter = regexp.MustCompile(`\$\d`)

// The plans that our connections keep, made while a cache is new or empty, find
// rows by their hashes. Once VACUUM has seen a table empty, the planner expects
// one row in it, and to read the whole table costs as little as to look it up.
func TestStatementPlans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, pgtest.New(t))
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(ctx))
	// As core.Open sets up its connections.
	for _, setting := range []string{"enable_seqscan = off", "enable_bitmapscan = off", "plan_cache_mode = force_generic_plan", "jit = off"} {
		_, err := conn.Exec(ctx, "SET "+setting)
		require.NoError(t, err)
	}
	_, err = conn.Exec(ctx, "SELECT howdah.create_cache('c')")
	require.NoError(t, err)
	table := pgtest.Table(t, conn, "c")
	_, relation, _ := strings.Cut(table, ".")
	for i, when := range []string{
		"SELECT 'new'",
		"VACUUM " + table,
		"INSERT INTO " + table + " (hash, version, expires_at, key, value) SELECT i, i, 'infinity', 'k', 'v' FROM generate_series(1, 10000) AS i",
		"DELETE FROM " + table,
		"VACUUM " + table,
		"ANALYZE " + table,
	} {
		_, err := conn.Exec(ctx, when)
		require.NoError(t, err)
		for _, file := range append(statement.Files(), "lock") {
			sql := schema.Statement(file, schema.Table{Name: table, MaxTTL: 1e6, Jitter: 10, RefuseCollision: i%2 == 0, Log: int32(i % 3)})
			most := 0
			for _, p := range parameter.FindAllString(sql, -1) {
				most = max(most, int(p[1]-'0'))
			}
			name := fmt.Sprint(file, i)
			_, err := conn.Exec(ctx, "PREPARE "+name+" AS "+sql)
			require.NoError(t, err, file)
			nulls := strings.TrimSuffix(strings.Repeat("NULL, ", most), ", ")
			rows, err := conn.Query(ctx, "EXPLAIN EXECUTE "+name+" ("+nulls+")", pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err, file)
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err, file)
			plan := file + " after " + when + ":\n" + strings.Join(lines, "\n")
			require.NotContains(t, plan, "Seq Scan on "+relation, plan)
			for i, line := range lines {
				if strings.Contains(line, "Scan using "+relation+"_pkey") {
					require.Contains(t, lines[i+1], "Index Cond", plan)
				}
			}
		}
	}
}
