package migrate_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/schema"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return c
}

func connect(t testing.TB, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(ctx(t), databaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	_, err := conn.Exec(ctx(t), sql)
	require.NoError(t, err, sql)
}

func one[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, conn.QueryRow(ctx(t), sql, args...).Scan(&value), sql)
	return value
}

func up(t testing.TB, conn *pgx.Conn) migrate.Result {
	t.Helper()
	result, err := migrate.Up(ctx(t), conn, migrate.Options{})
	require.NoError(t, err)
	return result
}

// newRole makes a role that can log in and nothing else, and a connection as it.
func newRole(t *testing.T, databaseURL, name string) (string, *pgx.Conn) {
	t.Helper()
	super := connect(t, pgtest.SuperURL(databaseURL))
	name = fmt.Sprintf("%s %s", name, one[string](t, super, "SELECT current_database()"))
	quoted := pgx.Identifier{name}.Sanitize()
	run(t, super, "CREATE ROLE "+quoted+" LOGIN PASSWORD 'p'")
	t.Cleanup(func() {
		run(t, super, "DROP OWNED BY "+quoted+" CASCADE")
		run(t, super, "DROP ROLE "+quoted)
	})
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	u.User = url.UserPassword(name, "p")
	return name, connect(t, u.String())
}

func TestUpInstalls(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Empty(t))
	require.ErrorIs(t, migrate.Check(ctx(t), conn), migrate.ErrMissing)
	status, err := migrate.ReadStatus(ctx(t), conn)
	require.NoError(t, err)
	require.Zero(t, status.Version)
	require.Len(t, status.Pending, schema.Latest())

	result := up(t, conn)
	require.Equal(t, 0, result.From)
	require.Equal(t, schema.Latest(), result.To)
	require.Len(t, result.Applied, schema.Latest())
	require.True(t, result.FunctionsReplaced)
	require.NoError(t, migrate.Check(ctx(t), conn))

	status, err = migrate.ReadStatus(ctx(t), conn)
	require.NoError(t, err)
	require.Equal(t, schema.Latest(), status.Version)
	require.Len(t, status.Applied, schema.Latest())
	require.Empty(t, status.Pending)
	require.True(t, status.FunctionsCurrent)
	require.Equal(t, []string{"db0"}, status.Caches)
	run(t, conn, "SELECT howdah.set('db0', 'k', 'v')")
	require.EqualValues(t, 1, one[float32](t, conn, "SELECT reltuples FROM pg_class WHERE oid = 'howdah.meta'::regclass"),
		"the planner knows that this table has one row")

	// Again is nothing; a cache that was dropped stays dropped.
	run(t, conn, "SELECT howdah.drop_cache('db0')")
	require.Equal(t, migrate.Result{From: schema.Latest(), To: schema.Latest()}, up(t, conn))
	require.Equal(t, 0, one[int](t, conn, "SELECT count(*) FROM howdah_internal.cache"))
}

func TestTwentyMigratorsAtOnce(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	type outcome struct {
		result migrate.Result
		err    error
	}
	outcomes := make(chan outcome, 20)
	start := make(chan struct{})
	for range cap(outcomes) {
		conn := connect(t, databaseURL)
		go func() {
			<-start
			result, err := migrate.Up(ctx(t), conn, migrate.Options{})
			outcomes <- outcome{result, err}
		}()
	}
	close(start)
	winners := 0
	for range cap(outcomes) {
		o := <-outcomes
		require.NoError(t, o.err)
		if len(o.result.Applied) > 0 {
			winners++
			require.True(t, o.result.FunctionsReplaced)
		} else {
			require.False(t, o.result.FunctionsReplaced)
		}
		require.Equal(t, schema.Latest(), o.result.To)
	}
	require.Equal(t, 1, winners)
	require.NoError(t, migrate.Check(ctx(t), connect(t, databaseURL)))
}

