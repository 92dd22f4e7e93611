package redisapi

import (
	"slices"

	"github.com/howdah/howdah/internal/lua"
)

// scriptCalls are the commands that a run of a script has called, for INFO. They count when
// the script has ended: a run may be abandoned.
type scriptCalls struct {
	list   []scriptTally
	errors []string // the names of error replies
}

// scriptTally is how often a run has called one command.
type scriptTally struct {
	cmd                     *Command
	calls, failed, rejected uint64
	nanos                   int64
}

// maxScriptErrors bounds the names of errors that a run keeps.
const maxScriptErrors = 1000

func (s *scriptCalls) of(cmd *Command) *scriptTally {
	i := slices.IndexFunc(s.list, func(t scriptTally) bool { return t.cmd == cmd })
	if i < 0 {
		i = len(s.list)
		s.list = append(s.list, scriptTally{cmd: cmd})
	}
	return &s.list[i]
}

// add counts a command that was run.
func (s *scriptCalls) add(cmd *Command, nanos int64, reply []byte) {
	t := s.of(cmd)
	t.calls++
	t.nanos += nanos
	if isError(reply) {
		t.failed++
		s.fail(reply)
	}
}

// reject counts a command that was refused; cmd is nil if there is none.
func (s *scriptCalls) reject(cmd *Command, reply []byte) {
	if cmd != nil {
		s.of(cmd).rejected++
	}
	s.fail(reply)
}

func (s *scriptCalls) fail(reply []byte) {
	if len(s.errors) < maxScriptErrors {
		s.errors = append(s.errors, errorName(reply))
	}
}

// scriptEnd is what counts of a script that has run, if nothing failed since.
type scriptEnd struct {
	calls   scriptCalls
	numbers *lua.Numbers
	reads   bool // it has called a command that reads: its keys are tracked, as in Redis
}

// scriptCounted reports whether countScript counts the reply of the request.
func (r *request) scriptCounted() bool { return r.ended != nil && r.call.Err == nil }

// countScript counts what the last run of a script did. The errors in its reply are among
// that: those of commands count once.
func (r *request) countScript() {
	stats := &r.conn.engine.stats
	for _, t := range r.ended.calls.list {
		if t.calls > 0 {
			t.cmd.stats.addCalls(t.calls, t.nanos/int64(t.calls))
		}
		t.cmd.stats.failed.Add(t.failed)
		t.cmd.stats.rejected.Add(t.rejected)
	}
	for _, name := range r.ended.calls.errors {
		stats.errors.add(name)
	}
	if r.ended.numbers != nil {
		r.ended.numbers.Keep()
	}
}

// keptScripts is how much an engine keeps of scripts and functions, for INFO. The bytes are
// those of their texts.
type keptScripts struct{ scripts, scriptBytes, functions, libraries, functionBytes int }

func (e *Engine) keptScripts() keptScripts {
	fs := e.shared.functions.Load()
	k := keptScripts{functions: len(fs.byName), libraries: len(fs.libraries), functionBytes: fs.bytes}
	s := &e.scripts
	s.mu.Lock()
	defer s.mu.Unlock()
	k.scripts, k.scriptBytes = s.used.Len(), s.bytes
	return k
}
