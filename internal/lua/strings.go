package lua

import "strings"

func (m *machine) stringLibrary() *table {
	t := m.library(map[string]builtin{
		"byte": stringByte, "char": stringChar, "dump": stringDump, "find": stringFind, "format": stringFormat,
		"gmatch": stringGmatch, "gsub": stringGsub, "len": stringLen, "lower": stringLower,
		"match": stringMatch, "rep": stringRep, "reverse": stringReverse, "sub": stringSub, "upper": stringUpper,
	})
	t.setString("gfind", t.getString("gmatch"))
	return t
}

// position makes a place relative to the end absolute.
func position(i, length int) int {
	if i < 0 {
		i += length + 1
	}
	return max(i, 0)
}

func stringByte(th *thread, args []value) []value {
	s := th.checkString(args, 0)
	from := position(th.optInteger(args, 1, 1), len(s))
	to := min(position(th.optInteger(args, 2, from), len(s)), len(s))
	from = max(from, 1)
	if from > to {
		return nil
	}
	if len(args)+to-from+1 > maxStack {
		th.fail("stack overflow (string slice too long)")
	}
	list := make([]value, 0, to-from+1)
	for ; from <= to; from++ {
		list = append(list, number(float64(s[from-1])))
	}
	return list
}

func stringChar(th *thread, args []value) []value {
	b := make([]byte, len(args))
	for i := range args {
		c := th.checkInt(args, i)
		if c < 0 || c > 255 {
			th.argumentError(i, "invalid value")
		}
		b[i] = byte(c)
	}
	return th.one(th.m.newString(string(b)))
}

func stringDump(th *thread, args []value) []value {
	th.checkFunction(args, 0)
	th.fail("unable to dump given function")
	return nil
}

func stringLen(th *thread, args []value) []value {
	return th.one(number(float64(len(th.checkString(args, 0)))))
}

// transform charges and ticks for a copy of s.
func (th *thread) transform(s string, f func([]byte)) []value {
	th.m.charge(len(s) + 32)
	th.m.ticks(len(s) / 64)
	b := []byte(s)
	f(b)
	return th.one(str(string(b)))
}

func stringLower(th *thread, args []value) []value {
	return th.transform(th.checkString(args, 0), func(b []byte) {
		for i, c := range b {
			if c >= 'A' && c <= 'Z' {
				b[i] = c + 32
			}
		}
	})
}

func stringUpper(th *thread, args []value) []value {
	return th.transform(th.checkString(args, 0), func(b []byte) {
		for i, c := range b {
			if c >= 'a' && c <= 'z' {
				b[i] = c - 32
			}
		}
	})
}

func stringReverse(th *thread, args []value) []value {
	return th.transform(th.checkString(args, 0), func(b []byte) {
		for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	})
}

func stringRep(th *thread, args []value) []value {
	s, n := th.checkString(args, 0), th.checkInt(args, 1)
	if n <= 0 || s == "" {
		return th.one(str(""))
	}
	if n > th.m.limit/len(s) {
		th.m.end(&MemoryError{th.m.limit})
	}
	th.m.charge(len(s)*n + 32)
	th.m.ticks(len(s) * n / 256)
	return th.one(str(strings.Repeat(s, n)))
}

func stringSub(th *thread, args []value) []value {
	s := th.checkString(args, 0)
	from := max(position(th.checkInteger(args, 1), len(s)), 1)
	to := min(position(th.optInteger(args, 2, -1), len(s)), len(s))
	if from > to {
		return th.one(str(""))
	}
	return th.one(th.m.newString(strings.Clone(s[from-1 : to])))
}

func stringFind(th *thread, args []value) []value  { return th.find(args, true) }
func stringMatch(th *thread, args []value) []value { return th.find(args, false) }