func TestOlderProgramMeetsNewerSchema(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	newer := schema.Latest() + 1
	insert := fmt.Sprintf("INSERT INTO howdah.migration (version, name, breaking) VALUES (%d, 'next', ", newer)
	run(t, conn, insert+"false)")
	run(t, conn, "CREATE OR REPLACE FUNCTION howdah.no_expiry() RETURNS interval LANGUAGE sql AS $$ SELECT interval '2000 years' $$")
	run(t, conn, "UPDATE howdah.meta SET functions = functions + 1, functions_digest = 'newer'")

	require.NoError(t, migrate.Check(ctx(t), conn), "a newer schema that breaks nothing is fine")
	require.Equal(t, migrate.Result{From: newer, To: newer}, up(t, conn))
	require.True(t, one[bool](t, conn, "SELECT howdah.no_expiry() = interval '2000 years'"), "newer functions stay")
	require.NoError(t, migrate.GrantRuntime(ctx(t), conn, one[string](t, conn, "SELECT current_user::text"), false))

	run(t, conn, "DELETE FROM howdah.migration WHERE name = 'next'")
	run(t, conn, insert+"true)")
	for _, err := range []error{
		migrate.Check(ctx(t), conn),
		func() error { _, err := migrate.Up(ctx(t), conn, migrate.Options{}); return err }(),
		func() error { _, err := migrate.ReadStatus(ctx(t), conn); return err }(),
		func() error { _, err := migrate.Print(ctx(t), conn, migrate.Options{}); return err }(),
	} {
		require.ErrorIs(t, err, migrate.ErrTooNew)
		require.ErrorContains(t, err, "upgrade the program")
	}
}

func TestOlderSchemaAndFunctions(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "UPDATE howdah.meta SET functions = functions - 1")
	err := migrate.Check(ctx(t), conn)
	require.ErrorIs(t, err, migrate.ErrMissing)
	require.ErrorContains(t, err, `run "howdah migrate"`)
	status, err := migrate.ReadStatus(ctx(t), conn)
	require.NoError(t, err)
	require.False(t, status.FunctionsCurrent)

	// Another text under the same number is replaced too, and new functions
	// reach the roles that run applications.
	run(t, conn, "UPDATE howdah.meta SET functions = functions + 1, functions_digest = 'another'")
	run(t, conn, "DROP FUNCTION howdah.no_expiry()")
	role, app := newRole(t, conn.Config().ConnString(), "app")
	require.ErrorContains(t, migrate.GrantRuntime(ctx(t), conn, role+"x", false), "CREATE ROLE")
	require.ErrorIs(t, migrate.CheckRole(ctx(t), conn, role+"x"), migrate.ErrRoleNotFound)
	require.NoError(t, migrate.CheckRole(ctx(t), conn, role))
	require.NoError(t, migrate.GrantRuntime(ctx(t), conn, role, false))
	result := up(t, conn)
	require.Empty(t, result.Applied)
	require.True(t, result.FunctionsReplaced)
	run(t, app, "SELECT howdah.no_expiry()")

	run(t, conn, "DELETE FROM howdah.migration")
	require.ErrorIs(t, migrate.Check(ctx(t), conn), migrate.ErrMissing)
}

// A session that was killed in the middle leaves nothing behind.
func TestInterruptedMigration(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	conn, super := connect(t, databaseURL), connect(t, pgtest.SuperURL(databaseURL))
	script, err := migrate.Script(migrate.Options{})
	require.NoError(t, err)
	steps := strings.SplitAfter(script, "\nCREATE OR REPLACE FUNCTION howdah.get(")
	require.Len(t, steps, 2)
	half := steps[0][:strings.LastIndex(steps[0], ";")+1]
	require.NoError(t, conn.PgConn().Exec(ctx(t), half).Close())
	require.Equal(t, 1, one[int](t, conn, "SELECT count(*) FROM pg_namespace WHERE nspname = 'howdah'"))

	second := connect(t, databaseURL)
	done := make(chan error, 1)
	go func() {
		_, err := migrate.Up(context.Background(), second, migrate.Options{})
		done <- err
	}()
	require.Eventually(t, func() bool {
		return one[bool](t, super, "SELECT coalesce(wait_event = 'advisory', false) FROM pg_stat_activity WHERE pid = $1", second.PgConn().PID())
	}, time.Minute, time.Millisecond, "the second migrator waits for the first")
	run(t, super, fmt.Sprintf("SELECT pg_terminate_backend(%d)", conn.PgConn().PID()))
	require.NoError(t, <-done)
	require.NoError(t, migrate.Check(ctx(t), second))
}

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	holder, waiter := connect(t, databaseURL), connect(t, databaseURL)
	run(t, holder, fmt.Sprintf("SELECT pg_advisory_lock(%d)", 0x686f77646168))
	short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := migrate.Up(short, waiter, migrate.Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	run(t, holder, "SELECT pg_advisory_unlock_all()")
	up(t, connect(t, databaseURL))
}

