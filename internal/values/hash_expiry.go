package values

import (
	"math"
)

func fieldExpiryCommands() []Command {
	const write, read = "write denyoom fast", "readonly fast"
	return []Command{
		{Name: "hexpire", Arity: -6, Flags: write, Since: "7.4.0", Run: expireFields(1000, true)},
		{Name: "hpexpire", Arity: -6, Flags: write, Since: "7.4.0", Run: expireFields(1, true)},
		{Name: "hexpireat", Arity: -6, Flags: write, Since: "7.4.0", Run: expireFields(1000, false)},
		{Name: "hpexpireat", Arity: -6, Flags: write, Since: "7.4.0", Run: expireFields(1, false)},
		{Name: "httl", Arity: -5, Flags: read, Since: "7.4.0", Run: fieldTimes(1000, true)},
		{Name: "hpttl", Arity: -5, Flags: read, Since: "7.4.0", Run: fieldTimes(1, true)},
		{Name: "hexpiretime", Arity: -5, Flags: read, Since: "7.4.0", Run: fieldTimes(1000, false)},
		{Name: "hpexpiretime", Arity: -5, Flags: read, Since: "7.4.0", Run: fieldTimes(1, false)},
		{Name: "hpersist", Arity: -5, Flags: "write fast", Since: "7.4.0", Run: hpersist},
	}
}

// What the commands answer for each field.
const (
	fieldAbsent   = -2
	fieldNoExpiry = -1
	fieldKept     = 0 // a condition was not met
	fieldDone     = 1
	fieldRemoved  = 2 // the expiry has passed
)

// maxFieldExpiry is the latest expiry of a field, in milliseconds: 46 bits, as
// in Redis.
const maxFieldExpiry = (1<<48 - 2) >> 2

// The errors for numfields: of the commands that set an expiry, and of the others.
const (
	errExpireFields = Error("ERR Parameter `numFields` should be greater than 0")
	errCountFields  = Error("ERR Number of fields must be a positive integer")
)

// namedFields reads FIELDS numfields field ..., which must be the end of the line.
// text is the error for a number that is not positive.
func namedFields(args [][]byte, text Error) ([][]byte, error) {
	if len(args) < 2 || !is(args[0], "FIELDS") {
		return nil, Error("ERR Mandatory argument FIELDS is missing or not at the right position")
	}
	n, err := integerIn(args[1], 1, math.MaxInt64, text)
	if err != nil {
		return nil, err
	}
	if n != int64(len(args)-2) {
		return nil, Error("ERR The `numfields` parameter must match the number of arguments")
	}
	return args[2:], nil
}

// fieldExpiry reads an expiry in units of so many milliseconds, from base.
func fieldExpiry(arg []byte, unit, base int64, command string) (int64, error) {
	n, err := integer(arg)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, Error("ERR invalid expire time, must be >= 0")
	}
	if n > maxFieldExpiry/unit || n*unit > maxFieldExpiry-base {
		return 0, errExpiry(command)
	}
	return n*unit + base, nil
}

func errExpiry(command string) Error {
	return Error("ERR invalid expire time in '" + command + "' command")
}

// expireFields makes HEXPIRE and its relatives: the unit in milliseconds, and
// whether the time counts from now.
func expireFields(unit int64, relative bool) func(*Call) error {
	return func(c *Call) error {
		base := int64(0)
		if relative {
			base = c.Now
		}
		e, h, err := c.hash(c.Args[1])
		if err != nil {
			return err
		}
		at, err := fieldExpiry(c.Args[2], unit, base, lowerName(c.Args[0]))
		if err != nil {
			return err
		}
		args, condition := c.Args[3:], expiryCondition(c.Args[3])
		if condition != always {
			args = args[1:]
		}
		names, err := namedFields(args, errExpireFields)
		if err != nil {
			return err
		}
		c.Reply.Array(len(names))
		var results fieldResults
		for _, name := range names {
			c.Reply.Int(results.note(h.expireField(string(name), at, condition, c.Now)))
		}
		if results != (fieldResults{}) {
			e.put(h)
			c.notifyFields(e, results)
		}
		return nil
	}
}

// fieldResults says what a command did to the expiries of fields.
type fieldResults struct{ set, removed bool }

// note takes a result of expireField, and returns it.
func (r *fieldResults) note(result int64) int64 {
	r.set = r.set || result == fieldDone
	r.removed = r.removed || result == fieldRemoved
	return result
}

// notifyFields names what a command did to the expiries of fields.
func (c *Call) notifyFields(e *Entry, r fieldResults) {
	if r.set {
		c.notify(HashEvent, "hexpire", c.Args[1])
	}
	if r.removed {
		c.notifyRest(e, HashEvent, "hdel", c.Args[1])
	}
}

type condition uint8

const (
	always    condition = iota
	ifNone              // NX
	ifAny               // XX
	ifLater             // GT
	ifEarlier           // LT
)

func expiryCondition(arg []byte) condition {
	for i, word := range []string{"NX", "XX", "GT", "LT"} {
		if is(arg, word) {
			return condition(i + 1)
		}
	}
	return always
}

// met compares with the present expiry; no expiry is later than all.
func (c condition) met(before, at int64) bool {
	switch c {
	case ifNone:
		return before == 0
	case ifAny:
		return before != 0
	case ifLater:
		return before != 0 && at > before
	case ifEarlier:
		return before == 0 || at < before
	}
	return true
}

func (h *Hash) expireField(name string, at int64, condition condition, now int64) int64 {
	f := h.find(name)
	switch {
	case f == nil:
		return fieldAbsent
	case !condition.met(f.expiresAt, at):
		return fieldKept
	case at <= now:
		h.fields.remove(name)
		return fieldRemoved
	}
	h.setExpiry(f, at)
	return fieldDone
}

// answerFields answers for each named field: what answer returns of one that expires.
func answerFields(c *Call, answer func(e *Entry, h *Hash, f *hashField) int64) error {
	e, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	names, err := namedFields(c.Args[2:], errCountFields)
	if err != nil {
		return err
	}
	c.Reply.Array(len(names))
	for _, name := range names {
		f := h.find(string(name))
		switch {
		case f == nil:
			c.Reply.Int(fieldAbsent)
		case f.expiresAt == 0:
			c.Reply.Int(fieldNoExpiry)
		default:
			c.Reply.Int(answer(e, h, f))
		}
	}
	return nil
}

// fieldTimes makes HTTL and its relatives: the unit in milliseconds, and whether
// the answer is the time that is left, or a time since 1970.
func fieldTimes(unit int64, relative bool) func(*Call) error {
	return func(c *Call) error {
		base := int64(0)
		if relative {
			base = c.Now
		}
		return answerFields(c, func(_ *Entry, _ *Hash, f *hashField) int64 {
			return (f.expiresAt - base + unit - 1) / unit
		})
	}
}

func hpersist(c *Call) error {
	persisted := false
	err := answerFields(c, func(e *Entry, h *Hash, f *hashField) int64 {
		f.expiresAt, persisted = 0, true
		e.put(h)
		return fieldDone
	})
	if persisted {
		c.notify(HashEvent, "hpersist", c.Args[1])
	}
	return err
}
