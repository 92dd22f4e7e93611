package limits_test

import (
	"context"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/stretchr/testify/require"
)

// What is large gets the time that its bytes need, beyond Options.Timeout.
func TestLargeValuesGetTime(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, nil)
	cache := db.Cache("db0")
	large := make([]byte, howdah.DefaultMaxValueBytes)
	require.NoError(t, cache.Set(t.Context(), "set", large, 0))
	length, err := cache.SetRange(t.Context(), "range", howdah.DefaultMaxValueBytes-3, []byte("end"), 0)
	require.NoError(t, err)
	require.Equal(t, howdah.DefaultMaxValueBytes, length)
	require.NoError(t, cache.SetMany(t.Context(), []howdah.Item{{Key: "a", Value: large[:30<<20]}, {Key: "b", Value: large[:30<<20]}}, 0))

	// Behind rows that are held, each call lasts as long as it may.
	const timeout, size, sizeTakes = time.Second, 16 << 20, 500 * time.Millisecond
	tx, err := db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "SELECT FROM "+pgtest.Table(t, tx, "db0")+" FOR UPDATE")
	require.NoError(t, err)
	hurried := dbtest.Open(t, url, &howdah.Options{Timeout: timeout}).Cache("db0")
	for name, call := range map[string]func() error{
		"set":       func() error { return hurried.Set(t.Context(), "set", large[:size], 0) },
		"set range": func() error { _, err := hurried.SetRange(t.Context(), "range", size-3, []byte("end"), 0); return err },
		"set many": func() error {
			return hurried.SetMany(t.Context(), []howdah.Item{{Key: "a", Value: large[:size/2]}, {Key: "b", Value: large[:size/2]}}, 0)
		},
	} {
		began := time.Now()
		require.Error(t, call(), name)
		require.GreaterOrEqual(t, time.Since(began), timeout+sizeTakes, name)
	}
}

// ErrTimeout is context.DeadlineExceeded too, wherever the time runs out, and
// an error matches one sentinel only.
func TestTimeoutsMatchDeadlineExceeded(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off", "max_connections", "60")
	ctx := t.Context()
	// Whether a call has waited for a lock is known two LockTimeouts after its deadline at most.
	db := dbtest.Open(t, server.NewURL(), &howdah.Options{Timeout: time.Second, LockTimeout: 500 * time.Millisecond})
	cache := db.Cache("db0")
	dbtest.Eventually(t, "it answers", func() bool { return cache.Set(ctx, "k", nil, 0) == nil })

	holder, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, cache.With(holder).Set(ctx, "k", nil, 0))
	check := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, howdah.ErrTimeout)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, howdah.ErrUnknownOutcome)
	}
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	check(cache.With(tx).Set(short, "k", []byte("late"), 0))
	_ = tx.Rollback(ctx) // its connection is gone
	for range 3 {
		check(cache.Set(ctx, "k", []byte("late"), 0))
	}
	require.NoError(t, holder.Rollback(ctx))

	server.Freeze()
	_, err = cache.Get(ctx, "k")
	check(err)
	_, err = cache.FailOpen().Get(ctx, "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
	require.NotErrorIs(t, err, howdah.ErrTimeout)
	server.Thaw()
}
