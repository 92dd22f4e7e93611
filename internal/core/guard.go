package core

import (
	"slices"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// Guard is a condition of the edits of a collection. One of its fields is set.
type Guard struct {
	Absent   bool    // the key must be absent
	Present  bool    // it must be there
	Versions []int64 // it must have one of these versions
}

// Guarded returns the same cache, whose methods that change a collection change nothing
// and fail with ErrNotStored where the guard does not hold.
func (c *Cache) Guarded(g Guard) *Cache {
	d := c.derive()
	d.guard = &g
	return d
}

// holds reports whether the guard lets an edit go on. A nil guard always does.
func (g *Guard) holds(v *edit.View, key []byte, entry *values.Entry) bool {
	switch {
	case g == nil:
		return true
	case g.Absent:
		return entry.Value == nil
	case g.Present:
		return entry.Value != nil
	}
	return entry.Value != nil && slices.Contains(g.Versions, v.Version(key))
}

// Seen is what a read of a collection has found besides its elements.
type Seen struct {
	Version int64 // 0: the key is absent
	Lasting bool  // the collection stays as it is until its version changes: no field of a hash expires
}

// Seeing returns the same cache, for one read of a collection, which says in seen what
// it has found.
func (c *Cache) Seeing(seen *Seen) *Cache {
	d := c.derive()
	d.seen = seen
	return d
}

// note writes down what was found.
func (s *Seen) note(found *verb.Entry, value values.Value) {
	if s == nil || value == nil {
		return
	}
	s.Version = found.Version
	hash, ok := value.(*values.Hash)
	s.Lasting = !ok || !hash.Expires()
}
