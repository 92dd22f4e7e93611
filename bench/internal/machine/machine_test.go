package machine

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestParseTimes(t *testing.T) {
	got, err := parseTimes("cpu  100 20 30 400 50 6 7 8 0 0\ncpu0 1 2 3\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Times{Processes: 1.5, Kernel: 0.13, Stolen: 0.08, Total: 6.21}
	if math.Abs(got.Processes-want.Processes)+math.Abs(got.Kernel-want.Kernel)+
		math.Abs(got.Stolen-want.Stolen)+math.Abs(got.Total-want.Total) > 1e-9 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{"", "cpu 1 2", "cpu0 1 2 3 4 5 6 7 8 9", "cpu a b c d e f g h i"} {
		if _, err := parseTimes(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestBusyLeavesOursOut(t *testing.T) {
	before := Times{Processes: 10, Total: 100}
	after := Times{Processes: 14, Kernel: 3, Total: 110}
	if got := Busy(before, after, 0); got != 0.7 {
		t.Errorf("all of it, interrupts too: %v, want 0.7", got)
	}
	if got := Busy(before, after, 6.5); math.Abs(got-0.05) > 1e-9 {
		t.Errorf("without ours: %v, want 0.05", got)
	}
	if got := Busy(before, after, 9); got != 0 {
		t.Errorf("rounding must not make it negative: %v", got)
	}
	if got := Busy(before, before, 0); got != 0 {
		t.Errorf("no time has passed: %v", got)
	}
}

// A child that runs is ours, and stays so when it has ended.
func TestWithChildren(t *testing.T) {
	before := withChildren()
	child := exec.Command("sh", "-c", "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; read line")
	in, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	used := func() bool {
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if withChildren()-before > 0.05 {
				return true
			}
		}
		return false
	}
	if !used() {
		t.Error("a child's work was not counted")
	}
	in.Close()
	child.Wait()
	if !used() {
		t.Error("the work of a child that has ended was not counted")
	}
}

func TestCheckQuietSeesALoad(t *testing.T) {
	var stop atomic.Bool
	defer stop.Store(true)
	for range 4 {
		go func() {
			for !stop.Load() { // the load that is to be seen
			}
		}()
	}
	err := CheckQuiet(500 * time.Millisecond)
	var busy *BusyError
	if !errors.As(err, &busy) {
		t.Fatalf("got %v, want a BusyError", err)
	}
	if !strings.Contains(err.Error(), "--force") {
		t.Errorf("%q does not say what to do", err)
	}
}

func TestParseStat(t *testing.T) {
	line := "42 (a ) (b) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 300 200 20 0 1 0 99 1 1"
	s, err := parseStat(line)
	if err != nil {
		t.Fatal(err)
	}
	if want := (stat{pid: 42, parent: 7, seconds: 2, childSeconds: 5}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1 2"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestOwnProcessIsMeasured(t *testing.T) {
	before := Self().CPUSeconds()
	for end := time.Now().Add(10 * time.Second); Self().CPUSeconds()-before < 0.05; {
		if time.Now().After(end) {
			t.Fatal("10 s of work were not counted")
		}
	}
	if mb := Self().MemoryMB(); mb < 1 {
		t.Errorf("this process uses %v MB", mb)
	}
	if s := (Process{os.Getppid()}).CPUSeconds(); s < 0 {
		t.Errorf("the parent used %v s", s)
	}
}

func TestBuildNamesTheCommit(t *testing.T) {
	got := Build()
	if commit, _, _ := strings.Cut(got["Howdah's commit"], ","); len(commit) < 40 {
		t.Errorf("the commit is %q", got["Howdah's commit"])
	}
}

func TestDescribe(t *testing.T) {
	i := Describe()
	if i.Cores < 1 || i.MemoryMB < 1 || i.Kernel == "" {
		t.Errorf("incomplete: %+v", i)
	}
}
