package server

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestKeepAliveByConfigSet: CONFIG SET tcp-keepalive holds for the connections that come after it.
func TestKeepAliveByConfigSet(t *testing.T) {
	t.Parallel()
	listener, err := listenerSpec{addr: "127.0.0.1:0"}.listen(t.Context())
	require.NoError(t, err)
	defer listener.Close()
	wanted := keepAliveIdle
	limits := connLimits{keepAlive: func() time.Duration { return wanted }}
	idle := func() (on, seconds int) {
		client, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer client.Close()
		nc, err := listener.Accept()
		require.NoError(t, err)
		defer nc.Close()
		limits.keep(nc)
		raw, err := nc.(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) {
			on, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
			require.NoError(t, err)
			seconds, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
			require.NoError(t, err)
		}))
		return on, seconds
	}
	on, seconds := idle()
	require.Equal(t, []int{1, 300}, []int{on, seconds})
	wanted = time.Minute
	on, seconds = idle()
	require.Equal(t, []int{1, 60}, []int{on, seconds})
	wanted = 0
	on, _ = idle()
	require.Zero(t, on)
}
