package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
)

func TestCallGivesUp(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	hang := func() (int, error) { <-release; return 1, nil }

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := Call(ctx, hang)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Call(ctx, func() (int, error) { t.Error("called with an ended context"); return 0, nil })
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = Call(ctx, hang)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestCallAnswers(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		n, err := Call(ctx, func() (int, error) { return 7, nil })
		require.NoError(t, err)
		require.Equal(t, 7, n)
		_, err = Call(ctx, func() (int, error) { return 0, failed })
		require.ErrorIs(t, err, failed)
	}
}

// TestCallNamesTheContext: what a client says of an ended context in its own
// words is told as the context's error, even if the client noticed first.
func TestCallNamesTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(20*time.Millisecond))
	defer cancel()
	deadline, _ := ctx.Deadline()
	_, err := Call(ctx, func() (int, error) {
		for time.Now().Before(deadline) {
		}
		return 0, errors.New("i/o timeout")
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestFailure provokes what a network does, and asks what may be done next.
func TestFailure(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	accepted := make(chan net.Conn, 2)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	dial := func() (client, server net.Conn) {
		client, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		return client, <-accepted
	}
	buffer := make([]byte, 1)

	silent, server := dial()
	require.NoError(t, silent.SetDeadline(time.Now().Add(time.Millisecond)))
	_, timedOut := silent.Read(buffer)
	require.NoError(t, server.Close())

	dropped, server := dial()
	require.NoError(t, server.(*net.TCPConn).SetLinger(0))
	require.NoError(t, server.Close())
	_, reset := dropped.Read(buffer)

	require.NoError(t, listener.Close())
	_, refused := net.Dial("tcp", addr)

	for _, test := range []struct {
		name        string
		err         error
		read, write error
	}{
		{"refused", refused, howdah.ErrUnavailable, howdah.ErrUnavailable},
		{"timed out", timedOut, howdah.ErrTimeout, howdah.ErrUnknownOutcome},
		{"reset", reset, howdah.ErrUnavailable, howdah.ErrUnknownOutcome},
		{"closed", io.EOF, howdah.ErrUnavailable, howdah.ErrUnknownOutcome},
		{"cut", io.ErrUnexpectedEOF, howdah.ErrUnavailable, howdah.ErrUnknownOutcome},
	} {
		require.Error(t, test.err, test.name)
		require.ErrorIs(t, Failure("store", Read, test.err), test.read, test.name)
		require.ErrorIs(t, Failure("store", Write, test.err), test.write, test.name)
	}
	require.ErrorIs(t, Failure("store", Read, timedOut), context.DeadlineExceeded)
	require.NoError(t, Failure("store", Write, nil))
	answer := errors.New("WRONGTYPE")
	err = Failure("store", Write, answer)
	require.ErrorIs(t, err, answer)
	require.NotErrorIs(t, err, howdah.ErrUnknownOutcome)
}
