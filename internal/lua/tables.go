package lua

func tableLibrary() map[string]builtin {
	return map[string]builtin{
		"concat": tableConcat, "foreach": tableForeach, "foreachi": tableForeachi, "getn": tableGetn,
		"insert": tableInsert, "maxn": tableMaxn, "remove": tableRemove, "setn": tableSetn, "sort": tableSort,
	}
}

func tableConcat(th *thread, args []value) []value {
	separator := th.optString(args, 1, "")
	t := th.checkTable(args, 0)
	i := th.optInt(args, 2, 1)
	last := 0
	if arg(args, 3).isNil() {
		last = t.length()
	} else {
		last = th.checkInt(args, 3)
	}
	var out []byte
	for ; i <= last; i++ {
		v := t.getInt(i)
		s, ok := v.text()
		if !ok {
			th.fail("invalid value (%s) at index %d in table for 'concat'", v.typeName(), i)
		}
		out = th.m.grow(out, len(s)+len(separator))
		th.m.tick()
		out = append(out, s...)
		if i < last {
			out = append(out, separator...)
		}
	}
	return th.one(th.m.finished(out))
}

func tableForeach(th *thread, args []value) []value {
	t, fn := th.checkTable(args, 0), th.checkFunction(args, 1)
	for k, v, ok := t.next(nilValue); !k.isNil(); k, v, ok = t.next(k) {
		if r := th.call1(fn, k, v); !r.isNil() {
			return th.one(r)
		}
		if !ok {
			th.throw(str("invalid key to 'next'"))
		}
	}
	return nil
}

func tableForeachi(th *thread, args []value) []value {
	t, fn := th.checkTable(args, 0), th.checkFunction(args, 1)
	for i, n := 1, t.length(); i <= n; i++ {
		if r := th.call1(fn, number(float64(i)), t.getInt(i)); !r.isNil() {
			return th.one(r)
		}
	}
	return nil
}

func tableGetn(th *thread, args []value) []value {
	return th.one(number(float64(th.checkTable(args, 0).length())))
}

func tableSetn(th *thread, args []value) []value {
	th.checkTable(args, 0)
	th.fail("'setn' is obsolete")
	return nil
}

func tableMaxn(th *thread, args []value) []value {
	most := 0.0
	th.checkTable(args, 0).entries(func(k, _ value) {
		th.m.tick()
		if k.isNumber() {
			most = max(most, k.n)
		}
	})
	return th.one(number(most))
}

func (th *thread) checkWritable(t *table) {
	if t.readonly {
		th.throw(str(readonlyMessage))
	}
}

func tableInsert(th *thread, args []value) []value {
	t := th.checkTable(args, 0)
	e := t.length() + 1
	at := e
	switch len(args) {
	case 2:
	case 3:
		at = th.checkInt(args, 1)
		e = max(e, at)
		th.checkWritable(t)
		th.m.ticks((e - at) / 8)
		for i := e; i > at; i-- {
			t.setInt(i, t.getInt(i-1))
		}
	default:
		th.fail("wrong number of arguments to 'insert'")
	}
	th.checkWritable(t)
	t.setInt(at, args[len(args)-1])
	return nil
}

func tableRemove(th *thread, args []value) []value {
	t := th.checkTable(args, 0)
	e := t.length()
	at := th.optInt(args, 1, e)
	if at < 1 || at > e {
		return nil
	}
	th.checkWritable(t)
	v := t.getInt(at)
	th.m.ticks((e - at) / 8)
	for ; at < e; at++ {
		t.setInt(at, t.getInt(at+1))
	}
	t.setInt(e, nilValue)
	return th.one(v)
}

func tableSort(th *thread, args []value) []value {
	t := th.checkTable(args, 0)
	n := t.length()
	if !arg(args, 1).isNil() {
		th.checkFunction(args, 1)
	}
	s := &sorter{th, t, arg(args, 1), th.site}
	s.sort(1, n)
	return nil
}

// sorter is auxsort of ltablib: what order comes out where the comparison has
// none depends on the algorithm.
type sorter struct {
	th   *thread
	t    *table
	fn   value
	site *site
}

func (s *sorter) less(a, b value) bool {
	s.th.m.tick()
	if s.fn.isNil() {
		return s.natural(a, b)
	}
	return s.th.call1(s.fn, a, b).truthy()
}

// natural is "<" without a position in its error.
func (s *sorter) natural(a, b value) bool {
	if a.typeName() == b.typeName() && (a.isNumber() || a.typeName() == "string") {
		return s.th.less(a, b)
	}
	handler := s.th.orderHandler(a, b, "__lt")
	if handler.isNil() {
		s.th.throw(str(orderMessage(a, b)))
	}
	return s.th.call1(handler, a, b).truthy()
}

func (s *sorter) invalid() {
	s.th.site = s.site
	s.th.fail("invalid order function for sorting")
}

func (s *sorter) order(i, j int) bool {
	a, b := s.t.getInt(i), s.t.getInt(j)
	if !s.less(b, a) {
		return false
	}
	s.th.checkWritable(s.t)
	s.t.setInt(i, b)
	s.t.setInt(j, a)
	return true
}

func (s *sorter) swap(i, j int) {
	a, b := s.t.getInt(i), s.t.getInt(j)
	s.t.setInt(i, b)
	s.t.setInt(j, a)
}

func (s *sorter) sort(low, high int) {
	for low < high {
		s.order(low, high)
		if high-low == 1 {
			return
		}
		middle := (low + high) / 2
		if !s.order(low, middle) {
			s.order(middle, high)
		}
		if high-low == 2 {
			return
		}
		pivot := s.t.getInt(middle)
		s.swap(middle, high-1)
		i := s.partition(low, high, pivot)
		s.swap(high-1, i)
		if i-low < high-i {
			s.sort(low, i-1)
			low = i + 1
		} else {
			s.sort(i+1, high)
			high = i - 1
		}
	}
}

func (s *sorter) partition(low, high int, pivot value) int {
	i, j := low, high-1
	for {
		for i++; s.less(s.t.getInt(i), pivot); i++ {
			if i > high {
				s.invalid()
			}
		}
		for j--; s.less(pivot, s.t.getInt(j)); j-- {
			if j < low {
				s.invalid()
			}
		}
		if j < i {
			return i
		}
		s.swap(i, j)
	}
}
