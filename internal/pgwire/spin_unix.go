//go:build unix

package pgwire

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// pollUntil asks whether conn can be read, at least once, until it can or over
// says so. It reports whether it can.
func pollUntil(conn syscall.Conn, over func() bool) (ready bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(fds, 0)
			ready = n > 0
			if ready || err != nil && err != unix.EINTR || over() {
				return
			}
		}
	})
	return ready
}
