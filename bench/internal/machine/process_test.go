package machine

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A signal reaches the process and its child: both stop, and go on.
func TestSignalReachesTheFamily(t *testing.T) {
	parent := exec.Command("sh", "-c", "sleep 60 & wait")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	p := Process{parent.Process.Pid}
	t.Cleanup(func() {
		p.Signal(syscall.SIGKILL)
		parent.Wait()
	})
	await(t, "both run", func() bool { return len(p.family()) == 2 })
	for _, x := range []struct {
		signal syscall.Signal
		state  string
	}{{syscall.SIGSTOP, "T"}, {syscall.SIGCONT, "S"}} {
		if err := p.Signal(x.signal); err != nil {
			t.Fatal(err)
		}
		await(t, "both are in state "+x.state, func() bool {
			for _, s := range p.family() {
				if !strings.HasPrefix(field("/proc/"+strconv.Itoa(s.pid)+"/status", "State"), x.state) {
					return false
				}
			}
			return true
		})
	}
	if (Process{}).Signal(syscall.SIGCONT) == nil {
		t.Error("a signal was sent to no process")
	}
}

func TestRunNanosecondsCountsWork(t *testing.T) {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		busy.Process.Kill()
		busy.Wait()
	})
	p := Process{busy.Process.Pid}
	before, err := p.RunNanoseconds()
	if err != nil {
		t.Fatal(err)
	}
	await(t, "a hundredth of a second is counted", func() bool {
		after, err := p.RunNanoseconds()
		return err == nil && after-before > int64(10*time.Millisecond)
	})
	if _, err := (Process{}).RunNanoseconds(); err == nil || !strings.Contains(err.Error(), "schedstat") {
		t.Errorf("of no process: %v", err)
	}
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for begun := time.Now(); !so(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("not after a minute: %s", what)
		}
	}
}
