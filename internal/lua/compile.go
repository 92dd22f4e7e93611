package lua

// A function is compiled to Go closures, which know registers and constants
// and get what changes from the frame. They hold no state: many runs share them.
type (
	evaluator func(*frame) value
	multiple  func(*frame) []value
	executor  func(*frame) signal
)

// signal says how a block goes on after a statement.
type signal int

const (
	proceed signal = iota
	breaks
	returns
)

// proto is a compiled function.
type proto struct {
	chunk, source  string // chunk is what positions start with
	line           int
	params         int
	vararg         bool
	argRegister    int // of the variable arg, or -1
	registers      int
	capturedParams []int
	upvalues       []upvalueSource
	body           []executor
}

// compiler compiles a function of a chunk.
type compiler struct {
	chunk, source string
	zero          value // the first zero among the constants, or nil
}

func (c *compiler) function(t *protoTree) *proto {
	p := &proto{chunk: c.chunk, source: c.source, line: t.line, params: len(t.params), vararg: t.vararg,
		registers: t.registers, upvalues: t.upvalues, argRegister: -1}
	for _, v := range t.params {
		if v.captured {
			p.capturedParams = append(p.capturedParams, v.register)
		}
	}
	if t.arg != nil {
		if t.needsArg && !t.usesDots {
			p.argRegister = t.arg.register
		}
		if t.arg.captured {
			p.capturedParams = append(p.capturedParams, t.arg.register)
		}
	}
	p.body = (&compiler{chunk: c.chunk, source: c.source}).block(t.body)
	return p
}

// constant is a number that the function writes down. Lua 5.1 finds constants by
// their value, and 0 equals -0: the first of them stands for both.
func (c *compiler) constant(n float64) value {
	if n != 0 {
		return number(n)
	}
	if c.zero.isNil() {
		c.zero = number(n)
	}
	return c.zero
}

func (c *compiler) block(body []stmt) []executor {
	list := make([]executor, 0, len(body))
	for _, s := range body {
		list = append(list, c.statement(s))
	}
	return list
}

func (c *compiler) statement(s stmt) executor {
	switch s := s.(type) {
	case *callStmt:
		call := c.call(s.call)
		return func(f *frame) signal { call(f); return proceed }
	case *localStmt:
		return c.local(s)
	case *assignStmt:
		return c.assign(s)
	case *localFunctionStmt:
		return c.localFunction(s)
	case *doStmt:
		body := c.block(s.body)
		return func(f *frame) signal { return runBlock(f, body) }
	case *whileStmt:
		return c.while(s)
	case *repeatStmt:
		return c.repeat(s)
	case *ifStmt:
		return c.ifs(s)
	case *numericForStmt:
		return c.numericFor(s)
	case *genericForStmt:
		return c.genericFor(s)
	case *returnStmt:
		return c.returns(s)
	case *breakStmt:
		return func(*frame) signal { return breaks }
	}
	panic("lua: unknown statement")
}

// declare stores the first value of a new local variable.
func declare(v *variable) func(*frame, value) {
	r := v.register
	if v.captured {
		return func(f *frame, x value) { f.registers[r] = f.newCell(x) }
	}
	return func(f *frame, x value) { f.registers[r] = x }
}

func (c *compiler) local(s *localStmt) executor {
	if len(s.variables) == 1 && len(s.values) == 1 {
		e := c.expr(s.values[0])
		if v := s.variables[0]; !v.captured {
			r := v.register
			return func(f *frame) signal { f.registers[r] = e(f); return proceed }
		}
		store := declare(s.variables[0])
		return func(f *frame) signal { store(f, e(f)); return proceed }
	}
	stores := make([]func(*frame, value), len(s.variables))
	for i, v := range s.variables {
		stores[i] = declare(v)
	}
	if len(s.values) == 0 {
		return func(f *frame) signal {
			for _, store := range stores {
				store(f, nilValue)
			}
			return proceed
		}
	}
	list := c.list(s.values)
	return func(f *frame) signal {
		mark := f.th.stack.mark()
		values := list(f)
		for i, store := range stores {
			if i < len(values) {
				store(f, values[i])
			} else {
				store(f, nilValue)
			}
		}
		f.th.stack.release(mark)
		return proceed
	}
}

func (c *compiler) localFunction(s *localFunctionStmt) executor {
	store, r := declare(s.variable), s.variable.register
	e := c.expr(s.function)
	if !s.variable.captured {
		return func(f *frame) signal { store(f, e(f)); return proceed }
	}
	return func(f *frame) signal {
		store(f, nilValue)
		f.registers[r].o.(*cell).v = e(f)
		return proceed
	}
}

