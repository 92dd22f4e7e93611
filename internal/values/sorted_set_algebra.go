package values

import (
	"math"
	"slices"
)

func sortedSetAlgebraCommands() []Command {
	const write, read = "write denyoom movablekeys", "readonly movablekeys"
	return []Command{
		{Name: "zunionstore", Arity: -4, Flags: write, Since: "2.0.0", First: 1, Last: 1, Step: 1, NumKeys: 2, Run: combineStore(zunion)},
		{Name: "zinterstore", Arity: -4, Flags: write, Since: "2.0.0", First: 1, Last: 1, Step: 1, NumKeys: 2, Run: combineStore(zinter)},
		{Name: "zdiffstore", Arity: -4, Flags: write, Since: "6.2.0", First: 1, Last: 1, Step: 1, NumKeys: 2, Run: combineStore(zdiff)},
		{Name: "zunion", Arity: -3, Flags: read, Since: "6.2.0", NumKeys: 1, Run: combine(zunion)},
		{Name: "zinter", Arity: -3, Flags: read, Since: "6.2.0", NumKeys: 1, Run: combine(zinter)},
		{Name: "zdiff", Arity: -3, Flags: read, Since: "6.2.0", NumKeys: 1, Run: combine(zdiff)},
		{Name: "zintercard", Arity: -3, Flags: read, Since: "7.0.0", NumKeys: 1, Run: zintercard},
	}
}

// combination is one of the three operations on sorted sets.
type combination struct {
	weighs bool // takes WEIGHTS and AGGREGATE
	run    func(sources []source, aggregate func(a, b float64) float64) []Member
	event  string // where the result is stored
}

var (
	zunion = combination{true, uniteScored, "zunionstore"}
	zinter = combination{true, intersectScored, "zinterstore"}
	zdiff  = combination{false, subtractScored, "zdiffstore"}
)

// source is a set or a sorted set, whose members have a weight.
type source struct {
	plain  *Set // its members have the score 1
	scored *SortedSet
	weight float64
}

func (s source) len() int { return s.plain.Len() + s.scored.Len() }

func (s source) score(name string) (float64, bool) {
	if s.plain.has(name) {
		return 1, true
	}
	return s.scored.score(name)
}

// each calls visit with the members and their scores without weight.
func (s source) each(visit func(name string, score float64)) {
	for _, name := range s.plain.list() {
		visit(name, 1)
	}
	for _, m := range s.scored.list() {
		visit(m.Name, m.Score)
	}
}

func (s source) weighed(score float64) float64 {
	if score *= s.weight; math.IsNaN(score) {
		return 0
	}
	return score
}

// combineQuery is the command line of a combination.
type combineQuery struct {
	sources   []source
	aggregate func(a, b float64) float64
	scores    bool
	limit     int64
}

// combineForm says which options a command takes.
type combineForm struct {
	numKeys                int // the place of the argument
	weighs, scores, limits bool
}

func (c *Call) parseCombine(form combineForm) (q combineQuery, err error) {
	args := c.Args[form.numKeys:]
	n, err := integer(args[0])
	if err != nil {
		return q, err
	}
	if n < 1 {
		return q, Error("ERR at least 1 input key is needed for '" + lowerName(c.Args[0]) + "' command")
	}
	if n > int64(len(args)-1) {
		return q, ErrSyntax
	}
	q.aggregate = sumScores
	if q.sources, err = c.sources(args[1 : 1+n]); err != nil {
		return q, err
	}
	err = q.parseOptions(args[1+n:], form)
	return q, err
}

func (c *Call) sources(keys [][]byte) ([]source, error) {
	list := make([]source, len(keys))
	for i, key := range keys {
		s := source{weight: 1}
		e := c.entry(key)
		switch v := e.Value.(type) {
		case nil:
			if !c.ReadOnly {
				c.miss(e, key)
			}
		case *Set:
			s.plain = v
		case *SortedSet:
			s.scored = v
		default:
			return nil, ErrWrongType
		}
		list[i] = s
	}
	return list, nil
}

