package values

func hashCommands() []Command {
	list := []Command{
		{Name: "hset", Arity: -4, Flags: "write denyoom fast", Since: "2.0.0", Run: hset},
		{Name: "hmset", Arity: -4, Flags: "write denyoom fast", Since: "2.0.0", Run: hmset},
		{Name: "hsetnx", Arity: 4, Flags: "write denyoom fast", Since: "2.0.0", Run: hsetnx},
		{Name: "hget", Arity: 3, Flags: "readonly fast", Since: "2.0.0", Run: hget},
		{Name: "hmget", Arity: -3, Flags: "readonly fast", Since: "2.0.0", Run: hmget},
		{Name: "hdel", Arity: -3, Flags: "write fast", Since: "2.0.0", Run: hdel},
		{Name: "hlen", Arity: 2, Flags: "readonly fast", Since: "2.0.0", Run: hlen},
		{Name: "hstrlen", Arity: 3, Flags: "readonly fast", Since: "3.2.0", Run: hstrlen},
		{Name: "hexists", Arity: 3, Flags: "readonly fast", Since: "2.0.0", Run: hexists},
		{Name: "hkeys", Arity: 2, Flags: "readonly", Since: "2.0.0", Run: hkeys},
		{Name: "hvals", Arity: 2, Flags: "readonly", Since: "2.0.0", Run: hvals},
		{Name: "hgetall", Arity: 2, Flags: "readonly", Since: "2.0.0", Run: hgetall},
		{Name: "hincrby", Arity: 4, Flags: "write denyoom fast", Since: "2.0.0", Run: hincrby},
		{Name: "hincrbyfloat", Arity: 4, Flags: "write denyoom fast", Since: "2.6.0", Run: hincrbyfloat},
		{Name: "hrandfield", Arity: -2, Flags: "readonly", Since: "6.2.0", Run: hrandfield},
		{Name: "hscan", Arity: -3, Flags: "readonly", Since: "2.8.0", Run: hscan},
	}
	list = append(list, fieldExpiryCommands()...)
	list = append(list, fieldOptionCommands()...)
	return list
}

func hset(c *Call) error {
	added, err := c.setFields("hset")
	if err == nil {
		c.Reply.Int(added)
	}
	return err
}

func hmset(c *Call) error {
	_, err := c.setFields("hmset")
	if err == nil {
		c.ok()
	}
	return err
}

// setFields stores the pairs of HSET and returns how many fields are new.
func (c *Call) setFields(name string) (added int64, err error) {
	if len(c.Args)%2 == 1 {
		return 0, errArity(name)
	}
	e, h, err := c.hashToWrite(c.Args[1])
	if err != nil {
		return 0, err
	}
	for i := 2; i < len(c.Args); i += 2 {
		if h.set(string(c.Args[i]), string(c.Args[i+1])) {
			added++
		}
	}
	e.put(h)
	c.notify(HashEvent, "hset", c.Args[1])
	return added, nil
}

func hsetnx(c *Call) error {
	e, h, err := c.hashToWrite(c.Args[1])
	if err != nil {
		return err
	}
	absent := h.find(string(c.Args[2])) == nil
	if absent {
		h.set(string(c.Args[2]), string(c.Args[3]))
		e.put(h)
		c.notify(HashEvent, "hset", c.Args[1])
	}
	c.intBool(absent)
	return nil
}

func hget(c *Call) error {
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	c.field(h, c.Args[2])
	return nil
}

// field answers with the value of a field, or null.
func (c *Call) field(h *Hash, name []byte) {
	if f := h.find(string(name)); f != nil {
		c.Reply.Bulk(f.value)
	} else {
		c.Reply.Null()
	}
}

func hmget(c *Call) error {
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Array(len(c.Args) - 2)
	for _, name := range c.Args[2:] {
		c.field(h, name)
	}
	return nil
}

func hdel(c *Call) error {
	e, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	removed := int64(0)
	for _, name := range c.Args[2:] {
		if h != nil && h.fields.remove(string(name)) {
			removed++
		}
	}
	if removed > 0 {
		e.put(h)
		c.notifyRest(e, HashEvent, "hdel", c.Args[1])
	}
	c.Reply.Int(removed)
	return nil
}

func hlen(c *Call) error {
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Int(int64(h.Len()))
	return nil
}

