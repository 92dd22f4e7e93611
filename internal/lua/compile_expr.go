package lua

func (c *compiler) expr(e expr) evaluator {
	switch e := e.(type) {
	case *nilExpr:
		return func(*frame) value { return nilValue }
	case *trueExpr:
		return func(*frame) value { return trueValue }
	case *falseExpr:
		return func(*frame) value { return falseValue }
	case *numberExpr:
		v := c.constant(e.n)
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
	switch e := settled(e).(type) {
	case *localExpr:
		return "local '" + e.v.name + "'"
	case *upvalExpr:
		return "upvalue '" + e.name + "'"
	case *globalExpr:
		return "global '" + e.name + "'"
	case *indexExpr:
		if s, ok := settled(e.key).(*stringExpr); ok {
			return "field '" + cString(s.s) + "'"
		}
		return "field '?'"
	}
	return ""
}

// settled is the operand that "and" and "or" of constants leave.
func settled(e expr) expr {
	switch x := e.(type) {
	case *parenExpr:
		return settled(x.e)
	case *binaryExpr:
		if truth, known := constantTruth(x.left); known && (x.op == tokAnd && truth || x.op == tokOr && !truth) {
			return settled(x.right)
		}
	}
	return e
}

// constantTruth is the truth of an expression that needs no run.
func constantTruth(e expr) (truth, known bool) {
	switch e := e.(type) {
	case *nilExpr, *falseExpr:
		return false, true
	case *trueExpr, *numberExpr, *stringExpr:
		return true, true
	case *parenExpr:
		return constantTruth(e.e)
	}
	return false, false
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
	key, kind, line := str(e.method), nameOf(e.function), e.methodLine
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
