package lua

import "math"

func (c *compiler) while(s *whileStmt) executor {
	condition, body := c.condition(s.condition), c.block(s.body)
	return func(f *frame) signal {
		for condition(f) {
			f.m.tick()
			if sig := runBlock(f, body); sig == breaks {
				break
			} else if sig == returns {
				return returns
			}
		}
		return proceed
	}
}

func (c *compiler) repeat(s *repeatStmt) executor {
	body, condition := c.block(s.body), c.condition(s.condition)
	return func(f *frame) signal {
		for {
			f.m.tick()
			if sig := runBlock(f, body); sig == breaks {
				return proceed
			} else if sig == returns {
				return returns
			}
			if condition(f) {
				return proceed
			}
		}
	}
}

func (c *compiler) ifs(s *ifStmt) executor {
	conditions := make([]func(*frame) bool, len(s.conditions))
	blocks := make([][]executor, len(s.blocks))
	for i := range s.conditions {
		conditions[i], blocks[i] = c.condition(s.conditions[i]), c.block(s.blocks[i])
	}
	otherwise := c.block(s.otherwise)
	if len(conditions) == 1 {
		condition, then := conditions[0], blocks[0]
		return func(f *frame) signal {
			if condition(f) {
				return runBlock(f, then)
			}
			return runBlock(f, otherwise)
		}
	}
	return func(f *frame) signal {
		for i, condition := range conditions {
			if condition(f) {
				return runBlock(f, blocks[i])
			}
		}
		return runBlock(f, otherwise)
	}
}

func (c *compiler) numericFor(s *numericForStmt) executor {
	start, limit := c.expr(s.start), c.expr(s.limit)
	step := func(*frame) value { return number(1) }
	if s.step != nil {
		step = c.expr(s.step)
	}
	store, body, line := declare(s.variable), c.block(s.body), s.line
	return func(f *frame) signal {
		i, last, by := f.forRange(line, start(f), limit(f), step(f))
		for i += by; by > 0 && i <= last || by <= 0 && i >= last; i += by {
			f.m.tick()
			store(f, number(i))
			if sig := runBlock(f, body); sig == breaks {
				break
			} else if sig == returns {
				return returns
			}
		}
		return proceed
	}
}

// forRange is where a loop begins: as in Lua 5.1, a step before its start, so that
// the first value may be rounded.
func (f *frame) forRange(line int, start, limit, step value) (i, last, by float64) {
	number := func(v value, what string) float64 {
		n, ok := v.toNumber()
		if !ok {
			f.line = line
			f.th.raise("'for' %s must be a number", what)
		}
		return n
	}
	i, last, by = number(start, "initial value"), number(limit, "limit"), number(step, "step")
	if math.IsNaN(by) {
		last, by = math.Inf(-1), 1 // compares with nothing: the loop does not run
	}
	return i - by, last, by
}

func (c *compiler) genericFor(s *genericForStmt) executor {
	list, body, base := c.list(s.values), c.block(s.body), s.base
	stores := make([]func(*frame, value), len(s.variables))
	for i, v := range s.variables {
		stores[i] = declare(v)
	}
	call := &site{name: "(for generator)", line: s.line}
	return func(f *frame) signal {
		mark := f.th.stack.mark()
		hidden := f.registers[base : base+3]
		clear(hidden)
		copy(hidden, list(f))
		args := f.th.stack.alloc(f.m, 2)
		for {
			f.m.tick()
			args[0], args[1] = hidden[1], hidden[2]
			f.line = call.line
			results := f.th.apply(hidden[0], args, call, false)
			if len(results) == 0 || results[0].isNil() {
				break
			}
			hidden[2] = results[0]
			for i, store := range stores {
				if i < len(results) {
					store(f, results[i])
				} else {
					store(f, nilValue)
				}
			}
			if sig := runBlock(f, body); sig == breaks {
				break
			} else if sig == returns {
				f.th.stack.release(mark)
				return returns
			}
		}
		f.th.stack.release(mark)
		return proceed
	}
}

// condition compiles an expression of which only the truth matters.
func (c *compiler) condition(e expr) func(*frame) bool {
	switch e := e.(type) {
	case *unaryExpr:
		if e.op == tokNot {
			inner := c.condition(e.e)
			return func(f *frame) bool { return !inner(f) }
		}
	case *binaryExpr:
		switch e.op {
		case tokAnd:
			left, right := c.condition(e.left), c.condition(e.right)
			return func(f *frame) bool { return left(f) && right(f) }
		case tokOr:
			left, right := c.condition(e.left), c.condition(e.right)
			return func(f *frame) bool { return left(f) || right(f) }
		case tokEq, tokNe, '<', '>', tokLe, tokGe:
			return c.comparison(e)
		}
	}
	v := c.expr(e)
	return func(f *frame) bool { return v(f).truthy() }
}

func (c *compiler) comparison(e *binaryExpr) func(*frame) bool {
	left, right, line := c.expr(e.left), c.expr(e.right), e.line
	switch e.op {
	case tokEq:
		return func(f *frame) bool { l := left(f); r := right(f); return f.equal(l, r, line) }
	case tokNe:
		return func(f *frame) bool { l := left(f); r := right(f); return !f.equal(l, r, line) }
	case '<':
		return func(f *frame) bool { l := left(f); r := right(f); return f.less(l, r, line) }
	case '>':
		return func(f *frame) bool { l := left(f); r := right(f); return f.less(r, l, line) }
	case tokLe:
		return func(f *frame) bool { l := left(f); r := right(f); return f.lessEqual(l, r, line) }
	}
	return func(f *frame) bool { l := left(f); r := right(f); return f.lessEqual(r, l, line) }
}
