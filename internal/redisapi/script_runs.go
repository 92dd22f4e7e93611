package redisapi

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/lua"
	"github.com/howdah/howdah/internal/resp"
)

// runnable is a script or a function.
type runnable interface {
	flags() lua.Flags
	run(ctx context.Context, run *lua.Run) (reply []byte, err error)
	alone() bool
	quick() bool
	noteSlow()
	sends() bool
	reads() bool
	note(run runNotes, err error)
}

// habits are what the runs of a script have shown.
type habits struct {
	// asks says that a run has asked for a key that was not declared, declares that one
	// has ended without that.
	asks, declares atomic.Bool

	slow atomic.Bool // a run took more than quickSteps
	sent atomic.Bool // a run has published
	read atomic.Bool // a run has called a command that reads
}

// quick reports whether the script may run on the goroutine that carries the answers of
// others: it has ended before, and never took long.
func (h *habits) quick() bool { return !h.alone() && !h.slow.Load() }

func (h *habits) noteSlow() { h.slow.Store(true) }

// quickSteps is how many steps a script may take on the goroutine that carries the
// answers of others: some 0.1 ms.
const quickSteps = 1000

// alone reports whether the script may ask for keys that it does not declare, as far
// as its runs show. Commands that a client sends behind it then wait for its end:
// they may be about such a key.
func (h *habits) alone() bool { return h.asks.Load() || !h.declares.Load() }

// sends reports whether the script publishes, as far as its runs show. Its messages are
// behind those of the commands before it, which therefore end before it begins.
func (h *habits) sends() bool { return h.sent.Load() }

// reads reports whether the script reads keys, as far as its runs show.
func (h *habits) reads() bool { return h.read.Load() }

// runNotes are what a run of a script has done.
type runNotes struct{ asked, sent, read bool }

// note learns from a run.
func (h *habits) note(run runNotes, err error) {
	if run.sent && !h.sent.Load() {
		h.sent.Store(true)
	}
	if run.read && !h.read.Load() {
		h.read.Store(true)
	}
	switch {
	case run.asked:
		h.asks.Store(true)
	case err == nil:
		h.declares.Store(true)
	}
}

// scriptRun is a run that has not ended.
type scriptRun struct {
	function string   // its name; "": it is a script
	words    [][]byte // the command line of a function
	begun    time.Time
	cancel   context.CancelCauseFunc
}

const (
	errScriptKilled   = refusal("ERR Error running script: Script killed by user with SCRIPT KILL...")
	errFunctionKilled = refusal("ERR Error running function: Script killed by user with FUNCTION KILL...")
)

// enter waits until few enough other scripts run. Error: ErrOverloaded.
func (s *scripts) enter() (leave func(), err error) {
	timer := time.NewTimer(scriptTime)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-timer.C:
		return nil, fault.ErrOverloaded
	}
}

// begin registers a run, which SCRIPT KILL or FUNCTION KILL ends. The caller calls end,
// which returns the reply to a run that was ended so, nil to others.
func (s *scripts) begin(ctx context.Context, run scriptRun) (_ context.Context, end func() error) {
	ctx, run.cancel = context.WithCancelCause(ctx)
	run.begun = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = make(map[int64]*scriptRun)
	}
	s.runs++
	id := s.runs
	s.running[id] = &run
	return ctx, func() error {
		s.mu.Lock()
		delete(s.running, id)
		s.mu.Unlock()
		run.cancel(nil)
		if cause := context.Cause(ctx); cause == errScriptKilled || cause == errFunctionKilled {
			return cause
		}
		return nil
	}
}

// kill ends all runs of scripts, or all of functions. It reports whether there were any,
// and whether there were any of the other kind.
func (s *scripts) kill(functions bool) (killed, others bool) {
	cause := errScriptKilled
	if functions {
		cause = errFunctionKilled
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.running {
		if (run.function != "") != functions {
			others = true
			continue
		}
		killed = true
		run.cancel(cause)
	}
	return killed, others
}

// longest returns the function that has run for the longest time, with copies of its
// words. ok is false if none runs.
func (s *scripts) longest() (longest scriptRun, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.running {
		if run.function != "" && (!ok || run.begun.Before(longest.begun)) {
			longest, ok = *run, true
		}
	}
	longest.words = ownArgs(longest.words) // the memory of a request is used again after its run
	return longest, ok
}

func scriptKill(c *Conn, _ [][]byte, reply []byte) []byte {
	return appendKilled(reply, "FUNCTION KILL", c, false)
}

func functionKill(c *Conn, _ [][]byte, reply []byte) []byte {
	return appendKilled(reply, "SCRIPT KILL", c, true)
}

func appendKilled(reply []byte, other string, c *Conn, functions bool) []byte {
	killed, others := c.engine.scripts.kill(functions)
	switch {
	case killed:
		return append(reply, resp.OK...)
	case others:
		return resp.AppendError(reply, "BUSY Redis is busy running a script. You can only call "+other+" or SHUTDOWN NOSAVE.")
	}
	return resp.AppendError(reply, "NOTBUSY No scripts in execution right now.")
}
