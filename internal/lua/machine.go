package lua

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// machine runs scripts one after another. Scripts cannot change its libraries,
// so it is clean for the next one.
type machine struct {
	memory
	globals      *table
	stringMeta   *table
	nextFunction value
	ipairs       value
	errHandler   value
	scripting    *table // the globals of scripts and functions
	loadable     *table // the globals of a library that is being loaded
	null         *userdata
	main         *thread
	running      *thread
	coroutines   []*thread
	depth        int // frames in all coroutines that wait for each other
	natives      int
	draws        draws
	json         jsonSettings
	run          *Run
	protocol     int // of the replies that the script gets
	loading      *library
	scratch      scratch
}

// scratch holds buffers that one call of a command after another uses.
type scratch struct {
	args  [][]byte
	text  []byte
	reply []byte
}

// builtin is a function in Go.
type builtin func(*thread, []value) []value

var machines = sync.Pool{New: func() any { return newMachine() }}

func newMachine() *machine {
	m := &machine{null: &userdata{"null"}}
	m.reset(context.Background(), Limits{})
	m.main = newThread(m)
	m.main.status = "running"
	m.roots = m.markRoots
	m.globals = m.library(baseLibrary())
	m.nextFunction = m.globals.getString("next")
	m.ipairs = m.builtin("ipairs", ipairsStep)
	m.globals.setString("_VERSION", str("Lua 5.1"))
	for _, l := range []struct {
		name  string
		table *table
	}{
		{"string", m.stringLibrary()}, {"table", m.library(tableLibrary())}, {"math", m.mathLibrary()},
		{"bit", m.library(bitLibrary())}, {"struct", m.library(structLibrary())}, {"cjson", m.jsonLibrary()},
		{"cmsgpack", m.msgpackLibrary()}, {"coroutine", m.library(coroutineLibrary())}, {"redis", m.redisLibrary()},
	} {
		l.table.readonly = true
		m.globals.setString(l.name, value{o: l.table})
	}
	m.errHandler = m.globals.getString(errHandlerName)
	m.stringMeta = m.newTable(0, 1)
	m.stringMeta.setString("__index", m.globals.getString("string"))
	m.stringMeta.readonly = true
	m.globals.setString("KEYS", falseValue) // a place for the table of each run
	m.globals.setString("ARGV", falseValue)
	m.globals.setString("_G", value{o: m.globals})
	m.protect(m.globals)
	m.scripting = m.globals
	m.loadable = m.newTable(0, 1)
	m.loadable.setString("redis", value{o: m.loadingLibrary()})
	m.protect(m.loadable)
	return m
}

// errHandlerName is a global that scripts see and functions do not.
const errHandlerName = "__redis__err__handler"

// protect makes a table readonly, and its missing fields errors.
func (m *machine) protect(t *table) {
	t.meta = m.newTable(0, 1)
	t.meta.setString("__index", m.builtin("__index", missingGlobal))
	t.meta.readonly = true
	t.readonly = true
}

func (m *machine) library(functions map[string]builtin) *table {
	t := m.newTable(0, len(functions))
	for _, name := range sortedKeys(functions) {
		t.setString(name, m.builtin(name, functions[name]))
	}
	return t
}

func (m *machine) builtin(name string, f builtin) value {
	m.ids++
	return value{o: &function{native: f, name: name, id: m.ids}}
}

func (m *machine) newFunction(p *proto) value {
	m.ids++
	return value{o: &function{proto: p, id: m.ids}}
}

func missingGlobal(th *thread, args []value) []value {
	th.fail("Script attempted to access nonexistent global variable '%s'", arg(args, 1).describe())
	return nil
}

func (m *machine) markRoots(k *marker) {
	k.value(m.globals.getString("KEYS"))
	k.value(m.globals.getString("ARGV"))
	k.value(value{o: m.main})
	for _, co := range m.coroutines {
		k.value(value{o: co})
	}
	if m.loading != nil {
		for _, f := range m.loading.functions {
			k.bytes += functionBytes
			k.string(f.Name)
			k.string(f.Description)
			k.value(f.callback)
		}
	}
}

// begin prepares a machine for a run.
func (m *machine) begin(ctx context.Context, r *Run) {
	m.memory.reset(ctx, r.Limits)
	m.run = r
	m.protocol = 2
	m.beginDraws()
	m.json = defaultJSON
	m.running = m.main
	m.globals = m.scripting
	m.globals.setString(errHandlerName, m.errHandler)
}

// finish leaves nothing of a run behind.
func (m *machine) finish() {
	m.endDraws()
	m.stopCoroutines()
	th := m.main
	th.current, th.depth, th.natives, th.site = nil, 0, 0, nil
	th.status = "running"
	m.depth, m.natives = 0, 0
	th.stack.reset()
	if len(th.frames) > 64 {
		th.frames = th.frames[:64:64]
	}
	for _, f := range th.frames {
		*f = frame{th: th, m: m}
	}
	clear(th.results[:cap(th.results)])
	clear(th.tailArgs[:cap(th.tailArgs)])
	m.scripting.setString("KEYS", falseValue)
	m.scripting.setString("ARGV", falseValue)
	m.run, m.ctx, m.loading = nil, nil, nil
	if cap(m.scratch.reply) > maxScratch {
		m.scratch.reply = nil
	}
}

// reset keeps the first chunk, without what was in it.
func (s *stack) reset() {
	if len(s.chunks) > 1 {
		s.chunks = s.chunks[:1:1]
	}
	if len(s.chunks) == 1 {
		clear(s.chunks[0])
	}
	s.used, s.chunk, s.top = s.used[:0], 0, 0
}

// execute calls a function; failure is an error of the script, err one that
// ended the run.
func (m *machine) execute(fn value, args ...value) (results []value, failure *luaError, err error) {
	defer recovered(&err)
	results, failure = m.main.protect(fn, args...)
	return results, failure, nil
}

// recovered is deferred: it makes the panic that ended a run an error.
func recovered(err *error) {
	switch p := recover().(type) {
	case nil:
	case abort:
		*err = p.err
	case runtime.Error:
		*err = fmt.Errorf("lua: internal error: %w", p)
	default:
		*err = fmt.Errorf("lua: internal error: %v", p)
	}
}
