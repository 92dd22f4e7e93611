package lua

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

// tableFields is a table constructor, compiled.
type tableFields struct {
	entries     []fieldEntry
	tail        multiple // several values at the end, or nil
	array, hash int      // sizes to begin with
	values      int      // entries without a key
}

type fieldEntry struct {
	key, value evaluator
	line       int
}

func (c *compiler) table(e *tableExpr) evaluator {
	t := &tableFields{hash: floatingByte(e.hash), values: e.array}
	for i, fl := range e.fields {
		if fl.key == nil && i == len(e.fields)-1 {
			switch last := fl.value.(type) {
			case *callExpr:
				t.tail = c.call(last)
			case *dotsExpr:
				t.tail = func(f *frame) []value { return f.varargs }
			}
			if t.tail != nil {
				t.values--
				break
			}
		}
		entry := fieldEntry{value: c.expr(fl.value), line: fl.line}
		if fl.key != nil {
			entry.key = c.expr(fl.key)
		}
		t.entries = append(t.entries, entry)
	}
	t.array = floatingByte(t.values)
	return func(f *frame) value { return value{o: t.build(f)} }
}

// build makes the table. Values without a key wait, and are stored after the
// keys between them, as the instruction SETLIST does.
func (c *tableFields) build(f *frame) *table {
	t := f.m.newTable(c.array, c.hash)
	mark := f.th.stack.mark()
	f.th.stack.alloc(f.m, 1)[0] = value{o: t} // for the count of memory
	pending := f.th.stack.alloc(f.m, min(c.values, fieldsPerFlush))
	stored, waiting := 0, 0
	for _, entry := range c.entries {
		if entry.key != nil {
			k := entry.key(f)
			v := entry.value(f)
			f.checkKey(k, entry.line)
			t.set(k, v)
			continue
		}
		if waiting == fieldsPerFlush {
			stored, waiting = t.setList(stored, pending), 0
		}
		pending[waiting] = entry.value(f)
		waiting++
	}
	if c.tail == nil {
		t.setList(stored, pending[:waiting])
	} else {
		rest := c.tail(f)
		stored = t.setList(stored, pending[:waiting])
		if need := stored + len(rest); need > len(t.array) {
			t.resize(need, len(t.nodes))
		}
		t.setList(stored, rest)
	}
	f.th.stack.release(mark)
	return t
}

// setList stores values after the first n, and gives how many there are then.
func (t *table) setList(n int, values []value) int {
	for _, v := range values {
		n++
		t.setInt(n, v)
	}
	return n
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
