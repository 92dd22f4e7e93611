package limits_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// TestWritersBehindAHeldRow has many writers of a row that a transaction holds
// for longer than they wait: each learns that it has changed nothing.
func TestWritersBehindAHeldRow(t *testing.T) {
	t.Parallel()
	const writers = 40
	for name, limit := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"by Options.Timeout": func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
		"by their contexts": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			// That the row is locked is known two LockTimeouts after the deadline at most.
			db := dbtest.Open(t, pgtest.New(t), &howdah.Options{Timeout: 3 * time.Second, LockTimeout: 200 * time.Millisecond})
			cache := db.Cache("db0")
			require.NoError(t, cache.Set(ctx, "k", []byte("1"), 0))
			tx, err := db.Pool().Begin(ctx)
			require.NoError(t, err)
			defer tx.Rollback(ctx)
			require.NoError(t, cache.With(tx).Set(ctx, "k", []byte("2"), 0))

			errs := make([]error, writers)
			dbtest.Together(writers, func(i int) {
				ctx, cancel := limit(ctx)
				defer cancel()
				if i%2 == 0 {
					errs[i] = cache.Set(ctx, "k", []byte(fmt.Sprint(i)), 0)
				} else {
					_, errs[i] = cache.Increment(ctx, "k", 1, 0)
				}
			})
			for _, err := range errs {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NotErrorIs(t, err, howdah.ErrUnknownOutcome)
				require.ErrorContains(t, err, "another transaction holds the row; nothing was changed")
			}
			require.NoError(t, tx.Rollback(ctx))
			got, err := cache.Get(ctx, "k")
			require.NoError(t, err)
			require.Equal(t, "1", string(got))
		})
	}
}

// A lone caller whose context ends before PostgreSQL gives up the wait for a lock
// waits for that answer: nothing was changed.
func TestLoneCallerThatLeavesAHeldRow(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]string{"whole": pgtest.New(t), "in partitions": pgtest.Divided(t, 4)} {
		t.Run(name, func(t *testing.T) { testLoneCallerThatLeavesAHeldRow(t, database) })
	}
}

func testLoneCallerThatLeavesAHeldRow(t *testing.T, database string) {
	ctx := t.Context()
	db := dbtest.Open(t, database, &howdah.Options{Timeout: 20 * time.Second, LockTimeout: 3 * time.Second})
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(ctx, "k", []byte("1"), 0))
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx)
	require.NoError(t, cache.With(tx).Set(ctx, "k", []byte("2"), 0))

	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err = cache.Set(short, "k", []byte("3"), 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, howdah.ErrUnknownOutcome)
	require.ErrorContains(t, err, "another transaction holds the row; nothing was changed")

	// Who cancels has no use for the answer.
	cache = dbtest.Open(t, database, &howdah.Options{Timeout: time.Minute, LockTimeout: time.Minute}).Cache("db0")
	require.NoError(t, cache.Set(ctx, "other", []byte("1"), 0))
	require.NoError(t, cache.With(tx).Set(ctx, "other", []byte("2"), 0))
	cancelled, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- cache.Set(cancelled, "other", []byte("3"), 0) }()
	dbtest.AwaitLockWaits(t, database, 1)
	cancel()
	err = <-ended
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, howdah.ErrUnknownOutcome)

	// So do those that wait together.
	cancelled, cancel = context.WithCancel(ctx)
	var left sync.WaitGroup
	for range 8 {
		left.Go(func() {
			err := cache.Set(cancelled, "other", []byte("4"), 0)
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	time.AfterFunc(100*time.Millisecond, cancel)
	left.Wait()
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, cache.Set(ctx, "other", []byte("5"), 0), "the calls that were left are nobody else's")
}
