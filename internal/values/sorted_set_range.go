package values

import (
	"slices"
	"sort"
	"strings"
)

func sortedSetRangeCommands() []Command {
	const read, write = "readonly", "write"
	return []Command{
		{Name: "zrange", Arity: -4, Flags: read, Since: "1.2.0", Run: ranges(rangeForm{free: true})},
		{Name: "zrangestore", Arity: -5, Flags: "write denyoom", Since: "6.2.0", First: 1, Last: 2, Step: 1, Run: zrangestore},
		{Name: "zrevrange", Arity: -4, Flags: read, Since: "1.2.0", Run: ranges(rangeForm{reverse: true})},
		{Name: "zrangebyscore", Arity: -4, Flags: read, Since: "1.0.5", Run: ranges(rangeForm{by: byScore})},
		{Name: "zrevrangebyscore", Arity: -4, Flags: read, Since: "2.2.0", Run: ranges(rangeForm{by: byScore, reverse: true})},
		{Name: "zrangebylex", Arity: -4, Flags: read, Since: "2.8.9", Run: ranges(rangeForm{by: byName})},
		{Name: "zrevrangebylex", Arity: -4, Flags: read, Since: "2.8.9", Run: ranges(rangeForm{by: byName, reverse: true})},
		{Name: "zcount", Arity: 4, Flags: "readonly fast", Since: "2.0.0", Run: countRange(byScore)},
		{Name: "zlexcount", Arity: 4, Flags: "readonly fast", Since: "2.8.9", Run: countRange(byName)},
		{Name: "zremrangebyrank", Arity: 4, Flags: write, Since: "2.0.0", Run: removeRange(byRank, "zremrangebyrank")},
		{Name: "zremrangebyscore", Arity: 4, Flags: write, Since: "1.2.0", Run: removeRange(byScore, "zremrangebyscore")},
		{Name: "zremrangebylex", Arity: 4, Flags: write, Since: "2.8.9", Run: removeRange(byName, "zremrangebylex")},
	}
}

// rangeBy is what the ends of a range are.
type rangeBy uint8

const (
	byRank rangeBy = iota
	byScore
	byName // BYLEX
)

// rangeForm is what the name of a command says of a range.
type rangeForm struct {
	by      rangeBy
	reverse bool
	free    bool // the arguments may say BYSCORE, BYLEX and REV
	store   bool
}

// interval is the ends of a range, one of three kinds.
type interval struct {
	by          rangeBy
	first, last int64   // byRank: negative ones count from the end
	low, high   float64 // byScore
	from, to    nameEnd // byName

	openLow, openHigh bool // without the end itself
}

// nameEnd is an end of a range of names.
type nameEnd struct {
	name     string
	infinity int // -1 and 1: before and after all names
}

func (e nameEnd) compare(name string) int {
	if e.infinity != 0 {
		return e.infinity
	}
	return strings.Compare(e.name, name)
}

func parseInterval(by rangeBy, low, high []byte) (r interval, err error) {
	r.by = by
	switch by {
	case byRank:
		if r.first, err = integer(low); err != nil {
			return r, err
		}
		r.last, err = integer(high)
		return r, err
	case byScore:
		var ok, okHigh bool
		r.low, r.openLow, ok = scoreEnd(string(low))
		r.high, r.openHigh, okHigh = scoreEnd(string(high))
		if !ok || !okHigh {
			return r, Error("ERR min or max is not a float")
		}
	case byName:
		var ok, okHigh bool
		r.from, r.openLow, ok = parseNameEnd(string(low))
		r.to, r.openHigh, okHigh = parseNameEnd(string(high))
		if !ok || !okHigh {
			return r, Error("ERR min or max not valid string range item")
		}
	}
	return r, nil
}

func scoreEnd(s string) (score float64, open, ok bool) {
	s, open = strings.CutPrefix(s, "(")
	score, ok = prefixFloat(s)
	return score, open, ok
}

func parseNameEnd(s string) (end nameEnd, open, ok bool) {
	switch {
	case s == "":
		return end, false, false
	case s[0] == '(' || s[0] == '[':
		return nameEnd{name: s[1:]}, s[0] == '(', true
	case len(s) > 1 && s[1] != 0:
		return end, false, false
	case s[0] == '-':
		return nameEnd{infinity: -1}, false, true
	case s[0] == '+':
		return nameEnd{infinity: 1}, false, true
	}
	return end, false, false
}

// bounds returns the positions of the members in the range: from i up to,
// without, j. Positions by rank count from the end if reverse is true.
func (z *SortedSet) bounds(r interval, reverse bool) (i, j int) {
	members := z.list()
	switch r.by {
	case byRank:
		i, j = clamp(r.first, r.last, len(members))
		if reverse {
			i, j = len(members)-j, len(members)-i
		}
	case byScore:
		i = sort.Search(len(members), func(k int) bool {
			return members[k].Score > r.low || members[k].Score == r.low && !r.openLow
		})
		j = sort.Search(len(members), func(k int) bool {
			return members[k].Score > r.high || members[k].Score == r.high && r.openHigh
		})
	case byName:
		// Where scores differ the names are in no order, and the result is any, as
		// in Redis.
		i = sort.Search(len(members), func(k int) bool { return r.above(members[k].Name) })
		j = sort.Search(len(members), func(k int) bool { return !r.below(members[k].Name) })
	}
	return i, max(i, j)
}

