package values

import (
	"math"
	"slices"
)

func sortedSetPopCommands() []Command {
	return []Command{
		{Name: "zpopmin", Arity: -2, Flags: "write fast", Since: "5.0.0", Run: zpopmin},
		{Name: "zpopmax", Arity: -2, Flags: "write fast", Since: "5.0.0", Run: zpopmax},
		{Name: "zmpop", Arity: -4, Flags: "write movablekeys", Since: "7.0.0", NumKeys: 1, Run: zmpop},
	}
}

func zpopmin(c *Call) error { return c.zpop(false) }
func zpopmax(c *Call) error { return c.zpop(true) }

func (c *Call) zpop(highest bool) (err error) {
	count, counted := int64(1), len(c.Args) == 3
	if len(c.Args) > 3 {
		return ErrSyntax
	}
	if counted {
		if count, err = natural(c.Args[2], ""); err != nil {
			return err
		}
	}
	e, z, err := c.sortedSet(c.Args[1])
	if err != nil {
		return err
	}
	popped := c.popMembers(e, z, count, highest, c.Args[1])
	if counted {
		c.scored(popped, true)
		return nil
	}
	c.Reply.Array(2 * len(popped)) // one member is a flat pair in both versions
	for _, m := range popped {
		c.Reply.Bulk(m.Name)
		c.Reply.Double(m.Score)
	}
	return nil
}

// popMembers is pop for a command.
func (c *Call) popMembers(e *Entry, z *SortedSet, count int64, highest bool, key []byte) []Member {
	popped := z.pop(e, count, highest)
	if len(popped) > 0 {
		event := "zpopmin"
		if highest {
			event = "zpopmax"
		}
		c.notifyRest(e, SortedSetEvent, event, key)
	}
	return popped
}

// pop takes at most count members from one end, in the order of the reply.
func (z *SortedSet) pop(e *Entry, count int64, highest bool) []Member {
	n := int(min(count, int64(z.Len())))
	if n == 0 {
		return nil
	}
	i := 0
	if highest {
		i = z.Len() - n
	}
	popped := slices.Clone(z.members[i : i+n])
	if highest {
		slices.Reverse(popped)
	}
	z.removeRange(i, i+n)
	e.put(z)
	return popped
}

// popMany reads the arguments of ZMPOP and LMPOP: numkeys, the keys, which end,
// and perhaps a count. second reports whether the end is the one of the second
// word.
func popMany(args [][]byte, one, two string) (keys [][]byte, second bool, count int64, err error) {
	n, err := integerIn(args[1], 1, math.MaxInt64, errNumKeys)
	if err != nil {
		return nil, false, 0, err
	}
	if n > int64(len(args)-3) {
		return nil, false, 0, ErrSyntax
	}
	keys, rest := args[2:2+n], args[2+n:]
	if second = is(rest[0], two); !second && !is(rest[0], one) {
		return nil, false, 0, ErrSyntax
	}
	count = -1
	for i := 1; i < len(rest); i += 2 {
		if count != -1 || !is(rest[i], "COUNT") || i+1 == len(rest) {
			return nil, false, 0, ErrSyntax
		}
		if count, err = integerIn(rest[i+1], 1, math.MaxInt64, errCountNotMore); err != nil {
			return nil, false, 0, err
		}
	}
	return keys, second, max(count, 1), nil
}

func zmpop(c *Call) error {
	keys, highest, count, err := popMany(c.Args, "MIN", "MAX")
	if err != nil {
		return err
	}
	for _, key := range keys {
		e, z, err := c.sortedSet(key)
		if err != nil {
			return err
		}
		if z == nil {
			continue
		}
		popped := c.popMembers(e, z, count, highest, key)
		c.Reply.Array(2)
		c.Reply.Bulk(string(key))
		c.Reply.Array(len(popped))
		for _, m := range popped {
			c.Reply.Array(2)
			c.Reply.Bulk(m.Name)
			c.Reply.Double(m.Score)
		}
		return nil
	}
	return c.nothing()
}
