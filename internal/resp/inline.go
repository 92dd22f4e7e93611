package resp

// inline reads an inline command: a line of words, as typed into telnet. It
// returns the size of the line once it is complete, with p.args set, and 0
// before that.
func (p *Parser) inline(buf []byte) (int, error) {
	lf, err := p.lineEnd(buf, '\n', ErrInlineLength)
	if lf < 0 {
		return 0, err
	}
	line := buf[:lf]
	if lf > 0 && line[lf-1] == '\r' {
		line = line[:lf-1]
	}
	if !p.split(line) {
		return 0, ErrUnbalancedQuotes
	}
	return lf + 1, nil
}

// split cuts a line into p.args by the rules of Redis's sdssplitargs: words are
// separated by white space; a word may end in one part in double quotes, with
// the escapes \xHH \n \r \t \b \a and backslash for any other character itself,
// or in single quotes, with the one escape \'. A closing quote must end the
// word. It reports false for quotes that do not.
func (p *Parser) split(line []byte) bool {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return true
		}
		start := i
		for i < len(line) && !endsWord(line[i]) && line[i] != '"' && line[i] != '\'' {
			i++
		}
		if i == len(line) || endsWord(line[i]) {
			p.args = append(p.args, line[start:i:i])
			continue
		}
		word := len(p.scratch)
		p.scratch = append(p.scratch, line[start:i]...)
		size := p.unquote(line[i:])
		if size < 0 {
			return false
		}
		i += size
		if i < len(line) && !isSpace(line[i]) {
			return false
		}
		p.args = append(p.args, p.scratch[word:len(p.scratch):len(p.scratch)])
	}
}

// unquote appends the content of the quoted string at the start of s to
// p.scratch and returns the size of the string with its quotes, or -1 when it is
// not closed.
func (p *Parser) unquote(s []byte) int {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == quote:
			return i + 1
		case c != '\\' || i+1 == len(s):
		case quote == '\'':
			if s[i+1] == '\'' {
				c = '\''
				i++
			}
		case s[i+1] == 'x' && i+3 < len(s) && isHex(s[i+2]) && isHex(s[i+3]):
			c = hexValue(s[i+2])<<4 | hexValue(s[i+3])
			i += 3
		default:
			i++
			c = unescape(s[i])
		}
		p.scratch = append(p.scratch, c)
	}
	return -1
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

// isSpace is C's isspace.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// endsWord is narrower than isSpace: Redis lets vertical tab and form feed stand
// inside a word.
func endsWord(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// SplitWords splits a line into words as an inline command is: see
// [Parser.Parse]. Errors: ErrUnbalancedQuotes.
func SplitWords(line string) ([]string, error) {
	var p Parser
	if !p.split([]byte(line)) {
		return nil, ErrUnbalancedQuotes
	}
	words := make([]string, len(p.args))
	for i, arg := range p.args {
		words[i] = string(arg)
	}
	return words, nil
}
