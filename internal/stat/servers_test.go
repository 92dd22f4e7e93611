package stat_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// A server that has subscribers is listed, one that was killed is not, and the others are
// known by their connections.
func TestServers(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "INSERT INTO howdah_internal.server (id, name, kinds, notified, subscribers, waiters, renewed_at) VALUES"+
		" (5, 'here/1', 2, true, 3, 4, now() + interval '1 hour'), (6, 'gone/2', 2, true, 1, 1, now() - interval '1 minute')")
	s, err := stat.ReadServers(context.Background(), conn, 0)
	require.NoError(t, err)
	require.Len(t, s.Members, 1)
	require.Equal(t, "here/1", s.Members[0].Name)
	require.EqualValues(t, 5, s.Members[0].ID)
	require.Equal(t, 3, s.Members[0].Subscribers)
	require.Equal(t, 4, s.Members[0].Waiters)
	require.Equal(t, []stat.Source{{Address: "", Connections: 1}}, s.Sources)
	require.False(t, s.At.IsZero())
	require.Contains(t, s.Note, "only the connections are known")
}

// Each process of howdah serve says that it is there, and what it keeps in memory; one that is
// silent is forgotten by the others, by the database's clock.
func TestProcesses(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	conn := connect(t, databaseURL)
	renew := func(id int64, name string, bound time.Duration) {
		t.Helper()
		_, err := conn.Exec(t.Context(), schema.Query("process_renew"), id, name, "1.2.3", time.Hour,
			bound, 1, 2, 3, 4, 5, 6*time.Millisecond, 7*time.Millisecond, 8, 9)
		require.NoError(t, err)
	}
	read := func(self int64) *stat.Servers {
		t.Helper()
		s, err := stat.ReadServers(t.Context(), conn, self)
		require.NoError(t, err)
		return s
	}
	require.Empty(t, read(0).Processes)
	require.NotNil(t, read(0).Processes, "an empty list, not one that is hidden")
	require.NotContains(t, read(0).Note, "is not in the list")
	require.Contains(t, read(1).Note, "is not in the list")

	renew(1, "a/1", 0)
	renew(2, strings.Repeat("ä", 300), 100*time.Millisecond)
	s := read(1)
	require.Len(t, s.Processes, 2)
	require.NotContains(t, s.Note, "is not in the list")
	one, two := s.Processes[0], s.Processes[1]
	require.EqualValues(t, 1, one.ID)
	require.Equal(t, "1.2.3", one.Version)
	require.Equal(t, []bool{true, false}, []bool{one.Self, two.Self})
	require.Nil(t, one.Near)
	require.Equal(t, &stat.InMemory{Bound: 0.1, Entries: 1, Bytes: 2, MaxBytes: 3, Hits: 4, Misses: 5, MaxAge: 0.006, Lag: 0.007, Drops: 8, Lapses: 9}, two.Near)
	require.Equal(t, strings.Repeat("ä", 256), two.Name)
	require.Equal(t, time.Hour, one.Seen.Sub(one.Started))

	started := one.Started
	run(t, conn, "UPDATE howdah_internal.process SET seen_at = seen_at - interval '40 seconds'")
	require.True(t, read(1).Processes[0].Silent)
	renew(1, "a/1", 50*time.Millisecond)
	one = read(1).Processes[0]
	require.False(t, one.Silent)
	require.Equal(t, started, one.Started, "it is the same process")
	require.Equal(t, 0.05, one.Near.Bound)
	require.True(t, read(1).Processes[1].Silent)

	for _, away := range []string{"- interval '6 minutes'", "+ interval '6 minutes'"} { // or the clock was set back
		renew(2, "b/2", 0)
		require.Len(t, read(1).Processes, 2)
		run(t, conn, "UPDATE howdah_internal.process SET seen_at = seen_at "+away)
		require.Empty(t, read(1).Processes, "nobody has to remove a row that is not shown any more")
		renew(1, "a/1", 0)
		require.Len(t, read(1).Processes, 1)
		var rows int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM howdah_internal.process").Scan(&rows))
		require.Equal(t, 1, rows, "%s: the other one is forgotten", away)
	}
	run(t, conn, "DELETE FROM howdah_internal.process WHERE id = 1") // as process_leave does
	require.Empty(t, read(0).Processes)
}

// A role that may not read the list is told so, and sees the rest.
func TestProcessesAreHidden(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, "list")
	run(t, owner, "SELECT howdah.grant_runtime('"+role+"')")
	s, err := stat.ReadServers(t.Context(), app, 0)
	require.NoError(t, err)
	require.NotNil(t, s.Processes)
	run(t, owner, "REVOKE ALL ON howdah_internal.process FROM "+role)
	s, err = stat.ReadServers(t.Context(), app, 5)
	require.NoError(t, err)
	require.Nil(t, s.Processes)
	require.Contains(t, s.Note, "hidden from this role")
	require.NotContains(t, s.Note, "its log says why")
	require.NotEmpty(t, s.Sources)
}