func (q *combineQuery) parseOptions(args [][]byte, form combineForm) (err error) {
	for len(args) > 0 {
		switch {
		case form.weighs && len(args) > len(q.sources) && is(args[0], "WEIGHTS"):
			for i := range q.sources {
				weight, ok := parseFloat(string(args[1+i]))
				if !ok {
					return Error("ERR weight value is not a float")
				}
				q.sources[i].weight = weight
			}
			args = args[1+len(q.sources):]
		case form.weighs && len(args) >= 2 && is(args[0], "AGGREGATE"):
			if q.aggregate = aggregateNamed(args[1]); q.aggregate == nil {
				return ErrSyntax
			}
			args = args[2:]
		case form.scores && is(args[0], "WITHSCORES"):
			q.scores = true
			args = args[1:]
		case form.limits && len(args) >= 2 && is(args[0], "LIMIT"):
			if q.limit, err = natural(args[1], errLimit); err != nil {
				return err
			}
			args = args[2:]
		default:
			return ErrSyntax
		}
	}
	return nil
}

func aggregateNamed(name []byte) func(a, b float64) float64 {
	switch {
	case is(name, "SUM"):
		return sumScores
	case is(name, "MIN"):
		return func(a, b float64) float64 {
			if b < a {
				return b
			}
			return a
		}
	case is(name, "MAX"):
		return func(a, b float64) float64 {
			if b > a {
				return b
			}
			return a
		}
	}
	return nil
}

// sumScores counts the sum of the two infinities as 0.
func sumScores(a, b float64) float64 {
	if sum := a + b; !math.IsNaN(sum) {
		return sum
	}
	return 0
}

func combine(operation combination) func(*Call) error {
	return func(c *Call) error {
		q, err := c.parseCombine(combineForm{numKeys: 1, weighs: operation.weighs, scores: true})
		if err != nil {
			return err
		}
		members := operation.run(q.sources, q.aggregate)
		slices.SortFunc(members, Member.compare)
		c.scored(members, q.scores)
		return nil
	}
}

func combineStore(operation combination) func(*Call) error {
	return func(c *Call) error {
		q, err := c.parseCombine(combineForm{numKeys: 2, weighs: operation.weighs})
		if err != nil {
			return err
		}
		result := sortedSetOf(operation.run(q.sources, q.aggregate))
		c.storeResult(c.Args[1], result, SortedSetEvent, operation.event)
		c.Reply.Int(int64(result.Len()))
		return nil
	}
}

func zintercard(c *Call) error {
	q, err := c.parseCombine(combineForm{numKeys: 1, limits: true})
	if err != nil {
		return err
	}
	n := int64(len(intersectScored(q.sources, q.aggregate)))
	if q.limit > 0 {
		n = min(n, q.limit)
	}
	c.Reply.Int(n)
	return nil
}

// bySize sorts the sources as Redis does, because sums of floats depend on the
// order.
func bySize(sources []source) {
	slices.SortStableFunc(sources, func(a, b source) int { return a.len() - b.len() })
}

func uniteScored(sources []source, aggregate func(a, b float64) float64) []Member {
	bySize(sources)
	var members []Member
	places := make(map[string]int)
	for _, s := range sources {
		s.each(func(name string, score float64) {
			score = s.weighed(score)
			if at, ok := places[name]; ok {
				members[at].Score = aggregate(members[at].Score, score)
				return
			}
			places[name] = len(members)
			members = append(members, Member{score, name})
		})
	}
	return members
}

func intersectScored(sources []source, aggregate func(a, b float64) float64) []Member {
	bySize(sources)
	var members []Member
	sources[0].each(func(name string, score float64) {
		total := sources[0].weighed(score)
		for _, s := range sources[1:] {
			score, ok := s.score(name)
			if !ok {
				return
			}
			total = aggregate(total, score*s.weight)
		}
		members = append(members, Member{total, name})
	})
	return members
}

func subtractScored(sources []source, _ func(a, b float64) float64) []Member {
	var members []Member
	sources[0].each(func(name string, score float64) {
		for _, s := range sources[1:] {
			if _, ok := s.score(name); ok {
				return
			}
		}
		members = append(members, Member{score, name})
	})
	return members
}
