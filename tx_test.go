package howdah_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/pgtest"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// A statement fails, and nobody says so: PostgreSQL commits nothing, and
// neither does Transact say that the call may be repeated.
func TestTransactTellsOfSwallowedErrors(t *testing.T) {
	db := open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	err := db.Transact(t.Context(), howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		require.NoError(t, cache.With(tx).Set(ctx, "k", nil, 0))
		_, err := tx.Exec(ctx, "SELECT 1 / 0")
		require.Error(t, err)
		return nil
	})
	require.ErrorIs(t, err, pgx.ErrTxCommitRollback)
	require.ErrorContains(t, err, "nothing was committed, because a statement inside the transaction had failed")
	for _, other := range []error{howdah.ErrUnavailable, howdah.ErrUnknownOutcome, howdah.ErrTimeout} {
		require.NotErrorIs(t, err, other)
	}
	_, err = cache.Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
}

// One invalid call keeps all of a Do in a transaction from running, and each
// says so; the transaction goes on.
func TestInvalidCallInTransaction(t *testing.T) {
	ctx := t.Context()
	db := open(t, pgtest.New(t), nil)
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	cache := db.Cache("db0").With(tx)
	calls := []*verb.Call{
		{Verb: statement.Set, Key: []byte("before")},
		{Verb: statement.Set, Key: make([]byte, howdah.MaxKeyBytes+1)},
		{Verb: statement.Set, Key: []byte("after")},
	}
	require.ErrorIs(t, do(ctx, cache, calls...), howdah.ErrKeyTooLong)
	require.ErrorIs(t, calls[1].Err, howdah.ErrKeyTooLong)
	for _, i := range []int{0, 2} {
		require.ErrorContains(t, calls[i].Err, "not run")
		require.NotErrorIs(t, calls[i].Err, howdah.ErrKeyTooLong, "it is not this key")
		_, err := cache.Get(ctx, string(calls[i].Key))
		require.ErrorIs(t, err, howdah.ErrMiss)
	}
	calls = slices.Delete(calls, 1, 2)
	require.NoError(t, do(ctx, cache, calls...))
	for _, call := range calls {
		require.NoError(t, call.Err)
	}
}

// Whatever the order in which absent keys are watched, their places are held
// in that of the hashes: while somebody has the first, nobody has the last.
func TestWatchLocksAbsentKeysInOneOrder(t *testing.T) {
	ctx := t.Context()
	url := pgtest.New(t)
	db := open(t, url, nil)
	rows, err := db.Pool().Query(ctx, "SELECT k FROM (SELECT convert_to('k' || i, 'UTF8') AS k FROM generate_series(1, 10) AS i) AS s ORDER BY howdah.key_hash(k)")
	require.NoError(t, err)
	keys, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	require.NoError(t, err)
	var watch []howdah.Watch
	for _, key := range slices.Backward(keys) {
		watch = append(watch, howdah.Watch{Cache: "db0", Key: string(key)})
	}
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	cache := db.Cache("db0").With(tx)
	require.NoError(t, cache.Set(ctx, string(keys[0]), nil, 0))
	ended := make(chan error, 1)
	go func() {
		ended <- db.Transact(ctx, howdah.TxOptions{Watch: watch}, func(context.Context, pgx.Tx) error { return nil })
	}()
	awaitRetries(t, url, 1)
	_, err = tx.Exec(ctx, "SET LOCAL lock_timeout = '100ms'")
	require.NoError(t, err)
	require.NoError(t, cache.Set(ctx, string(keys[9]), nil, 0))
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, <-ended)
}
