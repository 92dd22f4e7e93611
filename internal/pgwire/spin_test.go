//go:build unix

package pgwire

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sockets returns two ends of a TCP connection.
func sockets(t *testing.T) (near, far net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	near, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	far, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// answered sends a byte and returns once it can be read at the other end.
func answered(t *testing.T, near, far net.Conn) {
	_, err := far.Write([]byte{1})
	require.NoError(t, err)
	readable(t, near)
}

// readable returns once there is something to read, if only the end.
func readable(t *testing.T, conn net.Conn) {
	deadline := time.Now().Add(10 * time.Second)
	require.True(t, pollUntil(conn.(*net.TCPConn), func() bool { return time.Now().After(deadline) }))
}

// loneSpin is the spin of the only flight under way, of a program with more
// than one processor.
func loneSpin(t *testing.T) *Spin {
	processors := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	s := &Spin{Flights: new(atomic.Int32)}
	s.Flights.Store(1)
	return s
}

func TestSpinBacksOff(t *testing.T) {
	near, far := sockets(t)
	s := loneSpin(t)

	misses, answers := 0, 0
	for range 20 * spinPause { // nobody answers
		if skip := s.skip.Load(); skip > 0 {
			s.await(near)
			require.Equal(t, skip-1, s.skip.Load(), "a paused spin only counts")
			continue
		}
		s.await(near)
		misses++
		require.LessOrEqual(t, s.skip.Load(), int32(spinPause))
	}
	require.Equal(t, int32(spinPause), s.pause.Load())
	require.InDelta(t, 10+19, misses, 2, "ten to the longest pause, then one in a thousand")

	answered(t, near, far)
	for s.pause.Load() > 0 { // the answers come in time again
		s.await(near)
		answers++
		require.LessOrEqual(t, answers, spinPause+11, "half the pause with each answer")
	}
	require.Zero(t, s.skip.Load())
	s.await(near)
	require.Zero(t, s.skip.Load(), "an answer that is there is no miss")
}

// The processor belongs to the other flight, and that says nothing about how
// long answers take.
func TestSpinYieldsToAnotherFlight(t *testing.T) {
	near, far := sockets(t)
	s := loneSpin(t)
	s.pause.Store(4)
	answered(t, near, far)

	s.Flights.Store(2)
	s.await(near)
	require.Equal(t, int32(4), s.pause.Load(), "did not look")
	s.Flights.Store(1)
	s.await(near)
	require.Equal(t, int32(2), s.pause.Load())

	// One that begins meanwhile ends the spin.
	silent, _ := sockets(t)
	s.Flights.Store(1)
	asked := 0
	require.False(t, pollUntil(silent.(*net.TCPConn), func() bool {
		if asked++; asked == 10 {
			s.Flights.Store(2)
		}
		return s.others()
	}))
	require.Equal(t, 10, asked)
}

// A connection that was closed is for the reader to find out.
func TestSpinOnClosedConnection(t *testing.T) {
	near, far := sockets(t)
	s := loneSpin(t)

	require.NoError(t, far.Close())
	readable(t, near)
	s.await(near)
	require.Zero(t, s.skip.Load(), "the end of the stream is an answer")
	_, err := near.Read(make([]byte, 1))
	require.Error(t, err)

	require.NoError(t, near.Close())
	s.await(near)
	require.Equal(t, int32(1), s.skip.Load(), "nothing to read on a connection that we closed")

	pipe, _ := net.Pipe() // no descriptor to ask
	defer pipe.Close()
	s.skip.Store(0)
	s.await(pipe)
	require.Zero(t, s.skip.Load())
}