func TestPrivileges(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	owner := connect(t, databaseURL)
	role, dev := newRole(t, databaseURL, `de"v`)
	quoted := pgx.Identifier{role}.Sanitize()

	_, err := migrate.Up(ctx(t), dev, migrate.Options{})
	require.ErrorIs(t, err, migrate.ErrPermission)
	require.ErrorContains(t, err, "GRANT CREATE ON DATABASE")
	_, grant, _ := strings.Cut(err.Error(), "run ")
	grant, _, _ = strings.Cut(grant, " as the owner")
	super := connect(t, pgtest.SuperURL(databaseURL))
	run(t, super, grant) // the advice is what helps
	up(t, dev)

	// Somebody else's schema of ours: nothing to do is fine, a change is not.
	require.ErrorIs(t, migrate.Check(ctx(t), owner), migrate.ErrPermission)
	require.NoError(t, migrate.GrantRuntime(ctx(t), super, one[string](t, owner, "SELECT current_user::text"), false))
	run(t, dev, "UPDATE howdah.meta SET functions = 0")
	_, err = migrate.Up(ctx(t), owner, migrate.Options{})
	require.ErrorIs(t, err, migrate.ErrPermission)
	require.ErrorContains(t, err, "belongs to role")
	require.ErrorIs(t, migrate.GrantRuntime(ctx(t), owner, role, false), migrate.ErrMissing)

	// An administrator's upgrade leaves everything with the owner.
	up(t, super)
	require.Equal(t, role, one[string](t, super, `
		SELECT string_agg(DISTINCT pg_get_userbyid(o), ',')
		FROM (SELECT proowner FROM pg_proc WHERE pronamespace IN ('howdah'::regnamespace, 'howdah_internal'::regnamespace)
		      UNION ALL SELECT relowner FROM pg_class WHERE relnamespace IN ('howdah'::regnamespace, 'howdah_internal'::regnamespace)) AS x (o)`))
	require.ErrorIs(t, migrate.GrantRuntime(ctx(t), owner, role, false), migrate.ErrPermission)
	_, err = migrate.Uninstall(ctx(t), owner, true)
	require.ErrorIs(t, err, migrate.ErrPermission)
	run(t, super, "DROP SCHEMA howdah CASCADE")
	_, err = migrate.Up(ctx(t), dev, migrate.Options{})
	require.ErrorIs(t, err, migrate.ErrForeign)
	require.ErrorContains(t, err, "howdah_internal")
	run(t, super, "DROP SCHEMA howdah_internal CASCADE")

	// A schema that an administrator made for us is enough.
	run(t, super, "REVOKE CREATE ON DATABASE "+pgx.Identifier{one[string](t, super, "SELECT current_database()::text")}.Sanitize()+" FROM "+quoted)
	run(t, super, "CREATE SCHEMA howdah AUTHORIZATION "+quoted)
	_, err = migrate.Up(ctx(t), dev, migrate.Options{})
	require.ErrorIs(t, err, migrate.ErrPermission)
	require.ErrorContains(t, err, "howdah_internal")
	run(t, super, "CREATE SCHEMA howdah_internal AUTHORIZATION "+quoted)
	up(t, dev)
	require.NoError(t, migrate.Check(ctx(t), dev))
}

func TestForeignSchemaIsRefused(t *testing.T) {
	t.Parallel()
	for _, object := range []string{
		"CREATE TABLE howdah.elephant ()", "CREATE FUNCTION howdah.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE TYPE howdah.e AS ENUM ('x')",
		"CREATE TABLE howdah.migration (x int); CREATE TABLE howdah.meta (y int)",
	} {
		conn := connect(t, pgtest.Empty(t))
		run(t, conn, "CREATE SCHEMA howdah")
		run(t, conn, object)
		before := one[string](t, conn, "SELECT coalesce(string_agg(relname, ','), '') FROM pg_class WHERE relnamespace = 'howdah'::regnamespace")
		_, err := migrate.Up(ctx(t), conn, migrate.Options{})
		require.ErrorIs(t, err, migrate.ErrForeign, object)
		require.ErrorIs(t, migrate.Check(ctx(t), conn), migrate.ErrForeign, object)
		_, err = migrate.Uninstall(ctx(t), conn, true)
		require.ErrorIs(t, err, migrate.ErrForeign, object)
		require.Equal(t, before, one[string](t, conn, "SELECT coalesce(string_agg(relname, ','), '') FROM pg_class WHERE relnamespace = 'howdah'::regnamespace"))
	}
}

