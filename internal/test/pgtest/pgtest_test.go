package pgtest_test

import (
	"context"
	"testing"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func ask[T any](t *testing.T, conn *pgx.Conn, sql string) (v T) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&v))
	return v
}

func TestNew(t *testing.T) {
	url := pgtest.New(t)
	conn := connect(t, url)
	require.True(t, ask[bool](t, conn, "SELECT to_regclass('howdah.migration') IS NOT NULL"))
	require.False(t, ask[bool](t, conn, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"))
	require.True(t, ask[bool](t, conn, "SELECT datdba = current_user::regrole FROM pg_database WHERE datname = current_database()"))

	again := connect(t, pgtest.New(t))
	require.NotEqual(t, ask[string](t, conn, "SELECT current_database()"), ask[string](t, again, "SELECT current_database()"))
}

func TestParallel(t *testing.T) {
	for range 16 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			conn := connect(t, pgtest.New(t))
			_, err := conn.Exec(t.Context(), "CREATE TABLE mine ()")
			require.NoError(t, err)
		})
	}
}

func TestDropped(t *testing.T) {
	var url string
	t.Run("user", func(t *testing.T) {
		url = pgtest.Empty(t)
		conn, err := pgx.Connect(t.Context(), url) // left open: the drop is forced
		require.NoError(t, err)
		require.Nil(t, ask[*string](t, conn, "SELECT to_regclass('howdah.migration')::text"))
	})
	_, err := pgx.Connect(t.Context(), url)
	require.ErrorContains(t, err, "3D000") // no such database
}

func TestTCPAndSuper(t *testing.T) {
	url := pgtest.Empty(t)
	name := ask[string](t, connect(t, url), "SELECT current_database()")

	tcp := connect(t, pgtest.TCP(url))
	require.Equal(t, "127.0.0.1/32", ask[string](t, tcp, "SELECT inet_server_addr()::text"))
	require.Equal(t, name, ask[string](t, tcp, "SELECT current_database()"))

	super := connect(t, pgtest.SuperURL(url))
	require.True(t, ask[bool](t, super, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"))
	require.Equal(t, name, ask[string](t, super, "SELECT current_database()"))

	both := connect(t, pgtest.TCP(pgtest.SuperURL(url)))
	require.Equal(t, "postgres", ask[string](t, both, "SELECT current_user::text"))
}

func TestOwn(t *testing.T) {
	s := pgtest.Own(t, "work_mem", "5MB")
	url, tcp := s.URL(), pgtest.TCP(s.URL())
	conn := connect(t, url)
	for setting, want := range map[string]string{
		"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "work_mem": "5MB",
	} {
		require.Equal(t, want, ask[string](t, conn, "SHOW "+setting), setting)
	}
	_, err := conn.Exec(t.Context(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
	require.NoError(t, err)

	for _, end := range []struct {
		name string
		stop func()
	}{
		{"smart", func() { conn.Close(context.Background()); s.Stop("smart") }},
		{"fast", func() { s.Stop("fast") }},
		{"immediate", func() { s.Stop("immediate") }},
		{"kill", func() { s.Kill() }},
	} {
		end.stop()
		_, err := pgx.Connect(t.Context(), url)
		require.Error(t, err, end.name)
		s.Start()
		require.Equal(t, url, s.URL(), end.name)
		conn = connect(t, tcp)
		require.EqualValues(t, 1, ask[int](t, conn, "SELECT count(*) FROM kept"), end.name)
	}
}
