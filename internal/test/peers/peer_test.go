//go:build peers

package peers

import (
	"bufio"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func ping(t *testing.T, network, addr string) {
	t.Helper()
	conn, err := net.Dial(network, addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("PING\r\n"))
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+PONG\r\n", line)
}

// A server answers as soon as it is there, on its port and its socket, also after it was
// restarted, and has ended with its test.
func TestRedis(t *testing.T) {
	t.Parallel()
	var peer *Peer
	t.Run("test", func(t *testing.T) {
		peer = Redis(t, "--databases", "3")
		ping(t, "tcp", peer.Addr)
		ping(t, "unix", peer.Socket)
		addr := peer.Addr
		peer.Restart(t)
		require.Equal(t, addr, peer.Addr)
		ping(t, "tcp", peer.Addr)
		ping(t, "unix", peer.Socket)
	})
	select {
	case <-peer.exited:
	default:
		t.Error("redis-server outlives its test")
	}
}

// Two servers at once have ports of their own.
func TestMemcached(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, Memcached(t).Addr, Memcached(t).Addr)
}

// Where another process has the port, the server is started on another one.
func TestPortThatIsTaken(t *testing.T) {
	t.Parallel()
	first := Redis(t)
	_, taken, err := net.SplitHostPort(first.Addr)
	require.NoError(t, err)
	tries := 0
	second := Start(t, "redis-server", Says("Ready to accept connections"), func(port string) []string {
		if tries++; tries == 1 {
			port = taken
		}
		return []string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()}
	})
	require.Equal(t, 2, tries)
	ping(t, "tcp", second.Addr)
}
