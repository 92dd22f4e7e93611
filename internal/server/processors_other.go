//go:build !linux

package server

import "time"

// cpuTime is not asked for where there is no event loop: what is gained on
// one processor is the loop's.
func cpuTime() (time.Duration, bool) { return 0, false }
