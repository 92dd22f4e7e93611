package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Process is a process with its children, as a server is.
type Process struct{ PID int }

// Self is this process.
func Self() Process { return Process{os.Getpid()} }

// CPUSeconds is what the process, its children and those children that have
// ended used since they were started. A process that is gone used nothing.
func (p Process) CPUSeconds() float64 {
	if p.PID == os.Getpid() {
		return ownSeconds()
	}
	var sum float64
	for _, s := range p.family() {
		sum += s.seconds
		if s.pid == p.PID {
			sum += s.childSeconds
		}
	}
	return sum
}

// ownSeconds is finer than the ticks of /proc, and leaves the children out:
// they are servers, which are counted apart.
func ownSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return seconds(u.Utime) + seconds(u.Stime)
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// MemoryMB is the proportional set size of the process and its children:
// memory that several share, such as PostgreSQL's buffers, counts once.
func (p Process) MemoryMB() float64 {
	var kb int
	for _, s := range p.family() {
		dir := fmt.Sprintf("/proc/%d/", s.pid)
		if pss := kilobytes(field(dir+"smaps_rollup", "Pss")); pss > 0 {
			kb += pss
		} else {
			kb += kilobytes(field(dir+"status", "RssAnon"))
		}
	}
	return float64(kb) / 1024
}

// Signal sends a signal to the process and its children, the process first: one
// that is stopped starts no more of them.
func (p Process) Signal(s syscall.Signal) error {
	if p.PID <= 0 {
		return errors.New("there is no process to send a signal to")
	}
	if err := syscall.Kill(p.PID, s); err != nil {
		return err
	}
	for _, child := range p.family() {
		if err := syscall.Kill(child.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// RunNanoseconds is how long the process, without its children, has run. It is
// exact where CPUSeconds counts ticks, and is for processes of one thread, such as
// a PostgreSQL backend: of others it is the first thread.
func (p Process) RunNanoseconds() (int64, error) {
	field := firstField(fmt.Sprintf("/proc/%d/schedstat", p.PID))
	ns, err := strconv.ParseInt(field, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/%d/schedstat says %q: this needs Linux with CONFIG_SCHED_INFO", p.PID, field)
	}
	return ns, nil
}

// stat is what /proc/PID/stat says.
type stat struct {
	pid, parent           int
	seconds, childSeconds float64
}

// family is the process and its children. PostgreSQL and the other servers
// have no grandchildren.
func (p Process) family() []stat {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	var out []stat
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		s, err := parseStat(string(text))
		if err == nil && (s.pid == p.PID || s.parent == p.PID && p.PID != os.Getpid()) {
			out = append(out, s)
		}
	}
	return out
}

// withChildren is what this process used, and all that it started and they
// did in turn, whether they have ended or not.
func withChildren() (sum float64) {
	all := map[int][]stat{} // by parent
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if s, err := parseStat(string(text)); err == nil {
			all[s.parent] = append(all[s.parent], s)
			if s.pid == os.Getpid() {
				sum = s.seconds + s.childSeconds
			}
		}
	}
	for next := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
		for _, s := range all[next[0]] {
			sum += s.seconds + s.childSeconds
			next = append(next, s.pid)
		}
	}
	return sum
}

// parseStat reads /proc/PID/stat. The name in parentheses may hold anything.
func parseStat(text string) (stat, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("not a line of /proc/PID/stat: %q", text)
	}
	var s stat
	fields := strings.Fields(text[end+1:])
	if len(fields) < 15 {
		return s, fmt.Errorf("/proc/PID/stat has %d fields after the name", len(fields))
	}
	var ticks [4]float64
	for i := range ticks { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(fields[11+i], 10, 64)
		if err != nil {
			return s, err
		}
		ticks[i] = float64(n) / ticksPerSecond
	}
	var err error
	if s.pid, err = strconv.Atoi(strings.TrimSpace(text[:open])); err != nil {
		return s, err
	}
	if s.parent, err = strconv.Atoi(fields[1]); err != nil {
		return s, err
	}
	s.seconds, s.childSeconds = ticks[0]+ticks[1], ticks[2]+ticks[3]
	return s, nil
}
