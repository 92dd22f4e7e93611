//go:build citus

package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// The look at the keys that are waited for finds out that their partition has moved, where
// nothing else has: the caller then waits where it is, and is served there.
func TestCitusWaitAtAFormerServer(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 2)
	c.Divide(2)
	here, there := openPlaced(t, c.Coordinator().URL()), openPlaced(t, c.Coordinator().URL())
	cache, key := here.Cache("db0"), []byte("l")
	ended := make(chan error, 1)
	w, _ := popper(here, key)
	cache.Wait(w, func(w *edit.Waiter) { ended <- w.Err })
	require.Eventually(t, w.HasWaited, time.Minute, time.Millisecond)

	number := here.partitions.of(key)
	former := here.partitions.holder(number)
	for _, node := range c.Nodes()[1:] {
		if node != c.Holder(number) {
			c.Move(number, node)
			break
		}
	}
	_, err := there.Cache("db0").RPush(t.Context(), key, [][]byte{[]byte("v")}, 0)
	require.NoError(t, err)
	require.Same(t, former, here.partitions.holder(number), "nothing has told it yet")
	require.Eventually(t, func() bool {
		here.Waiters().Look()
		return len(ended) > 0
	}, time.Minute, 10*time.Millisecond, "it waits at the former server")
	require.NoError(t, <-ended)
	require.NotSame(t, former, here.partitions.holder(number))
}
