//go:build unix

package coherence

import (
	"encoding/gob"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a child process, seen by its parent.
type process struct {
	t      testing.TB
	orders orders
	cmd    *exec.Cmd
	input  io.Closer
	addr   string // where it serves

	ended  chan error // of the reading of its report
	report report
	end    func()
}

// start runs this test binary as one process of the run, and returns when it
// is at work.
func start(t testing.TB, o orders) *process {
	t.Helper()
	p := &process{t: t, orders: o, cmd: exec.Command(os.Args[0], "-coherence.child"), ended: make(chan error, 1)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	p.input = in
	p.end = sync.OnceFunc(func() {
		p.signal(syscall.SIGCONT)
		in.Close()
	})
	t.Cleanup(p.kill)
	require.NoError(t, gob.NewEncoder(in).Encode(o))
	decoder := gob.NewDecoder(out)
	var h hello
	require.NoError(t, decoder.Decode(&h), "process %d did not start", o.Process)
	p.addr = h.Addr
	go func() { p.ended <- decoder.Decode(&p.report) }()
	return p
}

func (p *process) signal(s syscall.Signal) {
	if p.cmd.ProcessState == nil {
		p.cmd.Process.Signal(s)
	}
}

// finish lets the process end and returns its report.
func (p *process) finish() report {
	p.t.Helper()
	p.end()
	select {
	case err := <-p.ended:
		require.NoError(p.t, err, "the report of a process")
	case <-time.After(someTime):
		p.t.Fatal("a process did not end within a minute")
	}
	require.NoError(p.t, p.cmd.Wait())
	return p.report
}

func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	}
}

// stopNowAndThen stops the process for 20 ms up to longest, until done closes,
// and counts how often.
func (p *process) stopNowAndThen(rng *rand.Rand, longest time.Duration, done <-chan struct{}) (stops int) {
	const least = 20 * time.Millisecond
	wait := func(d time.Duration) bool {
		select {
		case <-done:
			return false
		case <-time.After(d):
			return true
		}
	}
	for wait(time.Duration(rng.Int64N(int64(2 * longest)))) {
		p.signal(syscall.SIGSTOP)
		more := wait(least + time.Duration(rng.Int64N(int64(longest-least))))
		p.signal(syscall.SIGCONT)
		stops++
		if !more {
			break
		}
	}
	return stops
}
