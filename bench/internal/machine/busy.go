package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// MaxBusy is the share of all cores that others may use while we measure.
const MaxBusy = 0.10

// ticksPerSecond is USER_HZ, which is 100 on every architecture of Linux that
// Go runs on.
const ticksPerSecond = 100

// Times are CPU seconds of the whole machine since it was started.
type Times struct {
	Processes float64 // user, nice and system
	Kernel    float64 // interrupts, which belong to no process
	Stolen    float64 // by the hypervisor
	Total     float64 // everything, idle time too
}

// ReadTimes reads /proc/stat.
func ReadTimes() (Times, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Times{}, err
	}
	return parseTimes(string(text))
}

func parseTimes(text string) (Times, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return Times{}, errors.New("/proc/stat does not begin with the times of all cores")
	}
	var s [8]float64
	for i := range s {
		n, err := strconv.ParseUint(fields[i+1], 10, 64)
		if err != nil {
			return Times{}, fmt.Errorf("/proc/stat: %w", err)
		}
		s[i] = float64(n) / ticksPerSecond
	}
	const user, nice, system, idle, iowait, irq, softirq, steal = 0, 1, 2, 3, 4, 5, 6, 7
	t := Times{Processes: s[user] + s[nice] + s[system], Kernel: s[irq] + s[softirq], Stolen: s[steal]}
	t.Total = t.Processes + t.Kernel + t.Stolen + s[idle] + s[iowait]
	return t, nil
}

// Busy is the share of the machine that was used between two readings by
// others than those whose CPU seconds are given as ours. Interrupts count: the
// run time of a process includes those that it was interrupted by, and on
// loopback most of them are ours.
func Busy(before, after Times, ours float64) float64 {
	total := after.Total - before.Total
	if total <= 0 {
		return 0
	}
	return max(0, (after.used()-before.used()-ours)/total)
}

// used is everything but idling and waiting for the disk.
func (t Times) used() float64 { return t.Processes + t.Kernel + t.Stolen }

// Watch sees what others use of the machine while we measure. Ours are this
// process and all that it started.
type Watch struct {
	times Times
	ours  float64
}

// NewWatch begins to look.
func NewWatch() Watch {
	times, _ := ReadTimes()
	return Watch{times, withChildren()}
}

// Others is the share of the machine that others have used since.
func (w Watch) Others() float64 {
	now := NewWatch()
	return Busy(w.times, now.times, now.ours-w.ours)
}

// CheckQuiet watches the machine for the given time and returns a *BusyError
// if anything else runs on it.
func CheckQuiet(watch time.Duration) error {
	before, err := ReadTimes()
	if err != nil {
		return err
	}
	time.Sleep(watch)
	after, err := ReadTimes()
	if err != nil {
		return err
	}
	if share := Busy(before, after, 0); share > MaxBusy {
		return &BusyError{Share: share, Load: firstField("/proc/loadavg")}
	}
	return nil
}

// BusyError says that numbers taken now would mean nothing.
type BusyError struct {
	Share float64 // of all cores
	Load  string  // average of one minute
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("other programs use %.0f %% of this machine (at most %.0f %%; load average %s): stop them, or give --force and trust only the ratios, if those",
		100*e.Share, 100*MaxBusy, e.Load)
}

func firstField(path string) string {
	field, _, _ := strings.Cut(firstLine(path), " ")
	return field
}
