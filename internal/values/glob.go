package values

// Match reports whether text matches a pattern of Redis: * ? [a-z] [^a-z]
// and \ as escape. It compares bytes and treats unfinished classes as Redis's
// stringmatchlen does. Like Redis it abandons a branch when a star further right
// has failed, so the time is at most proportional to len(pattern) * len(text).
func Match(pattern, text []byte) bool {
	matched, _ := globMatch(pattern, text, 0)
	return matched
}

// maxGlobDepth bounds the recursion: one level for each star.
const maxGlobDepth = 1000

func globMatch(p, s []byte, depth int) (matched, hopeless bool) {
	if depth > maxGlobDepth {
		return false, true
	}
	for len(p) > 0 && len(s) > 0 {
		switch p[0] {
		case '*':
			for len(p) > 1 && p[1] == '*' {
				p = p[1:]
			}
			if len(p) == 1 {
				return true, false
			}
			for len(s) > 0 {
				matched, hopeless := globMatch(p[1:], s, depth+1)
				if matched || hopeless {
					return matched, hopeless
				}
				s = s[1:]
			}
			// No rest of the text matched: no star further left can help.
			return false, true
		case '?':
			s = s[1:]
		case '[':
			var in bool
			in, p = globClass(p, s[0])
			if !in {
				return false, false
			}
			s = s[1:]
		default:
			if p[0] == '\\' && len(p) >= 2 {
				p = p[1:]
			}
			if p[0] != s[0] {
				return false, false
			}
			s = s[1:]
		}
		p = p[1:]
		for len(s) == 0 && len(p) > 0 && p[0] == '*' {
			p = p[1:]
		}
	}
	return len(p) == 0 && len(s) == 0, false
}

// globClass reports whether c is in the class at the start of p. rest begins with
// the last byte of the class.
func globClass(p []byte, c byte) (in bool, rest []byte) {
	last := p[len(p)-1:]
	p = p[1:]
	not := len(p) > 0 && p[0] == '^'
	if not {
		p = p[1:]
	}
	for {
		switch {
		case len(p) == 0: // not closed: Redis takes what there is
			return in != not, last
		case p[0] == '\\' && len(p) >= 2:
			p = p[1:]
			in = in || p[0] == c
		case p[0] == ']':
			return in != not, p
		case len(p) >= 3 && p[1] == '-':
			// Ranges compare as C's char does on x86: signed.
			low, high := min(int8(p[0]), int8(p[2])), max(int8(p[0]), int8(p[2]))
			in = in || low <= int8(c) && int8(c) <= high
			p = p[2:]
		default:
			in = in || p[0] == c
		}
		p = p[1:]
	}
}

// MatchPrefix returns the bytes that every match of pattern begins with.
func MatchPrefix(pattern []byte) []byte {
	var prefix []byte
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '*', '?', '[':
			return prefix
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
		}
		prefix = append(prefix, pattern[i])
	}
	return prefix
}
