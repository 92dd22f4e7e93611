package server

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what the process has used so far, of all processors together.
func cpuTime() (time.Duration, bool) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
