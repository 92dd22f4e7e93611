package values

import (
	"bytes"
	"math"
)

// The commands on keys of any kind. Those that know databases, or many keys by a
// pattern, are not here: they need more than loaded entries.
func keyCommands() []Command {
	const write, read = "write fast", "readonly fast"
	return []Command{
		{Name: "del", Arity: -2, Flags: "write", Since: "1.0.0", First: 1, Last: -1, Step: 1, Run: del},
		{Name: "unlink", Arity: -2, Flags: write, Since: "4.0.0", First: 1, Last: -1, Step: 1, Run: del},
		{Name: "exists", Arity: -2, Flags: read, Since: "1.0.0", First: 1, Last: -1, Step: 1, Run: exists},
		{Name: "touch", Arity: -2, Flags: read, Since: "3.2.1", First: 1, Last: -1, Step: 1, Run: exists},
		{Name: "type", Arity: 2, Flags: read, Since: "1.0.0", Run: typeOf},
		{Name: "expire", Arity: -3, Flags: write, Since: "1.0.0", Run: expireKey(1000, true)},
		{Name: "pexpire", Arity: -3, Flags: write, Since: "2.6.0", Run: expireKey(1, true)},
		{Name: "expireat", Arity: -3, Flags: write, Since: "1.2.0", Run: expireKey(1000, false)},
		{Name: "pexpireat", Arity: -3, Flags: write, Since: "2.6.0", Run: expireKey(1, false)},
		{Name: "ttl", Arity: 2, Flags: read, Since: "1.0.0", Run: keyTime(1000, true)},
		{Name: "pttl", Arity: 2, Flags: read, Since: "2.6.0", Run: keyTime(1, true)},
		{Name: "expiretime", Arity: 2, Flags: read, Since: "7.0.0", Run: keyTime(1000, false)},
		{Name: "pexpiretime", Arity: 2, Flags: read, Since: "7.0.0", Run: keyTime(1, false)},
		{Name: "persist", Arity: 2, Flags: write, Since: "2.2.0", Run: persist},
		{Name: "rename", Arity: 3, Flags: "write", Since: "1.0.0", First: 1, Last: 2, Step: 1, Run: rename},
		{Name: "renamenx", Arity: 3, Flags: write, Since: "1.0.0", First: 1, Last: 2, Step: 1, Run: renamenx},
		{Name: "copy", Arity: -3, Flags: "write denyoom", Since: "6.2.0", First: 1, Last: 2, Step: 1, Run: copyKey},
	}
}

func del(c *Call) error {
	removed := int64(0)
	for _, key := range c.Args[1:] {
		if e := c.entry(key); e.Value != nil {
			e.remove()
			c.notify(GenericEvent, "del", key)
			removed++
		}
	}
	c.Reply.Int(removed)
	return nil
}

func exists(c *Call) error {
	found := int64(0)
	for _, key := range c.Args[1:] {
		if c.entry(key).Value != nil {
			found++
		}
	}
	c.Reply.Int(found)
	return nil
}

func typeOf(c *Call) error {
	if e := c.entry(c.Args[1]); e.Value != nil {
		c.Reply.Status(e.Value.Kind().String())
	} else {
		c.Reply.Status("none")
	}
	return nil
}

// parseExpireOptions reads NX, XX, GT and LT, of which XX goes with GT or LT.
func parseExpireOptions(args [][]byte) (conditions []condition, err error) {
	var given [ifEarlier + 1]bool
	for _, arg := range args {
		condition := expiryCondition(arg)
		if condition == always {
			return nil, Error("ERR Unsupported option " + cString(arg))
		}
		given[condition] = true
		conditions = append(conditions, condition)
	}
	switch {
	case given[ifNone] && (given[ifAny] || given[ifLater] || given[ifEarlier]):
		return nil, Error("ERR NX and XX, GT or LT options at the same time are not compatible")
	case given[ifLater] && given[ifEarlier]:
		return nil, Error("ERR GT and LT options at the same time are not compatible")
	}
	return conditions, nil
}

