package lua

import "math"

func (c *compiler) expr(e expr) evaluator {
	switch e := e.(type) {
	case *nilExpr:
		return func(*frame) value { return nilValue }
	case *trueExpr:
		return func(*frame) value { return trueValue }
	case *falseExpr:
		return func(*frame) value { return falseValue }
	case *numberExpr:
		v := number(e.n)
		return func(*frame) value { return v }
	case *stringExpr:
		v := str(e.s)
		return func(*frame) value { return v }
	case *dotsExpr:
		return func(f *frame) value { return first(f.varargs) }
	case *localExpr:
		r := e.v.register
		if e.v.captured {
			return func(f *frame) value { return f.registers[r].o.(*cell).v }
		}
		return func(f *frame) value { return f.registers[r] }
	case *upvalExpr:
		i := e.index
		return func(f *frame) value { return f.fn.upvalues[i].v }
	case *globalExpr:
		return c.global(e)
	case *indexExpr:
		return c.index(e)
	case *callExpr:
		call := c.call(e)
		return func(f *frame) value { return first(call(f)) }
	case *functionExpr:
		return c.closure(e)
	case *tableExpr:
		return c.table(e)
	case *unaryExpr:
		return c.unary(e)
	case *binaryExpr:
		return c.binary(e)
	case *concatExpr:
		return c.concat(e)
	case *parenExpr:
		return c.expr(e.e)
	}
	panic("lua: unknown expression")
}

func (c *compiler) global(e *globalExpr) evaluator {
	name, hash, line := e.name, stringHash(e.name), e.line
	return func(f *frame) value {
		if v := f.m.globals.getHashed(name, hash); !v.isNil() {
			return v
		}
		f.line = line
		return f.th.index(value{o: f.m.globals}, str(name), "")
	}
}

func (c *compiler) index(e *indexExpr) evaluator {
	object, line, kind := c.expr(e.object), e.line, nameOf(e.object)
	if s, ok := e.key.(*stringExpr); ok {
		name, hash := s.s, stringHash(s.s)
		key := str(name)
		return func(f *frame) value {
			o := object(f)
			if t, ok := o.o.(*table); ok {
				if v := t.getHashed(name, hash); !v.isNil() || t.meta == nil {
					return v
				}
			}
			f.line = line
			return f.th.index(o, key, kind)
		}
	}
	key := c.expr(e.key)
	return func(f *frame) value {
		o := object(f)
		k := key(f)
		if t, ok := o.o.(*table); ok {
			if v := t.get(k); !v.isNil() || t.meta == nil {
				return v
			}
		}
		f.line = line
		return f.th.index(o, k, kind)
	}
}

// nameOf is how errors refer to the value of an expression, or empty.
func nameOf(e expr) string {
	switch e := e.(type) {
	case *localExpr:
		return "local '" + e.v.name + "'"
	case *upvalExpr:
		return "upvalue '" + e.name + "'"
	case *globalExpr:
		return "global '" + e.name + "'"
	case *indexExpr:
		if s, ok := e.key.(*stringExpr); ok {
			return "field '" + s.s + "'"
		}
		return "field '?'"
	case *parenExpr:
		return nameOf(e.e)
	}
	return ""
}

// calledName is how errors of builtins refer to the function of a call.
func calledName(e expr) string {
	switch e := e.(type) {
	case *localExpr:
		return e.v.name
	case *upvalExpr:
		return e.name
	case *globalExpr:
		return e.name
	case *indexExpr:
		if s, ok := e.key.(*stringExpr); ok {
			return s.s
		}
	}
	return "?"
}

// callee compiles the function and the arguments of a call. args gets the
// value of function, which for a method is the object, and gives what to call.
func (c *compiler) callee(e *callExpr) (function evaluator, args func(*frame, value) (value, []value), s *site) {
	function = c.expr(e.function)
	if e.method == "" {
		list := c.list(e.args)
		s = &site{name: calledName(e.function), kind: nameOf(e.function), line: e.line}
		return function, func(f *frame, fn value) (value, []value) { return fn, list(f) }, s
	}
	list := c.listAfter(1, e.args)
	s = &site{name: e.method, kind: "method '" + e.method + "'", method: true, line: e.line}
	key, kind, line := str(e.method), nameOf(e.function), e.line
	return function, func(f *frame, object value) (value, []value) {
		f.line = line
		fn := f.th.index(object, key, kind)
		args := list(f)
		args[0] = object
		return fn, args
	}, s
}

