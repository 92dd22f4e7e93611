package resp

import "bytes"

// Capacity, in arguments and in bytes, that a Parser keeps for the next
// command. More is given back, so that an idle connection stays small.
const (
	keepArgs    = 1024
	keepScratch = 4 << 10
)

// Parser cuts commands out of the bytes of one connection. It remembers how far
// it has read into an incomplete command, so that each byte is looked at once
// however the input is fragmented. It must not be used concurrently.
type Parser struct {
	limits        Limits
	authenticated bool
	err           error // a broken stream stays broken

	// The command being read. Offsets count from its first byte, because the
	// caller may move its buffer between calls.
	pos   int    // first byte not yet understood
	seen  int    // no line end in pos..seen
	left  int    // arguments still to come; 0 before the multibulk header
	bulk  int    // size of the argument at pos; -1 before its header
	need  int    // bytes missing, as far as known
	skips bool   // the command is not wanted
	pass  int    // bytes of it to pass over before the next header
	spans []span // arguments already complete

	args    [][]byte // the result of the last Parse
	scratch []byte   // unquoted arguments of an inline command
}

type span struct{ start, end int }

// NewParser returns a Parser for a new connection, which is not authenticated.
func NewParser(limits Limits) *Parser {
	return &Parser{limits: limits.withDefaults(), bulk: -1, need: 1}
}

// SetAuthenticated chooses between the limits before and after authentication,
// beginning with the next command. A server without a password calls it at
// once.
func (p *Parser) SetAuthenticated(yes bool) { p.authenticated = yes }

// Need returns how many more bytes the command in progress needs at least: the
// rest of the argument being received, or 1 when that is not known yet. Calling
// Parse earlier is cheap, but useless. It is the client's claim, below
// [Limits.MaxCommand]: a hint for the size of the next read, not a reason to
// allocate.
func (p *Parser) Need() int { return p.need }

// Idle tells whether no part of a command was read: the next Parse begins a command,
// which the caller may also read in another way ([CutPair]).
func (p *Parser) Idle() bool { return p.seen == 0 && p.left == 0 && !p.skips }

// Parse reads the next command at the start of buf, which holds all bytes that
// were received and not yet consumed. The caller discards the first n bytes,
// whatever else is returned:
//
//   - len(args) > 0: a command, args[0] is its name. The arguments point into
//     buf or into the Parser and are valid until the bytes are overwritten or
//     Parse is called again. More commands may follow in buf[n:].
//   - len(args) == 0: no complete command yet. n > 0 if empty lines and empty
//     multibulks were skipped. Bytes from n on must be there again at the start
//     of the next call's buf, with more behind them.
//   - err != nil: a [ProtocolError], [ErrHTTP] or [ErrCommandSize]. The stream
//     cannot be read further; every later call returns the same error.
//
// Like Redis it does not check that the two bytes that end an argument are CRLF.
// Unlike Redis, which waits for ever, it takes a NUL byte in a header line or an
// inline command as any other byte.
func (p *Parser) Parse(buf []byte) (args [][]byte, n int, err error) {
	p.release()
	if p.err != nil {
		return nil, 0, p.err
	}
	for n < len(buf) {
		var size int
		if p.skips {
			size, err = p.skip(buf[n:])
			n += size
			if err != nil || p.skips {
				p.err = err
				return nil, n, err
			}
			continue
		}
		if buf[n] == '*' {
			size, err = p.multibulk(buf[n:])
		} else {
			size, err = p.inline(buf[n:])
		}
		if err == nil && size > 0 && len(p.args) > 0 && isHTTP(p.args[0]) {
			err = ErrHTTP
		}
		if err != nil {
			p.err = err
			p.release()
			return nil, n, err
		}
		if size == 0 {
			return nil, n, nil
		}
		n += size
		p.pos, p.seen, p.need = 0, 0, 1
		if len(p.args) > 0 {
			return p.args, n, nil
		}
	}
	return nil, n, nil
}

// Skip has the rest of the command in progress passed over: Parse consumes its
// bytes as they come and returns no arguments for it. The caller knows that the
// command is not wanted, as one for which there is no memory. Skip reports false
// if nothing is known of the command yet, or nothing is missing.
func (p *Parser) Skip() bool {
	if p.left == 0 || p.skips {
		return false
	}
	p.skips, p.pass = true, p.pos
	if p.bulk >= 0 {
		p.pass += p.bulk + 2
		p.bulk = -1
		p.left--
	}
	p.pos, p.seen = 0, 0
	p.spans = nil
	return true
}

