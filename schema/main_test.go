package schema_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// ctx bounds every statement of a test: a hang is a failure.
func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return c
}

// open returns a pool of the owner on a fresh database with the cache "c" of
// class unlogged and the cache "s" of class sync. In the tests of TestDivided they have
// partitions.
func open(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool := connect(t, newDatabase(t))
	run(t, pool, "SELECT howdah.create_cache('c'), howdah.create_cache('s', durability => 'sync')")
	return pool
}

func connect(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(ctx(t), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// querier is a pool, a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func run(t testing.TB, q querier, sql string, args ...any) {
	t.Helper()
	_, err := q.Exec(ctx(t), sql, args...)
	require.NoError(t, err, sql)
}

// one returns the single value that a query answers.
func one[T any](t testing.TB, q querier, sql string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, q.QueryRow(ctx(t), sql, args...).Scan(&value), sql)
	return value
}

// all returns the only column of a query.
func all[T any](t testing.TB, q querier, sql string, args ...any) []T {
	t.Helper()
	rows, err := q.Query(ctx(t), sql, args...)
	require.NoError(t, err, sql)
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return values
}

// refused asserts that a statement fails with this SQLSTATE; our own errors
// are sentences with a hint.
func refused(t testing.TB, q querier, code, sql string, args ...any) {
	t.Helper()
	_, err := q.Exec(ctx(t), sql, args...)
	require.Equal(t, code, state(err), "%s: %v", sql, err)
	if strings.HasPrefix(code, "HW") {
		var pgErr *pgconn.PgError
		require.ErrorAs(t, err, &pgErr)
		require.Regexp(t, `(?s)^[A-Z'"].*\.$`, pgErr.Message, sql)
		require.Regexp(t, `\.$`, pgErr.Hint, sql)
	}
}

func state(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// plant puts a live row of another key into the slot of key: a collision.
func plant(t testing.TB, q querier, cache, key, other, value string) {
	t.Helper()
	run(t, q, `INSERT INTO `+tableOf(t, q, cache, key)+` (hash, version, expires_at, key, value)
	           VALUES (howdah.key_hash($1), 7, 'infinity', $2, $3)`,
		[]byte(key), []byte(other), []byte(value))
}

// table is the name of the physical table of a cache; of one with partitions, a view of all
// of them that can be written.
func table(t testing.TB, q querier, cache string) string {
	t.Helper()
	if divided(t) {
		return viewOfRows(t, q, cache)
	}
	return pgtest.Table(t, q, cache)
}

// tableOf is the name of the physical table of a key.
func tableOf(t testing.TB, q querier, cache, key string) string {
	t.Helper()
	return one[string](t, q, "SELECT howdah_internal._table(howdah_internal._settings($1, $2))", cache, []byte(key))
}

// expireNow makes an entry expired without removing its row.
func expireNow(t testing.TB, q querier, cache, key string) {
	t.Helper()
	tag, err := q.Exec(ctx(t), `UPDATE `+tableOf(t, q, cache, key)+`
	    SET expires_at = statement_timestamp() - interval '1 microsecond' WHERE key = $1`, []byte(key))
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
}

// versionOf makes a function version_of(key), the version of a row of a cache: the
// token of a lease on it.
func versionOf(t *testing.T, db querier, cache string) {
	t.Helper()
	run(t, db, "CREATE FUNCTION public.version_of(k text) RETURNS bigint LANGUAGE sql AS $$ SELECT version FROM "+
		table(t, db, cache)+" WHERE key = convert_to(k, 'UTF8') $$")
}

func replaceAll(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }
