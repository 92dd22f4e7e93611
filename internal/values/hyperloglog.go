package values

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A HyperLogLog is a string in Redis's own format: a header of 16 bytes (magic,
// encoding, three zeros, the cached cardinality) and registers, dense or sparse.

const (
	hllBits      = 14
	hllRegisters = 1 << hllBits
	hllRankBits  = 64 - hllBits // of the hash, for the rank
	hllHeader    = 16
	hllDenseSize = hllHeader + hllRegisters*6/8
	hllSparseMax = 3000 // bytes of a sparse one, as hll-sparse-max-bytes
	hllMagic     = "HYLL"

	hllDense  = 0
	hllSparse = 1
)

// The opcodes of the sparse encoding: ZERO 00nnnnnn, XZERO 01nnnnnn nnnnnnnn
// and VAL 1vvvvvnn, with n and v less one.
const (
	sparseZeroMax   = 64
	sparseXZeroMax  = 16384
	sparseValMax    = 4  // registers
	sparseValueMax  = 32 // the greatest value
	sparseXZeroFlag = 0x40
	sparseValFlag   = 0x80
)

const (
	errNotHLL     = Error("WRONGTYPE Key is not a valid HyperLogLog string value.")
	errCorruptHLL = Error("INVALIDOBJ Corrupted HLL object detected")
)

func hyperLogLogCommands() []Command {
	return []Command{
		{Name: "pfadd", Arity: -2, Flags: "write denyoom fast", Since: "2.8.9", Run: pfadd},
		{Name: "pfcount", Arity: -2, Flags: "readonly", Since: "2.8.9", First: 1, Last: -1, Step: 1, Run: pfcount},
		{Name: "pfmerge", Arity: -2, Flags: "write denyoom", Since: "2.8.9", First: 1, Last: -1, Step: 1, Run: pfmerge},
	}
}

// hyperLogLog returns the entry and the bytes of a key, nil if there is none.
func (c *Call) hyperLogLog(key []byte) (*Entry, String, error) {
	e, s, err := c.str(key)
	if err != nil || e.Value == nil {
		return e, nil, err
	}
	if len(s) < hllHeader || string(s[:4]) != hllMagic || s[4] > hllSparse || s[4] == hllDense && len(s) != hllDenseSize {
		return e, nil, errNotHLL
	}
	return e, s, nil
}

func newHyperLogLog() String {
	s := make(String, hllHeader, hllHeader+32)
	copy(s, hllMagic)
	s[4] = hllSparse
	return appendZeros(s, hllRegisters)
}

// outdate marks the cached cardinality as no longer right.
func (s String) outdate() { s[15] |= 0x80 }

func pfadd(c *Call) error {
	e, s, err := c.hyperLogLog(c.Args[1])
	if err != nil {
		return err
	}
	changed := s == nil
	if changed {
		s = newHyperLogLog()
	} else if len(c.Args) > 2 {
		s = grown(s, 0)
	}
	for _, element := range c.Args[2:] {
		register, rank := hllPlace(element)
		var raised, ok bool
		if s, raised, ok = s.raise(register, rank); !ok {
			return errCorruptHLL
		}
		changed = changed || raised
	}
	if changed {
		s.outdate()
		e.put(s)
		c.notify(StringEvent, "pfadd", c.Args[1])
	}
	c.intBool(changed)
	return nil
}

// hllPlace returns the register of an element and its rank: the number of zeros
// at the end of the rest of its hash, plus one.
func hllPlace(element []byte) (register int, rank byte) {
	hash := murmur64(element)
	rest := hash>>hllBits | 1<<hllRankBits
	return int(hash & (hllRegisters - 1)), byte(bits.TrailingZeros64(rest) + 1)
}

// murmur64 is MurmurHash64A with the seed of Redis.
func murmur64(b []byte) uint64 {
	const m, r = 0xc6a4a7935bd1e995, 47
	h := uint64(0xadc83b19) ^ uint64(len(b))*m
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * m
		k = (k ^ k>>r) * m
		h = (h ^ k) * m
	}
	if len(b) > 0 {
		for i, c := range b {
			h ^= uint64(c) << (8 * i)
		}
		h *= m
	}
	h = (h ^ h>>r) * m
	return h ^ h>>r
}

// raise gives a register a rank, unless it has that or more. The string may be
// changed in place, or become dense. ok is false if it is corrupt.
func (s String) raise(register int, rank byte) (result String, raised, ok bool) {
	if s[4] == hllDense {
		if s.denseRegister(register) >= rank {
			return s, false, true
		}
		s.setDense(register, rank)
		return s, true, true
	}
	if rank <= sparseValueMax {
		result, raised, ok = s.raiseSparse(register, rank)
		if !ok || result != nil {
			return result, raised, ok
		}
	}
	if s, ok = s.dense(); ok {
		s.setDense(register, rank)
	}
	return s, true, ok
}

