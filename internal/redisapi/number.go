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

// parseDecimal reads a number as C's strtold does for Redis and returns it in
// plain decimal notation, with an exponent at most.
func parseDecimal(b []byte) (string, error) {
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
		f, _, err := big.ParseFloat(text, 0, 64, big.ToNearestEven) // as long double
		if err != nil {
			return "", errNotFloat
		}
		return f.Text('f', -1), nil
	case unsigned == "nan":
		return "", errNotFloat
	}
	// ParseFloat takes what strtold takes in decimal. Beyond the range of a
	// double it still tells a number from what is none.
	_, err := strconv.ParseFloat(text, 64)
	if err != nil && err.(*strconv.NumError).Err != strconv.ErrRange || exponent(text) > maxExponent {
		return "", errNotFloat
	}
	return strings.TrimPrefix(text, "+"), nil
}

// maxExponent is that of C's long double, beyond which Redis refuses.
const maxExponent = 4932

func exponent(text string) int {
	_, after, _ := strings.Cut(text, "e")
	n, err := strconv.Atoi(after)
	if err != nil && after != "" {
		return maxExponent + 1
	}
	return n
}
