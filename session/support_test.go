package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// patient options let a loaded test machine take its time.
func patient(o session.Options) *session.Options {
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	return &o
}

// open returns a manager on a fresh database, and that database.
func open(t testing.TB, o session.Options) (*session.Manager, *pgxpool.Pool) {
	t.Helper()
	return openURL(t, pgtest.New(t), o)
}

func openURL(t testing.TB, url string, o session.Options) (*session.Manager, *pgxpool.Pool) {
	t.Helper()
	db, err := howdah.Open(t.Context(), url, &howdah.Options{Timeout: 20 * time.Second, MaxConns: 16})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return manager(t, db, o), db.Pool()
}

func manager(t testing.TB, db *howdah.DB, o session.Options) *session.Manager {
	t.Helper()
	m, err := session.New(db, patient(o))
	require.NoError(t, err)
	return m
}

func create(t testing.TB, m *session.Manager, start session.Start) *session.Session {
	t.Helper()
	s, err := m.Create(t.Context(), start)
	require.NoError(t, err)
	return s
}

func get(t testing.TB, m *session.Manager, token session.Token) *session.Session {
	t.Helper()
	s, err := m.Get(t.Context(), token)
	require.NoError(t, err)
	return s
}

// dead asserts that a token stands for no session.
func dead(t testing.TB, m *session.Manager, token session.Token) {
	t.Helper()
	_, err := m.Get(t.Context(), token)
	require.ErrorIs(t, err, session.ErrNotFound)
}

func one[T any](t testing.TB, pool *pgxpool.Pool, sql string, args ...any) T {
	t.Helper()
	var v T
	require.NoError(t, pool.QueryRow(t.Context(), sql, args...).Scan(&v), sql)
	return v
}

func run(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// age makes a session older by d: everything that it remembers of time moves
// into the past, as if d had gone by.
func age(t testing.TB, pool *pgxpool.Pool, id session.ID, d time.Duration) {
	t.Helper()
	tag, err := pool.Exec(t.Context(), `
		UPDATE howdah.session
		SET created_at = created_at - $2::interval, last_seen_at = last_seen_at - $2::interval,
		    idle_expires_at = idle_expires_at - $2::interval, absolute_expires_at = absolute_expires_at - $2::interval
		WHERE id = $1::uuid`, id.String(), d)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
}

// left is how long a session has to live if it is not used.
func left(t testing.TB, pool *pgxpool.Pool, id session.ID) time.Duration {
	t.Helper()
	return one[time.Duration](t, pool,
		"SELECT idle_expires_at - statement_timestamp() FROM howdah.session WHERE id = $1::uuid", id.String())
}

// about asserts a duration within the time that a slow machine takes.
func about(t testing.TB, want, got time.Duration) {
	t.Helper()
	require.LessOrEqual(t, got, want+time.Second)
	require.Greater(t, got, want-20*time.Second)
}

// running runs a manager until the test ends.
func running(t testing.TB, m *session.Manager) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(time.Minute):
			return fmt.Errorf("Run did not return")
		}
	}
	t.Cleanup(func() { require.NoError(t, stop()) })
	return stop
}

// eventually awaits a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	await.True(t, what, condition)
}
