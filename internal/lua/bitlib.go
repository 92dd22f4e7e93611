package lua

import (
	"math"
	"math/bits"
)

func bitLibrary() map[string]builtin {
	return map[string]builtin{
		"tobit":   func(th *thread, args []value) []value { return th.bits(th.checkBits(args, 0)) },
		"bnot":    func(th *thread, args []value) []value { return th.bits(^th.checkBits(args, 0)) },
		"bswap":   func(th *thread, args []value) []value { return th.bits(bits.ReverseBytes32(th.checkBits(args, 0))) },
		"band":    bitFold(func(a, b uint32) uint32 { return a & b }),
		"bor":     bitFold(func(a, b uint32) uint32 { return a | b }),
		"bxor":    bitFold(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  bitShift(func(a uint32, n uint) uint32 { return a << n }),
		"rshift":  bitShift(func(a uint32, n uint) uint32 { return a >> n }),
		"arshift": bitShift(func(a uint32, n uint) uint32 { return uint32(int32(a) >> n) }),
		"rol":     bitShift(func(a uint32, n uint) uint32 { return bits.RotateLeft32(a, int(n)) }),
		"ror":     bitShift(func(a uint32, n uint) uint32 { return bits.RotateLeft32(a, -int(n)) }),
		"tohex":   bitToHex,
	}
}

// checkBits takes the low 32 bits of a number, rounded as LuaBitOp does.
func (th *thread) checkBits(args []value, i int) uint32 {
	n := th.checkNumber(args, i) + 6755399441055744.0
	return uint32(math.Float64bits(n))
}

func (th *thread) bits(b uint32) []value { return th.one(number(float64(int32(b)))) }

func bitFold(f func(a, b uint32) uint32) builtin {
	return func(th *thread, args []value) []value {
		b := th.checkBits(args, 0)
		for i := len(args) - 1; i > 0; i-- {
			b = f(b, th.checkBits(args, i))
		}
		return th.bits(b)
	}
}

func bitShift(f func(a uint32, n uint) uint32) builtin {
	return func(th *thread, args []value) []value {
		b := th.checkBits(args, 0)
		return th.bits(f(b, uint(th.checkBits(args, 1)&31)))
	}
}

func bitToHex(th *thread, args []value) []value {
	b := th.checkBits(args, 0)
	n := int32(8)
	if len(args) > 1 {
		n = int32(th.checkBits(args, 1))
	}
	digits := "0123456789abcdef"
	if n < 0 {
		n, digits = -n, "0123456789ABCDEF"
	}
	if n < 0 || n > 8 {
		n = 8
	}
	out := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		out[i] = digits[b&15]
		b >>= 4
	}
	return th.one(str(string(out)))
}
