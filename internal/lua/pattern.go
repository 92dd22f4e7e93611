package lua

import "strings"

// maxCaptures is LUA_MAXCAPTURES.
const maxCaptures = 32

const (
	captureUnfinished = -1
	capturePosition   = -2
)

// matcher matches a pattern of Lua 5.1, as lstrlib does. It counts its steps.
type matcher struct {
	th       *thread
	source   string
	pattern  string
	level    int
	captures [maxCaptures]struct{ start, length int }
}

// newMatcher reads a pattern, which ends at a NUL and may be anchored by "^".
func (th *thread) newMatcher(source, pattern string) (m *matcher, anchored bool) {
	pattern, anchored = strings.CutPrefix(cString(pattern), "^")
	return &matcher{th: th, source: source, pattern: pattern}, anchored
}

func (m *matcher) classEnd(p int) int {
	if p >= len(m.pattern) {
		m.th.fail("malformed pattern (ends with '%%')")
	}
	c := m.pattern[p]
	p++
	switch c {
	case '%':
		if p >= len(m.pattern) {
			m.th.fail("malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if p < len(m.pattern) && m.pattern[p] == '^' {
			p++
		}
		for { // look for a ']'
			if p >= len(m.pattern) {
				m.th.fail("malformed pattern (missing ']')")
			}
			c := m.pattern[p]
			p++
			if c == '%' && p < len(m.pattern) {
				p++ // skip escapes, as "%]"
			}
			if p < len(m.pattern) && m.pattern[p] == ']' {
				return p + 1
			}
		}
	}
	return p
}

func classMatches(c, class byte) bool {
	var in bool
	switch class | 0x20 {
	case 'a':
		in = isAlpha(int(c))
	case 'c':
		in = c < 32 || c == 127
	case 'd':
		in = isDigit(int(c))
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > 32 && c < 127 && !isAlpha(int(c)) && !isDigit(int(c))
	case 's':
		in = isSpace(int(c))
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = isAlpha(int(c)) || isDigit(int(c))
	case 'x':
		in = isDigit(int(c)) || c|0x20 >= 'a' && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if class >= 'A' && class <= 'Z' {
		return !in
	}
	return in
}

// setMatches tells whether c is in the set from p, a '[', to end, its ']'.
func (m *matcher) setMatches(c byte, p, end int) bool {
	in := true
	p++
	if m.pattern[p] == '^' {
		in = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if classMatches(c, m.pattern[p]) {
				return in
			}
		case p+2 < end && m.pattern[p+1] == '-':
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return in
			}
			p += 2
		case m.pattern[p] == c:
			return in
		}
	}
	return !in
}

func (m *matcher) single(s, p, end int) bool {
	if s >= len(m.source) {
		return false
	}
	c := m.source[s]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return classMatches(c, m.pattern[p+1])
	case '[':
		return m.setMatches(c, p, end-1)
	}
	return m.pattern[p] == c
}

// match gives the end of the match at s, or -1.
func (m *matcher) match(s, p int) int {
	for {
		m.th.m.tick()
		if p == len(m.pattern) {
			return s
		}
		switch m.pattern[p] {
		case '(':
			if p+1 < len(m.pattern) && m.pattern[p+1] == ')' {
				return m.startCapture(s, p+2, capturePosition)
			}
			return m.startCapture(s, p+1, captureUnfinished)
		case ')':
			return m.endCapture(s, p+1)
		case '$':
			if p+1 == len(m.pattern) {
				if s == len(m.source) {
					return s
				}
				return -1
			}
		case '%':
			if p+1 < len(m.pattern) {
				switch c := m.pattern[p+1]; {
				case c == 'b':
					if s = m.balance(s, p+2); s < 0 {
						return -1
					}
					p += 4
					continue
				case c == 'f':
					var ok bool
					if p, ok = m.frontier(s, p+2); !ok {
						return -1
					}
					continue
				case isDigit(int(c)):
					if s = m.backReference(s, c); s < 0 {
						return -1
					}
					p += 2
					continue
				}
			}
		}
		end := m.classEnd(p)
		r, next, done := m.item(s, p, end)
		if done {
			return r
		}
		s, p = r, next
	}
}