// call compiles a call for all of its results, which the next call overwrites.
func (c *compiler) call(e *callExpr) multiple {
	called, args, s := c.callee(e)
	return func(f *frame) []value {
		th := f.th
		mark := th.stack.mark()
		fn := called(f)
		fn, list := args(f, fn)
		f.line = s.line
		results := th.apply(fn, list, s, false)
		th.stack.release(mark)
		return results
	}
}

func (c *compiler) list(es []expr) multiple { return c.listAfter(0, es) }

// listAfter compiles a list of values, with room for n before them. They lie in
// the stack until the caller releases it.
func (c *compiler) listAfter(n int, es []expr) multiple {
	var tail multiple
	if len(es) > 0 {
		switch last := es[len(es)-1].(type) {
		case *callExpr:
			tail = c.call(last)
		case *dotsExpr:
			tail = func(f *frame) []value { return f.varargs }
		}
	}
	if tail != nil {
		es = es[:len(es)-1]
	}
	parts := make([]evaluator, len(es))
	for i, e := range es {
		parts[i] = c.expr(e)
	}
	fixed := n + len(parts)
	return func(f *frame) []value {
		values := f.th.stack.alloc(f.m, fixed)
		if n > 0 {
			clear(values[:n])
		}
		for i, part := range parts {
			values[n+i] = part(f)
		}
		if tail == nil {
			return values
		}
		rest := tail(f)
		if len(rest) == 0 {
			return values
		}
		f.m.ticks(len(rest) / 8)
		all := f.th.stack.alloc(f.m, fixed+len(rest))
		copy(all, values)
		copy(all[fixed:], rest)
		return all
	}
}

func (c *compiler) closure(e *functionExpr) evaluator {
	p := c.function(e.proto)
	return func(f *frame) value {
		f.m.ids++
		fn := &function{proto: p, id: f.m.ids}
		f.m.charge(functionBytes + 8*len(p.upvalues))
		if len(p.upvalues) > 0 {
			fn.upvalues = make([]*cell, len(p.upvalues))
			for i, u := range p.upvalues {
				if u.local != nil {
					fn.upvalues[i] = f.registers[u.local.register].o.(*cell)
				} else {
					fn.upvalues[i] = f.fn.upvalues[u.index]
				}
			}
		}
		return value{o: fn}
	}
}

func (c *compiler) table(e *tableExpr) evaluator {
	type entry struct {
		key, value evaluator
		line       int
	}
	entries := make([]entry, len(e.fields))
	var tail multiple
	array := 0
	for i, fl := range e.fields {
		entries[i].line = fl.line
		if fl.key != nil {
			entries[i].key = c.expr(fl.key)
		} else if array++; i == len(e.fields)-1 {
			switch last := fl.value.(type) {
			case *callExpr:
				tail = c.call(last)
			case *dotsExpr:
				tail = func(f *frame) []value { return f.varargs }
			}
		}
		entries[i].value = c.expr(fl.value)
	}
	if tail != nil {
		entries = entries[:len(entries)-1]
		array--
	}
	hash := floatingByte(e.hash)
	arraySize := floatingByte(array)
	return func(f *frame) value {
		t := f.m.newTable(arraySize, hash)
		mark := f.th.stack.mark()
		f.th.stack.alloc(f.m, 1)[0] = value{o: t} // for the count of memory
		next, waiting := 1, 0 // what waits is stored after the keys between, as SETLIST does
		pending := f.th.stack.alloc(f.m, min(array, fieldsPerFlush))
		flush := func() {
			for _, v := range pending[:waiting] {
				t.setInt(next, v)
				next++
			}
			waiting = 0
		}
		for _, en := range entries {
			if en.key == nil {
				if waiting == fieldsPerFlush {
					flush()
				}
				pending[waiting] = en.value(f)
				waiting++
				continue
			}
			k := en.key(f)
			v := en.value(f)
			f.checkKey(k, en.line)
			t.set(k, v)
		}
		if tail == nil {
			flush()
		} else {
			rest := tail(f)
			flush()
			if need := array + len(rest); need > len(t.array) {
				t.resize(need, len(t.nodes))
			}
			for i, v := range rest {
				t.setInt(next+i, v)
			}
		}
		f.th.stack.release(mark)
		return value{o: t}
	}
}

