package values

import (
	"math"
)

// The commands of Redis 8.0 that get, set or delete fields together with their
// expiry.
func fieldOptionCommands() []Command {
	return []Command{
		{Name: "hgetdel", Arity: -5, Flags: "write fast", Since: "8.0.0", Run: hgetdel},
		{Name: "hgetex", Arity: -5, Flags: "write fast", Since: "8.0.0", Run: hgetex},
		{Name: "hsetex", Arity: -6, Flags: "write denyoom fast", Since: "8.0.0", Run: hsetex},
	}
}

func hgetdel(c *Call) error {
	e, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	names, err := namedFields(c.Args[2:], errCountFields)
	if err != nil {
		return err
	}
	c.Reply.Array(len(names))
	removed := false
	for _, name := range names {
		c.field(h, name)
		if h != nil && h.fields.remove(string(name)) {
			removed = true
		}
	}
	if removed {
		e.put(h)
		c.notifyRest(e, HashEvent, "hdel", c.Args[1])
	}
	return nil
}

// fieldOptions are the options of HGETEX and HSETEX.
type fieldOptions struct {
	expires   bool // EX, PX, EXAT or PXAT
	at        int64
	keep      bool // KEEPTTL, PERSIST
	condition condition
	fields    [][]byte // each followed by its value, for HSETEX
}

// hashOptions reads the options in any order. set is true for HSETEX, whose
// fields are followed by values.
func (c *Call) hashOptions(name string, set bool) (o fieldOptions, err error) {
	keep := "PERSIST"
	if set {
		keep = "KEEPTTL"
	}
	errOneExpiry := Error("ERR Only one of EX, PX, EXAT, PXAT or " + keep + " arguments can be specified")
	args := c.Args
	for i := 2; i < len(args); i++ {
		unit, relative, isExpiry := expiryOption(args[i])
		switch {
		case is(args[i], "FIELDS"):
			if o.fields != nil {
				return o, Error("ERR FIELDS keyword specified multiple times")
			}
			if o.fields, err = countedFields(args[i+1:], set); err != nil {
				return o, err
			}
			i += 1 + len(o.fields)
		case (isExpiry || is(args[i], keep)) && (o.expires || o.keep):
			return o, errOneExpiry
		case is(args[i], keep):
			o.keep = true
		case isExpiry:
			if i++; i == len(args) {
				return o, Error("ERR missing expire time")
			}
			if o.at, err = expiryArgument(args[i], unit, relative, c.Now, name); err != nil {
				return o, err
			}
			o.expires = true
		case set && (is(args[i], "FNX") || is(args[i], "FXX")):
			if o.condition != always {
				return o, Error("ERR Only one of FXX or FNX arguments can be specified")
			}
			o.condition = expiryCondition(args[i][1:])
		default:
			return o, Error("ERR unknown argument: " + cString(args[i]))
		}
	}
	switch {
	case o.fields == nil:
		return o, Error("ERR missing FIELDS argument")
	case o.at > maxFieldExpiry:
		return o, errExpiry(name)
	}
	return o, nil
}

// countedFields reads the number of fields, and the fields.
func countedFields(args [][]byte, set bool) ([][]byte, error) {
	if len(args) == 0 {
		return nil, ErrSyntax
	}
	n, err := integerIn(args[0], 1, math.MaxInt32, "ERR invalid number of fields")
	if err != nil {
		return nil, err
	}
	if set {
		n *= 2
	}
	if n > int64(len(args)-1) {
		return nil, Error("ERR wrong number of arguments")
	}
	return args[1 : 1+n], nil
}

// expiryOption returns the unit of EX, PX, EXAT or PXAT in milliseconds, and
// whether its time counts from now.
func expiryOption(arg []byte) (unit int64, relative, ok bool) {
	switch {
	case is(arg, "EX"):
		return 1000, true, true
	case is(arg, "PX"):
		return 1, true, true
	case is(arg, "EXAT"):
		return 1000, false, true
	case is(arg, "PXAT"):
		return 1, false, true
	}
	return 0, false, false
}

// expiryArgument reads the time of EX, PX, EXAT or PXAT, which is positive.
func expiryArgument(arg []byte, unit int64, relative bool, now int64, command string) (int64, error) {
	n, err := integer(arg)
	if err != nil {
		return 0, err
	}
	if n <= 0 || n > math.MaxInt64/unit {
		return 0, errExpiry(command)
	}
	n *= unit
	if relative {
		if n > math.MaxInt64-now {
			return 0, errExpiry(command)
		}
		n += now
	}
	return n, nil
}

func hgetex(c *Call) error {
	o, err := c.hashOptions("hgetex", false)
	if err != nil {
		return err
	}
	e, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Array(len(o.fields))
	var results fieldResults
	persisted := false
	for _, name := range o.fields {
		c.field(h, name)
		f := h.find(string(name))
		switch {
		case f == nil:
		case o.expires:
			results.note(h.expireField(string(name), o.at, always, c.Now))
		case o.keep && f.expiresAt != 0: // PERSIST
			f.expiresAt, persisted = 0, true
		}
	}
	if persisted || results != (fieldResults{}) {
		e.put(h)
	}
	if persisted {
		c.notify(HashEvent, "hpersist", c.Args[1])
	}
	c.notifyFields(e, results)
	return nil
}

func hsetex(c *Call) error {
	o, err := c.hashOptions("hsetex", true)
	if err != nil {
		return err
	}
	e, h, err := c.hashToWrite(c.Args[1])
	if err != nil {
		return err
	}
	for i := 0; i < len(o.fields); i += 2 {
		exists := h.find(string(o.fields[i])) != nil
		if o.condition == ifNone && exists || o.condition == ifAny && !exists {
			c.Reply.Int(0)
			return nil
		}
	}
	var results fieldResults
	for i := 0; i < len(o.fields); i += 2 {
		results.note(h.setEx(string(o.fields[i]), string(o.fields[i+1]), o, c.Now))
	}
	existed := e.Value != nil
	e.put(h)
	if existed || e.Value != nil {
		c.notify(HashEvent, "hset", c.Args[1])
		c.notifyFields(e, results)
	}
	c.Reply.Int(1)
	return nil
}

// setEx stores a field with the expiry of HSETEX, and returns what became of that, as
// expireField does.
func (h *Hash) setEx(name, value string, o fieldOptions, now int64) int64 {
	if o.keep {
		h.update(h.find(name), name, value)
		return fieldKept
	}
	h.set(name, value)
	if !o.expires {
		return fieldKept
	}
	return h.expireField(name, o.at, always, now)
}
