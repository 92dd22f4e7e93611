package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/howdah/howdah/internal/pipeline"
)

// A loop that has run for long gives up the processor, although work waits for it,
// and wakes by itself.
func TestLoopSleepsBetweenRounds(t *testing.T) {
	t.Parallel()
	l, err := newLoop(nil)
	require.NoError(t, err)
	defer l.release()
	l.awake.Store(true)
	require.True(t, l.do(func() {})) // which does not rouse a loop that is awake
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

// large is a connection whose requests are single bytes, with large replies.
type large struct {
	Protocol
	replies int
}

func (p *large) Feed([]byte) int { p.replies++; return 1 }

func (p *large) Output(out *pipeline.Output) bool {
	for ; p.replies > 0; p.replies-- {
		out.Append(make([]byte, maxSend/4))
	}
	return false
}

func (*large) Pending() bool { return false }
func (*large) Killed() bool  { return false }

// A connection with many large replies is sent maxSend bytes, and then waits for the
// other connections.
func TestLoopServesInTurns(t *testing.T) {
	t.Parallel()
	l, err := newLoop(nil)
	require.NoError(t, err)
	defer l.release()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	c := &loopConn{client: client{conn: &large{}}, loop: l, fd: fds[0], mask: readable}
	// Room for one turn, which every user may ask for. The client takes what it was sent after each.
	require.NoError(t, unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, maxSend))
	taken := make([]byte, maxSend)
	takeTurn := func() {
		l.serve(c)
		for n := 0; n < maxSend; {
			got, err := unix.Read(fds[1], taken)
			require.NoError(t, err, "after %d bytes of a turn", n)
			n += got
		}
		_, err := unix.Read(fds[1], taken)
		require.ErrorIs(t, err, unix.EAGAIN, "a turn is %d bytes", maxSend)
	}
	const requests = 32
	c.in.append(make([]byte, requests), 0)
	for left := requests - 4; left > 0; left -= 4 {
		takeTurn()
		require.Equal(t, left, c.in.len())
		require.True(t, c.queued.Swap(false))
	}
	require.Len(t, l.ready, requests/4-1)
	takeTurn()
	require.Zero(t, c.in.len())
	require.False(t, c.queued.Load(), "nothing is left to do")
}
