package lua

import "math"

const readonlyMessage = "Attempt to modify a readonly table"

// metaLoop bounds chains of __index and __newindex.
const metaLoop = 100

// metatable is the metatable of a value, or nil.
func (m *machine) metatable(v value) *table {
	switch o := v.o.(type) {
	case *table:
		return o.meta
	case string:
		return m.stringMeta
	}
	return nil
}

func (th *thread) metamethod(v value, event string) value {
	if mt := th.m.metatable(v); mt != nil {
		return mt.getString(event)
	}
	return nilValue
}

// index is object[key]; kind is how errors name the object.
func (th *thread) index(object, key value, kind string) value {
	for range metaLoop {
		var handler value
		if t, ok := object.o.(*table); ok {
			if v := t.get(key); !v.isNil() || t.meta == nil {
				return v
			}
			if handler = t.meta.getString("__index"); handler.isNil() {
				return nilValue
			}
		} else if handler = th.metamethod(object, "__index"); handler.isNil() {
			th.typeError("index", object, kind)
		}
		if _, ok := handler.o.(*function); ok {
			return th.meta(handler, object, key)
		}
		object, kind = handler, ""
	}
	th.raise("loop in gettable")
	return nilValue
}

// setIndex is object[key] = v.
func (th *thread) setIndex(object, key, v value, kind string) {
	for range metaLoop {
		var handler value
		if t, ok := object.o.(*table); ok {
			if t.readonly {
				th.raise(readonlyMessage)
			}
			if t.meta == nil {
				th.store(t, key, v)
				return
			}
			if !t.get(key).isNil() {
				t.set(key, v)
				return
			}
			if handler = t.meta.getString("__newindex"); handler.isNil() {
				th.store(t, key, v)
				return
			}
		} else if handler = th.metamethod(object, "__newindex"); handler.isNil() {
			th.typeError("index", object, kind)
		}
		if _, ok := handler.o.(*function); ok {
			th.meta(handler, object, key, v)
			return
		}
		object, kind = handler, ""
	}
	th.raise("loop in settable")
}

func (th *thread) store(t *table, key, v value) {
	switch key.o.(type) {
	case nil:
		th.raise("table index is nil")
	case numberTag:
		if math.IsNaN(key.n) {
			th.raise("table index is NaN")
		}
	}
	t.set(key, v)
}

// checkKey refuses keys that no table can have.
func (f *frame) checkKey(k value, line int) {
	if k.isNil() || k.isNumber() && math.IsNaN(k.n) {
		f.line = line
		if k.isNil() {
			f.th.raise("table index is nil")
		}
		f.th.raise("table index is NaN")
	}
}

// arithmetic applies an operator to what may be strings or tables.
func (th *thread) arithmetic(op operator, l, r value, leftName, rightName string) value {
	a, okA := l.toNumber()
	b, okB := r.toNumber()
	if okA && okB {
		return number(op.apply(a, b))
	}
	event := arithmeticEvents[op]
	handler := th.metamethod(l, event)
	if handler.isNil() {
		handler = th.metamethod(r, event)
	}
	if !handler.isNil() {
		return th.meta(handler, l, r)
	}
	if !okA {
		r, rightName = l, leftName
	}
	th.typeError("perform arithmetic on", r, rightName)
	return nilValue
}

// concat joins values from right to left, as "..", which groups that way.
func (th *thread) concat(values []value, names []string) value {
	size := 0
	for _, v := range values {
		s, ok := v.o.(string)
		if !ok {
			return th.concatMixed(values, names)
		}
		size += len(s)
	}
	return th.join(values, size)
}

func (th *thread) join(values []value, size int) value {
	th.m.charge(size + 32)
	if len(values) == 2 {
		return str(values[0].o.(string) + values[1].o.(string))
	}
	buffer := make([]byte, 0, size)
	for _, v := range values {
		buffer = append(buffer, v.o.(string)...)
	}
	return str(string(buffer))
}

func (th *thread) concatMixed(values []value, names []string) value {
	right := values[len(values)-1]
	name := names[len(values)-1]
	for i := len(values) - 2; i >= 0; i-- {
		left := values[i]
		l, okL := left.text()
		r, okR := right.text()
		if okL && okR {
			first := i
			parts := []value{str(r), str(l)}
			size := len(l) + len(r)
			for first > 0 {
				s, ok := values[first-1].text()
				if !ok {
					break
				}
				first--
				parts = append(parts, str(s))
				size += len(s)
			}
			for a, b := 0, len(parts)-1; a < b; a, b = a+1, b-1 {
				parts[a], parts[b] = parts[b], parts[a]
			}
			right, name, i = th.join(parts, size), "", first
			continue
		}
		handler := th.metamethod(left, "__concat")
		if handler.isNil() {
			handler = th.metamethod(right, "__concat")
		}
		if handler.isNil() {
			if !okL {
				right, name = left, names[i]
			}
			th.typeError("concatenate", right, name)
		}
		right, name = th.meta(handler, left, right), ""
	}
	return right
}

func (f *frame) equal(l, r value, line int) bool {
	if l.equal(r) {
		return true
	}
	a, okA := l.o.(*table)
	b, okB := r.o.(*table)
	if !okA || !okB || a.meta == nil || b.meta == nil {
		return false
	}
	handler := a.meta.getString("__eq")
	if handler.isNil() || !handler.equal(b.meta.getString("__eq")) {
		return false
	}
	f.line = line
	return f.th.meta(handler, l, r).truthy()
}

func (f *frame) less(l, r value, line int) bool {
	if l.isNumber() && r.isNumber() {
		return l.n < r.n
	}
	f.line = line
	return f.th.less(l, r)
}

func (th *thread) less(l, r value) bool {
	if l.isNumber() && r.isNumber() {
		return l.n < r.n
	}
	a, okA := l.o.(string)
	b, okB := r.o.(string)
	if okA && okB {
		return a < b
	}
	handler := th.orderHandler(l, r, "__lt")
	if handler.isNil() {
		th.orderError(l, r)
	}
	return th.meta(handler, l, r).truthy()
}

func (f *frame) lessEqual(l, r value, line int) bool {
	if l.isNumber() && r.isNumber() {
		return l.n <= r.n
	}
	a, okA := l.o.(string)
	b, okB := r.o.(string)
	if okA && okB {
		return a <= b
	}
	f.line = line
	if handler := f.th.orderHandler(l, r, "__le"); !handler.isNil() {
		return f.th.meta(handler, l, r).truthy()
	}
	handler := f.th.orderHandler(r, l, "__lt")
	if handler.isNil() {
		f.th.orderError(l, r)
	}
	return !f.th.meta(handler, r, l).truthy()
}

// orderHandler is the metamethod that both values have.
func (th *thread) orderHandler(l, r value, event string) value {
	if l.typeName() != r.typeName() {
		return nilValue
	}
	handler := th.metamethod(l, event)
	if handler.isNil() || !handler.equal(th.metamethod(r, event)) {
		return nilValue
	}
	return handler
}

func (th *thread) orderError(l, r value) { th.raise("%s", orderMessage(l, r)) }

func orderMessage(l, r value) string {
	if a, b := l.typeName(), r.typeName(); a != b {
		return "attempt to compare " + a + " with " + b
	}
	return "attempt to compare two " + l.typeName() + " values"
}

func (th *thread) lengthOf(v value, kind string) value {
	switch o := v.o.(type) {
	case string:
		return number(float64(len(o)))
	case *table:
		return number(float64(o.length()))
	}
	handler := th.metamethod(v, "__len")
	if handler.isNil() {
		th.typeError("get length of", v, kind)
	}
	return th.meta(handler, v)
}
