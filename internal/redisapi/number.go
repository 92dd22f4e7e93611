package redisapi

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// parseInt parses an integer as strictly as Redis's string2ll: no plus sign, no
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

// maxFloatBytes is the length of the longest text that Redis parses as a float.
const maxFloatBytes = 5<<10 - 1

// parseDecimal parses a number as Redis does with C's strtold and returns it in
// decimal notation, perhaps with an exponent. It refuses numbers that a long double
// cannot hold, so that no number has to be written with thousands of digits.
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
	// ParseFloat accepts the decimal notations that strtold accepts. Beyond the
	// range of a double it reports ErrRange for a number, ErrSyntax for other text.
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
	// No mantissa is long enough to compensate for a larger exponent. Refusing it
	// here saves big.ParseFloat from calculating the power.
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

// shortest formats f with the fewest digits that identify it. Sums have 17 decimals,
// so a tiny number counts as zero, without the time to find its digits.
func shortest(f *big.Float) string {
	if f.MantExp(nil) < -128 {
		return "0"
	}
	return f.Text('e', -1)
}

// parseLongDouble reports false if text is not a number, or not one that a long
// double of x86 can hold: the largest power of two is 0.5 * 2^16384, and the
// smallest number that is not rounded to zero is just above 0.5 * 2^-16445.
func parseLongDouble(text string) (*big.Float, bool) {
	f, _, err := big.ParseFloat(text, 0, 64, big.ToNearestEven)
	if err != nil || f.IsInf() {
		return nil, false
	}
	exponent := f.MantExp(nil)
	return f, exponent <= 16384 && exponent >= -16445
}
