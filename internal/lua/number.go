package lua

import (
	"math"
	"strconv"
	"strings"
)

// formatNumber writes a number as Lua 5.1 does, by "%.14g".
func formatNumber(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e14 && (n != 0 || !math.Signbit(n)) {
		return strconv.FormatInt(int64(n), 10)
	}
	return formatG(n, 14)
}

// formatG writes a number as "%.<precision>g" of C does.
func formatG(n float64, precision int) string {
	if s, ok := formatSpecial(n); ok {
		return s
	}
	if precision == 0 {
		precision = 1
	}
	e := strconv.FormatFloat(n, 'e', precision-1, 64)
	mark := strings.LastIndexByte(e, 'e')
	exponent, _ := strconv.Atoi(e[mark+1:])
	if exponent < -4 || exponent >= precision {
		return trimZeros(e[:mark]) + e[mark:]
	}
	return trimZeros(strconv.FormatFloat(n, 'f', precision-1-exponent, 64))
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// formatSpecial writes the values that are no digits as C does.
func formatSpecial(n float64) (string, bool) {
	switch {
	case math.IsNaN(n) && math.Signbit(n):
		return "-nan", true
	case math.IsNaN(n):
		return "nan", true
	case math.IsInf(n, 1):
		return "inf", true
	case math.IsInf(n, -1):
		return "-inf", true
	}
	return "", false
}

const spaces = " \t\n\v\f\r"

// parseNumber reads a number as strtod of C and Lua 5.1 do.
func parseNumber(s string) (float64, bool) {
	s = strings.Trim(cString(s), spaces)
	if s == "" || strings.IndexByte(s, '_') >= 0 {
		return 0, false
	}
	body, negative := s, false
	if s[0] == '-' || s[0] == '+' {
		body, negative = s[1:], s[0] == '-'
	}
	if body == "" || body[0] == '-' || body[0] == '+' {
		return 0, false
	}
	n, ok := parseUnsigned(body)
	if negative {
		n = -n
	}
	return n, ok
}

func parseUnsigned(s string) (float64, bool) {
	lower := strings.ToLower(s)
	switch {
	case lower == "inf" || lower == "infinity":
		return math.Inf(1), true
	case lower == "nan":
		return math.NaN(), true
	case strings.HasPrefix(lower, "0x"):
		if !strings.Contains(lower, "p") {
			lower += "p0"
		}
		n, err := strconv.ParseFloat(lower, 64)
		return n, err == nil || math.IsInf(n, 0)
	case s[0] != '.' && (s[0] < '0' || s[0] > '9'):
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil || math.IsInf(n, 0)
}

// toInt64 converts as a cast of C on x86-64 does.
func toInt64(n float64) int64 {
	if n >= -9223372036854775808.0 && n < 9223372036854775808.0 {
		return int64(n)
	}
	return math.MinInt64
}

// toInt converts by way of 64 bits to 32, as lua_tointeger and a cast to int do.
func toInt(n float64) int { return int(int32(toInt64(n))) }

// castInt converts to 32 bits at once, as a cast of a double to int on x86-64 does.
func castInt(n float64) int {
	if n > math.MinInt32-1 && n < math.MaxInt32+1 {
		return int(n)
	}
	return math.MinInt32
}
