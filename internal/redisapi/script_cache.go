package redisapi

import (
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"sync"

	"github.com/howdah/howdah/internal/lua"
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
	slots  chan struct{} // one for each script that runs
	random *lua.Random   // of math.random

	mu      sync.Mutex
	bySHA   map[string]*list.Element
	used    list.List // of *keptScript, the one used last in front
	bytes   int
	flushes int64 // how often all were forgotten
	running map[int64]*scriptRun
	runs    int64
}

// newScriptRandom begins anywhere: in Redis the first number after each start is the same, but
// the servers of a database must not give their scripts the same numbers.
func newScriptRandom() *lua.Random {
	var state [8]byte
	rand.Read(state[:]) // never fails
	return lua.NewRandom(binary.LittleEndian.Uint64(state[:]))
}

// keptScript is a script that can run. It implements runnable.
type keptScript struct {
	program *lua.Program
	size    int // bytes of its text
	habits
}

func (k *keptScript) flags() lua.Flags { return k.program.Flags() }

func (k *keptScript) run(ctx context.Context, run *lua.Run) ([]byte, error) {
	return k.program.Run(ctx, run)
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

// compileStored returns the program of a source that PostgreSQL has answered. It is kept,
// unless all were forgotten since there were that many flushes.
func (s *scripts) compileStored(source []byte, flushes int64) (*keptScript, error) {
	program, err := lua.Compile("user_script", source)
	if err != nil {
		return nil, err
	}
	script := &keptScript{program: program, size: len(source)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flushes == flushes {
		script = s.insert(script)
	}
	return script, nil
}

// flushed returns how often all scripts were forgotten.
func (s *scripts) flushed() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushes
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
	return s.insert(script)
}

// insert keeps a script under mu, and returns it, or the one that is kept already.
func (s *scripts) insert(script *keptScript) *keptScript {
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
	s.flushes++
}
