package values

import (
	"math"
)

func sortedSetCommands() []Command {
	const write, read = "write denyoom fast", "readonly fast"
	list := []Command{
		{Name: "zadd", Arity: -4, Flags: write, Since: "1.2.0", Run: zadd},
		{Name: "zincrby", Arity: 4, Flags: write, Since: "1.2.0", Run: zincrby},
		{Name: "zrem", Arity: -3, Flags: "write fast", Since: "1.2.0", Run: zrem},
		{Name: "zcard", Arity: 2, Flags: read, Since: "1.2.0", Run: zcard},
		{Name: "zscore", Arity: 3, Flags: read, Since: "1.2.0", Run: zscore},
		{Name: "zmscore", Arity: -3, Flags: read, Since: "6.2.0", Run: zmscore},
		{Name: "zrank", Arity: 3, Flags: read, Since: "2.0.0", Run: zrank},
		{Name: "zrevrank", Arity: 3, Flags: read, Since: "2.0.0", Run: zrevrank},
		{Name: "zrandmember", Arity: -2, Flags: "readonly", Since: "6.2.0", Run: zrandmember},
		{Name: "zscan", Arity: -3, Flags: "readonly", Since: "2.8.0", Run: zscan},
	}
	for _, family := range [][]Command{sortedSetRangeCommands(), sortedSetPopCommands(), sortedSetAlgebraCommands()} {
		list = append(list, family...)
	}
	return list
}

// zaddOptions are the words of ZADD before the scores.
type zaddOptions struct {
	onlyNew, onlyOld bool // NX, XX
	greater, less    bool // GT, LT
	changed          bool // CH: count changed members too
	increment        bool // INCR
}

// parse returns the number of options.
func (o *zaddOptions) parse(args [][]byte) int {
	for i, arg := range args {
		switch {
		case is(arg, "NX"):
			o.onlyNew = true
		case is(arg, "XX"):
			o.onlyOld = true
		case is(arg, "CH"):
			o.changed = true
		case is(arg, "INCR"):
			o.increment = true
		case is(arg, "GT"):
			o.greater = true
		case is(arg, "LT"):
			o.less = true
		default:
			return i
		}
	}
	return len(args)
}

func (o *zaddOptions) check(pairs int) error {
	switch {
	case o.onlyNew && o.onlyOld:
		return Error("ERR XX and NX options at the same time are not compatible")
	case o.greater && o.onlyNew, o.less && o.onlyNew, o.greater && o.less:
		return Error("ERR GT, LT, and/or NX options at the same time are not compatible")
	case o.increment && pairs > 1:
		return Error("ERR INCR option supports a single increment-element pair")
	}
	return nil
}

func zadd(c *Call) error    { return c.zadd(zaddOptions{}) }
func zincrby(c *Call) error { return c.zadd(zaddOptions{increment: true}) }

func (c *Call) zadd(o zaddOptions) error {
	args := c.Args[2:]
	args = args[o.parse(args):]
	if len(args) == 0 || len(args)%2 == 1 {
		return ErrSyntax
	}
	if err := o.check(len(args) / 2); err != nil {
		return err
	}
	scores := make([]float64, len(args)/2)
	for i := range scores {
		var err error
		if scores[i], err = float(args[2*i]); err != nil {
			return err
		}
	}
	e, z, err := c.sortedSet(c.Args[1])
	if err != nil {
		return err
	}
	if z == nil {
		z = &SortedSet{}
	}
	return c.addMembers(e, z, o, scores, args)
}

// addMembers adds or changes members; args holds scores and names in turn.
func (c *Call) addMembers(e *Entry, z *SortedSet, o zaddOptions, scores []float64, args [][]byte) error {
	var added, updated int64
	met, last := false, 0.0
	for i, score := range scores {
		name := string(args[2*i+1])
		before, exists := z.score(name)
		if exists && o.onlyNew || !exists && o.onlyOld {
			continue
		}
		if exists && o.increment {
			if score += before; math.IsNaN(score) {
				return Error("ERR resulting score is not a number (NaN)")
			}
		}
		if exists && (o.less && score >= before || o.greater && score <= before) {
			continue
		}
		met, last = true, score
		switch {
		case !exists:
			added++
			z.set(name, score)
		case score != before:
			updated++
			z.set(name, score)
		}
	}
	if added+updated > 0 {
		e.put(z)
		event := "zadd"
		if o.increment {
			event = "zincr"
		}
		c.notify(SortedSetEvent, event, c.Args[1])
	}
	switch {
	case o.increment && met:
		c.Reply.Double(last)
	case o.increment:
		c.Reply.Null()
	case o.changed:
		c.Reply.Int(added + updated)
	default:
		c.Reply.Int(added)
	}
	return nil
}