func (r interval) above(name string) bool {
	order := r.from.compare(name)
	return order < 0 || order == 0 && !r.openLow
}

func (r interval) below(name string) bool {
	order := r.to.compare(name)
	return order > 0 || order == 0 && !r.openHigh
}

// clamp turns the ends of a range, which are both in it and may count from the
// end, into positions from i up to, without, j.
func clamp(first, last int64, n int) (i, j int) {
	length := int64(n)
	if first < 0 {
		first = max(0, first+length)
	}
	if last < 0 {
		last += length
	}
	if first > last || first >= length {
		return 0, 0
	}
	return int(first), int(min(last, length-1)) + 1
}

// rangeQuery is a range with its options.
type rangeQuery struct {
	form          rangeForm
	interval      interval
	scores        bool
	offset, limit int64
}

// parseRange reads the ends, which are the arguments 0 and 1, and the options.
func parseRange(args [][]byte, form rangeForm) (q rangeQuery, err error) {
	q = rangeQuery{form: form, limit: -1}
	byGiven, reverseGiven := !form.free, !form.free
	for i := 2; i < len(args); i++ {
		switch arg := args[i]; {
		case !form.store && is(arg, "WITHSCORES"):
			q.scores = true
		case is(arg, "LIMIT") && i+2 < len(args):
			if q.offset, err = integer(args[i+1]); err != nil {
				return q, err
			}
			if q.limit, err = integer(args[i+2]); err != nil {
				return q, err
			}
			i += 2
		case !reverseGiven && is(arg, "REV"):
			q.form.reverse, reverseGiven = true, true
		case !byGiven && is(arg, "BYLEX"):
			q.form.by, byGiven = byName, true
		case !byGiven && is(arg, "BYSCORE"):
			q.form.by, byGiven = byScore, true
		default:
			return q, ErrSyntax
		}
	}
	switch {
	case q.limit != -1 && q.form.by == byRank:
		return q, Error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	case q.scores && q.form.by == byName:
		return q, Error("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
	}
	if q.form.by == byRank {
		q.offset = 0 // LIMIT n -1 is accepted, and means nothing
	}
	low, high := args[0], args[1]
	if q.form.reverse && q.form.by != byRank {
		low, high = high, low
	}
	q.interval, err = parseInterval(q.form.by, low, high)
	return q, err
}

// members returns the members of a query in its order, a copy.
func (q rangeQuery) members(z *SortedSet) []Member {
	i, j := z.bounds(q.interval, q.form.reverse)
	n := int64(j - i)
	if q.offset < 0 || q.offset > n {
		return nil
	}
	take := n - q.offset
	if q.limit >= 0 {
		take = min(take, q.limit)
	}
	if q.form.reverse {
		j -= int(q.offset)
		i = j - int(take)
	} else {
		i += int(q.offset)
		j = i + int(take)
	}
	members := slices.Clone(z.list()[i:j])
	if q.form.reverse {
		slices.Reverse(members)
	}
	return members
}

func ranges(form rangeForm) func(*Call) error {
	return func(c *Call) error {
		q, err := parseRange(c.Args[2:], form)
		if err != nil {
			return err
		}
		_, z, err := c.sortedSet(c.Args[1])
		if err != nil {
			return err
		}
		c.scored(q.members(z), q.scores)
		return nil
	}
}

func zrangestore(c *Call) error {
	q, err := parseRange(c.Args[3:], rangeForm{free: true, store: true})
	if err != nil {
		return err
	}
	source, z, err := c.sortedSet(c.Args[2])
	if err != nil {
		return err
	}
	c.miss(source, c.Args[2])
	result := sortedSetOf(q.members(z))
	c.storeResult(c.Args[1], result, SortedSetEvent, "zrangestore")
	c.Reply.Int(int64(result.Len()))
	return nil
}

func countRange(by rangeBy) func(*Call) error {
	return func(c *Call) error {
		r, err := parseInterval(by, c.Args[2], c.Args[3])
		if err != nil {
			return err
		}
		_, z, err := c.sortedSet(c.Args[1])
		if err != nil {
			return err
		}
		i, j := z.bounds(r, false)
		c.Reply.Int(int64(j - i))
		return nil
	}
}

func removeRange(by rangeBy, event string) func(*Call) error {
	return func(c *Call) error {
		r, err := parseInterval(by, c.Args[2], c.Args[3])
		if err != nil {
			return err
		}
		e, z, err := c.sortedSet(c.Args[1])
		if err != nil {
			return err
		}
		i, j := z.bounds(r, false)
		if i < j {
			z.removeRange(i, j)
			e.put(z)
			c.notifyRest(e, SortedSetEvent, event, c.Args[1])
		}
		c.Reply.Int(int64(j - i))
		return nil
	}
}