func hstrlen(c *Call) error {
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	length := 0
	if f := h.find(string(c.Args[2])); f != nil {
		length = len(f.value)
	}
	c.Reply.Int(int64(length))
	return nil
}

func hexists(c *Call) error {
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	c.intBool(h.find(string(c.Args[2])) != nil)
	return nil
}

func hkeys(c *Call) error {
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Array(h.Len())
	if h != nil {
		for name := range h.fields.all() {
			c.Reply.Bulk(name)
		}
	}
	return nil
}

func hvals(c *Call) error {
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Array(h.Len())
	if h != nil {
		for _, f := range h.fields.all() {
			c.Reply.Bulk(f.value)
		}
	}
	return nil
}

func hgetall(c *Call) error {
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Map(h.Len())
	if h != nil {
		for name, f := range h.fields.all() {
			c.Reply.Bulk(name)
			c.Reply.Bulk(f.value)
		}
	}
	return nil
}

func hincrby(c *Call) error {
	by, err := integer(c.Args[3])
	if err != nil {
		return err
	}
	e, h, err := c.hashToWrite(c.Args[1])
	if err != nil {
		return err
	}
	n, err := h.Increment(string(c.Args[2]), by)
	if err != nil {
		return err
	}
	e.put(h)
	c.notify(HashEvent, "hincrby", c.Args[1])
	c.Reply.Int(n)
	return nil
}

func hincrbyfloat(c *Call) error {
	by, ok := parseLongDouble(string(c.Args[3]))
	if !ok {
		return errNotFloat
	}
	if by.IsInf() {
		return Error("ERR value is NaN or Infinity")
	}
	e, h, err := c.hashToWrite(c.Args[1])
	if err != nil {
		return err
	}
	f := h.find(string(c.Args[2]))
	sum := by
	if f != nil {
		value, ok := parseLongDouble(f.value)
		if !ok {
			return Error("ERR hash value is not a float")
		}
		if sum, ok = value.add(by); !ok {
			return errInfinite
		}
	}
	text := sum.String()
	h.update(f, string(c.Args[2]), text)
	e.put(h)
	c.notify(HashEvent, "hincrbyfloat", c.Args[1])
	c.Reply.Bulk(text)
	return nil
}

// update stores a value and keeps the expiry of the field; f is the field or nil.
func (h *Hash) update(f *hashField, name, value string) {
	if f != nil {
		f.value = value
	} else {
		h.set(name, value)
	}
}

func hrandfield(c *Call) (err error) {
	count, with := int64(1), false
	if len(c.Args) > 2 {
		if count, with, err = sampleCount(c.Args, "WITHVALUES"); err != nil {
			return err
		}
	}
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	if h == nil && len(c.Args) == 2 {
		c.Reply.Null()
		return nil
	}
	size := 0
	if h != nil {
		h.fields.compact()
		for name, f := range h.fields.all() {
			size += len(name) + len(f.value)
		}
		size /= h.Len()
	}
	chosen, err := c.sample(h.Len(), count, size)
	if err != nil {
		return err
	}
	if len(c.Args) == 2 {
		c.Reply.Bulk(h.fields.slots[chosen[0]].key)
		return nil
	}
	c.fields(h, chosen, with)
	return nil
}

// fields answers with the fields at positions, perhaps with their values.
func (c *Call) fields(h *Hash, positions []int, values bool) {
	if !values {
		c.Reply.Array(len(positions))
	} else {
		c.pairsHeader(len(positions))
	}
	for _, i := range positions {
		s := h.fields.slots[i]
		if values {
			c.pairHeader()
		}
		c.Reply.Bulk(s.key)
		if values {
			c.Reply.Bulk(s.value.value)
		}
	}
}

func hscan(c *Call) error {
	cursor, err := scanCursor(c.Args[2])
	if err != nil {
		return err
	}
	_, h, err := c.hash(c.Args[1])
	if err != nil {
		return err
	}
	if h == nil {
		c.emptyScan()
		return nil
	}
	s, err := scanOptions(c.Args[3:], true)
	if err != nil {
		return err
	}
	names, next := s.page(h.fields.keys(), cursor)
	c.Reply.Array(2)
	c.Reply.Bulk(formatUint(next))
	if s.noValues {
		bulks(c.Reply, names)
		return nil
	}
	c.Reply.Array(2 * len(names))
	for _, name := range names {
		c.Reply.Bulk(name)
		c.Reply.Bulk(h.find(name).value)
	}
	return nil
}
