package lua

import (
	"fmt"
	"strings"
)

// token is a lexical element of Lua 5.1. Single characters are their own code.
type token int

const (
	tokAnd token = iota + 257
	tokBreak
	tokDo
	tokElse
	tokElseif
	tokEnd
	tokFalse
	tokFor
	tokFunction
	tokIf
	tokIn
	tokLocal
	tokNil
	tokNot
	tokOr
	tokRepeat
	tokReturn
	tokThen
	tokTrue
	tokUntil
	tokWhile
	tokConcat
	tokDots
	tokEq
	tokGe
	tokLe
	tokNe
	tokNumber
	tokName
	tokString
	tokEOF
)

var tokenNames = [...]string{"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in",
	"local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
	"..", "...", "==", ">=", "<=", "~=", "<number>", "<name>", "<string>", "<eof>"}

func keyword(s string) (token, bool) {
	if len(s) < 2 || len(s) > 8 {
		return 0, false
	}
	for i, name := range tokenNames[:tokWhile-tokAnd+1] {
		if name == s {
			return tokAnd + token(i), true
		}
	}
	return 0, false
}

func (t token) String() string {
	switch {
	case t >= tokAnd:
		return tokenNames[t-tokAnd]
	case t < ' ' || t == 127:
		return fmt.Sprintf("char(%d)", int(t))
	}
	return string([]byte{byte(t)})
}

// syntaxError is what a parser panics with.
type syntaxError struct{ message string }

// lexer splits a source into tokens.
type lexer struct {
	name   string // of the chunk
	source string
	at     int
	line   int
	buffer []byte // text of the current token

	token    token
	number   float64
	text     string
	ahead    bool // lookahead is read
	next     token
	nextNum  float64
	nextText string
	lastLine int // line of the token before
}

const end = -1

func (l *lexer) peek() int {
	if l.at < len(l.source) {
		return int(l.source[l.at])
	}
	return end
}

func (l *lexer) save() {
	l.buffer = append(l.buffer, l.source[l.at])
	l.at++
}

// accept saves the next byte if it is one of a set. NUL is in every set: it ends
// the set in C, where Lua looks for it with strchr.
func (l *lexer) accept(set string) bool {
	c := l.peek()
	if c == end || c != 0 && strings.IndexByte(set, byte(c)) < 0 {
		return false
	}
	l.save()
	return true
}

// fail panics with a syntax error, near a token unless that is 0.
func (l *lexer) fail(message string, near token) {
	message = fmt.Sprintf("%s:%d: %s", l.name, l.line, message)
	if near != 0 {
		text := near.String()
		if near == tokName || near == tokString || near == tokNumber {
			text = cString(string(l.buffer))
		}
		message += " near '" + text + "'"
	}
	panic(syntaxError{message})
}

func (l *lexer) unexpected(message string) { l.fail(message, l.token) }

func (l *lexer) advance() {
	l.lastLine = l.line
	if l.ahead {
		l.token, l.number, l.text, l.ahead = l.next, l.nextNum, l.nextText, false
		return
	}
	l.token = l.scan()
}

func (l *lexer) lookahead() token {
	if !l.ahead {
		number, text := l.number, l.text
		l.next = l.scan()
		l.nextNum, l.nextText = l.number, l.text
		l.number, l.text, l.ahead = number, text, true
	}
	return l.next
}

func (l *lexer) newline() {
	first := l.source[l.at]
	l.at++
	if c := l.peek(); (c == '\n' || c == '\r') && byte(c) != first {
		l.at++
	}
	l.line++
}

func isSpace(c int) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c int) bool { return c >= '0' && c <= '9' }
func isAlpha(c int) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isWord(c int) bool  { return isAlpha(c) || isDigit(c) || c == '_' }

func (l *lexer) scan() token {
	l.buffer = l.buffer[:0]
	for {
		switch c := l.peek(); {
		case c == '\n' || c == '\r':
			l.newline()
		case c == end:
			return tokEOF
		case isSpace(c):
			l.at++
		case c == '-':
			if l.at++; l.peek() != '-' {
				return '-'
			}
			l.at++
			l.comment()
		case isDigit(c):
			return l.numeral()
		case isAlpha(c) || c == '_':
			for isWord(l.peek()) {
				l.save()
			}
			l.text = string(l.buffer)
			if t, ok := keyword(l.text); ok {
				return t
			}
			return tokName
		default:
			return l.symbol(c)
		}
	}
}

