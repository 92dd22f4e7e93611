package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Only Ctrl-C that a person presses again ends the program at once: not a second SIGTERM, and not
// a SIGINT that comes with the first one.
func TestTakeSignals(t *testing.T) {
	t.Parallel()
	for _, first := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		signals, done, at := make(chan os.Signal), make(chan struct{}), time.Unix(1, 0)
		ended, stops := make(chan bool), 0
		go func() {
			ended <- takeSignals(signals, done, func() time.Time { return at }, func() { stops++ })
		}()
		// Each send waits until takeSignals is done with the one before.
		send := func(s os.Signal) {
			select {
			case signals <- s:
			case <-ended:
				t.Errorf("ended at once before %v", s)
			}
		}
		send(first)
		send(first)
		send(syscall.SIGINT)
		send(syscall.SIGTERM)
		require.False(t, t.Failed())
		close(done)
		require.False(t, <-ended)
		require.Equal(t, 1, stops)
	}

	signals, ended := make(chan os.Signal), make(chan bool, 1)
	times := make(chan time.Time, 3)
	for _, at := range []time.Duration{0, pressedAgain - 1, pressedAgain} {
		times <- time.Unix(1, 0).Add(at)
	}
	go func() { ended <- takeSignals(signals, nil, func() time.Time { return <-times }, func() {}) }()
	signals <- syscall.SIGTERM
	signals <- syscall.SIGINT  // too soon
	signals <- syscall.SIGTERM // never counts, and does not ask for the time
	signals <- syscall.SIGINT
	require.True(t, <-ended)
	require.Empty(t, times)
}
