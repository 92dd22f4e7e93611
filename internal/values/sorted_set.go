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
