package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A loop that has gone on for long lets others have the processor, though work
// waits for it, and wakes by itself.
func TestLoopSleepsBetweenRounds(t *testing.T) {
	l, err := newLoop(nil)
	require.NoError(t, err)
	defer l.release()
	l.awake.Store(true)
	require.True(t, l.do(func() {})) // nobody rouses a loop that is awake
	wait := func(busy time.Duration) int {
		l.now = time.Now()
		l.since, l.slept = l.now.Add(-busy), false
		events := make(chan int)
		go func() { events <- l.wait() }()
		select {
		case n := <-events:
			return n
		case <-time.After(time.Minute):
			t.Fatal("the loop sleeps on")
			return 0
		}
	}
	require.Zero(t, wait(0))
	require.False(t, l.slept, "work waits")
	require.Positive(t, wait(2*maxAwake), "its own event woke it")
	require.True(t, l.slept)
	require.True(t, l.awake.Load())
	require.Zero(t, wait(0), "one event for each sleep")
}
