//go:build peers

package handover

import (
	"net"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixed is a node that stays where it is.
type fixed struct{ name, addr string }

func (f fixed) Name() string { return f.name }
func (f fixed) Addr() string { return f.addr }

// TestRedis: redis-server keeps the promises by which Howdah is judged.
func TestRedis(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	listener.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	require.NoError(t, cmd.Start(), "cannot start redis-server; install it (Debian: redis-server)")
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	r := newRun(t, fixed{"redis-server", addr})
	r.groups = true
	probe := &client{node: r.nodes[0]}
	defer probe.cut()
	r.await("redis-server to listen", probe.connect)
	v := r.fire(3000)
	v.check(t)
	require.Greater(t, v.Compared, 100)
}
