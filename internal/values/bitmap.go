package values

import (
	"math/bits"
)

func bitmapCommands() []Command {
	return []Command{
		{Name: "setbit", Arity: 4, Flags: "write denyoom", Since: "2.2.0", Run: setbit},
		{Name: "getbit", Arity: 3, Flags: "readonly fast", Since: "2.2.0", Run: getbit},
		{Name: "bitcount", Arity: -2, Flags: "readonly", Since: "2.6.0", Run: bitcount},
		{Name: "bitpos", Arity: -3, Flags: "readonly", Since: "2.8.7", Run: bitpos},
		{Name: "bitop", Arity: -4, Flags: "write denyoom", Since: "2.6.0", First: 2, Last: -1, Step: 1, Run: bitop},
		{Name: "bitfield", Arity: -2, Flags: "write denyoom", Since: "3.2.0", Run: bitfield},
		{Name: "bitfield_ro", Arity: -2, Flags: "readonly fast", Since: "6.0.0", Run: bitfieldReadOnly},
	}
}

const (
	errBitOffset = Error("ERR bit offset is not an integer or out of range")
	errBit       = Error("ERR bit is not an integer or out of range")
)

// str returns the entry and the string of a key, nil if there is none.
func (c *Call) str(key []byte) (*Entry, String, error) { return lookup[String](c, key) }

// bitOffset reads a place in a string; it must be within the longest string.
func (c *Call) bitOffset(arg []byte) (int64, error) {
	n, ok := parseInt(arg)
	if !ok || n < 0 || n>>3 >= c.maxString() {
		return 0, errBitOffset
	}
	return n, nil
}

// grown returns a copy of a string that is at least n bytes long.
func grown(s String, n int64) String {
	copied := make(String, max(int64(len(s)), n))
	copy(copied, s)
	return copied
}

func (s String) bit(at int64) byte {
	if at>>3 >= int64(len(s)) {
		return 0
	}
	return s[at>>3] >> (7 - at&7) & 1
}

func (s String) setBit(at int64, bit byte) {
	mask := byte(0x80) >> (at & 7)
	s[at>>3] &^= mask
	if bit != 0 {
		s[at>>3] |= mask
	}
}

func setbit(c *Call) error {
	at, err := c.bitOffset(c.Args[2])
	if err != nil {
		return err
	}
	bit, ok := parseInt(c.Args[3])
	if !ok || bit&^1 != 0 {
		return errBit
	}
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	before := s.bit(at)
	if e.Value == nil || byte(bit) != before || at>>3 >= int64(len(s)) {
		s = grown(s, at>>3+1)
		s.setBit(at, byte(bit))
		e.put(s)
		c.notify(StringEvent, "setbit", c.Args[1])
	}
	c.Reply.Int(int64(before))
	return nil
}

func getbit(c *Call) error {
	at, err := c.bitOffset(c.Args[2])
	if err != nil {
		return err
	}
	_, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Int(int64(s.bit(at)))
	return nil
}

// bitRange is a range of BITCOUNT or BITPOS in bits: from first up to, without,
// end. It is empty if they are equal.
type bitRange struct {
	first, end int64
}

// bitUnit reads BYTE or BIT, and returns the bits of the unit.
func bitUnit(arg []byte) (int64, error) {
	switch {
	case is(arg, "BIT"):
		return 1, nil
	case is(arg, "BYTE"):
		return 8, nil
	}
	return 0, ErrSyntax
}

// rangeOf places a range in a string of so many bytes.
func rangeOf(first, last, unit int64, bytes int) bitRange {
	length := int64(bytes) * 8 / unit
	if first < 0 {
		first = max(0, first+length)
	}
	if last < 0 {
		last = max(0, last+length)
	}
	last = min(last, length-1)
	if first > last {
		return bitRange{}
	}
	return bitRange{first * unit, (last + 1) * unit}
}

func bitcount(c *Call) (err error) {
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	if e.Value == nil {
		c.Reply.Int(0)
		return nil
	}
	r := bitRange{0, int64(len(s)) * 8}
	switch len(c.Args) {
	case 2:
	case 4, 5:
		if r, err = parseBitCount(c.Args[2:], len(s)); err != nil {
			return err
		}
	default:
		return ErrSyntax
	}
	c.Reply.Int(s.count(r))
	return nil
}

