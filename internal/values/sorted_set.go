package values

import (
	"cmp"
	"slices"
	"strings"
)

// SortedSet holds members by score; members of one score in the order of their
// bytes.
type SortedSet struct {
	members  []Member
	scores   map[string]float64 // nil: not made yet
	searches int                // without scores
}

// Member is a member of a sorted set.
type Member struct {
	Score float64 // not NaN
	Name  string
}

func (m Member) compare(o Member) int {
	if order := cmp.Compare(m.Score, o.Score); order != 0 {
		return order
	}
	return strings.Compare(m.Name, o.Name)
}

// Kind returns [KindSortedSet].
func (*SortedSet) Kind() Kind { return KindSortedSet }

// Len returns the number of members. A nil sorted set has none.
func (z *SortedSet) Len() int {
	if z == nil {
		return 0
	}
	return len(z.members)
}

// list returns the members in order, for reading.
func (z *SortedSet) list() []Member {
	if z == nil {
		return nil
	}
	return z.members
}

// score returns the score of a member, and whether there is one.
func (z *SortedSet) score(name string) (float64, bool) {
	if z == nil {
		return 0, false
	}
	if z.scores == nil && len(z.members) > unindexed {
		if z.searches++; z.searches > unindexedSearches {
			z.makeScores()
		}
	}
	if z.scores != nil {
		score, ok := z.scores[name]
		return score, ok
	}
	for _, m := range z.members {
		if m.Name == name {
			return m.Score, true
		}
	}
	return 0, false
}

func (z *SortedSet) makeScores() {
	z.scores = make(map[string]float64, len(z.members))
	for _, m := range z.members {
		z.scores[m.Name] = m.Score
	}
}

// rank returns the position of a member.
func (z *SortedSet) rank(name string) (at int, ok bool) {
	score, ok := z.score(name)
	if !ok {
		return 0, false
	}
	return slices.BinarySearchFunc(z.members, Member{score, name}, Member.compare)
}

// set stores the score of a member, whether or not it is there. Minus zero is
// stored as zero, as Redis does in small sorted sets.
func (z *SortedSet) set(name string, score float64) {
	z.remove(name)
	score += 0
	at, _ := slices.BinarySearchFunc(z.members, Member{score, name}, Member.compare)
	z.members = slices.Insert(z.members, at, Member{score, name})
	if z.scores != nil {
		z.scores[name] = score
	}
}

// remove reports whether the member was there.
func (z *SortedSet) remove(name string) bool {
	at, ok := z.rank(name)
	if ok {
		z.removeRange(at, at+1)
	}
	return ok
}

// removeRange removes the members from position i up to, without, j.
func (z *SortedSet) removeRange(i, j int) {
	if z.scores != nil {
		for _, m := range z.members[i:j] {
			delete(z.scores, m.Name)
		}
	}
	z.members = slices.Delete(z.members, i, j)
}

// sortedSetOf makes a sorted set of members that are different, in any order,
// and takes them over.
func sortedSetOf(members []Member) *SortedSet {
	for i := range members {
		members[i].Score += 0 // minus zero becomes zero
	}
	slices.SortFunc(members, Member.compare)
	return &SortedSet{members: members}
}

// sortedSet returns the entry and the sorted set of a key, nil if there is none.
func (c *Call) sortedSet(key []byte) (*Entry, *SortedSet, error) {
	return lookup[*SortedSet](c, key)
}

// Score returns the score of a member. A nil sorted set has none.
func (z *SortedSet) Score(name string) (float64, bool) { return z.score(name) }

// Set stores the score of a member, which may be new. The score must not be NaN.
func (z *SortedSet) Set(name string, score float64) { z.set(name, score) }

// Remove reports whether the member was there.
func (z *SortedSet) Remove(name string) bool { return z.remove(name) }

// Rank returns the position of a member, 0 for the lowest. A nil sorted set has none.
func (z *SortedSet) Rank(name string) (at int, ok bool) { return z.rank(name) }

// ScoreRange is the scores from Low to High, both included unless Open says not.
type ScoreRange struct {
	Low, High         float64
	OpenLow, OpenHigh bool
}

func (r ScoreRange) interval() interval {
	return interval{by: byScore, low: r.Low, high: r.High, openLow: r.OpenLow, openHigh: r.OpenHigh}
}

// ByRank returns the members from one position to another, both included, in their
// order. Negative positions count from the end; with reverse the positions and the
// order begin at the highest score. The result is a copy.
func (z *SortedSet) ByRank(first, last int64, reverse bool) []Member {
	q := rangeQuery{interval: interval{first: first, last: last}, limit: -1, form: rangeForm{reverse: reverse}}
	return q.members(z)
}

// ByScore returns the members with scores in a range, in their order or, with
// reverse, from the highest: limit members after the first offset, all of them if
// limit is negative. The result is a copy.
func (z *SortedSet) ByScore(r ScoreRange, reverse bool, offset, limit int64) []Member {
	q := rangeQuery{interval: r.interval(), offset: offset, limit: limit, form: rangeForm{by: byScore, reverse: reverse}}
	return q.members(z)
}

// Count returns how many members have scores in a range.
func (z *SortedSet) Count(r ScoreRange) int {
	i, j := z.bounds(r.interval(), false)
	return j - i
}

// RemoveByScore removes the members with scores in a range, and returns how many.
func (z *SortedSet) RemoveByScore(r ScoreRange) int {
	i, j := z.bounds(r.interval(), false)
	z.removeRange(i, j)
	return j - i
}

// RemoveByRank removes the members that ByRank returns, and returns how many.
func (z *SortedSet) RemoveByRank(first, last int64) int {
	i, j := clamp(first, last, z.Len())
	z.removeRange(i, j)
	return j - i
}
