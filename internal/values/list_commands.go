package values

import (
	"slices"
)

func listCommands() []Command {
	const push, write, read = "write denyoom fast", "write", "readonly"
	return []Command{
		{Name: "lpush", Arity: -3, Flags: push, Since: "1.0.0", Run: pushing(true, false)},
		{Name: "rpush", Arity: -3, Flags: push, Since: "1.0.0", Run: pushing(false, false)},
		{Name: "lpushx", Arity: -3, Flags: push, Since: "2.2.0", Run: pushing(true, true)},
		{Name: "rpushx", Arity: -3, Flags: push, Since: "2.2.0", Run: pushing(false, true)},
		{Name: "lpop", Arity: -2, Flags: "write fast", Since: "1.0.0", Run: popping(true)},
		{Name: "rpop", Arity: -2, Flags: "write fast", Since: "1.0.0", Run: popping(false)},
		{Name: "lmpop", Arity: -4, Flags: "write movablekeys", Since: "7.0.0", NumKeys: 1, Run: lmpop},
		{Name: "lmove", Arity: 5, Flags: "write denyoom", Since: "6.2.0", First: 1, Last: 2, Step: 1, Run: lmove},
		{Name: "rpoplpush", Arity: 3, Flags: "write denyoom", Since: "1.2.0", First: 1, Last: 2, Step: 1, Run: rpoplpush},
		{Name: "llen", Arity: 2, Flags: "readonly fast", Since: "1.0.0", Run: llen},
		{Name: "lindex", Arity: 3, Flags: read, Since: "1.0.0", Run: lindex},
		{Name: "lrange", Arity: 4, Flags: read, Since: "1.0.0", Run: lrange},
		{Name: "lpos", Arity: -3, Flags: read, Since: "6.0.6", Run: lpos},
		{Name: "lset", Arity: 4, Flags: "write denyoom", Since: "1.0.0", Run: lset},
		{Name: "linsert", Arity: 5, Flags: "write denyoom", Since: "2.2.0", Run: linsert},
		{Name: "lrem", Arity: 4, Flags: write, Since: "1.0.0", Run: lrem},
		{Name: "ltrim", Arity: 4, Flags: write, Since: "1.0.0", Run: ltrim},
	}
}

func pushing(left, onlyOld bool) func(*Call) error {
	return func(c *Call) error {
		e, l, err := c.list(c.Args[1])
		if err != nil {
			return err
		}
		if l == nil {
			if onlyOld {
				c.Reply.Int(0)
				return nil
			}
			l = &List{}
		}
		for _, element := range c.Args[2:] {
			l.push(string(element), left)
		}
		e.put(l)
		c.notify(ListEvent, pushEvent(left), c.Args[1])
		c.Reply.Int(int64(l.Len()))
		return nil
	}
}

// pushEvent and popEvent name what was done at an end of a list.
func pushEvent(left bool) string {
	if left {
		return "lpush"
	}
	return "rpush"
}

func popEvent(left bool) string {
	if left {
		return "lpop"
	}
	return "rpop"
}

func popping(left bool) func(*Call) error {
	return func(c *Call) error {
		count, counted := int64(1), len(c.Args) == 3
		if len(c.Args) > 3 {
			return errArity(lowerName(c.Args[0]))
		}
		if counted {
			var err error
			if count, err = natural(c.Args[2], ""); err != nil {
				return err
			}
		}
		e, l, err := c.list(c.Args[1])
		switch {
		case err != nil:
			return err
		case l == nil && counted:
			c.Reply.NullArray()
		case l == nil:
			c.Reply.Null()
		case counted:
			bulks(c.Reply, c.popElements(e, l, count, left, c.Args[1]))
		default:
			c.Reply.Bulk(c.popElements(e, l, 1, left, c.Args[1])[0])
		}
		return nil
	}
}

// popElements is popMany for a command.
func (c *Call) popElements(e *Entry, l *List, count int64, left bool, key []byte) []string {
	popped := l.popMany(e, count, left)
	if len(popped) > 0 {
		c.notifyRest(e, ListEvent, popEvent(left), key)
	}
	return popped
}

// popMany takes at most count elements from one end.
func (l *List) popMany(e *Entry, count int64, left bool) []string {
	popped := make([]string, min(count, int64(l.Len())))
	for i := range popped {
		popped[i] = l.pop(left)
	}
	if len(popped) > 0 {
		e.put(l)
	}
	return popped
}

func lmpop(c *Call) error {
	keys, right, count, err := popMany(c.Args, "LEFT", "RIGHT")
	if err != nil {
		return err
	}
	for _, key := range keys {
		e, l, err := c.list(key)
		if err != nil {
			return err
		}
		if l == nil {
			continue
		}
		c.Reply.Array(2)
		c.Reply.Bulk(string(key))
		bulks(c.Reply, c.popElements(e, l, count, !right, key))
		return nil
	}
	return c.nothing()
}

func lmove(c *Call) error {
	left, err := listEnds(c.Args)
	if err != nil {
		return err
	}
	return c.moveElement(left[0], left[1])
}