func (l *lexer) symbol(c int) token {
	switch c {
	case '[':
		level := l.longLevel()
		if level >= 0 {
			l.text = l.long(level, true)
			return tokString
		}
		if level == -1 {
			return '['
		}
		l.fail("invalid long string delimiter", tokString)
	case '=', '<', '>', '~':
		l.at++
		if l.peek() != '=' {
			return token(c)
		}
		l.at++
		return map[int]token{'=': tokEq, '<': tokLe, '>': tokGe, '~': tokNe}[c]
	case '"', '\'':
		l.quoted(byte(c))
		return tokString
	case '.':
		l.save()
		if l.accept(".") {
			if l.accept(".") {
				return tokDots
			}
			return tokConcat
		}
		if isDigit(l.peek()) {
			return l.numeral()
		}
		return '.'
	}
	l.at++
	return token(c)
}

func (l *lexer) comment() {
	if l.peek() == '[' {
		level := l.longLevel()
		l.buffer = l.buffer[:0]
		if level >= 0 {
			l.long(level, false)
			l.buffer = l.buffer[:0]
			return
		}
	}
	for c := l.peek(); c != '\n' && c != '\r' && c != end; c = l.peek() {
		l.at++
	}
}

func (l *lexer) numeral() token {
	for isDigit(l.peek()) || l.peek() == '.' {
		l.save()
	}
	if l.accept("Ee") {
		l.accept("+-")
	}
	for isWord(l.peek()) {
		l.save()
	}
	n, ok := parseNumber(string(l.buffer))
	if !ok {
		l.fail("malformed number", tokNumber)
	}
	l.number = n
	return tokNumber
}

// longLevel reads "[==[" up to the last bracket: the number of signs, -1 for a
// lone bracket, less for neither.
func (l *lexer) longLevel() int {
	first := l.peek()
	l.save()
	count := 0
	for l.peek() == '=' {
		l.save()
		count++
	}
	if l.peek() == first {
		return count
	}
	return -count - 1
}

// long reads a long string or a long comment after its first brackets.
func (l *lexer) long(level int, isString bool) string {
	l.save()
	start := len(l.buffer)
	if c := l.peek(); c == '\n' || c == '\r' {
		l.newline()
	}
	for {
		switch l.peek() {
		case end:
			if isString {
				l.fail("unfinished long string", tokEOF)
			}
			l.fail("unfinished long comment", tokEOF)
		case '[':
			if l.longLevel() == level {
				l.save()
				if level == 0 {
					l.fail("nesting of [[...]] is deprecated", '[')
				}
			}
		case ']':
			if l.longLevel() == level {
				l.save()
				return string(l.buffer[start : len(l.buffer)-level-2])
			}
		case '\n', '\r':
			l.buffer = append(l.buffer, '\n')
			l.newline()
		default:
			l.save()
		}
	}
}

func (l *lexer) quoted(quote byte) {
	l.save()
	for {
		switch c := l.peek(); c {
		case end:
			l.fail("unfinished string", tokEOF)
		case '\n', '\r':
			l.fail("unfinished string", tokString)
		case '\\':
			l.at++
			l.escape()
		case int(quote):
			l.save()
			l.text = string(l.buffer[1 : len(l.buffer)-1])
			return
		default:
			l.save()
		}
	}
}

func (l *lexer) escape() {
	c := l.peek()
	if i := strings.IndexByte("abfnrtv", byte(c)); c != end && i >= 0 {
		l.buffer = append(l.buffer, "\a\b\f\n\r\t\v"[i])
		l.at++
		return
	}
	switch {
	case c == '\n' || c == '\r':
		l.buffer = append(l.buffer, '\n')
		l.newline()
	case c == end: // quoted says that the string is not finished
	case !isDigit(c):
		l.save()
	default:
		n := 0
		for i := 0; i < 3 && isDigit(l.peek()); i++ {
			n = n*10 + l.peek() - '0'
			l.at++
		}
		if n > 255 {
			l.fail("escape sequence too large", tokString)
		}
		l.buffer = append(l.buffer, byte(n))
	}
}