func (s String) denseRegister(register int) byte {
	at := register * 6
	i, shift := hllHeader+at/8, uint(at%8)
	value := uint16(s[i])
	if i+1 < len(s) {
		value |= uint16(s[i+1]) << 8
	}
	return byte(value >> shift & 0x3f)
}

func (s String) setDense(register int, rank byte) {
	at := register * 6
	i, shift := hllHeader+at/8, uint(at%8)
	mask, value := uint16(0x3f)<<shift, uint16(rank)<<shift
	s[i] = s[i]&^byte(mask) | byte(value)
	if i+1 < len(s) {
		s[i+1] = s[i+1]&^byte(mask>>8) | byte(value>>8)
	}
}

// dense returns the dense form, and false if the sparse one is corrupt.
func (s String) dense() (String, bool) {
	if s[4] == hllDense {
		return s, true
	}
	dense := make(String, hllDenseSize)
	copy(dense, s[:hllHeader])
	dense[4] = hllDense
	ok := s.eachRun(func(first, length int, rank byte) {
		for i := range length {
			dense.setDense(first+i, rank)
		}
	})
	return dense, ok
}

// eachRun visits the runs of equal registers that are not zero. It reports false
// if the sparse encoding does not cover all registers exactly.
func (s String) eachRun(visit func(first, length int, rank byte)) bool {
	first := 0
	for p := hllHeader; p < len(s); {
		run := parseRun(s[p:])
		if run.length == 0 || first+run.length > hllRegisters {
			return false
		}
		if run.rank > 0 {
			visit(first, run.length, run.rank)
		}
		first += run.length
		p += run.size
	}
	return first == hllRegisters
}

// registers raises the registers to those of s, and reports false if s is corrupt.
func (s String) registers(to *[hllRegisters]byte) bool {
	if s[4] == hllDense {
		for i := range to {
			to[i] = max(to[i], s.denseRegister(i))
		}
		return true
	}
	return s.eachRun(func(first, length int, rank byte) {
		for i := first; i < first+length; i++ {
			to[i] = max(to[i], rank)
		}
	})
}

// pfcount does not store the cardinality in the value, as Redis does: reads
// write nothing.
func pfcount(c *Call) error {
	var registers [hllRegisters]byte
	for _, key := range c.Args[1:] {
		_, s, err := c.hyperLogLog(key)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		if len(c.Args) == 2 && s[15]&0x80 == 0 {
			c.Reply.Int(int64(binary.LittleEndian.Uint64(s[8:])))
			return nil
		}
		if !s.registers(&registers) {
			return errCorruptHLL
		}
	}
	c.Reply.Int(cardinality(&registers))
	return nil
}

func pfmerge(c *Call) error {
	var registers [hllRegisters]byte
	dense := false
	for _, key := range c.Args[1:] {
		e, s, err := c.hyperLogLog(key)
		if err != nil {
			return err
		}
		if s == nil {
			c.miss(e, key)
			continue
		}
		dense = dense || s[4] == hllDense
		if !s.registers(&registers) {
			return errCorruptHLL
		}
	}
	e, s, _ := c.hyperLogLog(c.Args[1])
	if s == nil {
		s = newHyperLogLog()
	}
	s, ok := grown(s, 0), true
	if dense {
		s, _ = s.dense()
	}
	for i, rank := range registers {
		if rank == 0 {
			continue
		}
		if s, _, ok = s.raise(i, rank); !ok {
			return errCorruptHLL
		}
	}
	s.outdate()
	e.put(s)
	c.notify(StringEvent, "pfadd", c.Args[1])
	c.ok()
	return nil
}

// cardinality is the estimator of Otmar Ertl, "New cardinality estimation
// algorithms for HyperLogLog sketches", as Redis has it.
func cardinality(registers *[hllRegisters]byte) int64 {
	const m = float64(hllRegisters)
	var histogram [64]int
	for _, rank := range registers {
		histogram[rank&63]++
	}
	z := m * hllTau((m-float64(histogram[hllRankBits+1]))/m)
	for j := hllRankBits; j >= 1; j-- {
		z += float64(histogram[j])
		z *= 0.5
	}
	z += float64(m * hllSigma(float64(histogram[0])/m))
	const alpha = 0.721347520444481703680 // 0.5 / ln 2
	return int64(math.Round(alpha * m * m / z))
}

func hllSigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += float64(x * y)
		y += y
		if z == before {
			return z
		}
	}
}

func hllTau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		z -= float64(float64((1-x)*(1-x)) * y)
		if z == before {
			return z / 3
		}
	}
}
