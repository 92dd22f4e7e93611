package values

// Set holds members, each once.
type Set struct {
	members dictionary[struct{}]
}

// Kind returns [KindSet].
func (*Set) Kind() Kind { return KindSet }

// Len returns the number of members. A nil set has none.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return s.members.live
}

func (s *Set) has(member string) bool { return s != nil && s.members.find(member) != nil }

// add reports whether the member is new.
func (s *Set) add(member string) bool {
	if s.has(member) {
		return false
	}
	s.members.insert(member, struct{}{})
	return true
}

// list returns the members in any order.
func (s *Set) list() []string {
	if s == nil {
		return nil
	}
	return s.members.keys()
}

// set returns the entry and the set of a key, nil if there is none.
func (c *Call) set(key []byte) (*Entry, *Set, error) { return lookup[*Set](c, key) }

// Has reports whether the set has a member. A nil set has none.
func (s *Set) Has(member string) bool { return s.has(member) }

// Add reports whether the member is new.
func (s *Set) Add(member string) bool { return s.add(member) }

// Remove reports whether the member was there.
func (s *Set) Remove(member string) bool { return s.members.remove(member) }

// Members returns the members in any order. A nil set has none.
func (s *Set) Members() []string { return s.list() }

// Intersect returns what all of the sets have. There must be at least one; nil ones
// are empty.
func Intersect(sets []*Set) *Set { return intersect(sets) }

// Unite returns what any of the sets has. Nil ones are empty.
func Unite(sets []*Set) *Set { return unite(sets) }

// Subtract returns what the first set has and none of the others. There must be at
// least one; nil ones are empty.
func Subtract(sets []*Set) *Set { return subtract(sets) }
