package server

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pipeline"
)

// readBodies serves requests by reading their bodies, and returns what came of each.
func readBodies(t *testing.T, b bodies) (address string, read <-chan error) {
	t.Helper()
	results := make(chan error, 8)
	server := httptest.NewServer(b.bound(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		results <- err
	})))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), results
}

// TestUnfinishedBody: a client that sends no more of a body does not keep its place for the time
// that the largest one may take.
func TestUnfinishedBody(t *testing.T) {
	t.Parallel()
	address, read := readBodies(t, bodies{grace: 50 * time.Millisecond, memory: pipeline.NewBudget(1 << 20)})
	client, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer client.Close()
	_, err = io.WriteString(client, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nsome")
	require.NoError(t, err)
	require.ErrorIs(t, <-read, os.ErrDeadlineExceeded)
	_, err = io.Copy(io.Discard, client) // until it is closed
	require.NoError(t, err)
}

// TestBodyTime: a body has the time that its size needs, and never more than any may take.
func TestBodyTime(t *testing.T) {
	t.Parallel()
	b := &boundBody{began: time.Unix(1000, 0), grace: bodyGrace}
	for size, want := range map[int]time.Duration{0: bodyGrace, bodyRate: bodyGrace + time.Second, 10 * bodyRate: bodyGrace + 10*time.Second, 1 << 30: bodyTimeout} {
		b.size = size
		require.Equal(t, want, b.due().Sub(b.began), "%d bytes", size)
	}
}

// TestBodiesShareTheMemoryOfClients: what has come of bodies counts as what Redis clients hold,
// until the answer, and is refused where there is no room.
func TestBodiesShareTheMemoryOfClients(t *testing.T) {
	t.Parallel()
	memory := pipeline.NewBudget(1 << 20)
	address, read := readBodies(t, bodies{grace: time.Minute, memory: memory})
	put := func(size int) {
		answer, err := http.Post("http://"+address, "", bytes.NewReader(make([]byte, size)))
		if err == nil { // the connection of a body that was refused may be closed
			answer.Body.Close()
		}
	}
	put(512 << 10)
	require.NoError(t, <-read)
	require.Eventually(t, func() bool { return memory.Used() == 0 }, time.Minute, time.Millisecond)

	put(4 << 20)
	require.ErrorIs(t, <-read, fault.ErrOverloaded)
	others := pipeline.NewAccount(memory)
	others.Set(2 << 20)
	put(512 << 10)
	require.ErrorIs(t, <-read, fault.ErrOverloaded)
	put(1 << 10) // small ones go on
	require.NoError(t, <-read)
}

// TestHTTPConnectionsAreLimited: connections beyond the limit are closed, until others have ended.
func TestHTTPConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Listener.Close()
	server.Listener = &limitedListener{Listener: listener, most: 1, log: slog.New(slog.DiscardHandler)}
	server.Start()
	t.Cleanup(server.Close)
	ask := func() (net.Conn, bool) {
		client, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		n, _ := client.Read(make([]byte, 1))
		return client, n > 0
	}
	first, ok := ask()
	require.True(t, ok)
	_, ok = ask()
	require.False(t, ok)
	first.Close()
	require.Eventually(t, func() bool { _, ok := ask(); return ok }, time.Minute, time.Millisecond)
}
