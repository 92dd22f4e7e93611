package doctor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	conn, super := connect(t, server.NewURL()), connect(t, server.SuperURL())
	run(t, conn, "SELECT howdah.create_cache('s', durability => 'sync')", sessionsFrom("now()"))
	for _, c := range []struct{ id, name, bad string }{
		{"autovacuum-off", "autovacuum", "off"},
		{"track-counts-off", "track_counts", "off"},
		{"fsync-off", "fsync", "off"},
		{"full-page-writes-off", "full_page_writes", "off"},
		{"jit-on", "jit", "on"},
		{"autovacuum-naptime", "autovacuum_naptime", "1h"},
		{"synchronous-commit-off", "synchronous_commit", "off"},
		{"sessions-commit-off", "synchronous_commit", "off"},
	} {
		t.Run(c.id, func(t *testing.T) {
			run(t, super, fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", c.name, c.bad), "SELECT pg_reload_conf()")
			f := await(t, conn, low, c.id, c.name)
			require.Contains(t, f.Evidence, c.name)
			repair(t, conn, super, low, f)
			run(t, super, fmt.Sprintf("ALTER SYSTEM RESET %s", c.name), "SELECT pg_reload_conf()")
		})
	}

	// Where a setting was made is where it has to be changed.
	for _, c := range []struct{ set, repair string }{
		{"ALTER DATABASE howdah SET synchronous_commit = off", "ALTER DATABASE"},
		{"ALTER ROLE howdah SET synchronous_commit = off", "ALTER ROLE"},
		{"ALTER ROLE howdah IN DATABASE howdah SET synchronous_commit = off", "IN DATABASE"},
	} {
		run(t, super, c.set)
		f := await(t, connect(t, server.URL()), low, "synchronous-commit-off", "")
		require.Contains(t, f.Repair[0], c.repair)
		run(t, super, f.Repair...)
		gone(t, connect(t, server.URL()), low, f)
	}
	f := await(t, connect(t, server.URL()+"&options=-c%20synchronous_commit%3Doff"), low, "synchronous-commit-off", "")
	require.Empty(t, f.Repair)
	require.Contains(t, f.Note, "connection string")
}

// What was given on the command line cannot be changed by ALTER SYSTEM.
func TestSmallServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "shared_buffers", "512kB", "max_connections", "13", "superuser_reserved_connections", "3")
	databaseURL := server.NewURL()
	conn := connect(t, databaseURL)
	run(t, conn, "SELECT count(howdah.set_text('db0', i::text, repeat('x', 1000))) FROM generate_series(1, 3000) AS i")
	f := await(t, conn, low, "shared-buffers-small", "shared_buffers")
	require.Contains(t, f.Evidence, "512.0 KiB")
	require.Empty(t, f.Repair)
	require.Contains(t, f.Note, "command line")
	run(t, conn, "SELECT howdah.flush('db0')")
	gone(t, conn, low, f)

	var crowd []*pgx.Conn
	for range 8 {
		crowd = append(crowd, connect(t, databaseURL))
	}
	eventually(t, func() bool { // a connection that was closed before may still be there
		f = await(t, conn, low, "connections-exhausted", "max_connections")
		return strings.Contains(f.Evidence, "9 of 10")
	}, "the connections are counted wrongly")
	for _, c := range crowd {
		require.NoError(t, c.Close(ctx(t)))
	}
	gone(t, conn, low, f)
}

