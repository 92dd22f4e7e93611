package redisapi

import (
	"container/list"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/lua"
	"github.com/howdah/howdah/internal/resp"
)

// Bounds on the scripts that an engine keeps: the oldest is forgotten. A compiled
// script takes many times the memory of its text.
const (
	maxScripts     = 10_000
	maxScriptBytes = 16 << 20
	maxScriptText  = 1 << 20 // of one; more is refused
)

const errLongScript = refusal("ERR script is longer than 1048576 bytes; use a shorter one")

// scripts holds the compiled scripts of an engine and knows which of them run.
type scripts struct {
	slots chan struct{} // one for each script that runs

	mu      sync.Mutex
	bySHA   map[string]*list.Element
	used    list.List // of *keptScript, the one used last in front
	bytes   int
	cancels map[int64]context.CancelCauseFunc
	runs    int64
}

type keptScript struct {
	program *lua.Program
	size    int // bytes of its text

	// asks says that a run has asked for a key that was not declared, declares that one
	// has ended without that.
	asks, declares atomic.Bool
}

// alone reports whether the script may ask for keys that it does not declare, as far
// as its runs show. Commands that a client sends behind it then wait for its end:
// they may be about such a key.
func (k *keptScript) alone() bool { return k.asks.Load() || !k.declares.Load() }

// note learns from a run.
func (k *keptScript) note(asked bool, err error) {
	switch {
	case asked:
		k.asks.Store(true)
	case err == nil:
		k.declares.Store(true)
	}
}

// kept returns the script of a source, nil if it is not kept.
func (s *scripts) kept(source []byte) *keptScript {
	sum := sha1.Sum(source)
	var sha [2 * sha1.Size]byte
	hex.Encode(sha[:], sum[:])
	return s.find(sha[:])
}

// compile returns the program of a source, which is kept.
func (s *scripts) compile(source []byte) (*keptScript, error) {
	if len(source) > maxScriptText {
		return nil, errLongScript
	}
	if kept := s.kept(source); kept != nil {
		return kept, nil
	}
	program, err := lua.Compile("user_script", source)
	if err != nil {
		return nil, err
	}
	return s.keep(&keptScript{program: program, size: len(source)}), nil
}

// find returns a program that is kept, nil if it is not.
func (s *scripts) find(sha []byte) *keptScript {
	var buffer [2 * sha1.Size]byte
	if len(sha) != len(buffer) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.bySHA[string(lower(buffer[:0], sha))]
	if e == nil {
		return nil
	}
	s.used.MoveToFront(e)
	return e.Value.(*keptScript)
}

func (s *scripts) keep(script *keptScript) *keptScript {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySHA == nil {
		s.bySHA = make(map[string]*list.Element)
	}
	sha := script.program.SHA()
	if e := s.bySHA[sha]; e != nil {
		return e.Value.(*keptScript)
	}
	s.bySHA[sha] = s.used.PushFront(script)
	s.bytes += script.size
	for s.used.Len() > maxScripts || s.bytes > maxScriptBytes && s.used.Len() > 1 {
		oldest := s.used.Remove(s.used.Back()).(*keptScript)
		delete(s.bySHA, oldest.program.SHA())
		s.bytes -= oldest.size
	}
	return script
}

// flush forgets all scripts.
func (s *scripts) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bySHA, s.bytes = nil, 0
	s.used.Init()
}

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

// begin registers a run, which SCRIPT KILL ends. The caller calls end, which reports
// whether it has.
func (s *scripts) begin(ctx context.Context) (_ context.Context, end func() (killed bool)) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancels == nil {
		s.cancels = make(map[int64]context.CancelCauseFunc)
	}
	s.runs++
	id := s.runs
	s.cancels[id] = cancel
	return ctx, func() bool {
		s.mu.Lock()
		delete(s.cancels, id)
		s.mu.Unlock()
		cancel(nil)
		return context.Cause(ctx) == errScriptKilled
	}
}

// kill ends all runs and reports whether there were any.
func (s *scripts) kill(cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.cancels {
		cancel(cause)
	}
	return len(s.cancels) > 0
}

func scriptLoad(t *task, args [][]byte) error {
	script, err := t.conn.engine.scripts.compile(args[2])
	if err != nil {
		return refusal(err.Error())
	}
	t.out = resp.AppendBulkString(t.out, script.program.SHA())
	return nil
}

func scriptExists(c *Conn, args [][]byte, reply []byte) []byte {
	reply = resp.AppendArray(reply, len(args)-2)
	for _, sha := range args[2:] {
		found := int64(0)
		if c.engine.scripts.find(sha) != nil {
			found = 1
		}
		reply = resp.AppendInt(reply, found)
	}
	return reply
}

func scriptFlush(c *Conn, args [][]byte, reply []byte) []byte {
	if len(args) > 3 || len(args) == 3 && !is(args[2], "SYNC") && !is(args[2], "ASYNC") {
		return resp.AppendError(reply, "ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	}
	c.engine.scripts.flush()
	return append(reply, resp.OK...)
}

func scriptKill(c *Conn, _ [][]byte, reply []byte) []byte {
	if !c.engine.scripts.kill(errScriptKilled) {
		return resp.AppendError(reply, "NOTBUSY No scripts in execution right now.")
	}
	return append(reply, resp.OK...)
}