// listEnds reads the ends of LMOVE and BLMOVE: whether they are the left ones.
func listEnds(args [][]byte) (left [2]bool, err error) {
	for i, arg := range args[3:5] {
		if left[i] = is(arg, "LEFT"); !left[i] && !is(arg, "RIGHT") {
			return left, ErrSyntax
		}
	}
	return left, nil
}

func rpoplpush(c *Call) error { return c.moveElement(false, true) }

func (c *Call) moveElement(fromLeft, toLeft bool) error {
	from, source, err := c.list(c.Args[1])
	if err != nil {
		return err
	}
	if source == nil {
		c.Nothing = true
		c.Reply.Null()
		return nil
	}
	to, target, err := c.list(c.Args[2])
	if err != nil {
		return err
	}
	element := source.pop(fromLeft)
	if from != to {
		from.put(source)
	}
	if target == nil {
		target = &List{}
	}
	target.push(element, toLeft)
	to.put(target)
	c.notify(ListEvent, pushEvent(toLeft), c.Args[2])
	c.notifyRest(from, ListEvent, popEvent(fromLeft), c.Args[1])
	c.Reply.Bulk(element)
	return nil
}

func llen(c *Call) error {
	_, l, err := c.list(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Int(int64(l.Len()))
	return nil
}

// at returns the position that an index means; a negative one counts from the end.
func (l *List) at(index int64) (int, bool) {
	if index < 0 {
		index += int64(l.Len())
	}
	return int(index), 0 <= index && index < int64(l.Len())
}

func lindex(c *Call) error {
	_, l, err := c.list(c.Args[1])
	if err != nil {
		return err
	}
	if l == nil {
		c.Reply.Null()
		return nil
	}
	index, err := integer(c.Args[2])
	if err != nil {
		return err
	}
	if at, ok := l.at(index); ok {
		c.Reply.Bulk(l.elements()[at])
	} else {
		c.Reply.Null()
	}
	return nil
}

// listRange reads the ends of LRANGE and LTRIM, and then the list.
func (c *Call) listRange() (e *Entry, l *List, i, j int, err error) {
	first, err := integer(c.Args[2])
	if err != nil {
		return nil, nil, 0, 0, err
	}
	last, err := integer(c.Args[3])
	if err != nil {
		return nil, nil, 0, 0, err
	}
	e, l, err = c.list(c.Args[1])
	i, j = clamp(first, last, l.Len())
	return e, l, i, j, err
}

func lrange(c *Call) error {
	_, l, i, j, err := c.listRange()
	if err != nil {
		return err
	}
	bulks(c.Reply, l.elements()[i:j])
	return nil
}

// ltrim stores the list even if nothing is trimmed: as in Redis, whoever watches the key or keeps a copy is told.
func ltrim(c *Call) error {
	e, l, i, j, err := c.listRange()
	if err != nil {
		return err
	}
	if l != nil {
		if j-i < l.Len() {
			l.replace(slices.Clone(l.elements()[i:j]))
		}
		e.put(l)
		c.notifyRest(e, ListEvent, "ltrim", c.Args[1])
	}
	c.ok()
	return nil
}

func lset(c *Call) error {
	e, l, err := c.list(c.Args[1])
	if err != nil {
		return err
	}
	if l == nil {
		return errNoKey
	}
	index, err := integer(c.Args[2])
	if err != nil {
		return err
	}
	at, ok := l.at(index)
	if !ok {
		return errIndex
	}
	l.elements()[at] = string(c.Args[3])
	e.put(l)
	c.notify(ListEvent, "lset", c.Args[1])
	c.ok()
	return nil
}

func linsert(c *Call) error {
	after := is(c.Args[2], "AFTER")
	if !after && !is(c.Args[2], "BEFORE") {
		return ErrSyntax
	}
	e, l, err := c.list(c.Args[1])
	if err != nil {
		return err
	}
	if l == nil {
		c.Reply.Int(0)
		return nil
	}
	at := slices.Index(l.elements(), string(c.Args[3]))
	if at < 0 {
		c.Reply.Int(-1)
		return nil
	}
	if after {
		at++
	}
	l.replace(slices.Insert(l.elements(), at, string(c.Args[4])))
	e.put(l)
	c.notify(ListEvent, "linsert", c.Args[1])
	c.Reply.Int(int64(l.Len()))
	return nil
}

func lrem(c *Call) error {
	count, err := integer(c.Args[2])
	if err != nil {
		return err
	}
	e, l, err := c.list(c.Args[1])
	if err != nil {
		return err
	}
	element, before := string(c.Args[3]), l.Len()
	if l != nil {
		l.removeEqual(element, count)
	}
	removed := before - l.Len()
	if removed > 0 {
		e.put(l)
		c.notifyRest(e, ListEvent, "lrem", c.Args[1])
	}
	c.Reply.Int(int64(removed))
	return nil
}

// removeEqual removes count elements from the left, -count from the right, or
// all for 0.
func (l *List) removeEqual(element string, count int64) {
	elements := l.elements()
	if count < 0 {
		slices.Reverse(elements)
		defer func() { slices.Reverse(l.elements()) }()
	}
	left := max(count, -count)
	l.replace(slices.DeleteFunc(elements, func(s string) bool {
		if s != element || count != 0 && left == 0 {
			return false
		}
		left--
		return true
	}))
}
