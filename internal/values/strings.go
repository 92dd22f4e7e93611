package values

import (
	"math"
)

func stringCommands() []Command {
	const write, read = "write denyoom fast", "readonly fast"
	list := []Command{
		{Name: "get", Arity: 2, Flags: read, Since: "1.0.0", Run: get},
		{Name: "mget", Arity: -2, Flags: read, Since: "1.0.0", First: 1, Last: -1, Step: 1, Run: mget},
		{Name: "strlen", Arity: 2, Flags: read, Since: "2.2.0", Run: strlen},
		{Name: "getrange", Arity: 4, Flags: "readonly", Since: "2.4.0", Run: getrange},
		{Name: "substr", Arity: 4, Flags: "readonly", Since: "1.0.0", Run: getrange},
		{Name: "getdel", Arity: 2, Flags: "write fast", Since: "6.2.0", Run: getdel},
		{Name: "getset", Arity: 3, Flags: write, Since: "1.0.0", Run: getset},
		{Name: "setnx", Arity: 3, Flags: write, Since: "1.0.0", Run: setnx},
		{Name: "mset", Arity: -3, Flags: "write denyoom", Since: "1.0.1", First: 1, Last: -1, Step: 2, Run: mset},
		{Name: "msetnx", Arity: -3, Flags: "write denyoom", Since: "1.0.1", First: 1, Last: -1, Step: 2, Run: msetnx},
		{Name: "append", Arity: 3, Flags: write, Since: "2.0.0", Run: appendTo},
		{Name: "setrange", Arity: 4, Flags: "write denyoom", Since: "2.2.0", Run: setrange},
		{Name: "incr", Arity: 2, Flags: write, Since: "1.0.0", Run: func(c *Call) error { return c.increment(1) }},
		{Name: "decr", Arity: 2, Flags: write, Since: "1.0.0", Run: func(c *Call) error { return c.increment(-1) }},
		{Name: "incrby", Arity: 3, Flags: write, Since: "1.0.0", Run: incrby},
		{Name: "decrby", Arity: 3, Flags: write, Since: "1.0.0", Run: decrby},
		{Name: "incrbyfloat", Arity: 3, Flags: write, Since: "2.6.0", Run: incrbyfloat},
	}
	list = append(list, stringOptionCommands()...)
	list = append(list, stringAtomicCommands()...)
	return list
}

// bulkOf copies an argument into a string of its own.
func bulkOf(arg []byte) String { return append(String{}, arg...) }

// text answers with the string of an entry, or null.
func (c *Call) text(e *Entry, s String) {
	if e.Value == nil {
		c.Reply.Null()
	} else {
		c.Reply.Bulk(string(s))
	}
}

func get(c *Call) error {
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	c.text(e, s)
	return nil
}

func mget(c *Call) error {
	c.Reply.Array(len(c.Args) - 1)
	for _, key := range c.Args[1:] {
		e, s, err := c.str(key)
		if err != nil {
			c.Reply.Null()
		} else {
			c.text(e, s)
		}
	}
	return nil
}

func strlen(c *Call) error {
	_, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Int(int64(len(s)))
	return nil
}

func getrange(c *Call) error {
	first, err := integer(c.Args[2])
	if err != nil {
		return err
	}
	last, err := integer(c.Args[3])
	if err != nil {
		return err
	}
	_, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	if first < 0 && last < 0 && first > last {
		c.Reply.Bulk("")
		return nil
	}
	i, j := clamp(first, max(last, -int64(len(s))), len(s))
	c.Reply.Bulk(string(s[i:j]))
	return nil
}

func getdel(c *Call) error {
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	c.text(e, s)
	c.miss(e, c.Args[1])
	if e.Value != nil {
		e.remove()
		c.notify(GenericEvent, "del", c.Args[1])
	}
	return nil
}

func getset(c *Call) error {
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	c.text(e, s)
	c.miss(e, c.Args[1])
	e.replace(bulkOf(c.Args[2]))
	c.notify(StringEvent, "set", c.Args[1])
	return nil
}

func setnx(c *Call) error {
	e := c.entry(c.Args[1])
	absent := e.Value == nil
	if absent {
		e.replace(bulkOf(c.Args[2]))
		c.notify(StringEvent, "set", c.Args[1])
	}
	c.intBool(absent)
	return nil
}

func mset(c *Call) error {
	if len(c.Args)%2 == 0 {
		return errArity("mset")
	}
	c.setPairs(c.Args[1:])
	c.ok()
	return nil
}

func msetnx(c *Call) error {
	if len(c.Args)%2 == 0 {
		return errArity("msetnx")
	}
	for i := 1; i < len(c.Args); i += 2 {
		if c.entry(c.Args[i]).Value != nil {
			c.Reply.Int(0)
			return nil
		}
	}
	c.setPairs(c.Args[1:])
	c.Reply.Int(1)
	return nil
}

// setPairs stores keys and values in turn.
func (c *Call) setPairs(pairs [][]byte) {
	for i := 0; i < len(pairs); i += 2 {
		c.entry(pairs[i]).replace(bulkOf(pairs[i+1]))
		c.notify(StringEvent, "set", pairs[i])
	}
}

func appendTo(c *Call) error {
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	length := int64(len(s)) + int64(len(c.Args[2]))
	if length > c.maxString() {
		return errLargeString
	}
	e.put(append(grown(s, 0), c.Args[2]...))
	c.notify(StringEvent, "append", c.Args[1])
	c.Reply.Int(length)
	return nil
}

func setrange(c *Call) error {
	offset, err := integer(c.Args[2])
	if err != nil {
		return err
	}
	if offset < 0 {
		return Error("ERR offset is out of range")
	}
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	if len(c.Args[3]) == 0 {
		c.Reply.Int(int64(len(s)))
		return nil
	}
	if offset > c.maxString()-int64(len(c.Args[3])) {
		return errLargeString
	}
	s = grown(s, offset+int64(len(c.Args[3])))
	copy(s[offset:], c.Args[3])
	e.put(s)
	c.notify(StringEvent, "setrange", c.Args[1])
	c.Reply.Int(int64(len(s)))
	return nil
}

func incrby(c *Call) error {
	by, err := integer(c.Args[2])
	if err != nil {
		return err
	}
	return c.increment(by)
}

func decrby(c *Call) error {
	by, err := integer(c.Args[2])
	if err != nil {
		return err
	}
	if by == math.MinInt64 {
		return Error("ERR decrement would overflow")
	}
	return c.increment(-by)
}

func (c *Call) increment(by int64) error {
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	n, ok := parseInt(s)
	if !ok && e.Value != nil {
		return errNotInteger
	}
	if addOverflows(n, by) {
		return ErrOverflow
	}
	e.put(String(formatInt(n + by)))
	c.notify(StringEvent, "incrby", c.Args[1])
	c.Reply.Int(n + by)
	return nil
}

func incrbyfloat(c *Call) error {
	e, s, err := c.str(c.Args[1])
	if err != nil {
		return err
	}
	value, by := longDouble{}, longDouble{}
	ok := true
	if e.Value != nil {
		value, ok = parseLongDouble(string(s))
	}
	if ok {
		by, ok = parseLongDouble(string(c.Args[2]))
	}
	if !ok {
		return errNotFloat
	}
	sum := by
	if e.Value != nil {
		sum, ok = value.add(by)
	}
	if !ok || sum.IsInf() {
		return errInfinite
	}
	text := sum.String()
	e.put(String(text))
	c.notify(StringEvent, "incrbyfloat", c.Args[1])
	c.Reply.Bulk(text)
	return nil
}
