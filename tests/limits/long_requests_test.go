package limits_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// PostgreSQL answers the first statements while it has yet to read the last:
// with more in both directions than the sockets hold, whoever only wrote would
// wait for ever.
func TestLongRequestsWithLongAnswers(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), &howdah.Options{Timeout: time.Minute, MaxBatchBytes: 64 << 20})
	cache := db.Cache("db0")
	const n = 12
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 1<<20) }
	calls := func() (calls []*verb.Call) {
		for i := range n {
			calls = append(calls, &verb.Call{Verb: statement.GetDelete, Key: fmt.Appendf(nil, "old%d", i)})
		}
		for i := range n {
			calls = append(calls, &verb.Call{Verb: statement.Set, Key: fmt.Appendf(nil, "new%d", i), Value: value(n + i)})
		}
		return calls
	}
	fill := func() {
		for i := range n {
			require.NoError(t, cache.Set(t.Context(), fmt.Sprintf("old%d", i), value(i), howdah.NoExpiry))
		}
	}
	check := func(calls []*verb.Call) {
		for i, call := range calls {
			require.NoError(t, call.Err)
			require.Equal(t, verb.OK, call.Status)
			if i < n {
				require.True(t, bytes.Equal(value(i), call.Result.Value))
			}
		}
	}

	t.Run("in flights", func(t *testing.T) {
		fill()
		calls := calls()
		require.NoError(t, dbtest.Do(t.Context(), cache, calls...))
		check(calls)
	})
	t.Run("in a transaction", func(t *testing.T) {
		fill()
		tx, err := db.Pool().Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(context.WithoutCancel(t.Context()))
		calls := calls()
		require.NoError(t, dbtest.Do(t.Context(), cache.With(tx), calls...))
		check(calls)
		require.NoError(t, tx.Commit(t.Context()))
	})
}

// A call that comes to its deadline leaves nothing running in PostgreSQL, and
// the next calls get a connection that works.
func TestTimeoutCancelsTheStatement(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, &howdah.Options{Timeout: 200 * time.Millisecond})
	cache := db.Cache("db0")
	other := dbtest.Open(t, url, nil)
	dbtest.Eventually(t, "it answers in time", func() bool {
		_, err := cache.Get(t.Context(), "key")
		return errors.Is(err, howdah.ErrMiss)
	})

	tx, err := other.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	// The statement of a get that was too late may still hold the table.
	_, err = tx.Exec(t.Context(), "SET LOCAL lock_timeout = 0; LOCK TABLE "+pgtest.Table(t, tx, "db0"))
	require.NoError(t, err)
	_, err = cache.Get(t.Context(), "key")
	require.ErrorIs(t, err, howdah.ErrTimeout)
	dbtest.Eventually(t, "the statement is cancelled though the lock is still held", func() bool {
		return dbtest.Number(t, other, `
			SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'active' AND query LIKE '%howdah_internal.cache_%' AND pid <> pg_backend_pid()`) == 0
	})
	require.NoError(t, tx.Rollback(t.Context()))
	dbtest.Eventually(t, "the cache answers again", func() bool {
		return cache.Set(t.Context(), "key", []byte("value"), howdah.NoExpiry) == nil
	})
}