// fieldsPerFlush is how many fields wait at most: LFIELDS_PER_FLUSH.
const fieldsPerFlush = 50

// floatingByte rounds a size as the instruction NEWTABLE does.
func floatingByte(n int) int {
	e := 0
	for n >= 16 {
		n = (n + 1) >> 1
		e++
	}
	return n << e
}

func (c *compiler) unary(e *unaryExpr) evaluator {
	operand, line, kind := c.expr(e.e), e.line, nameOf(e.e)
	switch e.op {
	case tokNot:
		return func(f *frame) value { return boolean(!operand(f).truthy()) }
	case '-':
		return func(f *frame) value {
			v := operand(f)
			if v.isNumber() {
				return number(-v.n)
			}
			f.line = line
			return f.th.arithmetic(opNegate, v, v, kind, kind)
		}
	}
	return func(f *frame) value {
		v := operand(f)
		f.line = line
		return f.th.lengthOf(v, kind)
	}
}

func (c *compiler) binary(e *binaryExpr) evaluator {
	switch e.op {
	case tokAnd:
		left, right := c.expr(e.left), c.expr(e.right)
		return func(f *frame) value {
			if v := left(f); !v.truthy() {
				return v
			}
			return right(f)
		}
	case tokOr:
		left, right := c.expr(e.left), c.expr(e.right)
		return func(f *frame) value {
			if v := left(f); v.truthy() {
				return v
			}
			return right(f)
		}
	case tokEq, tokNe, '<', '>', tokLe, tokGe:
		compare := c.comparison(e)
		return func(f *frame) value { return boolean(compare(f)) }
	}
	return c.arithmetic(e)
}

func (c *compiler) arithmetic(e *binaryExpr) evaluator {
	left, right, line := c.expr(e.left), c.expr(e.right), e.line
	leftName, rightName := nameOf(e.left), nameOf(e.right)
	slow := func(f *frame, op operator, l, r value) value {
		f.line = line
		return f.th.arithmetic(op, l, r, leftName, rightName)
	}
	switch e.op {
	case '+':
		return func(f *frame) value {
			l, r := left(f), right(f)
			if l.isNumber() && r.isNumber() {
				return number(l.n + r.n)
			}
			return slow(f, opAdd, l, r)
		}
	case '-':
		return func(f *frame) value {
			l, r := left(f), right(f)
			if l.isNumber() && r.isNumber() {
				return number(l.n - r.n)
			}
			return slow(f, opSubtract, l, r)
		}
	case '*':
		return func(f *frame) value {
			l, r := left(f), right(f)
			if l.isNumber() && r.isNumber() {
				return number(l.n * r.n)
			}
			return slow(f, opMultiply, l, r)
		}
	}
	op := map[token]operator{'/': opDivide, '%': opModulo, '^': opPower}[e.op]
	return func(f *frame) value {
		l, r := left(f), right(f)
		return slow(f, op, l, r)
	}
}

// operator is an arithmetic operation.
type operator int

const (
	opAdd operator = iota
	opSubtract
	opMultiply
	opDivide
	opModulo
	opPower
	opNegate
)

var arithmeticEvents = [...]string{"__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm"}

func (op operator) apply(a, b float64) float64 {
	switch op {
	case opAdd:
		return a + b
	case opSubtract:
		return a - b
	case opMultiply:
		return a * b
	case opDivide:
		return a / b
	case opModulo:
		return a - math.Floor(a/b)*b
	case opPower:
		return math.Pow(a, b)
	}
	return -a
}

func (c *compiler) concat(e *concatExpr) evaluator {
	names := make([]string, len(e.parts))
	single := make([]expr, len(e.parts)) // each part is one value
	for i, p := range e.parts {
		names[i] = nameOf(p)
		single[i] = &parenExpr{p}
	}
	parts := c.list(single)
	line := e.line
	return func(f *frame) value {
		mark := f.th.stack.mark()
		values := parts(f)
		f.line = line
		v := f.th.concat(values, names)
		f.th.stack.release(mark)
		return v
	}
}