// Settings of the database or the session do not change what is installed.
func TestOddSettings(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Empty(t))
	run(t, conn, "CREATE SCHEMA evil")
	run(t, conn, "CREATE TABLE evil.cache (x int)")
	run(t, conn, "CREATE FUNCTION evil.replace(text, text, text) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$")
	run(t, conn, "SET search_path = evil, pg_catalog")
	run(t, conn, "SET default_transaction_isolation = 'serializable'")
	run(t, conn, "SET default_transaction_read_only = on")
	run(t, conn, "SET standard_conforming_strings = on")
	up(t, conn)
	require.Equal(t, "evil, pg_catalog", one[string](t, conn, "SHOW search_path"), "the session's settings are back")
	run(t, conn, "SET default_transaction_read_only = off")
	require.NoError(t, migrate.Check(ctx(t), conn))
	run(t, conn, "SELECT howdah.set('db0', 'k', 'v')")
}

func TestUninstall(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	conn := connect(t, databaseURL)
	_, err := migrate.Uninstall(ctx(t), conn, false)
	require.ErrorIs(t, err, migrate.ErrMissing)
	up(t, conn)
	run(t, conn, "SELECT howdah.create_cache('p', prefix_index => true), howdah.set('p', 'k', 'v')")
	run(t, conn, "CREATE TABLE public.mine (x int)")

	objects, err := migrate.Objects(ctx(t), conn)
	require.NoError(t, err)
	require.Greater(t, len(objects), len(schema.Functions()))
	for _, o := range objects {
		require.True(t, o.Ours, o)
	}

	// What is not ours is refused, in the schema and outside.
	run(t, conn, "CREATE TABLE howdah.elephant (x interval DEFAULT howdah.no_expiry())")
	run(t, conn, "CREATE VIEW howdah.v AS SELECT * FROM howdah.elephant")
	run(t, conn, "CREATE FUNCTION howdah.get(x int) RETURNS int LANGUAGE sql AS 'SELECT 1'")
	run(t, conn, "CREATE TYPE howdah.mood AS ENUM ('good'); CREATE DOMAIN howdah.d AS howdah.mood; CREATE TYPE howdah.pair AS (a int, b howdah.d); CREATE SEQUENCE howdah.q")
	run(t, conn, "CREATE TABLE howdah.cache_fake ()")
	_, err = migrate.Uninstall(ctx(t), conn, false)
	require.ErrorIs(t, err, migrate.ErrForeign)
	for _, name := range []string{"table howdah.elephant", "view howdah.v", "function howdah.get(integer)", "howdah.mood", "howdah.cache_fake"} {
		require.ErrorContains(t, err, name)
	}
	require.NotContains(t, err.Error(), "cache_p")

	run(t, conn, "CREATE VIEW public.outside AS SELECT howdah.get_text('p', 'k')")
	_, err = migrate.Uninstall(ctx(t), conn, true)
	require.ErrorIs(t, err, migrate.ErrForeign)
	require.ErrorContains(t, err, "view public.outside")
	require.NoError(t, migrate.Check(ctx(t), conn))
	require.Equal(t, "v", one[string](t, conn, "SELECT get_text FROM public.outside"), "all of it is still there")
	run(t, conn, "DROP VIEW public.outside")

	// A watch would go on calling what is gone.
	run(t, conn, "SELECT howdah.watch_table('public.mine', 'p', 'x')")
	status, err := migrate.ReadStatus(ctx(t), conn)
	require.NoError(t, err)
	require.Equal(t, []string{"public.mine (p)"}, status.Watches)
	_, err = migrate.Uninstall(ctx(t), conn, true)
	require.ErrorIs(t, err, migrate.ErrForeign)
	require.ErrorContains(t, err, "howdah.unwatch_table (public.mine (p))")
	run(t, conn, "SELECT howdah.unwatch_table('public.mine', 'p')")

	removed, err := migrate.Uninstall(ctx(t), conn, true)
	require.NoError(t, err)
	require.Greater(t, len(removed), len(objects))
	require.Equal(t, 0, one[int](t, conn, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'howdah%'"))
	run(t, conn, "INSERT INTO public.mine VALUES (1)")
	up(t, conn)
	_, err = migrate.Uninstall(ctx(t), conn, false)
	require.NoError(t, err)
}
