package lua

import "math"

// random48 is drand48 as Redis has it, so that scripts get the same numbers.
type random48 struct{ x uint64 }

const (
	random48Factor = 0x5DEECE66D
	random48Add    = 0xB
	random48Mask   = 1<<48 - 1
	random48Max    = math.MaxInt32
)

func (r *random48) seed(n int32) { r.x = uint64(uint32(n))<<16 | 0x330E }

func (r *random48) next() int32 {
	r.x = (r.x*random48Factor + random48Add) & random48Mask
	return int32(r.x >> 17)
}

func (m *machine) mathLibrary() *table {
	functions := map[string]builtin{
		"random": mathRandom, "randomseed": mathRandomSeed, "max": mathMax, "min": mathMin, "frexp": mathFrexp,
		"modf": mathModf, "log10": unaryMath(log10), "deg": unaryMath(func(n float64) float64 { return n / (math.Pi / 180) }),
		"rad":  unaryMath(func(n float64) float64 { return n * (math.Pi / 180) }),
		"fmod": binaryMath(remainder), "mod": binaryMath(remainder), "pow": binaryMath(power), "atan2": binaryMath(atan2),
		"ldexp": mathLdexp,
	}
	for name, f := range map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "ceil": math.Ceil, "cos": signed(math.Cos),
		"cosh": signed(math.Cosh), "exp": math.Exp, "floor": math.Floor, "log": signed(logarithm), "sin": signed(math.Sin), "sinh": math.Sinh,
		"sqrt": math.Sqrt, "tan": signed(math.Tan), "tanh": math.Tanh,
	} {
		functions[name] = unaryMath(f)
	}
	t := m.library(functions)
	t.setString("pi", number(math.Pi))
	t.setString("huge", number(math.Inf(1)))
	return t
}

func unaryMath(f func(float64) float64) builtin {
	return func(th *thread, args []value) []value { return th.one(number(f(th.checkNumber(args, 0)))) }
}

func binaryMath(f func(a, b float64) float64) builtin {
	return func(th *thread, args []value) []value {
		b := th.checkNumber(args, 1) // before the first, as in Redis
		return th.one(number(f(th.checkNumber(args, 0), b)))
	}
}

func mathMax(th *thread, args []value) []value {
	most := th.checkNumber(args, 0)
	for i := range args {
		if n := th.checkNumber(args, i); n > most {
			most = n
		}
	}
	return th.one(number(most))
}

func mathMin(th *thread, args []value) []value {
	least := th.checkNumber(args, 0)
	for i := range args {
		if n := th.checkNumber(args, i); n < least {
			least = n
		}
	}
	return th.one(number(least))
}

func mathFrexp(th *thread, args []value) []value {
	f, e := math.Frexp(th.checkNumber(args, 0))
	return th.two(number(f), number(float64(e)))
}

func mathLdexp(th *thread, args []value) []value {
	exponent := th.checkInt(args, 1)
	return th.one(number(math.Ldexp(th.checkNumber(args, 0), exponent)))
}

func mathModf(th *thread, args []value) []value {
	n := th.checkNumber(args, 0)
	if math.IsInf(n, 0) {
		return th.two(number(n), number(math.Copysign(0, n)))
	}
	whole := math.Trunc(n)
	return th.two(number(whole), number(math.Copysign(n-whole, n)))
}

func mathRandom(th *thread, args []value) []value {
	r := float64(th.m.draw()%random48Max) / float64(random48Max)
	low, high := 1, 0
	switch len(args) {
	case 0:
		return th.one(number(r))
	case 1:
		high = th.checkInt(args, 0)
		if high < 1 {
			th.argumentError(0, "interval is empty")
		}
	case 2:
		low, high = th.checkInt(args, 0), th.checkInt(args, 1)
		if low > high {
			th.argumentError(1, "interval is empty")
		}
	default:
		th.fail("wrong number of arguments")
	}
	return th.one(number(math.Floor(r*float64(int32(high-low+1))) + float64(low)))
}

func mathRandomSeed(th *thread, args []value) []value {
	th.m.setSeed(int32(th.checkInt(args, 0)))
	return nil
}
