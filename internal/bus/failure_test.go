package bus

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// After a crash of PostgreSQL, which empties the table of messages, they arrive again:
// each once, the first one that is published included.
func TestCrashOfPostgreSQL(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	url := server.NewURL()
	publisher, notified, polling := start(t, url, ""), start(t, url, ""), start(t, url, "none")
	both := []*process{notified, polling}
	for _, p := range both {
		p.subscribe(Published)
	}
	control := func(sql string) {
		_, err := publisher.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	control("CREATE TABLE durable (n integer)")
	sent := 0
	for round := range 3 {
		for range 20 {
			publisher.publish("c", fmt.Sprint(sent))
			sent++
		}
		for _, p := range both {
			require.Equal(t, series(sent), p.await(sent)["c"])
		}
		// What the processes have committed asynchronously is durable with this.
		control("INSERT INTO durable VALUES (1)")
		server.Stop("immediate")
		require.Error(t, publisher.publishOne(t.Context(), message("lost", "x")))
		server.Start()
		eventually(t, "PostgreSQL answers", func() bool { return publisher.pool.Ping(t.Context()) == nil })
		// The rows of those who want messages have outlived the crash.
		publisher.publish("c", fmt.Sprint(sent))
		sent++
		for _, p := range both {
			require.Equal(t, series(sent), p.await(sent)["c"], "round %d", round)
		}
	}
	for _, p := range both {
		p.nothingElse(publisher, sent)
		if p == notified {
			polling.forgetMarker()
		}
	}
	eventually(t, "notifications arrive", func() bool { return notified.Stats().Listening })
	require.True(t, notified.logged("are not received now"))
	require.True(t, notified.logged("are received again"))
}

// A standby has no messages when it is promoted. Those that are published then arrive, each
// once, the first one included, although it knows the others from old rows alone.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := pgtest.Own(t, "fsync", "off")
	conn := connect(t, primary.NewURL())
	standby := primary.Standby("standby")
	hosts := pgtest.Hosts(primary, standby) + "&target_session_attrs=primary&connect_timeout=20"
	publisher, notified, polling := start(t, hosts, ""), start(t, hosts, ""), start(t, hosts, "none")
	both := []*process{notified, polling}
	for _, p := range both {
		p.subscribe(Published)
	}
	for i := range 20 {
		publisher.publish("c", fmt.Sprint(i))
	}
	for _, p := range both {
		require.Equal(t, series(20), p.await(20)["c"])
	}
	// The primary was away for longer than a process may be.
	run(t, conn, "UPDATE howdah_internal.server SET renewed_at = renewed_at - interval '1 hour'")
	standby.AwaitReplay(primary)
	primary.Stop("immediate")
	standby.Promote()
	eventually(t, "the new primary answers", func() bool { return publisher.pool.Ping(t.Context()) == nil })
	for i := range 20 {
		publisher.publish("c", fmt.Sprint(20+i))
	}
	for _, p := range both {
		require.Equal(t, series(40), p.await(40)["c"])
	}
	eventually(t, "notifications arrive", func() bool { return notified.Stats().Listening })
}

// A connection for notifications that is lost is made again, and what is published
// meanwhile arrives.
func TestListenConnectionIsKilled(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := start(t, url, ""), start(t, url, "")
	b.subscribe(Published)
	super := connect(t, pgtest.SuperURL(url))
	for i := range 3 {
		eventually(t, "notifications arrive", func() bool { return b.Stats().Listening })
		killed := one[int](t, super, `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 60000)) FROM pg_stat_activity
			WHERE datname = current_database() AND query ~ 'LISTEN' AND pid <> pg_backend_pid()`)
		require.Equal(t, 1, killed)
		a.publish("c", fmt.Sprint(i))
		require.Equal(t, series(i+1), b.await(i + 1)["c"])
		eventually(t, "another connection is made", func() bool { return b.lines("arrive again") == i+1 })
	}
	require.True(t, b.logged("the connection for notifications was lost"))
	require.False(t, b.logged("--listen-url"), "advice for a pooler, where there is none")
}

// The connection for notifications is silent while no process publishes: a limit for
// idle sessions does not end it.
func TestListenConnectionMayBeIdle(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn := connect(t, url)
	p := start(t, url, url+"&options=-c%20idle_session_timeout%3D500")
	p.subscribe(Published)
	// On a busy machine the limit may end sessions that have not begun to listen.
	eventually(t, "notifications arrive", func() bool { return p.Stats().Listening })
	const idle = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ~ 'LISTEN howdah' AND pid <> pg_backend_pid()"
	require.Equal(t, 1, one[int](t, conn, idle))
	eventually(t, "the session ends or outlives the limit", func() bool {
		return one[int](t, conn, idle+" AND clock_timestamp() - state_change < interval '1500 ms'") == 0
	})
	require.Equal(t, 1, one[int](t, conn, idle))
	require.True(t, p.Stats().Listening)
}