func zrem(c *Call) error {
	e, z, err := c.sortedSet(c.Args[1])
	if err != nil {
		return err
	}
	removed := int64(0)
	for _, name := range c.Args[2:] {
		if z != nil && z.remove(string(name)) {
			removed++
		}
	}
	if removed > 0 {
		e.put(z)
		c.notifyRest(e, SortedSetEvent, "zrem", c.Args[1])
	}
	c.Reply.Int(removed)
	return nil
}

func zcard(c *Call) error {
	_, z, err := c.sortedSet(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Int(int64(z.Len()))
	return nil
}

func zscore(c *Call) error {
	_, z, err := c.sortedSet(c.Args[1])
	if err != nil {
		return err
	}
	c.score(z, c.Args[2])
	return nil
}

// score answers with the score of a member, or null.
func (c *Call) score(z *SortedSet, name []byte) {
	if score, ok := z.score(string(name)); ok {
		c.Reply.Double(score)
	} else {
		c.Reply.Null()
	}
}

func zmscore(c *Call) error {
	_, z, err := c.sortedSet(c.Args[1])
	if err != nil {
		return err
	}
	c.Reply.Array(len(c.Args) - 2)
	for _, name := range c.Args[2:] {
		c.score(z, name)
	}
	return nil
}

func zrank(c *Call) error    { return c.rank(false) }
func zrevrank(c *Call) error { return c.rank(true) }

func (c *Call) rank(reverse bool) error {
	_, z, err := c.sortedSet(c.Args[1])
	if err != nil {
		return err
	}
	at, ok := z.rank(string(c.Args[2]))
	if !ok {
		c.Reply.Null()
		return nil
	}
	if reverse {
		at = z.Len() - 1 - at
	}
	c.Reply.Int(int64(at))
	return nil
}

func zrandmember(c *Call) (err error) {
	count, with := int64(1), false
	if len(c.Args) > 2 {
		if count, with, err = sampleCount(c.Args, "WITHSCORES"); err != nil {
			return err
		}
	}
	_, z, err := c.sortedSet(c.Args[1])
	if err != nil {
		return err
	}
	if z == nil && len(c.Args) == 2 {
		c.Reply.Null()
		return nil
	}
	size := 0
	for _, m := range z.list() {
		size += len(m.Name) + 8
	}
	chosen, err := c.sample(z.Len(), count, size/max(1, z.Len()))
	if err != nil {
		return err
	}
	if len(c.Args) == 2 {
		c.Reply.Bulk(z.members[chosen[0]].Name)
		return nil
	}
	members := make([]Member, len(chosen))
	for i, at := range chosen {
		members[i] = z.members[at]
	}
	c.scored(members, with)
	return nil
}

// scored answers with members, perhaps with their scores.
func (c *Call) scored(members []Member, scores bool) {
	if scores {
		c.pairsHeader(len(members))
	} else {
		c.Reply.Array(len(members))
	}
	for _, m := range members {
		if scores {
			c.pairHeader()
		}
		c.Reply.Bulk(m.Name)
		if scores {
			c.Reply.Double(m.Score)
		}
	}
}

func zscan(c *Call) error {
	cursor, err := scanCursor(c.Args[2])
	if err != nil {
		return err
	}
	_, z, err := c.sortedSet(c.Args[1])
	if err != nil {
		return err
	}
	if z == nil {
		c.emptyScan()
		return nil
	}
	options, err := scanOptions(c.Args[3:], false)
	if err != nil {
		return err
	}
	names := make([]string, z.Len())
	for i, m := range z.members {
		names[i] = m.Name
	}
	names, next := options.page(names, cursor)
	c.Reply.Array(2)
	c.Reply.Bulk(formatUint(next))
	c.Reply.Array(2 * len(names))
	for _, name := range names {
		score, _ := z.score(name)
		c.Reply.Bulk(name)
		c.Reply.Bulk(storedScore(score))
	}
	return nil
}
