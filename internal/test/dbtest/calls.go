package dbtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/verb"
)

// Do runs calls as the doors do.
func Do(ctx context.Context, c *howdah.Cache, calls ...*verb.Call) error {
	return (*core.Cache)(c).Do(ctx, calls...)
}

// Start begins a call as the event loops do.
func Start(c *howdah.Cache, call *verb.Call, done func(*verb.Call)) {
	(*core.Cache)(c).Start(call, done)
}

// Won tells whether a conditional verb took effect.
func Won(t *testing.T, err error) bool {
	t.Helper()
	if errors.Is(err, howdah.ErrNotStored) || errors.Is(err, howdah.ErrMiss) {
		return false
	}
	require.NoError(t, err)
	return true
}

// Together runs fn n times at once and waits.
func Together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}