func parseBitCount(args [][]byte, length int) (r bitRange, err error) {
	first, err := integer(args[0])
	if err != nil {
		return r, err
	}
	last, err := integer(args[1])
	if err != nil {
		return r, err
	}
	if first < 0 && last < 0 && first > last {
		return r, nil
	}
	unit := int64(8)
	if len(args) == 3 {
		if unit, err = bitUnit(args[2]); err != nil {
			return r, err
		}
	}
	return rangeOf(first, last, unit, length), nil
}

// count returns how many bits of a range are 1.
func (s String) count(r bitRange) (n int64) {
	for at := r.first; at < r.end; {
		if at&7 == 0 && at+8 <= r.end {
			n += int64(bits.OnesCount8(s[at>>3]))
			at += 8
			continue
		}
		n += int64(s.bit(at))
		at++
	}
	return n
}

func bitpos(c *Call) error {
	bit, err := integer(c.Args[2])
	if err != nil {
		return err
	}
	if bit != 0 && bit != 1 {
		return Error("ERR The bit argument must be 1 or 0.")
	}
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	if e.Value == nil {
		c.Reply.Int(-bit)
		return nil
	}
	r, ended, err := parseBitPosition(c.Args[3:], len(s))
	if err != nil {
		return err
	}
	at := s.find(r, byte(bit))
	if at < 0 && bit == 0 && !ended && r.first < r.end {
		at = r.end // behind the string all bits are 0
	}
	c.Reply.Int(at)
	return nil
}

// parseBitPosition reads a range whose end need not be given.
func parseBitPosition(args [][]byte, length int) (r bitRange, ended bool, err error) {
	first, last, unit := int64(0), int64(-1), int64(8)
	if len(args) > 3 {
		return r, false, ErrSyntax
	}
	if len(args) > 0 {
		if first, err = integer(args[0]); err != nil {
			return r, false, err
		}
	}
	if len(args) == 3 {
		if unit, err = bitUnit(args[2]); err != nil {
			return r, false, err
		}
	}
	if len(args) > 1 {
		if last, err = integer(args[1]); err != nil {
			return r, false, err
		}
	}
	return rangeOf(first, last, unit, length), len(args) > 1, nil
}

// find returns the place of the first bit in a range, or -1.
func (s String) find(r bitRange, bit byte) int64 {
	skip := -(bit ^ 1) // a byte without the bit
	for at := r.first; at < r.end; {
		if at&7 == 0 && at+8 <= r.end && s[at>>3] == skip {
			at += 8
			continue
		}
		if s.bit(at) == bit {
			return at
		}
		at++
	}
	return -1
}

func bitop(c *Call) error {
	operation, err := bitOperation(c.Args)
	if err != nil {
		return err
	}
	sources := make([]String, len(c.Args)-3)
	longest := 0
	for i, key := range c.Args[3:] {
		source, s, err := c.str(key)
		if err != nil {
			return err
		}
		c.miss(source, key)
		sources[i] = s
		longest = max(longest, len(sources[i]))
	}
	e := c.entry(c.Args[2])
	if longest == 0 {
		if e.Value != nil {
			e.remove()
			c.notify(GenericEvent, "del", c.Args[2])
		}
		c.Reply.Int(0)
		return nil
	}
	result := grown(sources[0], int64(longest))
	if is(c.Args[1], "NOT") {
		for i := range result {
			result[i] = ^result[i]
		}
	}
	for _, s := range sources[1:] {
		for i := range result {
			b := byte(0)
			if i < len(s) {
				b = s[i]
			}
			result[i] = operation(result[i], b)
		}
	}
	e.replace(result)
	c.notify(StringEvent, "set", c.Args[2])
	c.Reply.Int(int64(longest))
	return nil
}

func bitOperation(args [][]byte) (func(a, b byte) byte, error) {
	switch name := args[1]; {
	case is(name, "AND"):
		return func(a, b byte) byte { return a & b }, nil
	case is(name, "OR"):
		return func(a, b byte) byte { return a | b }, nil
	case is(name, "XOR"):
		return func(a, b byte) byte { return a ^ b }, nil
	case !is(name, "NOT"):
		return nil, ErrSyntax
	case len(args) != 4:
		return nil, Error("ERR BITOP NOT must be called with a single source key.")
	}
	return nil, nil
}
