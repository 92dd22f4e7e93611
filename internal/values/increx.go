package values

import (
	"math"
	"math/big"
)

func stringAtomicCommands() []Command {
	return []Command{
		{Name: "increx", Arity: -2, Flags: "write denyoom fast", Since: "8.8.0", Run: increx},
		{Name: "lcs", Arity: -3, Flags: "readonly", Since: "7.0.0", First: 1, Last: 2, Step: 1, Run: lcs},
	}
}

// increxOptions are the options of INCREX. Exactly one of BYINT and BYFLOAT, or
// none, says how to count.
type increxOptions struct {
	float    bool
	by       []byte // nil: 1
	low      []byte // LBOUND
	high     []byte // UBOUND
	saturate bool
	expiry   expiryOptionValue
	persist  bool
	ifNone   bool // ENX: only if the key has no expiry
}

func parseIncrex(args [][]byte) (o increxOptions, err error) {
	for i := 0; i < len(args); i++ {
		word := upperName(args[i])
		unit, relative, isExpiry := expiryOption(args[i])
		var operand *[]byte
		switch {
		case (word == "BYINT" || word == "BYFLOAT") && o.by == nil:
			o.float, operand = word == "BYFLOAT", &o.by
		case word == "LBOUND" && o.low == nil:
			operand = &o.low
		case word == "UBOUND" && o.high == nil:
			operand = &o.high
		case word == "SATURATE" && !o.saturate:
			o.saturate = true
		case word == "PERSIST" && o.expiry.word == "" && !o.persist && !o.ifNone:
			o.persist = true
		case word == "ENX" && !o.ifNone && !o.persist:
			o.ifNone = true
		case isExpiry && o.expiry.word == "" && !o.persist:
			o.expiry = expiryOptionValue{word: word, unit: unit, relative: relative}
			operand = &o.expiry.arg
		default:
			return o, ErrSyntax
		}
		if operand != nil {
			if i++; i == len(args) {
				return o, ErrSyntax
			}
			*operand = args[i]
		}
	}
	if o.ifNone && o.expiry.word == "" {
		return o, Error("ERR ENX flag requires an expiration")
	}
	return o, nil
}

// increx answers with the new value and what was added. Where a bound is
// exceeded nothing changes, unless the result saturates.
func increx(c *Call) error {
	o, err := parseIncrex(c.Args[2:])
	if err != nil {
		return err
	}
	add, event := c.addInteger, "incrby"
	if o.float {
		add, event = c.addFloat, "incrbyfloat"
	}
	text, within, err := add(o)
	if err != nil || !within {
		return err
	}
	e := c.entry(c.Args[1])
	e.put(String(text))
	c.notify(StringEvent, event, c.Args[1])
	if o.persist && e.ExpiresAt != 0 {
		e.ExpiresAt = 0
		c.notify(GenericEvent, "persist", c.Args[1])
	}
	if !o.ifNone || e.ExpiresAt == 0 {
		at, _ := o.expiry.at(c.Now, "increx") // checked by increxKey
		e.expire(at, c.Now)
		c.notifyExpiry(e, at, c.Args[1])
	}
	return nil
}

// increxKey checks the expiry, and then loads the key.
func (c *Call) increxKey(o increxOptions) (*Entry, String, error) {
	if _, err := o.expiry.at(c.Now, "increx"); err != nil {
		return nil, nil, err
	}
	return c.str(c.Args[1])
}

const errBounds = Error("ERR LBOUND can't be greater than UBOUND")

// addInteger answers, and returns the new value unless nothing must change.
func (c *Call) addInteger(o increxOptions) (text string, within bool, err error) {
	by, low, high := int64(1), int64(math.MinInt64), int64(math.MaxInt64)
	for _, p := range []struct {
		name string
		arg  []byte
		to   *int64
	}{{"Increment", o.by, &by}, {"LBOUND", o.low, &low}, {"UBOUND", o.high, &high}} {
		if p.arg != nil {
			if *p.to, err = integerIn(p.arg, math.MinInt64, math.MaxInt64, Error("ERR "+p.name+" is not an integer or out of range")); err != nil {
				return "", false, err
			}
		}
	}
	if low > high {
		return "", false, errBounds
	}
	e, s, err := c.increxKey(o)
	if err != nil {
		return "", false, err
	}
	n, ok := parseInt(s)
	if !ok && e.Value != nil {
		return "", false, errNotInteger
	}
	sum, over := n+by, addOverflows(n, by)
	above := over && by > 0 || !over && sum > high
	below := over && by < 0 || !over && sum < low
	switch {
	case !above && !below:
	case !o.saturate:
		sum = n
	case above:
		sum = high
	default:
		sum = low
	}
	within = o.saturate || !above && !below
	added := sum - n
	if (added > 0) != (sum > n) {
		return "", false, ErrOverflow // the value was far out of bounds
	}
	c.Reply.Array(2)
	c.Reply.Int(sum)
	c.Reply.Int(added)
	return formatInt(sum), within, nil
}

// addFloat is addInteger for BYFLOAT.
func (c *Call) addFloat(o increxOptions) (text string, within bool, err error) {
	value, _ := parseLongDouble("0")
	by, low, high := value, value, value
	for _, p := range []struct {
		name string
		arg  string
		to   *longDouble
	}{{"Increment", string(o.by), &by}, {"LBOUND", orElse(o.low, "-inf"), &low}, {"UBOUND", orElse(o.high, "inf"), &high}} {
		var ok bool
		if *p.to, ok = parseLongDouble(p.arg); !ok {
			return "", false, Error("ERR " + p.name + " is not a valid float")
		}
	}
	if low.Cmp(high.Float) > 0 {
		return "", false, errBounds
	}
	e, s, err := c.increxKey(o)
	if err != nil {
		return "", false, err
	}
	if e.Value != nil {
		var ok bool
		if value, ok = parseLongDouble(string(s)); !ok {
			return "", false, errNotFloat
		}
	}
	sum, finite := value.add(by)
	if !finite {
		return "", false, errInfinite
	}
	above, below := sum.Cmp(high.Float) > 0, sum.Cmp(low.Float) < 0
	switch {
	case !above && !below:
	case !o.saturate:
		sum = value
	case above:
		sum = high
	default:
		sum = low
	}
	added := longDouble{new(big.Float).SetPrec(64).Sub(sum.Float, value.Float)}
	c.Reply.Array(2)
	c.number(sum)
	c.number(added)
	return sum.String(), o.saturate || !above && !below, nil
}

// orElse returns an argument, or what stands for it if it was not given.
func orElse(arg []byte, otherwise string) string {
	if arg == nil {
		return otherwise
	}
	return string(arg)
}

// number answers with a float: a double in version 3, text in version 2.
func (c *Call) number(n longDouble) {
	if c.Reply.RESP3() {
		f, _ := n.Float64()
		c.Reply.Double(f)
	} else {
		c.Reply.Bulk(n.String())
	}
}
