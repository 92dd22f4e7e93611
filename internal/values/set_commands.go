package values

func setCommands() []Command {
	list := []Command{
		{Name: "sadd", Arity: -3, Flags: "write denyoom fast", Since: "1.0.0", Run: sadd},
		{Name: "srem", Arity: -3, Flags: "write fast", Since: "1.0.0", Run: srem},
		{Name: "smove", Arity: 4, Flags: "write fast", Since: "1.0.0", First: 1, Last: 2, Step: 1, Run: smove},
		{Name: "sismember", Arity: 3, Flags: "readonly fast", Since: "1.0.0", Run: sismember},
		{Name: "smismember", Arity: -3, Flags: "readonly fast", Since: "6.2.0", Run: smismember},
		{Name: "scard", Arity: 2, Flags: "readonly fast", Since: "1.0.0", Run: scard},
		{Name: "smembers", Arity: 2, Flags: "readonly", Since: "1.0.0", Run: smembers},
		{Name: "spop", Arity: -2, Flags: "write fast", Since: "1.0.0", Run: spop},
		{Name: "srandmember", Arity: -2, Flags: "readonly", Since: "1.0.0", Run: srandmember},
		{Name: "sscan", Arity: -3, Flags: "readonly", Since: "2.8.0", Run: sscan},
	}
	list = append(list, setAlgebraCommands()...)
	return list
}

func sadd(c *Call) error {
	e, s, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	if s == nil {
		s = &Set{}
	}
	added := int64(0)
	for _, member := range c.Args[2:] {
		if s.add(string(member)) {
			added++
		}
	}
	if added > 0 {
		e.put(s)
		c.notify(SetEvent, "sadd", c.Args[1])
	}
	c.Reply.Int(added)
	return nil
}

func srem(c *Call) error {
	e, s, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	removed := int64(0)
	for _, member := range c.Args[2:] {
		if s != nil && s.members.remove(string(member)) {
			removed++
		}
	}
	if removed > 0 {
		e.put(s)
		c.notifyRest(e, SetEvent, "srem", c.Args[1])
	}
	c.Reply.Int(removed)
	return nil
}

func smove(c *Call) error {
	from, source, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	if source == nil {
		c.Reply.Int(0)
		return nil
	}
	to, target, err := c.set(c.Args[2])
	if err != nil {
		return err
	}
	member := string(c.Args[3])
	if from == to || !source.has(member) {
		c.intBool(source.has(member))
		return nil
	}
	source.members.remove(member)
	from.put(source)
	c.notifyRest(from, SetEvent, "srem", c.Args[1])
	if target == nil {
		target = &Set{}
	}
	if target.add(member) {
		to.put(target)
		c.notify(SetEvent, "sadd", c.Args[2])
	}
	c.Reply.Int(1)
	return nil
}

func sismember(c *Call) error {
	_, s, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	c.intBool(s.has(string(c.Args[2])))
	return nil
}

func smismember(c *Call) error {
	_, s, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		c.intBool(s.has(string(member)))
	}
	return nil
}

func scard(c *Call) error {
	_, s, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Int(int64(s.Len()))
	return nil
}

func smembers(c *Call) error {
	_, s, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	c.members(s.list())
	return nil
}

// members answers with a set.
func (c *Call) members(list []string) {
	c.Reply.Set(len(list))
	for _, member := range list {
		c.Reply.Bulk(member)
	}
}

func spop(c *Call) (err error) {
	count := int64(1)
	switch {
	case len(c.Args) > 3:
		return ErrSyntax
	case len(c.Args) == 3:
		if count, err = natural(c.Args[2], ""); err != nil {
			return err
		}
	}
	e, s, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	if s == nil && len(c.Args) == 2 {
		c.Reply.Null()
		return nil
	}
	chosen, err := c.choose(s, count)
	if err != nil {
		return err
	}
	for _, member := range chosen {
		s.members.remove(member)
	}
	if len(chosen) > 0 {
		e.put(s)
		c.notifyRest(e, SetEvent, "spop", c.Args[1])
	}
	if len(c.Args) == 2 {
		c.Reply.Bulk(chosen[0])
	} else {
		c.members(chosen)
	}
	return nil
}

// choose returns members chosen at random, as sample does.
func (c *Call) choose(s *Set, count int64) ([]string, error) {
	if s == nil {
		return nil, nil
	}
	s.members.compact()
	size := 0
	for member := range s.members.all() {
		size += len(member)
	}
	positions, err := c.sample(s.Len(), count, size/s.Len())
	chosen := make([]string, len(positions))
	for i, at := range positions {
		chosen[i] = s.members.slots[at].key
	}
	return chosen, err
}

func srandmember(c *Call) (err error) {
	count := int64(1)
	switch {
	case len(c.Args) > 3:
		return ErrSyntax
	case len(c.Args) == 3:
		if count, err = symmetric(c.Args[2]); err != nil {
			return err
		}
	}
	_, s, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	if s == nil && len(c.Args) == 2 {
		c.Reply.Null()
		return nil
	}
	chosen, err := c.choose(s, count)
	if err != nil {
		return err
	}
	if len(c.Args) == 2 {
		c.Reply.Bulk(chosen[0])
	} else {
		bulks(c.Reply, chosen)
	}
	return nil
}

func sscan(c *Call) error {
	cursor, err := scanCursor(c.Args[2])
	if err != nil {
		return err
	}
	_, s, err := c.set(c.Args[1])
	if err != nil {
		return err
	}
	if s == nil {
		c.emptyScan()
		return nil
	}
	options, err := scanOptions(c.Args[3:], false)
	if err != nil {
		return err
	}
	names, next := options.page(s.list(), cursor)
	c.Reply.Array(2)
	c.Reply.Bulk(formatUint(next))
	bulks(c.Reply, names)
	return nil
}