// assignment stores a value in a target whose object and key are known.
type assignment func(f *frame, object, key, v value)

func (c *compiler) assign(s *assignStmt) executor {
	if len(s.targets) == 1 && len(s.values) == 1 {
		return c.assignOne(s)
	}
	objects, keys := make([]evaluator, len(s.targets)), make([]evaluator, len(s.targets))
	stores := make([]assignment, len(s.targets))
	for i, t := range s.targets {
		objects[i], keys[i], stores[i] = c.target(t, s.line)
	}
	list := c.list(s.values)
	n := len(s.targets)
	return func(f *frame) signal {
		mark := f.th.stack.mark()
		places := f.th.stack.alloc(f.m, 3*n)
		clear(places)
		for i := range n {
			if objects[i] != nil {
				places[3*i], places[3*i+1] = objects[i](f), keys[i](f)
			}
		}
		for i, v := range list(f) {
			if i < n {
				places[3*i+2] = v
			}
		}
		for i := n - 1; i >= 0; i-- {
			stores[i](f, places[3*i], places[3*i+1], places[3*i+2])
		}
		f.th.stack.release(mark)
		return proceed
	}
}

func (c *compiler) assignOne(s *assignStmt) executor {
	if l, ok := s.targets[0].(*localExpr); ok && !l.v.captured {
		r, e := l.v.register, c.expr(s.values[0])
		return func(f *frame) signal { f.registers[r] = e(f); return proceed }
	}
	object, key, store := c.target(s.targets[0], s.line)
	e := c.expr(s.values[0])
	if object == nil {
		return func(f *frame) signal { store(f, nilValue, nilValue, e(f)); return proceed }
	}
	return func(f *frame) signal {
		o := object(f)
		k := key(f)
		store(f, o, k, e(f))
		return proceed
	}
}

// target compiles what stands left of "=": object and key are nil for variables.
func (c *compiler) target(t expr, line int) (object, key evaluator, store assignment) {
	switch t := t.(type) {
	case *localExpr:
		r := t.v.register
		if t.v.captured {
			return nil, nil, func(f *frame, _, _, v value) { f.registers[r].o.(*cell).v = v }
		}
		return nil, nil, func(f *frame, _, _, v value) { f.registers[r] = v }
	case *upvalExpr:
		i := t.index
		return nil, nil, func(f *frame, _, _, v value) { f.fn.upvalues[i].v = v }
	case *globalExpr:
		name := str(t.name)
		return nil, nil, func(f *frame, _, _, v value) {
			f.line = line
			f.th.setIndex(value{o: f.m.globals}, name, v, "")
		}
	case *indexExpr:
		kind := nameOf(t.object)
		return c.expr(t.object), c.expr(t.key), func(f *frame, o, k, v value) {
			if t, ok := o.o.(*table); ok && t.meta == nil && !t.readonly {
				if i := arrayIndex(k); i > 0 && i <= len(t.array) {
					t.array[i-1] = v
					return
				}
			}
			f.line = line
			f.th.setIndex(o, k, v, kind)
		}
	}
	panic("lua: unknown target")
}

func (c *compiler) returns(s *returnStmt) executor {
	switch len(s.values) {
	case 0:
		return func(f *frame) signal { f.results = nil; return returns }
	case 1:
		if call, ok := s.values[0].(*callExpr); ok {
			return c.tailCall(call)
		}
		if _, dots := s.values[0].(*dotsExpr); !dots {
			e := c.expr(s.values[0])
			return func(f *frame) signal { f.results = f.th.one(e(f)); return returns }
		}
	}
	list := c.list(s.values)
	return func(f *frame) signal {
		f.results = f.th.several(list(f))
		return returns
	}
}

// tailCall leaves a Lua function to invoke, which gives up the frame first.
func (c *compiler) tailCall(e *callExpr) executor {
	called, args, s := c.callee(e)
	return func(f *frame) signal {
		th := f.th
		mark := th.stack.mark()
		fn, list := called(f), []value(nil)
		fn, list = args(f, fn)
		f.line = s.line
		if callee, ok := fn.o.(*function); ok && callee.native == nil {
			th.tailArgs = append(th.tailArgs[:0], list...)
			f.tail = callee
		} else {
			f.results = th.apply(fn, list, s, false)
		}
		th.stack.release(mark)
		return returns
	}
}
