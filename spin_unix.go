//go:build unix

package howdah

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// pollUntil asks whether conn can be read until it can, or over says so. It
// reports whether it can.
func pollUntil(conn syscall.Conn, over func() bool) (ready bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for !ready && !over() {
			n, err := unix.Poll(fds, 0)
			if err != nil && err != unix.EINTR {
				return
			}
			ready = n > 0
		}
	})
	return ready
}
