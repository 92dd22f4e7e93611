package lua

import (
	"fmt"
	"iter"
)

// Bounds of calls, as in Lua 5.1.
const (
	maxDepth  = 20000 // calls in calls
	maxNative = 198   // calls of Lua by builtins in each other
	frameCost = 1600  // bytes of the Go stack that a call in a call takes, about
)

// frame is a Lua function that runs.
type frame struct {
	registers []value
	varargs   []value
	fn        *function
	line      int
	native    bool // called by a builtin, or its caller is gone by a tail call
	parent    *frame
	th        *thread
	m         *machine
	results   []value
	tail      *function
}

// site is where a function is called: the name by which errors refer to it.
type site struct {
	name   string // rep
	kind   string // method 'rep', or empty
	method bool
	line   int
}

// luaError is an error that pcall can catch.
type luaError struct {
	value  value
	source string // of the innermost Lua function, if any
	line   int
}

// thread is a coroutine, or the main one.
type thread struct {
	m        *machine
	id       uint64
	stack    stack
	frames   []*frame
	current  *frame
	depth    int // of frames
	natives  int // calls of Lua by builtins
	results  []value
	tailArgs []value
	site     *site

	// Of a coroutine.
	fn       *function
	status   string
	resume   func() (struct{}, bool)
	stop     func()
	suspend  func(struct{}) bool
	transfer []value
	failure  any
	resumer  *thread
}

func newThread(m *machine) *thread {
	m.ids++
	return &thread{m: m, id: m.ids, status: "suspended"}
}

func (th *thread) nextFrame() *frame {
	if th.depth == len(th.frames) {
		th.m.charge(frameCost)
		th.frames = append(th.frames, &frame{th: th, m: th.m})
	}
	f := th.frames[th.depth]
	th.depth++
	return f
}

// invoke runs a Lua function, and those that it calls last.
func (th *thread) invoke(fn *function, args []value, native bool) []value {
	caller := th.current
	for {
		th.m.tick()
		if th.m.depth >= maxDepth {
			th.raise("stack overflow")
		}
		p := fn.proto
		f := th.nextFrame()
		th.m.depth++
		mark := th.stack.mark()
		f.fn, f.native, f.parent, f.line = fn, native, caller, p.line
		f.registers = th.stack.alloc(th.m, p.registers)
		f.varargs = nil
		given := copy(f.registers[:p.params], args)
		clear(f.registers[given:])
		if p.vararg {
			f.enterVarargs(p, args)
		}
		for _, i := range p.capturedParams {
			f.registers[i] = f.newCell(f.registers[i])
		}
		th.current = f
		f.results, f.tail = nil, nil
		runBlock(f, p.body)
		results, tail := f.results, f.tail
		th.current = caller
		th.stack.release(mark)
		th.depth--
		th.m.depth--
		if tail == nil {
			return results
		}
		fn, args, native = tail, th.tailArgs, true
	}
}

func (f *frame) enterVarargs(p *proto, args []value) {
	extra := args[min(len(args), p.params):]
	f.varargs = f.th.stack.alloc(f.m, len(extra))
	copy(f.varargs, extra)
	f.m.ticks(len(extra) / 8)
	if p.argRegister >= 0 {
		t := f.m.newTable(len(extra), 1)
		for i, v := range extra {
			t.setInt(i+1, v)
		}
		t.setString("n", number(float64(len(extra))))
		f.registers[p.argRegister] = value{o: t}
	}
}

func (f *frame) newCell(v value) value {
	f.m.charge(cellBytes)
	return value{o: &cell{v}}
}

func runBlock(f *frame, body []executor) signal {
	for _, s := range body {
		if sig := s(f); sig != proceed {
			return sig
		}
	}
	return proceed
}

// call calls any value on behalf of a builtin.
func (th *thread) call(fn value, args ...value) []value { return th.callAt(nil, fn, args) }

// metaSite is where the interpreter calls a metamethod.
var metaSite = &site{name: "?"}

// meta calls a metamethod for one result.
func (th *thread) meta(fn value, args ...value) value { return first(th.callAt(metaSite, fn, args)) }

func (th *thread) callAt(s *site, fn value, args []value) []value {
	th.natives++
	th.m.natives++
	if th.m.natives >= maxNative {
		if th.m.natives > maxNative+20 {
			th.m.end(fmt.Errorf("ERR error in error handling"))
		}
		th.raise("C stack overflow")
	}
	results := th.apply(fn, args, s, true)
	th.natives--
	th.m.natives--
	return results
}

// call1 is call for one result.
func (th *thread) call1(fn value, args ...value) value { return first(th.call(fn, args...)) }

func first(vs []value) value {
	if len(vs) == 0 {
		return nilValue
	}
	return vs[0]
}

// apply calls a value, with the name of it at the place of the call.
func (th *thread) apply(fn value, args []value, s *site, native bool) []value {
	if f, ok := fn.o.(*function); ok {
		if f.native != nil {
			th.m.tick()
			th.site = s
			return f.native(th, args)
		}
		return th.invoke(f, args, native)
	}
	handler := th.metamethod(fn, "__call")
	if _, ok := handler.o.(*function); !ok {
		kind := ""
		if s != nil {
			kind = s.kind
		}
		th.typeError("call", fn, kind)
	}
	return th.apply(handler, append([]value{fn}, args...), s, native)
}

