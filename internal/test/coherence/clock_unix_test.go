//go:build unix

package coherence

import (
	"time"

	"golang.org/x/sys/unix"
)

// now is the monotonic clock that all processes of the machine share, in
// nanoseconds.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

func calendar() int64 { return time.Now().UnixMicro() }
