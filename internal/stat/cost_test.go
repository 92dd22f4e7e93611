package stat_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func cost(t *testing.T, conn *pgx.Conn) *stat.Cost {
	t.Helper()
	c, err := stat.ReadCost(t.Context(), conn)
	require.NoError(t, err)
	require.Len(t, c.Limits, 4)
	require.Positive(t, c.Connections.Howdah)
	require.GreaterOrEqual(t, c.Connections.Database, c.Connections.Howdah)
	require.GreaterOrEqual(t, c.Connections.Server, c.Connections.Database)
	require.Greater(t, c.Connections.Max, c.Connections.Server)
	return c
}

// Without the extension sizes and accesses are shown, and the statements that enable it.
func TestCostWithoutTheExtension(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	conn := connect(t, databaseURL)
	run(t, conn, "SELECT howdah.set_text('db0', 'k' || i, repeat('x', 4000)) FROM generate_series(1, 100) AS i",
		"CREATE TABLE public.application (id int)", "INSERT INTO public.application SELECT generate_series(1, 10000)",
		"VACUUM "+pgtest.Table(t, conn, "db0"), "VACUUM public.application")
	c := cost(t, conn)
	require.Contains(t, c.Reason, "not installed")
	require.Equal(t, []string{"ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'", "CREATE EXTENSION pg_stat_statements"}, c.Enable)
	require.Nil(t, c.Total)
	require.Nil(t, c.Memory)
	require.Greater(t, c.Tables.Bytes, int64(100*4000), "values that are stored out of line count")
	require.Greater(t, c.Others.Bytes, int64(10000*28))
	require.Less(t, c.Others.Bytes, c.Tables.Bytes)

	// Installed where it is not loaded, it refuses to answer.
	super := connect(t, pgtest.SuperURL(databaseURL))
	run(t, super, "CREATE EXTENSION pg_stat_statements")
	c = cost(t, super)
	require.Contains(t, c.Reason, "not loaded")
	require.Equal(t, []string{"ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'"}, c.Enable)
	run(t, super, c.Enable[0], "ALTER SYSTEM RESET shared_preload_libraries")
}

// The shares are those of the statements that ran, on every version of PostgreSQL.
func TestCost(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "shared_preload_libraries", "pg_stat_statements", "pg_stat_statements.track", "all")
	databaseURL := server.NewURL()
	super, conn := connect(t, server.SuperURL()), connect(t, databaseURL)
	run(t, super, `CREATE SCHEMA "odd schema"`, `GRANT USAGE ON SCHEMA "odd schema" TO PUBLIC`,
		`CREATE EXTENSION pg_stat_statements SCHEMA "odd schema"`, `CREATE EXTENSION pg_buffercache SCHEMA "odd schema"`)
	run(t, conn, "CREATE TABLE application (id int PRIMARY KEY, v text)")

	// A role that does not see the statements of others gets the statement that would let it.
	c := cost(t, conn)
	require.Contains(t, c.Reason, "does not see the statements of other roles")
	require.Equal(t, []string{`GRANT pg_read_all_stats TO "` + user(t, databaseURL) + `"`}, c.Enable)
	require.Nil(t, c.Total)
	require.Nil(t, c.Memory, "nor may it look into shared_buffers")
	run(t, super, c.Enable...)

	run(t, super, `SELECT "odd schema".pg_stat_statements_reset()`)
	before := cost(t, conn)
	require.Empty(t, before.Reason)
	require.NotNil(t, before.Total)
	// Howdah's statements, as the engine quotes names, and as applications write them.
	for i := range 30 {
		run(t, conn, fmt.Sprintf("SELECT howdah.set_text('db0', 'k%d', repeat('x', 1000))", i))
	}
	run(t, conn, fmt.Sprintf(`SELECT count(*) FROM "howdah_internal".%q`, pgtest.Table(t, conn, "db0")[len("howdah_internal."):]))
	for i := range 10 {
		run(t, conn, fmt.Sprintf("INSERT INTO application VALUES (%d, 'howdah')", i))
	}
	c = cost(t, conn)
	shares := c.Since(before)
	require.NotNil(t, shares)
	require.GreaterOrEqual(t, shares.Howdah.Calls, int64(31))
	require.Less(t, shares.Howdah.Calls, int64(45), "what runs inside of functions is not counted twice")
	require.GreaterOrEqual(t, shares.Others.Calls, int64(10))
	require.Positive(t, shares.Howdah.Seconds)
	require.Greater(t, shares.Howdah.Buffers, int64(30))
	require.Positive(t, shares.Others.WAL)
	for _, share := range []*float64{shares.Time, shares.Buffers, shares.WAL, shares.Calls} {
		require.Positive(t, *share)
		require.Less(t, *share, 1.0)
	}
	require.Equal(t, before.At, shares.From)
	require.Equal(t, c.At, shares.Until)
	require.Nil(t, before.Since(c), "less than before: statistics were lost")

	run(t, super, `GRANT pg_monitor TO `+pgx.Identifier{user(t, databaseURL)}.Sanitize())
	c = cost(t, conn)
	require.NotNil(t, c.Memory)
	require.Positive(t, *c.Memory)
	require.Less(t, *c.Memory, 0.5)

	// After a reset nothing can be compared with what was before.
	run(t, super, `SELECT "odd schema".pg_stat_statements_reset()`)
	require.Nil(t, cost(t, conn).Since(c))

	run(t, super, `REVOKE ALL ON "odd schema".pg_stat_statements FROM PUBLIC, pg_read_all_stats`)
	c = cost(t, conn)
	require.Equal(t, "This role may not read pg_stat_statements.", c.Reason)
	run(t, super, c.Enable...)
	require.Empty(t, cost(t, conn).Reason)

	// Nothing is recorded, which is no share of 0.
	run(t, super, "ALTER DATABASE howdah SET pg_stat_statements.track = 'none'")
	run(t, connect(t, server.SuperURL()), `SELECT "odd schema".pg_stat_statements_reset()`)
	c = cost(t, connect(t, databaseURL))
	require.Contains(t, c.Reason, "has no statement of this database")
	require.Nil(t, c.Total)
}

func user(t *testing.T, databaseURL string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	return u.User.Username()
}