// A pool that is busy for longer than a notification may take does not make this process
// believe that none arrive.
func TestNotificationIsAskedForLate(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn := connect(t, url)
	p := newProcess(t, url, "")
	run(t, conn, schema.Query("bus_listen"), pgx.QueryExecModeSimpleProtocol)
	p.options.Acquire = func(ctx context.Context) (*pgxpool.Conn, error) {
		time.Sleep(testPatience)
		return p.pool.Acquire(ctx)
	}
	require.NoError(t, p.Bus.await(t.Context(), conn, testPatience, true))
}

// Where LISTEN succeeds and nothing arrives, as behind a pooler in transaction mode,
// messages are polled for. Here another database stands for the pooler.
func TestNotificationsDoNotArrive(t *testing.T) {
	t.Parallel()
	url, elsewhere := pgtest.New(t), pgtest.New(t)
	a, b := start(t, url, ""), start(t, url, elsewhere)
	b.subscribe(Published)
	for i := range 5 {
		a.publish("c", fmt.Sprint(i))
		require.Equal(t, series(i+1), b.await(i + 1)["c"])
	}
	eventually(t, "it says so", func() bool { return b.logged("no notification arrives") })
	require.True(t, b.logged("--listen-url"))
	require.False(t, b.Stats().Listening)
	a.publish("c", "5")
	b.await(6)

	c := start(t, url, "none")
	c.subscribe(Published)
	eventually(t, "it says so", func() bool { return c.logged("polled for each 50 ms, because the pooler") })
}

// The row of a process is there while it wants messages, and others remove it when the
// process was killed.
func TestRowOfAProcess(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn := connect(t, url)
	p := start(t, url, "")
	p.subscribe(Published)
	p.subscribe(Published)
	p.subscribe(Ready)
	eventually(t, "its numbers", func() bool {
		return one[bool](t, conn, "SELECT coalesce(bool_and(subscribers = 2 AND waiters = 1 AND kinds = 10 AND name = $1), false) FROM howdah_internal.server", t.Name())
	})
	renewed := one[string](t, conn, "SELECT renewed_at::text FROM howdah_internal.server")
	eventually(t, "it is renewed", func() bool {
		return one[bool](t, conn, "SELECT renewed_at > $1::text::timestamptz FROM howdah_internal.server", renewed)
	})
	// The row was removed as that of a process that had ended: it comes again.
	run(t, conn, "DELETE FROM howdah_internal.server")
	eventually(t, "it is made again", func() bool { return one[int](t, conn, "SELECT count(*) FROM howdah_internal.server") == 1 })
	p.Leave(Published)
	p.Leave(Published)
	p.Leave(Ready)
	p.stop()
	require.Zero(t, one[int](t, conn, "SELECT count(*) FROM howdah_internal.server"))
}

// A kind that has no receivers any more is wanted for a while: the next one does not wait.
func TestNextSubscriberDoesNotWait(t *testing.T) {
	t.Parallel()
	p := start(t, pgtest.New(t), "none")
	p.subscribe(Published)
	p.Leave(Published)
	joined, err := p.Join(Published, nil)
	require.NoError(t, err)
	require.True(t, joined)
	p.Leave(Published)
	require.Equal(t, Published.bit(), p.wantedAt(linger/2))
	require.Zero(t, p.wantedAt(2*linger))
	asked := make(chan error, 1)
	joined, err = p.Join(Published, func(err error) { asked <- err })
	require.NoError(t, err)
	require.False(t, joined, "it is not settled any more")
	require.NoError(t, <-asked)
}

// Errors of those who cannot be told or cannot be asked are for the caller.
func TestStandbyAndNoServer(t *testing.T) {
	t.Parallel()
	primary := pgtest.Own(t)
	url := primary.NewURL()
	standby := primary.Standby("s")
	standby.AwaitReplay(primary)
	p := start(t, standby.URL(), "")
	err := p.tryJoin(Published)
	require.ErrorIs(t, err, fault.ErrUnavailable)
	require.ErrorContains(t, err, "standby")
	err = p.publishOne(t.Context(), message("c", "x"))
	require.ErrorIs(t, err, fault.ErrUnavailable)
	require.ErrorContains(t, err, "standby")
	_ = url

	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), ".s.PGSQL.5432"))
	require.NoError(t, err)
	dir := filepath.Dir(listener.Addr().String())
	require.NoError(t, listener.Close())
	require.NoError(t, os.RemoveAll(dir))
	gone := start(t, "host="+dir+" user=howdah dbname=howdah", "")
	require.ErrorIs(t, gone.tryJoin(Published), fault.ErrUnavailable)
	require.ErrorIs(t, gone.publishOne(t.Context(), message("c", "x")), fault.ErrUnavailable)
}
