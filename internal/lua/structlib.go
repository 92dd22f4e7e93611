package lua

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

func structLibrary() map[string]builtin {
	return map[string]builtin{"pack": structPack, "unpack": structUnpack, "size": structSize}
}

// layout reads a format of the library struct.
type layout struct {
	th     *thread
	format string
	big    bool
	align  int
}

const (
	maxIntSize = 32
	maxAlign   = 8
)

// next is the next option and its size in bytes.
func (l *layout) next() (option byte, size int) {
	option = l.format[0]
	l.format = l.format[1:]
	switch option {
	case 'B', 'b', 'x':
		return option, 1
	case 'H', 'h':
		return option, 2
	case 'f':
		return option, 4
	case 'L', 'l', 'T', 'd':
		return option, 8
	case 'c':
		return option, l.count(1)
	case 'i', 'I':
		if size = l.count(4); size > maxIntSize {
			l.th.fail("integral size %d is larger than limit of %d", size, maxIntSize)
		}
	}
	return option, size
}

func (l *layout) count(otherwise int) int {
	if l.format == "" || !isDigit(int(l.format[0])) {
		return otherwise
	}
	n := 0
	for l.format != "" && isDigit(int(l.format[0])) {
		digit := int(l.format[0] - '0')
		if n > math.MaxInt32/10 || n*10 > math.MaxInt32-digit {
			l.th.fail("integral size overflow")
		}
		n = n*10 + digit
		l.format = l.format[1:]
	}
	return n
}

// padding is how many bytes come before an element at a place.
func (l *layout) padding(at int, option byte, size int) int {
	if size == 0 || option == 'c' {
		return 0
	}
	size = min(size, l.align)
	return (size - at&(size-1)) & (size - 1)
}

// control handles the options that are no elements.
func (l *layout) control(option byte) {
	switch option {
	case ' ':
	case '>':
		l.big = true
	case '<':
		l.big = false
	case '!':
		n := l.count(maxAlign)
		if bits.OnesCount(uint(n)) != 1 {
			l.th.fail("alignment %d is not a power of 2", n)
		}
		l.align = n
	default:
		l.th.argumentError(0, fmt.Sprintf("invalid format option '%c'", option))
	}
}

func (l *layout) order() binary.ByteOrder {
	if l.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (th *thread) layout(args []value) *layout {
	return &layout{th: th, format: cString(th.checkString(args, 0)), align: 1}
}

func structPack(th *thread, args []value) []value {
	l := th.layout(args)
	args = append(slices.Clip(args), nilValue) // as Redis ends the arguments
	var out []byte
	next, total := 1, 0
	for l.format != "" {
		option, size := l.next()
		padding := l.padding(total, option, size)
		total += padding
		out = append(out, make([]byte, padding)...)
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			out = appendInteger(out, th.checkNumber(args, next), size, l.big)
			next++
		case 'x':
			out = append(out, 0)
		case 'f':
			b := make([]byte, 4)
			l.order().PutUint32(b, math.Float32bits(float32(th.checkNumber(args, next))))
			out = append(out, b...)
			next++
		case 'd':
			b := make([]byte, 8)
			l.order().PutUint64(b, math.Float64bits(th.checkNumber(args, next)))
			out = append(out, b...)
			next++
		case 'c', 's':
			s := th.checkString(args, next)
			next++
			if size == 0 {
				size = len(s)
			}
			if len(s) < size {
				th.argumentError(next, "string too short")
			}
			th.m.charge(2 * size)
			if out = append(out, s[:size]...); option == 's' {
				out = append(out, 0)
				size++
			}
		default:
			l.control(option)
		}
		total += size
		th.m.tick()
	}
	return th.one(th.m.newString(string(out)))
}

func appendInteger(out []byte, n float64, size int, big bool) []byte {
	u := toUnsigned(n)
	if n < 0 {
		u = uint64(toInt64(n))
	}
	at := len(out)
	for range size {
		out = append(out, byte(u))
		u >>= 8
	}
	if big {
		for i, j := at, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out
}

func readInteger(data string, big, signed bool) float64 {
	var u uint64
	for i := range len(data) {
		at := len(data) - 1 - i
		if big {
			at = i
		}
		u = u<<8 | uint64(data[at])
	}
	if !signed {
		return float64(u)
	}
	if mask := ^uint64(0) << ((len(data)*8 - 1) & 63); u&mask != 0 {
		u |= mask
	}
	return float64(int64(u))
}

func structUnpack(th *thread, args []value) []value {
	l := th.layout(args)
	data := th.checkString(args, 1)
	at := th.optInteger(args, 2, 1)
	if at == 0 {
		th.argumentError(2, "offset must be 1 or greater")
	}
	at--
	var list []value
	check := func(size int) {
		if at < 0 || size < 0 || size > len(data) || at > len(data)-size {
			th.argumentError(1, "data string too short")
		}
	}
	for l.format != "" {
		option, size := l.next()
		at += l.padding(at, option, size)
		check(size)
		if len(args)+len(list)+2 > maxStack {
			th.fail("stack overflow (too many results)")
		}
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			list = append(list, number(readInteger(data[at:at+size], l.big, option >= 'a')))
		case 'x':
		case 'f':
			list = append(list, number(float64(math.Float32frombits(l.order().Uint32([]byte(data[at:at+4]))))))
		case 'd':
			list = append(list, number(math.Float64frombits(l.order().Uint64([]byte(data[at:at+8])))))
		case 'c':
			if size == 0 {
				if len(list) == 0 || !list[len(list)-1].isNumber() {
					th.fail("format 'c0' needs a previous size")
				}
				size = toInt(list[len(list)-1].n)
				list = list[:len(list)-1]
				check(size)
			}
			list = append(list, th.m.newString(data[at:at+size]))
		case 's':
			end := bytes.IndexByte([]byte(data[at:]), 0)
			if end < 0 {
				th.fail("unfinished string in data")
			}
			list = append(list, th.m.newString(data[at:at+end]))
			size = end + 1
		default:
			l.control(option)
		}
		at += size
		th.m.tick()
	}
	return append(list, number(float64(at+1)))
}

func structSize(th *thread, args []value) []value {
	l := th.layout(args)
	at := 0
	for l.format != "" {
		option, size := l.next()
		at += l.padding(at, option, size)
		switch {
		case option == 's':
			th.argumentError(0, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			th.argumentError(0, "option 'c0' has no fixed size")
		case !isAlpha(int(option)) && !isDigit(int(option)):
			l.control(option)
		}
		at += size
	}
	return th.one(number(float64(at)))
}
