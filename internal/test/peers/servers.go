//go:build peers

package peers

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Redis starts an empty redis-server, which listens on Addr and on Socket. Further
// arguments are settings, as on its command line.
func Redis(t testing.TB, settings ...string) *Peer {
	t.Helper()
	dir := shortDir(t)
	socket := filepath.Join(dir, "redis.sock")
	peer := Start(t, "redis-server", Says("Ready to accept connections"), func(port string) []string {
		return append([]string{"--port", port, "--bind", "127.0.0.1", "--unixsocket", socket,
			"--save", "", "--appendonly", "no", "--dir", dir}, settings...)
	})
	peer.Socket = socket
	return peer
}

// shortDir makes a directory whose sockets have names short enough for the system:
// those of t.TempDir contain the name of the test.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "howdah-peer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Memcached starts an empty memcached. Further arguments are settings, as on its
// command line.
func Memcached(t testing.TB, settings ...string) *Peer {
	t.Helper()
	return Start(t, "memcached", (*Peer).isMemcached, func(port string) []string {
		return append([]string{"-l", "127.0.0.1", "-p", port, "-U", "0", "-u", "nobody"}, settings...)
	})
}

// isMemcached tells whether it is this process that answers: memcached says nothing
// when it listens.
func (p *Peer) isMemcached() bool {
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // whoever it is may not answer
	_, _ = fmt.Fprint(conn, "stats\r\n")
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line == fmt.Sprintf("STAT pid %d\r\n", p.Process.Pid)
}
