package dbtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Exec runs one SQL statement on the pool of a database.
func Exec(t *testing.T, db *howdah.DB, sql string, args ...any) {
	t.Helper()
	_, err := db.Pool().Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// Number runs a query that returns one number.
func Number(t *testing.T, db *howdah.DB, sql string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, db.Pool().QueryRow(t.Context(), sql, args...).Scan(&n), sql)
	return n
}

// ExecURL runs SQL statements on a connection of their own.
func ExecURL(t *testing.T, url string, sql ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for _, statement := range sql {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
}

// Fill stores n rows without the detour over calls. The keys are key:1 to key:n, expires
// is SQL on i.
func Fill(t *testing.T, db *howdah.DB, cache string, n int, expires string) {
	t.Helper()
	Exec(t, db, fmt.Sprintf(`
		INSERT INTO %s (hash, version, expires_at, key, value)
		SELECT howdah.key_hash(convert_to('key:' || i, 'UTF8')), howdah_internal._clock() + i, %s,
		       convert_to('key:' || i, 'UTF8'), convert_to(repeat('v', 200), 'UTF8')
		FROM generate_series(1, %d) AS i`, pgtest.Table(t, db.Pool(), cache), expires, n))
}

// AwaitLockWaits returns once statements of a database have waited for locks n
// times: those of a call that goes on trying count each time.
func AwaitLockWaits(t *testing.T, url string, n int) {
	t.Helper()
	watcher, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer watcher.Close(context.Background())
	tries := map[time.Time]bool{}
	Eventually(t, "statements wait for locks", func() bool {
		rows, err := watcher.Query(t.Context(), `
			SELECT query_start FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database()`)
		require.NoError(t, err)
		starts, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
		require.NoError(t, err)
		for _, start := range starts {
			tries[start] = true
		}
		return len(tries) >= n
	})
}
