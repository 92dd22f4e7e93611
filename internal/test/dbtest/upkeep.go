package dbtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/await"
)

// Maintain does a round on one cache.
func Maintain(t *testing.T, db *howdah.DB, opts howdah.MaintainOptions) howdah.Upkeep {
	t.Helper()
	rounds, err := db.Maintain(t.Context(), opts)
	require.NoError(t, err)
	require.Len(t, rounds, 1)
	return rounds[0]
}

// Run runs the upkeep until the end of the test, or until stop.
func Run(t *testing.T, db *howdah.DB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- db.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, howdah.ErrClosed) { // a test may close the DB before
			require.NoError(t, err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Eventually awaits a condition.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	await.True(t, what, condition)
}
