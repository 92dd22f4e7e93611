package limits_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/leaks"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// Several calls handed over together leave when their context ends, and what
// they had under way ends with it, however much longer others might wait.
func TestCallsTogetherLeaveWithTheirContext(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	pool, err := pgxpool.New(t.Context(), url) // whose statements wait for locks without end
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db, err := howdah.OpenPool(t.Context(), pool, &howdah.Options{Timeout: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(t.Context(), "a", nil, 0))

	tx, err := dbtest.Open(t, url, nil).Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "LOCK TABLE "+pgtest.Table(t, tx, "db0"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	calls := []*verb.Call{{Verb: statement.Get, Key: []byte("a")}, {Verb: statement.Get, Key: []byte("b")}}
	require.ErrorIs(t, dbtest.Do(ctx, cache, calls...), howdah.ErrTimeout)
	for _, call := range calls {
		require.ErrorIs(t, call.Err, howdah.ErrTimeout)
	}
	dbtest.Eventually(t, "the connection is given back", func() bool { return pool.Stat().AcquiredConns() == 0 })
}

// A transaction that nobody ended does not keep Close from returning, and what
// it holds is closed with it.
func TestCloseDoesNotWaitForLeaks(t *testing.T) {
	url := pgtest.New(t)
	before := goleak.IgnoreCurrent()
	db, err := howdah.Open(t.Context(), url, &howdah.Options{Timeout: 100 * time.Millisecond})
	require.NoError(t, err)
	tx, err := db.Pool().Begin(t.Context())
	require.NoError(t, err)
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		t.Error("Close waits")
	}
	require.NoError(t, tx.Rollback(t.Context()))
	leaks.Await(t, before)
}

// Who leaves in the midst of a long message gives its connection up at once:
// PostgreSQL would wait for the rest of it, and others for the connection.
func TestLeavingAmidALongMessage(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off")
	db := dbtest.Open(t, server.NewURL(), nil)
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(t.Context(), "k", nil, 0))
	server.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.Error(t, cache.Set(ctx, "k", make([]byte, 32<<20), 0))
	server.Thaw()
	require.Eventually(t, func() bool { return db.Pool().Stat().AcquiredConns() == 0 }, time.Minute, 5*time.Millisecond)
}