// one returns one value from a builtin.
func (th *thread) one(v value) []value {
	if cap(th.results) == 0 {
		th.results = make([]value, 8)
	}
	th.results = th.results[:1]
	th.results[0] = v
	return th.results
}

// two returns two values from a builtin.
func (th *thread) two(v, w value) []value { return th.several([]value{v, w}) }

// several returns values that may lie in the stack.
func (th *thread) several(vs []value) []value {
	th.results = append(th.results[:0], vs...)
	return th.results
}

// prepend returns a value and the results of a call.
func (th *thread) prepend(v value, vs []value) []value {
	n := len(vs)
	if cap(th.results) < n+1 {
		grown := make([]value, n+1, 2*n+8)
		copy(grown[1:], vs)
		th.results = grown
	} else {
		th.results = th.results[:n+1]
		copy(th.results[1:], vs)
	}
	th.results[0] = v
	return th.results
}

// protect calls a function and catches its error.
func (th *thread) protect(fn value, args ...value) (results []value, failure *luaError) {
	current, depth, natives, mark := th.current, th.depth, th.natives, th.stack.mark()
	allDepth, allNatives, pinned := th.m.depth, th.m.natives, th.m.pinned
	defer func() {
		if th.m.ending {
			return
		}
		p := recover()
		if p == nil {
			return
		}
		e, ok := p.(*luaError)
		if !ok {
			panic(p)
		}
		th.current, th.depth, th.natives = current, depth, natives
		th.m.depth, th.m.natives, th.m.pinned = allDepth, allNatives, pinned
		th.m.running = th
		th.stack.release(mark)
		results, failure = nil, e
	}()
	return th.call(fn, args...), nil
}

// where is the position of the function at a level, as luaL_where.
func (th *thread) where(level int) string {
	f := th.current
	for ; level > 1 && f != nil; level-- {
		if f.native {
			return ""
		}
		f = f.parent
	}
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", f.fn.proto.chunk, f.line)
}

// raise raises an error at the line of the running function.
func (th *thread) raise(format string, args ...any) {
	th.throw(str(th.where(1) + errorMessage(format, args)))
}

// fail raises an error of a builtin, at the line of the function that called it.
func (th *thread) fail(format string, args ...any) {
	message := errorMessage(format, args)
	if th.site != nil {
		message = th.where(1) + message
	}
	th.throw(str(message))
}

// errorMessage writes what is wrong, as luaL_error: with the texts of C.
func errorMessage(format string, args []any) string {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = cString(s)
		}
	}
	return fmt.Sprintf(format, args...)
}

// throw raises a value.
func (th *thread) throw(v value) {
	e := &luaError{value: v}
	if f := th.current; f != nil {
		e.source, e.line = f.fn.proto.source, f.line
	}
	panic(e)
}

// typeError complains of an operation on a value, and says what that is.
func (th *thread) typeError(operation string, v value, kind string) {
	if kind == "" {
		th.raise("attempt to %s a %s value", operation, v.typeName())
	}
	th.raise("attempt to %s %s (a %s value)", operation, kind, v.typeName())
}

// stack holds registers and arguments in chunks that never move.
type stack struct {
	chunks [][]value
	used   []int // of the chunks below
	chunk  int
	top    int
}

type stackMark struct{ chunk, top int }

func (s *stack) mark() stackMark { return stackMark{s.chunk, s.top} }

func (s *stack) release(m stackMark) { s.chunk, s.top = m.chunk, m.top }

// alloc gives registers that may hold old values.
func (s *stack) alloc(m *machine, n int) []value {
	if s.chunk < len(s.chunks) {
		if c := s.chunks[s.chunk]; s.top+n <= len(c) {
			s.top += n
			return c[s.top-n : s.top : s.top]
		}
	}
	return s.grow(m, n)
}

const firstChunk = 256

func (s *stack) grow(m *machine, n int) []value {
	if len(s.chunks) > 0 {
		s.used = append(s.used[:s.chunk], s.top)
		s.chunk++
	}
	size := max(n, firstChunk<<min(s.chunk, 6))
	if s.chunk < len(s.chunks) && len(s.chunks[s.chunk]) < n {
		s.chunks = s.chunks[:s.chunk]
	}
	if s.chunk == len(s.chunks) {
		m.charge(size * arrayBytes)
		s.chunks = append(s.chunks, make([]value, size))
	}
	s.top = n
	return s.chunks[s.chunk][:n:n]
}

func (th *thread) markStack(k *marker) {
	s := &th.stack
	for i := 0; i <= s.chunk && i < len(s.chunks); i++ {
		n := s.top
		if i < s.chunk {
			n = s.used[i]
		}
		k.bytes += len(s.chunks[i]) * arrayBytes
		k.values(s.chunks[i][:n])
	}
	k.bytes += coroutineBytes + len(th.frames)*frameCost
	for _, f := range th.frames[:th.depth] {
		k.value(value{o: f.fn})
	}
	k.values(th.results)
	k.values(th.transfer)
	if th.fn != nil {
		k.value(value{o: th.fn})
	}
}

// start makes the goroutine of a coroutine, which ends with the run.
func (th *thread) start() {
	th.resume, th.stop = iter.Pull(func(suspend func(struct{}) bool) {
		defer func() { th.failure = recover() }()
		th.suspend = suspend
		results := th.apply(value{o: th.fn}, th.transfer, nil, true)
		th.transfer = append([]value(nil), results...)
	})
}
