package machine

import (
	"errors"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Pin lets the process and its children run on one core only, and those that they start.
func (p Process) Pin(core int) error {
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(p.PID, &set); err != nil { // first: later children inherit it
		return err
	}
	for _, child := range p.family() {
		if err := unix.SchedSetaffinity(child.pid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// Spin counts what a loop without memory does a second on each of some cores at once.
func Spin(cores []int, d time.Duration) (perSecond float64, err error) {
	type spun struct {
		rate float64
		err  error
	}
	done := make(chan spun)
	for _, core := range cores {
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with its affinity
			var set unix.CPUSet
			set.Set(core)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				done <- spun{err: err}
				return
			}
			done <- spun{rate: spin(d)}
		}()
	}
	for range cores {
		s := <-done
		perSecond += s.rate
		err = errors.Join(err, s.err)
	}
	return perSecond, err
}

// spin counts turns a second.
func spin(d time.Duration) float64 {
	start, turns, x := time.Now(), 0, uint64(1)
	for time.Since(start) < d {
		for range 10_000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		turns++
	}
	if x == 0 { // never: keeps the loop
		turns++
	}
	return float64(turns) / time.Since(start).Seconds()
}