func TestHolders(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "max_prepared_transactions", "5")
	databaseURL := server.NewURL()
	conn, super := connect(t, databaseURL), connect(t, server.SuperURL())
	opts := low
	opts.LongTransaction = time.Second
	run(t, conn, "CREATE TABLE x (y int)")

	idler := connect(t, databaseURL)
	run(t, idler, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT FROM x")
	f := await(t, conn, opts, "idle-in-transaction", fmt.Sprintf("session %d", idler.PgConn().PID()))
	require.Contains(t, f.Evidence, "idle_in_transaction_session_timeout = 0")
	repair(t, conn, conn, opts, f)
	require.Equal(t, "1min", one[string](t, connect(t, databaseURL), "SHOW idle_in_transaction_session_timeout"))

	sleeper := connect(t, databaseURL)
	slept := make(chan error, 1)
	go func() {
		_, err := sleeper.Exec(context.Background(), "SELECT pg_sleep(100)")
		slept <- err
	}()
	repair(t, conn, conn, opts, await(t, conn, opts, "long-transaction", fmt.Sprintf("session %d", sleeper.PgConn().PID())))
	require.Error(t, <-slept)

	run(t, conn, "BEGIN", "INSERT INTO x VALUES (1)", "PREPARE TRANSACTION 'it''s left'")
	repair(t, conn, conn, opts, await(t, conn, opts, "prepared-transaction", "it's left"))

	run(t, super, "SELECT pg_create_physical_replication_slot('left', true)")
	require.NotNil(t, find(examine(t, conn, opts), "unlogged-replicated", "cache_db0"))
	require.Equal(t, doctor.Info, find(examine(t, conn, opts), "unlogged-replicated", "cache_db0").Severity)
	run(t, conn, sessionTable, "CREATE UNLOGGED TABLE cache (key text PRIMARY KEY, value text)")
	require.Equal(t, doctor.Error, await(t, conn, opts, "unlogged-sessions", "public.sessions").Severity)
	repair(t, conn, conn, opts, await(t, conn, opts, "unlogged-replicated", "public.cache"))
	repair(t, conn, conn, opts, await(t, conn, opts, "unlogged-replicated", "howdah.cache_db0"))
	repair(t, conn, super, opts, await(t, conn, opts, "idle-replication-slot", "left"))
}

func TestBusyWorkers(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "autovacuum_naptime", "1s")
	super := connect(t, server.SuperURL())
	run(t, super, "ALTER SYSTEM SET autovacuum_max_workers = 1")
	server.Stop("fast")
	server.Start()
	super = connect(t, server.SuperURL())
	run(t, super, "CREATE TABLE slow (x int) WITH (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)",
		"INSERT INTO slow SELECT generate_series(1, 100000)", "DELETE FROM slow")
	opts := low
	opts.LongVacuum = time.Second
	f := await(t, super, opts, "autovacuum-workers-busy", "autovacuum_max_workers")
	require.Contains(t, f.Evidence, "1 are at work")
	require.Equal(t, []string{"ALTER SYSTEM SET autovacuum_max_workers = '3'"}, f.Repair[:1])
	run(t, super, f.Repair...)
	server.Stop("fast")
	server.Start()
	gone(t, connect(t, server.SuperURL()), opts, f)
}

func TestStatements(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "shared_preload_libraries", "pg_stat_statements")
	super, conn := connect(t, server.SuperURL()), connect(t, server.URL())
	run(t, super, `CREATE SCHEMA "odd schema"`, `GRANT USAGE ON SCHEMA "odd schema" TO PUBLIC`, `CREATE EXTENSION pg_stat_statements SCHEMA "odd schema"`, `SET search_path = public, "odd schema"`)
	run(t, conn, "CREATE TABLE sessions (sid text PRIMARY KEY, data text, expires_at timestamptz)",
		"INSERT INTO sessions SELECT i, 'x', now() - interval '1 s' FROM generate_series(1, 100) AS i",
		"DELETE FROM sessions WHERE ctid = ANY (ARRAY(SELECT ctid FROM sessions WHERE expires_at < now() LIMIT 10))",
		"DELETE FROM sessions WHERE sid = '5' AND expires_at = now()",
		`DELETE FROM "sessions" WHERE expires_at < now()`,
		"INSERT INTO sessions VALUES ('x', 'x', now() - interval '1 s')")
	f := await(t, conn, low, "unbounded-delete", "")
	require.Contains(t, f.Evidence, `DELETE FROM "sessions" WHERE expires_at < now(); 1 call, 90 rows deleted`)
	require.Len(t, f.Repair, 2)
	repair(t, conn, super, low, f)
	require.Nil(t, find(examine(t, conn, low), "unbounded-delete", ""), "the bounded statements are left in peace")
	require.Zero(t, one[int](t, conn, "SELECT count(*)::integer FROM sessions"), "the block deletes as well")

	run(t, super, `REVOKE ALL ON "odd schema".pg_stat_statements FROM PUBLIC`)
	require.NotNil(t, find(examine(t, conn, low), "not-checked", "pg_stat_statements"))
	require.True(t, strings.HasPrefix(find(examine(t, conn, low), "not-checked", "pg_stat_statements").Evidence, "PostgreSQL said: permission denied"))
}
