package redisapi

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// parseInt reads an integer as strictly as Redis's string2ll: no plus, no
// leading zeros, no white space, no minus zero.
func parseInt(b []byte) (int64, error) {
	digits := b
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(b) > 1 {
		return 0, errNotInteger
	}
	var value uint64 // 19 digits fit
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errNotInteger
		}
		value = value*10 + uint64(c-'0')
	}
	if len(digits) < len(b) {
		if value > 1<<63 {
			return 0, errNotInteger
		}
		return -int64(value), nil
	}
	if value > math.MaxInt64 {
		return 0, errNotInteger
	}
	return int64(value), nil
}

// maxFloatBytes is how long a number may be that Redis reads as a float.
const maxFloatBytes = 5<<10 - 1

// parseDecimal reads a number as C's strtold does for Redis and returns it in
// plain decimal notation, with an exponent at most. What a long double cannot
// hold is none, so that nothing has to be written out in more digits than it has.
func parseDecimal(b []byte) (string, error) {
	if len(b) > maxFloatBytes {
		return "", errNotFloat
	}
	text := strings.ToLower(string(b))
	unsigned := strings.TrimLeft(text, "+-")
	switch {
	case len(text)-len(unsigned) > 1 || strings.ContainsAny(text, "_ \t\n\v\f\r"):
		return "", errNotFloat
	case unsigned == "inf" || unsigned == "infinity":
		return "", errInfinite
	case strings.HasPrefix(unsigned, "0x"):
		if !strings.Contains(unsigned, "p") {
			text += "p0"
		}
		f, ok := parseLongDouble(text)
		if !ok {
			return "", errNotFloat
		}
		return shortest(f), nil
	case unsigned == "nan":
		return "", errNotFloat
	}
	// ParseFloat takes what strtold takes in decimal. Beyond the range of a
	// double it still tells a number from what is none.
	double, err := strconv.ParseFloat(text, 64)
	if err != nil && err.(*strconv.NumError).Err != strconv.ErrRange {
		return "", errNotFloat
	}
	mantissa, exponent, _ := strings.Cut(text, "e")
	exact := len(text) <= 1000 && len(strings.TrimLeft(exponent, "+-")) <= 4
	if exact && double != 0 && !math.IsInf(double, 0) {
		return strings.TrimPrefix(text, "+"), nil
	}
	if !strings.ContainsAny(mantissa, "123456789") {
		return "0", nil // whatever the exponent
	}
	// No mantissa makes up for more. It spares ParseFloat the power.
	if n, err := strconv.Atoi(exponent); exponent != "" && (err != nil || max(n, -n) > 3*maxFloatBytes) {
		return "", errNotFloat
	}
	f, ok := parseLongDouble(text)
	switch {
	case !ok:
		return "", errNotFloat
	case !exact:
		return shortest(f), nil // with the digits of a long double, as Redis calculates with all
	}
	return strings.TrimPrefix(text, "+"), nil
}

// shortest writes f with as few digits as tell it from its neighbours. Of sums 17
// decimals are kept: the tiny are zero, and spare the time to find their digits.
func shortest(f *big.Float) string {
	if f.MantExp(nil) < -128 {
		return "0"
	}
	return f.Text('e', -1)
}

// parseLongDouble reports false if text is no number, or none that a long
// double of x86 can hold: 0.5 * 2^16384 is the last power of two, the first
// that is not rounded to zero is just above 0.5 * 2^-16445.
func parseLongDouble(text string) (*big.Float, bool) {
	f, _, err := big.ParseFloat(text, 0, 64, big.ToNearestEven)
	if err != nil || f.IsInf() {
		return nil, false
	}
	exponent := f.MantExp(nil)
	return f, exponent <= 16384 && exponent >= -16445
}