// skip passes over what is there of a command and returns its size. The header
// of an argument is taken when it is complete.
func (p *Parser) skip(buf []byte) (n int, err error) {
	for {
		passed := min(p.pass, len(buf)-n)
		n += passed
		if p.pass -= passed; p.pass > 0 {
			p.need = p.pass
			return n, nil
		}
		p.pos, p.seen, p.need = 0, 0, 1
		if p.left == 0 {
			p.skips = false
			return n, nil
		}
		if err := p.bulkHeader(buf[n:]); p.bulk < 0 {
			return n, err
		}
		p.pass = p.pos + p.bulk + 2
		p.bulk = -1
		p.left--
	}
}

// release forgets the last result, so that the caller's buffer is not kept
// alive by an idle connection.
func (p *Parser) release() {
	if cap(p.args) > keepArgs {
		p.args = nil
	}
	clear(p.args)
	p.args = p.args[:0]
	if cap(p.scratch) > keepScratch {
		p.scratch = nil
	}
	p.scratch = p.scratch[:0]
}

// multibulk continues the command at the start of buf. It returns the size of
// the command once it is complete, with p.args set, and 0 before that.
func (p *Parser) multibulk(buf []byte) (int, error) {
	if p.left == 0 {
		line, err := p.header(buf, ErrMultibulkHeader)
		if line == nil {
			return 0, err
		}
		count, ok := parseInt(line[1:])
		switch {
		case !ok || count > int64(p.limits.MaxArgs):
			return 0, ErrMultibulkLength
		case count > int64(p.limits.UnauthArgs) && !p.authenticated:
			return 0, ErrUnauthMultibulkLength
		case count <= 0:
			return p.pos, nil
		}
		p.left = int(count)
	}
	for p.left > 0 {
		if p.bulk < 0 {
			if err := p.bulkHeader(buf); p.bulk < 0 {
				return 0, err
			}
		}
		if missing := p.bulk + 2 - (len(buf) - p.pos); missing > 0 {
			p.need = missing
			return 0, nil
		}
		end := p.pos + p.bulk
		p.spans = append(p.spans, span{p.pos, end})
		p.pos, p.seen = end+2, end+2
		p.bulk = -1
		p.left--
	}
	for _, s := range p.spans {
		p.args = append(p.args, buf[s.start:s.end:s.end])
	}
	p.spans = p.spans[:0]
	if cap(p.spans) > keepArgs {
		p.spans = nil
	}
	return p.pos, nil
}

// bulkHeader reads the header of the next argument into p.bulk, which stays -1
// when the header is incomplete or wrong.
func (p *Parser) bulkHeader(buf []byte) error {
	line, err := p.header(buf, ErrBulkHeader)
	if line == nil {
		return err
	}
	if line[0] != '$' {
		return ProtocolError("expected '$', got '" + string(line[:1]) + "'")
	}
	size, ok := parseInt(line[1:])
	switch {
	case !ok || size < 0 || size > int64(p.limits.MaxBulk):
		return ErrBulkLength
	case size > int64(p.limits.UnauthBulk) && !p.authenticated:
		return ErrUnauthBulkLength
	case size > int64(p.limits.MaxCommand-p.pos-2):
		return ErrCommandSize
	}
	p.bulk = int(size)
	return nil
}

// header returns the line at p.pos with its CR and moves p.pos behind its line
// end, or returns nil when the line is not complete.
func (p *Parser) header(buf []byte, tooLong ProtocolError) ([]byte, error) {
	cr, err := p.lineEnd(buf, '\r', tooLong)
	if cr < 0 {
		return nil, err
	}
	if cr+2 > len(buf) {
		p.need = 1
		return nil, nil
	}
	line := buf[p.pos : cr+1]
	p.pos, p.seen = cr+2, cr+2
	return line, nil
}

// lineEnd returns the offset of the first end byte from p.pos on, or -1 when it
// has not arrived. It does not look at a byte twice.
func (p *Parser) lineEnd(buf []byte, end byte, tooLong ProtocolError) (int, error) {
	last := p.pos + p.limits.MaxInline + 1 // the end byte stands before it
	if i := bytes.IndexByte(buf[p.seen:min(last, len(buf))], end); i >= 0 {
		p.seen += i
		return p.seen, nil
	}
	if len(buf) >= last {
		return -1, tooLong
	}
	p.seen = len(buf)
	p.need = 1
	return -1, nil
}

// parseInt reads a header's number, which ends with CR, as strictly as Redis
// does: no sign but a minus, no leading zeros, no spaces, no minus zero.
func parseInt(line []byte) (int64, bool) {
	digits := line[:len(line)-1]
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && (negative || len(digits) > 1) {
		return 0, false
	}
	var value uint64 // 19 digits fit
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return 0, false
		} else {
			value = value*10 + uint64(c)
		}
	}
	if negative {
		return -int64(value), value <= 1<<63
	}
	return int64(value), value < 1<<63
}

func isHTTP(name []byte) bool {
	return len(name) == 4 && bytes.EqualFold(name, []byte("post")) ||
		len(name) == 5 && bytes.EqualFold(name, []byte("host:"))
}
