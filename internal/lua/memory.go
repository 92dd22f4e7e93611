package lua

import (
	"context"
	"errors"
	"fmt"
	"unsafe"
)

// memory counts what a run allocates and how many steps it takes, and ends the
// run that exceeds a bound.
type memory struct {
	ctx     context.Context
	limit   int // bytes that may be live
	used    int // live bytes at the last count, and all allocated since
	next    int // used at which to count again
	pinned  int // bytes of buffers that builtins fill
	steps   int // steps until the next look at the context
	budget  int // steps left, or 0 where steps are unlimited
	bounded bool
	ending  bool // by a panic that no pcall looks at
	roots   func(*marker)
	ids     uint64
	epoch   uint32
}

// stepsPerLook is how many steps pass between looks at the context.
const stepsPerLook = 4096

// abort is what a panic carries that no pcall may catch: err ends the run.
type abort struct{ err error }

// end ends the run, past every pcall.
func (m *memory) end(err error) {
	m.ending = true
	panic(abort{err})
}

// ErrSteps is returned by Run where the script exceeds Limits.Steps.
var ErrSteps = errors.New("lua: the script exceeds its number of steps")

// ErrMemory is returned by Run where the script exceeds Limits.Memory.
var ErrMemory = errors.New("lua: the script exceeds its memory")

// MemoryError is an ErrMemory that knows the limit.
type MemoryError struct{ Limit int }

func (e *MemoryError) Error() string {
	return fmt.Sprintf("ERR Script used more than %d MiB", e.Limit>>20)
}

// Is says that the error is an ErrMemory.
func (e *MemoryError) Is(target error) bool { return target == ErrMemory }

func (m *memory) reset(ctx context.Context, limits Limits) {
	m.ctx = ctx
	m.limit = limits.Memory
	if m.limit <= 0 {
		m.limit = DefaultMemory
	}
	m.used, m.next, m.pinned = 0, m.limit, 0
	m.budget, m.bounded = limits.Steps, limits.Steps > 0
	m.steps, m.ending = stepsPerLook, false
	if m.bounded {
		m.steps = min(stepsPerLook, m.budget)
	}
}

// charge counts n bytes that will be allocated.
func (m *memory) charge(n int) {
	m.used += n
	m.steps -= n >> 8 // large copies take time
	if m.used > m.next {
		m.count(n)
	}
}

// count finds out what is live, and ends the run if that is too much.
func (m *memory) count(request int) {
	live := request + m.pinned
	if m.roots != nil {
		m.epoch++
		k := &marker{memory: m, strings: map[*byte]bool{}}
		m.roots(k)
		k.drain()
		live += k.bytes
	}
	if live > m.limit {
		m.end(&MemoryError{m.limit})
	}
	m.used = live
	m.next = max(m.limit, live+m.limit/8)
	m.ticks(live >> 10)
}

// grow makes room for n bytes more in a buffer.
func (m *memory) grow(dst []byte, n int) []byte {
	if len(dst)+n <= cap(dst) {
		return dst
	}
	size := max(2*cap(dst), len(dst)+n, 64)
	m.charge(size - cap(dst))
	m.pinned += size - cap(dst)
	return append(make([]byte, 0, size), dst...)
}

// finished makes a string of a buffer that grow made.
func (m *memory) finished(dst []byte) value {
	m.pinned -= cap(dst)
	return m.newString(string(dst))
}

// tick counts a step of a loop or a call.
func (m *memory) tick() {
	m.steps--
	if m.steps <= 0 {
		m.look()
	}
}

// ticks counts several steps.
func (m *memory) ticks(n int) {
	m.steps -= n
	if m.steps <= 0 {
		m.look()
	}
}

func (m *memory) look() {
	taken := stepsPerLook - m.steps
	m.steps = stepsPerLook
	if m.ctx != nil {
		if err := m.ctx.Err(); err != nil {
			m.end(context.Cause(m.ctx))
		}
	}
	if m.bounded {
		if m.budget -= taken; m.budget <= 0 {
			m.end(ErrSteps)
		}
	}
}

// newString charges a string that was made.
func (m *memory) newString(s string) value {
	m.charge(len(s) + 32)
	return value{o: s}
}

// marker walks over what is reachable and adds up its bytes.
type marker struct {
	memory  *memory
	bytes   int
	pending []any // tables and functions still to walk over
	strings map[*byte]bool
	cells   map[*cell]bool
	seen    map[any]bool
}

func (k *marker) value(v value) {
	switch o := v.o.(type) {
	case string:
		k.string(o)
	case *table:
		if o.mark != k.memory.epoch && !o.readonly {
			o.mark = k.memory.epoch
			k.pending = append(k.pending, o)
		}
	case *function:
		if o.proto != nil && k.once(o) {
			k.pending = append(k.pending, o)
		}
	case *thread:
		if k.once(o) {
			o.markStack(k)
		}
	case *cell:
		k.cell(o)
	}
}

func (k *marker) once(o any) bool {
	if k.seen == nil {
		k.seen = map[any]bool{}
	}
	if k.seen[o] {
		return false
	}
	k.seen[o] = true
	return true
}

func (k *marker) string(s string) {
	k.bytes += 32
	if len(s) < 64 {
		k.bytes += len(s)
		return
	}
	if p := unsafe.StringData(s); !k.strings[p] {
		k.strings[p] = true
		k.bytes += len(s)
	}
}

func (k *marker) function(f *function) {
	k.bytes += functionBytes + 8*len(f.upvalues)
	for _, c := range f.upvalues {
		k.cell(c)
	}
}

func (k *marker) cell(c *cell) {
	if c == nil || k.cells[c] {
		return
	}
	if k.cells == nil {
		k.cells = map[*cell]bool{}
	}
	k.cells[c] = true
	k.bytes += cellBytes
	k.value(c.v)
}

func (k *marker) values(vs []value) {
	for _, v := range vs {
		k.value(v)
	}
}

// drain walks over the tables and functions that were met.
func (k *marker) drain() {
	for len(k.pending) > 0 {
		last := k.pending[len(k.pending)-1]
		k.pending = k.pending[:len(k.pending)-1]
		switch o := last.(type) {
		case *table:
			k.table(o)
		case *function:
			k.function(o)
		}
	}
}

func (k *marker) table(t *table) {
	k.bytes += tableBytes + len(t.array)*arrayBytes + len(t.nodes)*nodeBytes
	k.values(t.array)
	for i := range t.nodes {
		if n := &t.nodes[i]; !n.val.isNil() {
			k.value(n.key)
			k.value(n.val)
		}
	}
	if t.meta != nil {
		k.value(value{o: t.meta})
	}
}

const (
	functionBytes = 96
	cellBytes     = 32
)
