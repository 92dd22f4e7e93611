package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Kind is the type of a [Reply]: the byte that introduces it in RESP3.
type Kind byte

// The kinds of replies. RESP2 has the first five, and its null bulk string and
// null array read as Null.
const (
	Simple    Kind = '+'
	Error     Kind = '-'
	Integer   Kind = ':'
	Bulk      Kind = '$'
	Array     Kind = '*'
	Null      Kind = '_'
	Double    Kind = ','
	Boolean   Kind = '#'
	Verbatim  Kind = '='
	BigNumber Kind = '('
	Map       Kind = '%'
	Set       Kind = '~'
	Push      Kind = '>'
)

// Reply is a value that a server sent.
type Reply struct {
	Kind Kind

	// Str is the text or the bytes of every kind that is not an aggregate and
	// not Null, as it was sent; a Verbatim is without its format "txt:". A
	// RESP3 bulk error is an Error.
	Str []byte

	// Int is the value of Integer, and 1 or 0 for Boolean.
	Int int64

	// Float is the value of Double.
	Float float64

	// Elems are the elements of Array, Set and Push, and of Map key, value,
	// key, value.
	Elems []Reply
}

// Err returns the text of an Error reply as an error, and nil for any other
// reply.
func (r Reply) Err() error {
	if r.Kind == Error {
		return errors.New(string(r.Str))
	}
	return nil
}

// What a client accepts from a server, so that a broken stream ends in an error
// and not in exhausted memory or stack.
const (
	maxReplyDepth = 32
	maxReplyBulk  = 512 << 20
	maxReplyElems = 1 << 28
	maxReplyLine  = 1 << 20
)

// ErrReply is wrapped by the errors of [ReadReply] for bytes that are not RESP.
var ErrReply = errors.New("reply is not valid RESP")

// ReadReply reads the next reply of either version. Attributes are skipped;
// pushes are returned like any other reply. It returns io.EOF when the stream
// ends before a reply and io.ErrUnexpectedEOF when it ends inside one. Nothing
// it returns points into r. Values of RESP3 with unknown length ("$?") are not
// supported; Redis sends none.
func ReadReply(r *bufio.Reader) (Reply, error) {
	if _, err := r.Peek(1); err != nil {
		return Reply{}, err
	}
	reply, err := readReply(r, maxReplyDepth)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return reply, err
}

func readReply(r *bufio.Reader, depth int) (Reply, error) {
	if depth == 0 {
		return Reply{}, fmt.Errorf("%w: nested more than %d deep", ErrReply, maxReplyDepth)
	}
	line, err := readLine(r)
	for ; err == nil && line[0] == '|'; line, err = readLine(r) {
		if _, err := readElems(r, Map, line[1:], depth); err != nil {
			return Reply{}, err
		}
	}
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{Kind: Kind(line[0])}
	text := line[1:]
	switch reply.Kind {
	case Simple, Error:
		reply.Str = bytes.Clone(text)
	case Integer, Double, Boolean, BigNumber, Null:
		err = reply.scalar(text)
	case Bulk, '!', Verbatim:
		err = reply.bulk(r, text)
	case Array, Map, Set, Push:
		reply.Elems, err = readElems(r, reply.Kind, text, depth)
		if err == nil && reply.Elems == nil {
			reply.Kind = Null
		}
	default:
		err = fmt.Errorf("%w: unknown type %q", ErrReply, line[0])
	}
	if err != nil {
		return Reply{}, err
	}
	return reply, nil
}

// scalar parses a value that fits in its line.
func (reply *Reply) scalar(text []byte) (err error) {
	switch reply.Kind {
	case Integer:
		reply.Int, err = strconv.ParseInt(string(text), 10, 64)
	case Double:
		reply.Float, err = strconv.ParseFloat(string(text), 64)
		if math.IsInf(reply.Float, 0) { // also what is too large
			err = nil
		}
	case Boolean:
		switch string(text) {
		case "t":
			reply.Int = 1
		case "f":
		default:
			err = strconv.ErrSyntax
		}
	case BigNumber:
		digits := bytes.TrimPrefix(text, []byte("-"))
		if len(digits) == 0 || len(bytes.Trim(digits, "0123456789")) > 0 {
			err = strconv.ErrSyntax
		}
	case Null:
		if len(text) > 0 {
			err = strconv.ErrSyntax
		}
		return invalid(err, reply.Kind, text)
	}
	reply.Str = bytes.Clone(text)
	return invalid(err, reply.Kind, text)
}

// bulk reads a value that is announced with its size.
func (reply *Reply) bulk(r *bufio.Reader, text []byte) error {
	size, err := readSize(reply.Kind, text, maxReplyBulk)
	if err != nil {
		return err
	}
	if size < 0 {
		reply.Kind = Null
		return nil
	}
	if reply.Str, err = readBytes(r, size+2); err != nil {
		return err
	}
	if string(reply.Str[size:]) != "\r\n" {
		return fmt.Errorf("%w: string of %d bytes does not end with CRLF", ErrReply, size)
	}
	reply.Str = reply.Str[:size:size]
	switch reply.Kind {
	case '!':
		reply.Kind = Error
	case Verbatim:
		if size < 4 || reply.Str[3] != ':' {
			return fmt.Errorf("%w: verbatim string without a format", ErrReply)
		}
		reply.Str = reply.Str[4:]
	}
	return nil
}

// readElems reads the elements of an aggregate, nil for the null array.
func readElems(r *bufio.Reader, kind Kind, text []byte, depth int) ([]Reply, error) {
	count, err := readSize(kind, text, maxReplyElems)
	if err != nil || count < 0 {
		return nil, err
	}
	if kind == Map {
		count *= 2
	}
	elems := make([]Reply, 0, min(count, 4))
	for range count {
		elem, err := readReply(r, depth-1)
		if err != nil {
			return nil, err
		}
		elems = append(elems, elem)
	}
	return elems, nil
}

// readSize parses the number in a header: -1, the null of RESP2, only for Bulk
// and Array.
func readSize(kind Kind, text []byte, limit int) (int, error) {
	size, err := strconv.Atoi(string(text))
	if err == nil && (size > limit || size < -1 || size == -1 && kind != Bulk && kind != Array) {
		err = strconv.ErrRange
	}
	return size, invalid(err, kind, text)
}

// readLine reads a line of at least the byte for its type. The result is valid
// until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line = bytes.Clone(line)
		for err == bufio.ErrBufferFull && len(line) <= maxReplyLine {
			var more []byte
			more, err = r.ReadSlice('\n')
			line = append(line, more...)
		}
	}
	if err != nil && err != bufio.ErrBufferFull {
		return nil, err
	}
	if len(line) < 3 || len(line) > maxReplyLine || line[len(line)-2] != '\r' {
		return nil, fmt.Errorf("%w: line does not end with CRLF, is empty, or is longer than %d bytes", ErrReply, maxReplyLine)
	}
	return line[:len(line)-2], nil
}

// readBytes reads size bytes into memory that grows as they arrive.
func readBytes(r *bufio.Reader, size int) ([]byte, error) {
	b := make([]byte, 0, min(size, 64<<10))
	for len(b) < size {
		if len(b) == cap(b) {
			bigger := make([]byte, len(b), min(size, 2*cap(b)))
			copy(bigger, b)
			b = bigger
		}
		n, err := io.ReadFull(r, b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

func invalid(err error, kind Kind, text []byte) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %q after %q", ErrReply, text[:min(len(text), 64)], kind)
}
