package lua

import (
	"fmt"
	"math"
	"strings"
)

// directive is one "%..." of string.format.
type directive struct {
	flags     string
	width     int
	precision int // -1: none
	verb      byte
}

func stringFormat(th *thread, args []value) []value {
	format := th.checkString(args, 0)
	var out []byte
	next := 0
	for i := 0; i < len(format); i++ {
		if out = th.m.grow(out, 1); format[i] != '%' {
			out = append(out, format[i])
			continue
		}
		if i++; i < len(format) && format[i] == '%' {
			out = append(out, '%')
			continue
		}
		if next++; next >= len(args) {
			th.argumentError(next, "no value")
		}
		d, end := th.parseDirective(format, i)
		i = end
		out = th.appendDirective(out, d, args, next)
		th.m.tick()
	}
	return th.one(th.m.finished(out))
}

func (th *thread) parseDirective(format string, i int) (d directive, end int) {
	start := i
	for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
		i++
	}
	if i-start >= 6 {
		th.fail("invalid format (repeated flags)")
	}
	d.flags, d.precision = format[start:i], -1
	digits := func() (n int) {
		for k := 0; k < 2 && i < len(format) && isDigit(int(format[i])); k++ {
			n = n*10 + int(format[i]-'0')
			i++
		}
		return n
	}
	d.width = digits()
	if i < len(format) && format[i] == '.' {
		i++
		d.precision = digits()
	}
	if i < len(format) && isDigit(int(format[i])) {
		th.fail("invalid format (width or precision too long)")
	}
	if i < len(format) {
		d.verb = format[i]
	}
	return d, i
}

func (th *thread) appendDirective(out []byte, d directive, args []value, i int) []byte {
	out = th.m.grow(out, 512) // the longest number is 310 digits and the precision
	switch d.verb {
	case 'c':
		return append(out, cString(d.pad(string([]byte{byte(castInt(th.checkNumber(args, i)))})))...)
	case 'd', 'i':
		return append(out, d.integer(toInt64(th.checkNumber(args, i)))...)
	case 'o', 'u', 'x', 'X':
		return append(out, d.unsigned(toUnsigned(th.checkNumber(args, i)))...)
	case 'e', 'E', 'f', 'g', 'G':
		return append(out, d.float(th.checkNumber(args, i))...)
	case 'q':
		s := th.checkString(args, i)
		return appendQuoted(th.m.grow(out, 4*len(s)+2), s)
	case 's':
		s := th.checkString(args, i)
		out = th.m.grow(out, len(s)+100)
		if d.precision < 0 && len(s) >= 100 {
			return append(out, s...)
		}
		s = cString(s)
		if d.precision >= 0 && len(s) > d.precision {
			s = s[:d.precision]
		}
		return append(out, d.pad(s)...)
	}
	th.fail("invalid option '%%%s' to 'format'", string([]byte{d.verb}))
	return nil
}

// toUnsigned converts as a cast to unsigned long long on x86-64 does.
func toUnsigned(n float64) uint64 {
	switch {
	case n >= 1<<64:
		return 0
	case n >= 1<<63:
		return uint64(n)
	}
	return uint64(toInt64(n))
}

func (d directive) has(flag byte) bool { return strings.IndexByte(d.flags, flag) >= 0 }

func (d directive) pad(s string) string {
	if n := d.width - len(s); n > 0 {
		if d.has('-') {
			return s + strings.Repeat(" ", n)
		}
		return strings.Repeat(" ", n) + s
	}
	return s
}

// padNumber pads with zeros where asked, behind the sign and the base.
func (d directive) padNumber(prefix, digits string, zeros bool) string {
	if n := d.width - len(prefix) - len(digits); n > 0 && zeros && d.has('0') && !d.has('-') {
		digits = strings.Repeat("0", n) + digits
	}
	return d.pad(prefix + digits)
}

func (d directive) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case d.has('+'):
		return "+"
	case d.has(' '):
		return " "
	}
	return ""
}

// precise fills digits up to the precision.
func (d directive) precise(digits string) string {
	if d.precision == 0 && digits == "0" {
		return ""
	}
	if n := d.precision - len(digits); n > 0 {
		return strings.Repeat("0", n) + digits
	}
	return digits
}

func (d directive) integer(n int64) string {
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	return d.padNumber(d.sign(n < 0), d.precise(fmt.Sprint(u)), d.precision < 0)
}

func (d directive) unsigned(n uint64) string {
	verb := d.verb
	if verb == 'u' {
		verb = 'd'
	}
	digits, prefix := d.precise(fmt.Sprintf("%"+string(verb), n)), ""
	if d.has('#') {
		switch {
		case d.verb == 'o' && !strings.HasPrefix(digits, "0"):
			digits = "0" + digits
		case (d.verb == 'x' || d.verb == 'X') && n != 0:
			prefix = "0" + string(d.verb)
		}
	}
	return d.padNumber(prefix, digits, d.precision < 0)
}

func (d directive) float(n float64) string {
	negative := math.Signbit(n)
	if s, ok := formatSpecial(math.Abs(n)); ok {
		if d.verb == 'E' || d.verb == 'G' {
			s = strings.ToUpper(s)
		}
		return d.pad(d.sign(negative) + s)
	}
	precision := d.precision
	if precision < 0 {
		precision = 6
	}
	n = math.Abs(n)
	var s string
	switch d.verb {
	case 'f':
		s = fmt.Sprintf("%.*f", precision, n)
	case 'e', 'E':
		s = fmt.Sprintf("%.*"+string(d.verb), precision, n)
	default:
		if d.has('#') {
			s = fmt.Sprintf("%#.*"+string(d.verb), max(precision, 1), n)
		} else if s = formatG(n, precision); d.verb == 'G' {
			s = strings.ToUpper(s)
		}
	}
	if d.has('#') && !strings.Contains(s, ".") {
		if i := strings.IndexAny(s, "eE"); i >= 0 {
			s = s[:i] + "." + s[i:]
		} else {
			s += "."
		}
	}
	return d.padNumber(d.sign(negative), s, true)
}

// appendQuoted writes a string so that Lua can read it.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, "\\r"...)
		case 0:
			out = append(out, "\\000"...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
