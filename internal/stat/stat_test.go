package stat_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func connect(t *testing.T, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
}

func row(r *stat.Report, name string) stat.Row {
	for _, row := range r.Tables {
		if row.Name == name {
			return row
		}
	}
	return stat.Row{}
}

// The figures are those of what happened.
func TestRead(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "SELECT howdah.create_cache('c', max_entries => 200, durability => 'async')",
		"SELECT howdah.set_text('c', 'k' || i, repeat('x', 100)) FROM generate_series(1, 90) AS i",
		"SELECT howdah.set_text('c', 'e' || i, 'x', '1 us') FROM generate_series(1, 30) AS i")
	before, err := stat.Read(t.Context(), conn)
	require.NoError(t, err)
	c := row(stat.Compare(nil, before, nil), "c")
	require.True(t, c.Exact)
	require.EqualValues(t, 90, c.Entries)
	require.EqualValues(t, 30, *c.Expired)
	require.Equal(t, 0.45, *c.Used)
	require.Equal(t, "async", c.Class)

	run(t, conn, "SELECT howdah.maintain(max_time => '1 min')")
	var r *stat.Report
	require.Eventually(t, func() bool { // statistics arrive late
		run(t, conn, "SELECT howdah.set_text('c', 'k1', 'y')", "SELECT howdah.get_text('c', 'k2') FROM generate_series(1, 50)")
		now, err := stat.Read(t.Context(), conn)
		require.NoError(t, err)
		r = stat.Compare(before, now, nil)
		c := row(r, "c")
		return *c.Reads > 0 && *c.Writes > 0
	}, time.Minute, 100*time.Millisecond)
	c = row(r, "c")
	require.EqualValues(t, 0, *c.Expired)
	require.Positive(t, *c.Gone)
	require.NotNil(t, r.Upkeep.LastRound)
	require.Empty(t, r.Upkeep.Leader)
	require.Equal(t, "logged", row(r, "sessions").Class)
	require.Empty(t, r.Hidden)
}

// newRole makes a role that can log in and nothing else, and a connection as it.
func newRole(t *testing.T, databaseURL, name string) (string, *pgx.Conn) {
	t.Helper()
	super := connect(t, pgtest.SuperURL(databaseURL))
	var database string
	require.NoError(t, super.QueryRow(t.Context(), "SELECT current_database()").Scan(&database))
	role := name + "_" + database
	run(t, super, "CREATE ROLE "+role+" LOGIN PASSWORD 'p'")
	t.Cleanup(func() {
		_, err := super.Exec(context.Background(), fmt.Sprintf("DROP OWNED BY %[1]s; DROP ROLE %[1]s", role))
		require.NoError(t, err)
	})
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	u.User = url.UserPassword(role, "p")
	return role, connect(t, u.String())
}

// A runtime role sees it all but the snapshots of others; a stranger is told
// what to do.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner, super := connect(t, databaseURL), connect(t, pgtest.SuperURL(databaseURL))
	role, conn := newRole(t, databaseURL, "stat")

	_, err := stat.Read(t.Context(), conn)
	require.ErrorIs(t, err, stat.ErrNoAccess)
	require.ErrorContains(t, err, "howdah migrate --runtime-role "+role)

	// Somebody holds an old snapshot, which only members of pg_read_all_stats see.
	run(t, super, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1")
	run(t, owner, "SELECT howdah.grant_runtime('"+role+"')", "SELECT pg_current_xact_id()")
	s, err := stat.Read(t.Context(), conn)
	require.NoError(t, err)
	require.Empty(t, s.Hidden)
	require.False(t, s.SeesAll)
	require.Contains(t, stat.Compare(nil, s, nil).Text(0, 0), "other roles' are hidden")

	run(t, owner, "REVOKE SELECT ON howdah.session, howdah.leader FROM "+role)
	s, err = stat.Read(t.Context(), conn)
	require.NoError(t, err)
	require.Equal(t, []string{"rows of howdah.session", "the leader of upkeep"}, s.Hidden)

	run(t, super, "COMMIT", "GRANT pg_read_all_stats TO "+role, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1")
	run(t, owner, "SELECT pg_current_xact_id()")
	s, err = stat.Read(t.Context(), conn)
	require.NoError(t, err)
	require.True(t, s.SeesAll)
	require.NotNil(t, s.Oldest)
	run(t, super, "ROLLBACK")
}

// A table that is being altered is waited for no longer than a moment.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	conn, other := connect(t, databaseURL), connect(t, databaseURL)
	run(t, other, "BEGIN", "LOCK TABLE "+pgtest.Table(t, other, "db0"))
	s, err := stat.Read(t.Context(), conn)
	require.NoError(t, err)
	require.Nil(t, s.Tables[0].Sample)
	run(t, other, "ROLLBACK")
}
