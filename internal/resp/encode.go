package resp

import (
	"math"
	"strconv"
)

// Proto is the version of the protocol that a connection speaks.
type Proto uint8

// The versions: a connection begins with RESP2 and may ask for RESP3 by HELLO 3.
const (
	RESP2 Proto = 2
	RESP3 Proto = 3
)

// Frequent replies that are the same in both versions, ready to append.
const (
	OK         = "+OK\r\n"
	Pong       = "+PONG\r\n"
	Queued     = "+QUEUED\r\n"
	Zero       = ":0\r\n"
	One        = ":1\r\n"
	EmptyBulk  = "$0\r\n\r\n"
	EmptyArray = "*0\r\n"
)

// AppendSimple appends a simple string. CR and LF in s become spaces.
func AppendSimple(dst []byte, s string) []byte { return appendText(dst, '+', s) }

// AppendError appends an error. msg begins with its code, as in "ERR syntax
// error". CR and LF in msg become spaces.
func AppendError(dst []byte, msg string) []byte { return appendText(dst, '-', msg) }

// AppendProtocolError appends the answer to a protocol error, after which the
// server closes the connection.
func AppendProtocolError(dst []byte, err ProtocolError) []byte {
	return AppendError(dst, "ERR "+err.Error())
}

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte {
	if 0 <= n && n <= 9 {
		return append(dst, ':', byte('0'+n), '\r', '\n')
	}
	return appendHeader(dst, ':', n)
}

// AppendBulk appends a bulk string of any bytes. A nil slice is the empty
// string; see [AppendNull] for null.
func AppendBulk(dst, b []byte) []byte {
	dst = appendHeader(dst, '$', int64(len(b)))
	dst = append(dst, b...)
	return append(dst, '\r', '\n')
}

// AppendBulkHeader appends what stands before a bulk string of n bytes. The
// bytes and a CRLF must follow.
func AppendBulkHeader(dst []byte, n int) []byte { return appendHeader(dst, '$', int64(n)) }

// AppendBulkString is [AppendBulk] for a string.
func AppendBulkString(dst []byte, s string) []byte {
	dst = appendHeader(dst, '$', int64(len(s)))
	dst = append(dst, s...)
	return append(dst, '\r', '\n')
}

// AppendBulkInt appends an integer as a bulk string in decimal.
func AppendBulkInt(dst []byte, n int64) []byte {
	var digits [20]byte
	return AppendBulk(dst, strconv.AppendInt(digits[:0], n, 10))
}

// AppendNull appends null where a value could stand: the null bulk string in
// RESP2.
func AppendNull(dst []byte, proto Proto) []byte {
	if proto == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "$-1\r\n"...)
}

// AppendNullArray appends null where an array could stand: the null array in
// RESP2, as for an EXEC that a WATCH stopped.
func AppendNullArray(dst []byte, proto Proto) []byte {
	if proto == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "*-1\r\n"...)
}

// AppendArray appends the header of an array; n elements must follow.
func AppendArray(dst []byte, n int) []byte { return appendHeader(dst, '*', int64(n)) }

// AppendMap appends the header of a map; n pairs of key and value must follow.
// RESP2 has a flat array of 2n elements instead.
func AppendMap(dst []byte, proto Proto, n int) []byte {
	if proto == RESP3 {
		return appendHeader(dst, '%', int64(n))
	}
	return AppendArray(dst, 2*n)
}

// AppendSet appends the header of a set, an array in RESP2; n elements must
// follow.
func AppendSet(dst []byte, proto Proto, n int) []byte {
	if proto == RESP3 {
		return appendHeader(dst, '~', int64(n))
	}
	return AppendArray(dst, n)
}

// AppendPush appends the header of a message that answers no command, an array
// in RESP2; n elements must follow.
func AppendPush(dst []byte, proto Proto, n int) []byte {
	if proto == RESP3 {
		return appendHeader(dst, '>', int64(n))
	}
	return AppendArray(dst, n)
}

// AppendDouble appends a number, a bulk string in RESP2, with 17 significant
// digits as Redis 7.0 does, so that it reads back as the same number.
func AppendDouble(dst []byte, proto Proto, f float64) []byte {
	var digits [32]byte
	text := appendFloat(digits[:0], f)
	if proto == RESP3 {
		dst = append(dst, ',')
		dst = append(dst, text...)
		return append(dst, '\r', '\n')
	}
	return AppendBulk(dst, text)
}

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case math.IsNaN(f):
		return append(dst, "nan"...)
	}
	return strconv.AppendFloat(dst, f, 'g', 17, 64) // C's %.17g
}

// AppendBool appends a boolean, the integers 1 and 0 in RESP2.
func AppendBool(dst []byte, proto Proto, b bool) []byte {
	switch {
	case proto == RESP3 && b:
		return append(dst, "#t\r\n"...)
	case proto == RESP3:
		return append(dst, "#f\r\n"...)
	case b:
		return append(dst, One...)
	}
	return append(dst, Zero...)
}

// AppendVerbatim appends plain text meant for people, as of INFO; a bulk string
// in RESP2.
func AppendVerbatim(dst []byte, proto Proto, text string) []byte {
	if proto != RESP3 {
		return AppendBulkString(dst, text)
	}
	dst = appendHeader(dst, '=', int64(len(text)+len("txt:")))
	dst = append(dst, "txt:"...)
	dst = append(dst, text...)
	return append(dst, '\r', '\n')
}

// AppendBigNumber appends an integer of any size, given in decimal; a bulk
// string in RESP2.
func AppendBigNumber(dst []byte, proto Proto, decimal string) []byte {
	if proto == RESP3 {
		return appendText(dst, '(', decimal)
	}
	return AppendBulkString(dst, decimal)
}

// AppendCommand appends a command as a client sends it: an array of bulk
// strings, the name first.
func AppendCommand[T ~string | ~[]byte](dst []byte, args ...T) []byte {
	dst = AppendArray(dst, len(args))
	for _, arg := range args {
		dst = appendHeader(dst, '$', int64(len(arg)))
		dst = append(dst, arg...)
		dst = append(dst, '\r', '\n')
	}
	return dst
}

func appendHeader(dst []byte, kind byte, n int64) []byte {
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, '\r', '\n')
}

// appendText appends a line. A CR or LF inside would end it early and let the
// rest pass for replies of its own, so they become spaces.
func appendText(dst []byte, kind byte, s string) []byte {
	dst = append(dst, kind)
	start := len(dst)
	dst = append(dst, s...)
	for i, c := range dst[start:] {
		if c == '\r' || c == '\n' {
			dst[start+i] = ' '
		}
	}
	return append(dst, '\r', '\n')
}