// expireKey makes EXPIRE and its relatives: the unit in milliseconds, and whether
// the time counts from now.
func expireKey(unit int64, relative bool) func(*Call) error {
	return func(c *Call) error {
		conditions, err := parseExpireOptions(c.Args[3:])
		if err != nil {
			return err
		}
		at, err := integer(c.Args[2])
		if err != nil {
			return err
		}
		if at > math.MaxInt64/unit || at < math.MinInt64/unit {
			return errExpiry(lowerName(c.Args[0]))
		}
		at *= unit
		if relative {
			if at > math.MaxInt64-c.Now {
				return errExpiry(lowerName(c.Args[0]))
			}
			at += c.Now
		}
		e := c.entry(c.Args[1])
		met := e.Value != nil
		for _, condition := range conditions {
			met = met && condition.met(e.ExpiresAt, at)
		}
		if met {
			e.expire(max(at, 1), c.Now)
			c.notifyExpiry(e, max(at, 1), c.Args[1])
		}
		c.intBool(met)
		return nil
	}
}

// keyTime makes TTL and its relatives: the unit in milliseconds, and whether the
// answer is the time that is left, or a time since 1970.
func keyTime(unit int64, relative bool) func(*Call) error {
	return func(c *Call) error {
		switch e := c.entry(c.Args[1]); {
		case e.Value == nil:
			c.Reply.Int(-2)
		case e.ExpiresAt == 0:
			c.Reply.Int(-1)
		case relative:
			c.Reply.Int(rounded(e.ExpiresAt-c.Now, unit))
		default:
			c.Reply.Int(rounded(e.ExpiresAt, unit))
		}
		return nil
	}
}

// rounded gives a positive time in a unit, to the nearest.
func rounded(ms, unit int64) int64 { return ms/unit + (ms%unit+unit/2)/unit }

func persist(c *Call) error {
	e := c.entry(c.Args[1])
	persisted := e.Value != nil && e.ExpiresAt != 0
	if persisted {
		e.ExpiresAt, e.Changed = 0, true
		c.notify(GenericEvent, "persist", c.Args[1])
	}
	c.intBool(persisted)
	return nil
}

func rename(c *Call) error {
	from, to := c.entry(c.Args[1]), c.entry(c.Args[2])
	if from.Value == nil {
		return errNoKey
	}
	if from != to {
		c.move(from, to)
	}
	c.ok()
	return nil
}

func renamenx(c *Call) error {
	from, to := c.entry(c.Args[1]), c.entry(c.Args[2])
	if from.Value == nil {
		return errNoKey
	}
	free := to.Value == nil
	if free {
		c.move(from, to)
	}
	c.intBool(free)
	return nil
}

// move gives the value of the first key to the second, which is a new key even if there
// was one.
func (c *Call) move(from, to *Entry) {
	to.Value, to.ExpiresAt, to.Changed, to.created = from.Value, from.ExpiresAt, true, true
	from.remove()
	c.notifyNew(to, c.Args[2])
	c.notify(GenericEvent, "rename_from", c.Args[1])
	c.notify(GenericEvent, "rename_to", c.Args[2])
}

// copyKey is COPY within one database.
func copyKey(c *Call) error {
	replace := false
	for _, arg := range c.Args[3:] {
		if !is(arg, "REPLACE") {
			return ErrSyntax
		}
		replace = true
	}
	if bytes.Equal(c.Args[1], c.Args[2]) {
		return Error("ERR source and destination objects are the same")
	}
	from, to := c.entry(c.Args[1]), c.entry(c.Args[2])
	c.miss(from, c.Args[1])
	copied := from.Value != nil && (to.Value == nil || replace)
	if copied {
		// What Encode made is never corrupt.
		to.Value, _ = Decode(from.Value.Kind(), Encode(nil, from.Value))
		to.ExpiresAt, to.Changed, to.created = from.ExpiresAt, true, true
		c.notify(GenericEvent, "copy_to", c.Args[2])
	}
	c.intBool(copied)
	return nil
}