// item matches the single character class from p to end, with what follows it.
// If that does not decide, matching goes on at the returned places.
func (m *matcher) item(s, p, end int) (at, next int, done bool) {
	suffix := byte(0)
	if end < len(m.pattern) {
		suffix = m.pattern[end]
	}
	switch suffix {
	case '?':
		if m.single(s, p, end) {
			if r := m.match(s+1, end+1); r >= 0 {
				return r, 0, true
			}
		}
		return s, end + 1, false
	case '*':
		return m.most(s, p, end), 0, true
	case '+':
		if !m.single(s, p, end) {
			return -1, 0, true
		}
		return m.most(s+1, p, end), 0, true
	case '-':
		return m.least(s, p, end), 0, true
	}
	if !m.single(s, p, end) {
		return -1, 0, true
	}
	return s + 1, end, false
}

func (m *matcher) most(s, p, end int) int {
	i := 0
	for m.single(s+i, p, end) {
		i++
	}
	m.th.m.ticks(i / 8)
	for ; i >= 0; i-- {
		if r := m.match(s+i, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

func (m *matcher) least(s, p, end int) int {
	for {
		if r := m.match(s, end+1); r >= 0 {
			return r
		}
		if !m.single(s, p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) startCapture(s, p, what int) int {
	if m.level >= maxCaptures {
		m.th.fail("too many captures")
	}
	m.captures[m.level].start, m.captures[m.level].length = s, what
	m.level++
	r := m.match(s, p)
	if r < 0 {
		m.level--
	}
	return r
}

func (m *matcher) endCapture(s, p int) int {
	open := -1
	for i := m.level - 1; i >= 0; i-- {
		if m.captures[i].length == captureUnfinished {
			open = i
			break
		}
	}
	if open < 0 {
		m.th.fail("invalid pattern capture")
	}
	m.captures[open].length = s - m.captures[open].start
	r := m.match(s, p)
	if r < 0 {
		m.captures[open].length = captureUnfinished
	}
	return r
}

func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.th.fail("unbalanced pattern")
	}
	if s >= len(m.source) || m.source[s] != m.pattern[p] {
		return -1
	}
	opens, closes, depth := m.pattern[p], m.pattern[p+1], 1
	for i := s + 1; i < len(m.source); i++ {
		switch m.source[i] {
		case closes:
			if depth--; depth == 0 {
				m.th.m.ticks((i - s) / 8)
				return i + 1
			}
		case opens:
			depth++
		}
	}
	m.th.m.ticks((len(m.source) - s) / 8)
	return -1
}

func (m *matcher) frontier(s, p int) (int, bool) {
	if p >= len(m.pattern) || m.pattern[p] != '[' {
		m.th.fail("missing '[' after '%%f' in pattern")
	}
	end := m.classEnd(p)
	var before, here byte
	if s > 0 {
		before = m.source[s-1]
	}
	if s < len(m.source) {
		here = m.source[s]
	}
	return end, !m.setMatches(before, p, end-1) && m.setMatches(here, p, end-1)
}

func (m *matcher) backReference(s int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= m.level || m.captures[i].length == captureUnfinished {
		m.th.fail("invalid capture index")
	}
	c := m.captures[i]
	if c.length == capturePosition {
		return -1
	}
	if strings.HasPrefix(m.source[s:], m.source[c.start:c.start+c.length]) {
		m.th.m.ticks(c.length / 64)
		return s + c.length
	}
	return -1
}

// capture is capture i of a match from s to e; the whole match if there is none.
func (m *matcher) capture(i, s, e int) value {
	if i >= m.level {
		if i != 0 {
			m.th.fail("invalid capture index")
		}
		return m.th.m.newString(m.source[s:e])
	}
	c := m.captures[i]
	switch c.length {
	case captureUnfinished:
		m.th.fail("unfinished capture")
	case capturePosition:
		return number(float64(c.start + 1))
	}
	return m.th.m.newString(m.source[c.start : c.start+c.length])
}

// all gives all captures, or the whole match where whole and there are none.
func (m *matcher) all(s, e int, whole bool) []value {
	n := m.level
	if n == 0 && whole {
		n = 1
	}
	list := make([]value, n)
	for i := range list {
		list[i] = m.capture(i, s, e)
	}
	return list
}
