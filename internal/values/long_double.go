package values

import (
	"math/big"
	"strings"
)

// maxFloatBytes is the length of the longest text that Redis reads as a long
// double.
const maxFloatBytes = 5<<10 - 1

// longDouble is a number of the 80-bit format that Redis calculates with; one
// that is infinite is allowed.
type longDouble struct{ *big.Float }

// parseLongDouble reads a number as Redis does with C's strtold.
func parseLongDouble(s string) (longDouble, bool) {
	n := floatLen(s)
	if n == 0 || n != len(s) || n > maxFloatBytes || isSpace(s[0]) {
		return longDouble{}, false
	}
	text := strings.ToLower(s)
	unsigned := strings.TrimLeft(text, "+-")
	switch {
	case unsigned == "nan":
		return longDouble{}, false
	case strings.HasPrefix(unsigned, "inf"):
		return longDouble{new(big.Float).SetInf(text[0] == '-')}, true
	case strings.HasPrefix(unsigned, "0x") && !strings.Contains(text, "p"):
		text += "p0"
	case isZero(text):
		return longDouble{new(big.Float).SetPrec(64)}, true
	case !plausibleExponent(text):
		return longDouble{}, false
	}
	f, _, err := big.ParseFloat(text, 0, 64, big.ToNearestEven)
	if err != nil || f.IsInf() || !fits(f) {
		return longDouble{}, false
	}
	return longDouble{f}, true
}

// plausibleExponent refuses exponents for which big.ParseFloat would calculate
// powers that no mantissa can bring back into range.
func plausibleExponent(text string) bool {
	letter := "e"
	if strings.Contains(text, "x") {
		letter = "p"
	}
	_, exponent, found := strings.Cut(text, letter)
	if !found {
		return true
	}
	digits := strings.TrimLeft(strings.TrimLeft(exponent, "+-"), "0")
	return len(digits) <= 5
}

// fits reports whether a long double of x86 can hold f: the largest power of two
// is 0.5 * 2^16384, and the smallest number that is not rounded to zero is just
// above 0.5 * 2^-16445.
func fits(f *big.Float) bool {
	exponent := f.MantExp(nil)
	return exponent <= 16384 && (f.Sign() == 0 || exponent >= -16445)
}

// add returns the sum, and false if it is not a finite number.
func (a longDouble) add(b longDouble) (longDouble, bool) {
	if a.IsInf() || b.IsInf() {
		return a, false
	}
	sum := new(big.Float).SetPrec(64).Add(a.Float, b.Float)
	return longDouble{sum}, fits(sum)
}

// String is C's %.17Lf without zeros at the end.
func (a longDouble) String() string {
	text := a.Text('f', 17)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" || text == "" {
		return "0"
	}
	return text
}
