package lua

import "math"

// A NaN has a sign, which scripts can print. The functions of C keep that of an
// argument, and x86-64 makes a negative one of what has no result; those of Go do
// neither.

// nanOf is the first NaN of the arguments, or the one of an operation without a
// result.
func nanOf(args ...float64) float64 {
	for _, n := range args {
		if math.IsNaN(n) {
			return n
		}
	}
	return math.Copysign(math.NaN(), -1)
}

// signed gives the NaNs of f the sign that they have in C.
func signed(f func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		if n := f(x); !math.IsNaN(n) {
			return n
		}
		return nanOf(x)
	}
}

func power(a, b float64) float64 {
	if n := math.Pow(a, b); !math.IsNaN(n) {
		return n
	}
	return nanOf(a, b)
}

func remainder(a, b float64) float64 {
	if n := math.Mod(a, b); !math.IsNaN(n) {
		return n
	}
	return nanOf(a, b)
}

func atan2(y, x float64) float64 {
	if n := math.Atan2(y, x); !math.IsNaN(n) {
		return n
	}
	return nanOf(x, y)
}

// subnormal tells whether a number is too small for the logarithms of package math,
// which take it for larger.
func subnormal(x float64) bool { return x > 0 && x < 0x1p-1022 }

func logarithm(x float64) float64 {
	if subnormal(x) {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func log10(x float64) float64 {
	switch {
	case subnormal(x):
		return math.Log10(x*1e16) - 16
	case math.IsNaN(x):
		return x
	}
	return math.Log10(x)
}