func (th *thread) find(args []value, find bool) []value {
	s, p := th.checkString(args, 0), th.checkString(args, 1)
	from := th.optInteger(args, 2, 1)
	if from < 0 {
		from += len(s) + 1
	}
	init := min(max(from-1, 0), len(s))
	if find && (arg(args, 3).truthy() || !strings.ContainsAny(cString(p), "^$*+?.([%-")) {
		th.m.ticks(len(s) / 64)
		i := strings.Index(s[init:], p)
		if i < 0 {
			return th.one(nilValue)
		}
		return th.two(number(float64(init+i+1)), number(float64(init+i+len(p))))
	}
	m, anchored := th.newMatcher(s, p)
	for at := init; at <= len(s); at++ {
		m.level = 0
		if e := m.match(at, 0); e >= 0 {
			if find {
				place := []value{number(float64(at + 1)), number(float64(e))}
				return append(place, m.all(at, e, false)...)
			}
			return m.all(at, e, true)
		}
		if anchored {
			break
		}
	}
	return th.one(nilValue)
}

func stringGmatch(th *thread, args []value) []value {
	s, p := th.checkString(args, 0), th.checkString(args, 1)
	at := 0
	th.m.charge(functionBytes)
	return th.one(th.m.builtin("gmatch_aux", func(th *thread, _ []value) []value {
		m := &matcher{th: th, source: s, pattern: cString(p)}
		for ; at <= len(s); at++ {
			m.level = 0
			if e := m.match(at, 0); e >= 0 {
				start := at
				if at = e; e == start {
					at++
				}
				return m.all(start, e, true)
			}
		}
		return th.one(nilValue)
	}))
}

func stringGsub(th *thread, args []value) []value {
	s, p := th.checkString(args, 0), th.checkString(args, 1)
	limit := th.optInt(args, 3, len(s)+1)
	replacement := arg(args, 2)
	switch replacement.o.(type) {
	case string, numberTag, *table, *function:
	default:
		th.argumentError(2, "string/function/table expected")
	}
	m, anchored := th.newMatcher(s, p)
	var out []byte
	add := func(part string) {
		out = append(th.m.grow(out, len(part)), part...)
	}
	at, count := 0, 0
	for count < limit {
		m.level = 0
		e := m.match(at, 0)
		if e >= 0 {
			count++
			add(m.replace(at, e, replacement))
		}
		if e > at {
			at = e
		} else if at < len(s) {
			add(s[at : at+1])
			at++
		} else {
			break
		}
		if anchored {
			break
		}
	}
	if at < len(s) {
		add(s[at:])
	}
	return th.two(th.m.finished(out), number(float64(count)))
}

// replace is what stands in place of a match from s to e.
func (m *matcher) replace(s, e int, replacement value) string {
	var v value
	switch r := replacement.o.(type) {
	case *function:
		v = m.th.call1(replacement, m.all(s, e, true)...)
	case *table:
		v = m.th.index(replacement, m.capture(0, s, e), "")
	default:
		_ = r
		text, _ := replacement.text()
		return m.expand(text, s, e)
	}
	if !v.truthy() {
		return m.source[s:e]
	}
	text, ok := v.text()
	if !ok {
		m.th.fail("invalid replacement value (a %s)", v.typeName())
	}
	return text
}

// expand puts captures in place of %1 to %9 and of %0.
func (m *matcher) expand(text string, s, e int) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b []byte
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b = append(m.th.m.grow(b, 1), text[i])
			continue
		}
		i++
		switch {
		case i >= len(text):
			b = append(m.th.m.grow(b, 1), 0)
		case !isDigit(int(text[i])):
			b = append(m.th.m.grow(b, 1), text[i])
		case text[i] == '0':
			b = append(m.th.m.grow(b, e-s), m.source[s:e]...)
		default:
			c, _ := m.capture(int(text[i]-'1'), s, e).text()
			b = append(m.th.m.grow(b, len(c)), c...)
		}
	}
	return m.th.m.finished(b).o.(string)
}
