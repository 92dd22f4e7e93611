package server

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProcessorsFollowTheLoad(t *testing.T) {
	t.Parallel()
	p := &processors{most: 4, now: 1}
	look := func(busy float64, times int) (now int) {
		for range times {
			now = p.next(busy)
		}
		return now
	}
	require.Equal(t, 1, look(0.7, 100), "what one does stays with one")
	require.Equal(t, 2, look(0.95, 1))
	require.Equal(t, 3, look(1.9, 1))
	require.Equal(t, 4, look(2.8, 1))
	require.Equal(t, 4, look(4, 100), "never more than there are")
	require.Equal(t, 4, look(2.8, 100), "three would be full again")
	require.Equal(t, 4, look(1, processorsQuiet-1), "not for a short silence")
	require.Equal(t, 4, look(3, 1), "not quiet")
	require.Equal(t, 4, look(1, processorsQuiet-1), "which is counted anew")
	require.Equal(t, 3, look(1, 1))
	require.Equal(t, 2, look(1, processorsQuiet))
	require.Equal(t, 2, look(1, 100), "one would be full")
	require.Equal(t, 1, look(0.82, processorsQuiet), "what two do for Redis clients, one does with less")
	require.Equal(t, 1, look(0, 1000))
}

// The process itself begins with one processor and gets all back in the end.
func TestFollowLoad(t *testing.T) {
	before, ok := cpuTime()
	if !ok {
		t.Skip("the time of a process is not asked for here")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { followLoad(ctx, slog.New(slog.DiscardHandler)); close(ended) }()
	require.Eventually(t, func() bool { return runtime.GOMAXPROCS(0) == 1 }, time.Minute, time.Millisecond)
	cancel()
	<-ended
	require.Equal(t, 3, runtime.GOMAXPROCS(0))
	used, _ := cpuTime()
	require.Greater(t, used, before)
}
