package pgtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The servers of these tests do without fsync: it is slow, and nothing here
// cuts the power.

func run(t *testing.T, url, sql string) {
	t.Helper()
	conn := connect(t, url)
	defer conn.Close(context.Background())
	_, err := conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// count is the number of rows of table kept.
func count(t *testing.T, url string) int {
	t.Helper()
	conn := connect(t, url)
	defer conn.Close(context.Background())
	return ask[int](t, conn, "SELECT count(*) FROM kept")
}

func TestStandby(t *testing.T) {
	primary := pgtest.Own(t, "fsync", "off")
	run(t, primary.URL(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1); CREATE UNLOGGED TABLE lost (n int); INSERT INTO lost VALUES (1)")
	standby := primary.Standby("one", "work_mem", "5MB")
	require.NotEqual(t, primary.URL(), standby.URL())
	require.Equal(t, 1, count(t, standby.URL()))
	require.Equal(t, 1, count(t, pgtest.TCP(standby.URL())))
	conn := connect(t, standby.URL())
	require.Equal(t, "5MB", ask[string](t, conn, "SHOW work_mem"))
	_, err := conn.Exec(t.Context(), "INSERT INTO kept VALUES (2)")
	require.ErrorContains(t, err, "25006")
	require.EqualValues(t, 1, ask[int](t, connect(t, primary.URL()), "SELECT count(*) FROM lost"), "the original keeps it")

	// Nothing is lost while the standby is away, however it went.
	for i, end := range []func(){standby.Kill, func() { standby.Stop("fast") }, func() { standby.Stop("immediate") }} {
		end()
		run(t, primary.URL(), "INSERT INTO kept VALUES (2)")
		standby.Start()
		standby.AwaitReplay(primary)
		require.Equal(t, i+2, count(t, standby.URL()))
	}

	standby.PauseReplay()
	run(t, primary.URL(), "INSERT INTO kept VALUES (3)")
	require.Equal(t, 4, count(t, standby.URL()))
	standby.ResumeReplay()
	standby.AwaitReplay(primary)
	require.Equal(t, 5, count(t, standby.URL()))

	standby.CutReplication()
	run(t, primary.URL(), "INSERT INTO kept VALUES (4)")
	require.Equal(t, 5, count(t, standby.URL()))
	standby.JoinReplication(primary)
	standby.AwaitReplay(primary)
	require.Equal(t, 6, count(t, standby.URL()))
}

// A commit waits for a synchronous standby, and for no other.
func TestSynchronous(t *testing.T) {
	primary := pgtest.Own(t, "fsync", "off")
	run(t, primary.URL(), "CREATE TABLE kept (n int)")
	standby := primary.Standby("one")
	primary.Synchronous(standby)
	run(t, primary.URL(), "INSERT INTO kept VALUES (1)")

	standby.Stop("fast")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := connect(t, primary.URL()).Exec(ctx, "INSERT INTO kept VALUES (2)")
	require.Error(t, err, "the commit did not wait")
	primary.Kill()
	primary.Start() // although the standby is away
	standby.Start()
	run(t, primary.URL(), "INSERT INTO kept VALUES (3)")
	primary.Synchronous()
	standby.Stop("fast")
	run(t, primary.URL(), "INSERT INTO kept VALUES (4)")
}

func TestPromotion(t *testing.T) {
	primary := pgtest.Own(t, "fsync", "off")
	run(t, primary.URL(), "CREATE TABLE kept (n int); CREATE UNLOGGED TABLE lost (n int); INSERT INTO lost VALUES (1)")
	standby := primary.Standby("one")
	primary.Synchronous(standby)
	url := pgtest.Hosts(primary, standby) + "&target_session_attrs=read-write"
	run(t, url, "INSERT INTO kept VALUES (1)")
	primary.Kill()
	_, err := pgx.Connect(t.Context(), url)
	require.Error(t, err, "a standby is no primary")
	standby.Promote()
	run(t, url, "INSERT INTO kept VALUES (2); INSERT INTO lost VALUES (2)")
	require.Equal(t, 2, count(t, standby.URL()))
	require.Equal(t, 2, ask[int](t, connect(t, standby.URL()), "SELECT sum(n) FROM lost"), "UNLOGGED tables begin empty")

	// A standby of what was a standby, on its timeline.
	second := standby.Standby("two")
	second.AwaitReplay(standby)
	require.Equal(t, 2, count(t, second.URL()))
}

// Two servers change places in order.
func TestSwitchover(t *testing.T) {
	one := pgtest.Own(t, "fsync", "off")
	run(t, one.URL(), "CREATE TABLE kept (n int)")
	two := one.Standby("two")
	one.Stop("fast") // waits until the standby has everything
	two.Promote()
	one.Follow(two, "one")
	run(t, two.URL(), "INSERT INTO kept VALUES (1)")
	one.AwaitReplay(two)
	require.Equal(t, 1, count(t, one.URL()))
	two.Stop("fast")
	one.Promote()
	two.Follow(one, "two")
	run(t, one.URL(), "INSERT INTO kept VALUES (1)")
	two.AwaitReplay(one)
	require.Equal(t, 2, count(t, two.URL()))
}

func TestBackup(t *testing.T) {
	s := pgtest.Own(t, "fsync", "off")
	run(t, s.URL(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1); CREATE UNLOGGED TABLE lost (n int); INSERT INTO lost VALUES (1)")
	// Writes go on during the backup: the copy alone would be inconsistent.
	ctx, stop := context.WithCancel(t.Context())
	conn := connect(t, s.URL())
	_, err := conn.Exec(ctx, "CREATE TABLE busy (n int PRIMARY KEY, pad text); INSERT INTO busy SELECT i, repeat('x', 500) FROM generate_series(1, 5000) AS i")
	require.NoError(t, err)
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for ctx.Err() == nil {
			conn.Exec(ctx, "UPDATE busy SET pad = repeat('y', 500) WHERE n % 7 = 0; UPDATE busy SET n = -n")
		}
	}()
	b := s.Backup()
	stop()
	<-writing
	run(t, s.URL(), "INSERT INTO kept VALUES (2)")
	for range 2 {
		restored := b.Restore()
		require.Equal(t, 1, count(t, restored.URL()))
		run(t, restored.URL(), "INSERT INTO kept VALUES (3)")
		conn := connect(t, restored.URL())
		require.EqualValues(t, 0, ask[int](t, conn, "SELECT count(*) FROM lost"))
		require.EqualValues(t, 5000, ask[int](t, conn, "SELECT count(*) FROM busy"))
		require.Contains(t, []int{0, 5000}, ask[int](t, conn, "SELECT count(*) FROM busy WHERE n < 0"))
	}
	require.Equal(t, 2, count(t, s.URL()))
}

func TestKillBackend(t *testing.T) {
	s := pgtest.Own(t, "fsync", "off")
	run(t, s.URL(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1); CREATE UNLOGGED TABLE lost (n int); INSERT INTO lost VALUES (1)")
	other := connect(t, s.URL())
	s.KillBackend()
	_, err := other.Exec(t.Context(), "SELECT 1")
	require.Error(t, err, "every backend was ended")
	require.Equal(t, 1, count(t, s.URL()))
	require.EqualValues(t, 0, ask[int](t, connect(t, s.URL()), "SELECT count(*) FROM lost"))
}
