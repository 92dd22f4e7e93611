package values

import (
	"bytes"
	"math"
)

// bitType is a type of BITFIELD, such as i16 or u8.
type bitType struct {
	signed bool
	bits   int64
}

// bitStep is one operation of a BITFIELD.
type bitStep struct {
	kind     byte // 'g', 's' or 'i'
	typ      bitType
	at       int64
	operand  int64
	overflow overflow
}

type overflow uint8

const (
	wrap overflow = iota
	saturate
	fail
)

func bitfield(c *Call) error         { return c.bitfield(false) }
func bitfieldReadOnly(c *Call) error { return c.bitfield(true) }

func (c *Call) bitfield(readOnly bool) error {
	steps, last, err := c.bitSteps(readOnly)
	if err != nil {
		return err
	}
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	larger := last>>3 >= int64(len(s))
	if last >= 0 {
		s = grown(s, last>>3+1)
		if larger { // whatever the operations do
			e.put(s)
			c.notifyNew(e, c.Args[1])
		}
	} else if !readOnly {
		c.miss(e, c.Args[1])
	}
	c.Reply.Array(len(steps))
	stored := false
	for _, step := range steps {
		value, ok, changed := step.run(s)
		if ok {
			c.Reply.Int(value)
		} else {
			c.Reply.Null()
		}
		stored = stored || changed || ok && larger && step.kind != 'g'
	}
	if stored {
		e.put(s)
		c.notify(StringEvent, "setbit", c.Args[1])
	}
	return nil
}

// bitSteps reads the operations. last is the last bit that they may write, -1 if
// none writes.
func (c *Call) bitSteps(readOnly bool) (steps []bitStep, last int64, err error) {
	last = -1
	mode := wrap
	for args := c.Args[2:]; len(args) > 0; {
		step := bitStep{overflow: mode}
		words := 4
		switch name := args[0]; {
		case is(name, "GET") && len(args) >= 3:
			step.kind, words = 'g', 3
		case is(name, "SET") && len(args) >= 4:
			step.kind = 's'
		case is(name, "INCRBY") && len(args) >= 4:
			step.kind = 'i'
		case is(name, "OVERFLOW") && len(args) >= 2:
			if mode, err = overflowMode(args[1]); err != nil {
				return nil, -1, err
			}
			args = args[2:]
			continue
		default:
			return nil, -1, ErrSyntax
		}
		if err := c.bitStep(&step, args); err != nil {
			return nil, -1, err
		}
		if step.kind != 'g' {
			last = max(last, step.at+step.typ.bits-1)
		}
		steps = append(steps, step)
		args = args[words:]
	}
	if readOnly && last >= 0 {
		return nil, -1, Error("ERR BITFIELD_RO only supports the GET subcommand")
	}
	return steps, last, nil
}

func overflowMode(arg []byte) (overflow, error) {
	switch {
	case is(arg, "WRAP"):
		return wrap, nil
	case is(arg, "SAT"):
		return saturate, nil
	case is(arg, "FAIL"):
		return fail, nil
	}
	return wrap, Error("ERR Invalid OVERFLOW type specified")
}

// bitStep reads type, offset and operand of an operation.
func (c *Call) bitStep(step *bitStep, args [][]byte) (err error) {
	if step.typ, err = parseBitType(args[1]); err != nil {
		return err
	}
	offset, counted := bytes.CutPrefix(args[2], []byte("#"))
	at, ok := parseInt(offset)
	if counted && ok {
		if at < 0 || at > math.MaxInt64/step.typ.bits {
			return errBitOffset
		}
		at *= step.typ.bits
	}
	if !ok || at < 0 || at>>3 >= c.maxString() || (at+step.typ.bits-1)>>3 >= c.maxString() {
		return errBitOffset
	}
	step.at = at
	if step.kind != 'g' {
		step.operand, err = integer(args[3])
	}
	return err
}

func parseBitType(arg []byte) (t bitType, err error) {
	ok := false
	if len(arg) > 1 && (arg[0] == 'i' || arg[0] == 'u') {
		t.signed = arg[0] == 'i'
		t.bits, ok = parseInt(arg[1:])
	}
	if !ok || t.bits < 1 || t.bits > 64 || t.bits > 63 && !t.signed {
		return t, Error("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")
	}
	return t, nil
}

// run executes an operation on a string that is long enough. ok is false if it would
// overflow and must not; changed says whether it stored another value.
func (step bitStep) run(s String) (answer int64, ok, changed bool) {
	t := step.typ
	before := t.load(s, step.at)
	if step.kind == 'g' {
		return before, true, false
	}
	value, over := step.result(before)
	if over && step.overflow == fail {
		return 0, false, false
	}
	t.store(s, step.at, value)
	if step.kind == 's' {
		return before, true, value != before
	}
	return value, true, value != before
}

func (t bitType) load(s String, at int64) int64 {
	var value uint64
	for i := range t.bits {
		value = value<<1 | uint64(s.bit(at+i))
	}
	return t.extend(value)
}

// extend gives the low bits of a value their sign.
func (t bitType) extend(value uint64) int64 {
	if shift := 64 - t.bits; t.signed {
		return int64(value<<shift) >> shift
	} else {
		return int64(value << shift >> shift)
	}
}

func (t bitType) store(s String, at, value int64) {
	for i := range t.bits {
		s.setBit(at+i, byte(value>>(t.bits-1-i)&1))
	}
}

// result returns what an operation stores, and whether it overflows.
func (step bitStep) result(before int64) (value int64, over bool) {
	value, by := before, step.operand
	if step.kind == 's' {
		value, by = step.operand, 0
	}
	sum := value + by
	high, low := step.typ.overflows(value, by)
	switch {
	case !high && !low:
		return sum, false
	case step.overflow != saturate:
		return step.typ.extend(uint64(sum)), true
	case high:
		return step.typ.max(), true
	case step.typ.signed:
		return -step.typ.max() - 1, true
	}
	return 0, true
}

func (t bitType) max() int64 {
	if t.signed {
		return math.MaxInt64 >> (64 - t.bits)
	}
	return math.MaxInt64 >> (63 - t.bits)
}

// overflows reports whether a sum is too high or too low for the type. The value
// of a SET may itself be out of range. As in Redis the differences wrap around.
func (t bitType) overflows(value, by int64) (high, low bool) {
	most := t.max()
	if !t.signed {
		high = uint64(value) > uint64(most) || by > 0 && by > most-value
		return high, !high && by < 0 && by < -value
	}
	least := -most - 1
	high = value > most || t.bits != 64 && by > most-value || value >= 0 && by > 0 && by > most-value
	low = value < least || t.bits != 64 && by < least-value || value < 0 && by < 0 && by < least-value
	return high, !high && low
}
