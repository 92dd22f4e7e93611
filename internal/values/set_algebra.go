package values

import "slices"

func setAlgebraCommands() []Command {
	const read, write = "readonly", "write denyoom"
	return []Command{
		{Name: "sinter", Arity: -2, Flags: read, Since: "1.0.0", First: 1, Last: -1, Step: 1, Run: algebra(intersect)},
		{Name: "sunion", Arity: -2, Flags: read, Since: "1.0.0", First: 1, Last: -1, Step: 1, Run: algebra(unite)},
		{Name: "sdiff", Arity: -2, Flags: read, Since: "1.0.0", First: 1, Last: -1, Step: 1, Run: algebra(subtract)},
		{Name: "sinterstore", Arity: -3, Flags: write, Since: "1.0.0", First: 1, Last: -1, Step: 1, Run: algebraStore(intersect, "sinterstore")},
		{Name: "sunionstore", Arity: -3, Flags: write, Since: "1.0.0", First: 1, Last: -1, Step: 1, Run: algebraStore(unite, "sunionstore")},
		{Name: "sdiffstore", Arity: -3, Flags: write, Since: "1.0.0", First: 1, Last: -1, Step: 1, Run: algebraStore(subtract, "sdiffstore")},
		{Name: "sintercard", Arity: -3, Flags: "readonly movablekeys", Since: "7.0.0", NumKeys: 1, Run: sintercard},
	}
}

// setOperation makes one set of several, at least one; absent ones are nil.
type setOperation func(sets []*Set) *Set

func (c *Call) sets(keys [][]byte) ([]*Set, error) {
	list := make([]*Set, len(keys))
	for i, key := range keys {
		e, s, err := c.set(key)
		if err != nil {
			return nil, err
		}
		if !c.ReadOnly {
			c.miss(e, key)
		}
		list[i] = s
	}
	return list, nil
}

func algebra(operation setOperation) func(*Call) error {
	return func(c *Call) error {
		sets, err := c.sets(c.Args[1:])
		if err != nil {
			return err
		}
		c.members(operation(sets).list())
		return nil
	}
}

func algebraStore(operation setOperation, event string) func(*Call) error {
	return func(c *Call) error {
		sets, err := c.sets(c.Args[2:])
		if err != nil {
			return err
		}
		result := operation(sets)
		c.storeResult(c.Args[1], result, SetEvent, event)
		c.Reply.Int(int64(result.Len()))
		return nil
	}
}

func sintercard(c *Call) error {
	keys, err := numKeys(c.Args, 1)
	if err != nil {
		return err
	}
	limit := int64(0)
	for i := 2 + len(keys); i < len(c.Args); i += 2 {
		if !is(c.Args[i], "LIMIT") || i+1 == len(c.Args) {
			return ErrSyntax
		}
		if limit, err = natural(c.Args[i+1], errLimit); err != nil {
			return err
		}
	}
	sets, err := c.sets(keys)
	if err != nil {
		return err
	}
	n := int64(intersect(sets).Len())
	if limit > 0 {
		n = min(n, limit)
	}
	c.Reply.Int(n)
	return nil
}

func intersect(sets []*Set) *Set {
	result := &Set{}
	smallest := slices.MinFunc(sets, func(a, b *Set) int { return a.Len() - b.Len() })
	for _, member := range smallest.list() {
		if !slices.ContainsFunc(sets, func(s *Set) bool { return !s.has(member) }) {
			result.members.insert(member, struct{}{})
		}
	}
	return result
}

func unite(sets []*Set) *Set {
	result := &Set{}
	for _, s := range sets {
		for _, member := range s.list() {
			result.add(member)
		}
	}
	return result
}

func subtract(sets []*Set) *Set {
	result := &Set{}
	for _, member := range sets[0].list() {
		if !slices.ContainsFunc(sets[1:], func(s *Set) bool { return s.has(member) }) {
			result.members.insert(member, struct{}{})
		}
	}
	return result
}
