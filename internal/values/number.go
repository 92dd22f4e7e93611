package values

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseInt parses an integer as strictly as Redis's string2ll: no plus sign, no
// leading zeros, no white space, no minus zero.
func parseInt[T ~string | ~[]byte](s T) (int64, bool) {
	digits := s
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(s) > 1 {
		return 0, false
	}
	var value uint64 // 19 digits fit
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		value = value*10 + uint64(c-'0')
	}
	if len(digits) < len(s) {
		return -int64(value), value <= 1<<63
	}
	return int64(value), value <= math.MaxInt64
}

// integer parses an argument.
func integer(arg []byte) (int64, error) {
	n, ok := parseInt(arg)
	if !ok {
		return 0, errNotInteger
	}
	return n, nil
}

// integerIn parses an argument between low and high; text replaces Redis's own
// errors, unless it is empty.
func integerIn(arg []byte, low, high int64, text Error) (int64, error) {
	n, ok := parseInt(arg)
	switch {
	case ok && low <= n && n <= high:
		return n, nil
	case text != "":
		return 0, text
	case !ok:
		return 0, errNotInteger
	}
	return 0, Error(fmt.Sprintf("ERR value is out of range, value must between %d and %d", low, high))
}

// natural parses an argument that is not negative; text may be empty as for
// integerIn.
func natural(arg []byte, text Error) (int64, error) {
	if text == "" {
		text = errNotPositive
	}
	return integerIn(arg, 0, math.MaxInt64, text)
}

// symmetric parses a count that may be negative, with a magnitude.
func symmetric(arg []byte) (int64, error) {
	return integerIn(arg, -math.MaxInt64, math.MaxInt64, "")
}

// float parses an argument as Redis does with C's strtod.
func float(arg []byte) (float64, error) {
	f, ok := parseFloat(string(arg))
	if !ok {
		return 0, errNotFloat
	}
	return f, nil
}

func parseFloat(s string) (float64, bool) {
	n := floatLen(s)
	if n == 0 || n != len(s) || isSpace(s[0]) {
		return 0, false
	}
	f, ok := convert(s)
	return f, ok && !math.IsNaN(f)
}

// prefixFloat parses a C string as strtod does: white space before it is
// skipped, no number at all counts as zero. It reports false if something else
// follows, or if the number is NaN.
func prefixFloat(s string) (float64, bool) {
	s = cString(s)
	n := floatLen(s)
	if n != len(s) {
		return 0, false
	}
	if n == 0 {
		return 0, true
	}
	f, _ := convert(strings.TrimLeft(s, " \t\n\v\f\r"))
	return f, !math.IsNaN(f)
}

// convert gives the nearest double, and false if it is out of range.
func convert(s string) (float64, bool) {
	s = strings.ToLower(s)
	if strings.Contains(s, "nan") {
		return math.NaN(), true
	}
	if strings.Contains(s, "x") && !strings.Contains(s, "p") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return f, false
	}
	return f, f != 0 || isZero(s)
}

// isZero reports whether the digits of a number are all zero.
func isZero(s string) bool {
	s = strings.TrimLeft(s, "+-")
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		mantissa, _, _ := strings.Cut(digits, "p")
		return !strings.ContainsAny(mantissa, "123456789abcdef")
	}
	mantissa, _, _ := strings.Cut(s, "e")
	return !strings.ContainsAny(mantissa, "123456789")
}

// floatLen returns the length of the number at the start of s, white space
// before it included, as C's strtod reads it; 0 if there is none.
func floatLen(s string) int {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	rest := strings.ToLower(s[i:min(len(s), i+8)])
	for _, word := range []string{"infinity", "inf", "nan"} {
		if strings.HasPrefix(rest, word) {
			return i + len(word)
		}
	}
	if strings.HasPrefix(rest, "0x") {
		if n := mantissaLen(s[i+2:], isHexDigit); n > 0 {
			return i + 2 + n + exponentLen(s[i+2+n:], 'p')
		}
	}
	n := mantissaLen(s[i:], isDigit)
	if n == 0 {
		return 0
	}
	return i + n + exponentLen(s[i+n:], 'e')
}

func mantissaLen(s string, digit func(byte) bool) int {
	n, digits, points := 0, 0, 0
	for ; n < len(s); n++ {
		switch {
		case digit(s[n]):
			digits++
		case s[n] == '.' && points == 0:
			points++
		default:
			if digits == 0 {
				return 0
			}
			return n
		}
	}
	if digits == 0 {
		return 0
	}
	return n
}

func exponentLen(s string, letter byte) int {
	if len(s) < 2 || s[0]|0x20 != letter {
		return 0
	}
	n := 1
	if s[n] == '+' || s[n] == '-' {
		n++
	}
	start := n
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n == start {
		return 0
	}
	return n
}

func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isSpace is C's isspace.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// formatFloat is C's %.17g, as Redis writes scores.
func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

// storedScore is the text of a score in a small sorted set of Redis, which ZSCAN
// gives: integers have all their digits.
func storedScore(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) <= math.MaxInt64/2 {
		return strconv.FormatInt(int64(f), 10)
	}
	return formatFloat(f)
}

// cString returns the text up to the first NUL, where C's functions end.
func cString[T ~string | ~[]byte](arg T) string {
	text, _, _ := strings.Cut(string(arg), "\x00")
	return text
}

// is reports whether arg is the option, in upper or lower case.
func is(arg []byte, option string) bool {
	return len(arg) == len(option) && strings.EqualFold(string(arg), option)
}

// addOverflows reports whether a + b is not a number of 64 bits.
func addOverflows(a, b int64) bool {
	return b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b
}
