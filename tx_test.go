package howdah_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// A statement fails, and nobody says so: PostgreSQL commits nothing, and
// neither does Transact say that the call may be repeated.
func TestTransactTellsOfSwallowedErrors(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
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
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	cache := db.Cache("db0").With(tx)
	calls := []*verb.Call{
		{Verb: statement.Set, Key: []byte("before")},
		{Verb: statement.Set, Key: make([]byte, howdah.MaxKeyBytes+1)},
		{Verb: statement.Set, Key: []byte("after")},
	}
	require.ErrorIs(t, dbtest.Do(ctx, cache, calls...), howdah.ErrKeyTooLong)
	require.ErrorIs(t, calls[1].Err, howdah.ErrKeyTooLong)
	for _, i := range []int{0, 2} {
		require.ErrorContains(t, calls[i].Err, "not run")
		require.NotErrorIs(t, calls[i].Err, howdah.ErrKeyTooLong, "it is not this key")
		_, err := cache.Get(ctx, string(calls[i].Key))
		require.ErrorIs(t, err, howdah.ErrMiss)
	}
	calls = slices.Delete(calls, 1, 2)
	require.NoError(t, dbtest.Do(ctx, cache, calls...))
	for _, call := range calls {
		require.NoError(t, call.Err)
	}
}

// Whatever the order in which absent keys are watched, their places are held
// in that of the hashes: while somebody has the first, nobody has the last.
func TestWatchLocksAbsentKeysInOneOrder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, nil)
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
	dbtest.AwaitLockWaits(t, url, 1)
	_, err = tx.Exec(ctx, "SET LOCAL lock_timeout = '100ms'")
	require.NoError(t, err)
	require.NoError(t, cache.Set(ctx, string(keys[9]), nil, 0))
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, <-ended)
}

// A transaction whose snapshot shows an entry that others have deleted since sees
// its own new row beside the old one. Its own is the newer one.
func TestTransactionsReadTheirOwnRowOfTwo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, nil)
	c := db.Cache("db0")
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		for _, below := range []bool{false, true} { // where the new row is, which decides which one an index shows first
			t.Run(fmt.Sprint(level, " ", below), func(t *testing.T) {
				require.NoError(t, c.Flush(ctx))
				require.NoError(t, c.Set(ctx, "pad", []byte("old"), 0))
				require.NoError(t, c.Set(ctx, "k", []byte("old"), time.Minute))
				if below {
					require.NoError(t, c.Delete(ctx, "pad"))
					dbtest.Exec(t, db, "VACUUM "+pgtest.Table(t, db.Pool(), "db0"))
				}
				tx, err := db.Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
				require.NoError(t, err)
				defer tx.Rollback(context.Background())
				in := c.With(tx)
				require.Equal(t, "old", dbtest.Read(t, in, "k"))
				require.NoError(t, c.Delete(ctx, "k"))
				require.NoError(t, in.Set(ctx, "k", []byte("newer"), time.Hour))

				require.Equal(t, "newer", dbtest.Read(t, in, "k"))
				entry, err := in.GetEntry(ctx, "k")
				require.NoError(t, err)
				require.Equal(t, "newer", string(entry.Value))
				many, err := in.GetMany(ctx, []string{"k", "absent"})
				require.NoError(t, err)
				require.Equal(t, map[string][]byte{"k": []byte("newer")}, many)
				stat := &verb.Call{Verb: statement.Stat, Key: []byte("k")}
				require.NoError(t, dbtest.Do(ctx, in, stat))
				require.Equal(t, len("newer"), stat.Result.Length)

				var rows, found int
				var value, ofEntry, ofMany string
				var ttl time.Duration
				require.NoError(t, tx.QueryRow(ctx, "SELECT count(*) FROM "+pgtest.Table(t, tx, "db0")+" WHERE key = 'k'").Scan(&rows))
				require.Equal(t, 2, rows, "there are no two rows to tell apart")
				require.NoError(t, tx.QueryRow(ctx, `
					SELECT howdah.get_text('db0', 'k'), (SELECT convert_from(value, 'UTF8') FROM howdah.get_entry('db0', 'k')),
					       (SELECT min(value) FROM howdah.get_many_text('db0', '{k}')),
					       (SELECT count(*) FROM howdah.get_many_text('db0', '{k}')), howdah.ttl('db0', 'k')`).
					Scan(&value, &ofEntry, &ofMany, &found, &ttl))
				require.Equal(t, []string{"newer", "newer", "newer"}, []string{value, ofEntry, ofMany})
				require.Equal(t, 1, found)
				require.Greater(t, ttl, time.Minute)
			})
		}
	}
}
