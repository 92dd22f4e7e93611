package lua

import (
	"strconv"
	"strings"
)

// splitWords cuts the first line of a script into words, by the rules of Redis: a word may
// end in a part in quotes, behind which nothing but white space may follow. ok is false
// for other quotes.
func splitWords(line string) (words []string, ok bool) {
	for {
		line = strings.TrimLeft(line, spaces)
		if line == "" {
			return words, true
		}
		end := strings.IndexAny(line, " \t\r\n\"'")
		if end < 0 {
			end = len(line)
		}
		word, rest := line[:end], line[end:]
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			var quoted string
			if quoted, rest, ok = unquote(rest); !ok || strings.TrimLeft(rest, spaces) == rest && rest != "" {
				return nil, false
			}
			word += quoted
		}
		words, line = append(words, word), rest
	}
}

// unquote reads the part in quotes at the beginning of a text, and returns what follows.
func unquote(s string) (text, rest string, ok bool) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			return b.String(), s[i+1:], true
		case c != '\\' || i+1 == len(s) || quote == '\'' && s[i+1] != '\'':
			b.WriteByte(c)
		default:
			i++
			if s[i] == 'x' && quote == '"' && i+2 < len(s) {
				if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
					b.WriteByte(byte(n))
					i += 2
					continue
				}
			}
			b.WriteByte(escaped(s[i]))
		}
	}
	return "", "", false
}

// escaped is the character that a letter behind a backslash stands for.
func escaped(c byte) byte {
	if i := strings.IndexByte("nrtba", c); i >= 0 {
		return "\n\r\t\b\a"[i]
	}
	return c
}
