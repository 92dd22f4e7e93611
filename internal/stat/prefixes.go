package stat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"
)

// separators end a prefix.
const separators = ":/"

// Level is one level of the tree that the keys of a cache are by their separators, ':' and
// '/', from a sample: what stands below one prefix. Numbers of entries and bytes are
// estimates unless Exact; bytes are as budgets count them.
type Level struct {
	Cache   string    `json:"cache"`
	At      time.Time `json:"at"`                // by the database's clock
	Exact   bool      `json:"exact"`             // the whole cache was read
	Missing []string  `json:"missing,omitempty"` // addresses of servers that did not answer: what they hold is not counted
	Looked  int       `json:"looked"`            // entries of the cache that were looked at

	All    Group   `json:"all"`    // that begin with the prefix; few that were looked at make a poor estimate
	Groups []Group `json:"groups"` // by the next separator: the most bytes first
	Others Group   `json:"others"` // the groups beyond the limit together
	Keys   Group   `json:"keys"`   // entries with no further separator
}

// Group is the entries whose keys begin with one prefix.
type Group struct {
	Prefix  Text  `json:"prefix"` // up to and with its separator; nil: of several
	Looked  int   `json:"looked"` // entries that were looked at
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Forever int64 `json:"without_ttl"` // of Entries, those that no TTL removes
}

// Text is bytes of a key. In JSON it is a string if it is UTF-8, an object {"base64":...}
// otherwise, and null if it is nil.
type Text []byte

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	switch {
	case t == nil:
		return []byte("null"), nil
	case utf8.Valid(t):
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string][]byte{"base64": t})
}

// Level sums up the sample by the part of the keys behind prefix, up to the next ':' or
// '/'. At most limit groups are listed; 0 is 100.
func (s *Sampling) Level(prefix []byte, limit int) *Level {
	return s.LevelBy(prefix, limit, func(group []byte) []byte { return group })
}

// LevelBy is Level for people who may not see every prefix: name returns what they may see
// of one, and the groups with one name are one group.
func (s *Sampling) LevelBy(prefix []byte, limit int, name func(group []byte) []byte) *Level {
	l := &Level{Cache: s.Cache, At: s.At, Exact: s.Exact, Missing: s.missing(), Looked: len(s.Entries), Groups: []Group{}}
	l.All.Prefix = append(Text{}, prefix...)
	groups, named := make(map[string]*Group), make(map[string]*Group)
	for i := range s.Entries {
		e := &s.Entries[i]
		rest, ok := bytes.CutPrefix(e.Key, prefix)
		if !ok {
			continue
		}
		l.All.add(e)
		end := bytes.IndexAny(rest, separators)
		if end < 0 {
			l.Keys.add(e)
			continue
		}
		full := e.Key[:len(prefix)+end+1]
		group := groups[string(full)]
		if group == nil {
			shown := name(full)
			if group = named[string(shown)]; group == nil {
				group = &Group{Prefix: Text(shown)}
				named[string(shown)] = group
			}
			groups[string(full)] = group
		}
		group.add(e)
	}
	for _, group := range named {
		l.Groups = append(l.Groups, *group)
	}
	slices.SortFunc(l.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), bytes.Compare(a.Prefix, b.Prefix))
	})
	if limit = cmp.Or(limit, 100); len(l.Groups) > limit {
		for _, group := range l.Groups[limit:] {
			l.Others.merge(group)
		}
		l.Groups = l.Groups[:limit]
	}
	for i := range l.Groups {
		l.Groups[i].scale(s)
	}
	for _, group := range []*Group{&l.All, &l.Others, &l.Keys} {
		group.scale(s)
	}
	return l
}

func (g *Group) add(e *Sampled) {
	g.Looked++
	g.Entries++
	g.Bytes += e.Charge()
	if e.ExpiresAt.IsZero() {
		g.Forever++
	}
}

func (g *Group) merge(other Group) {
	g.Looked += other.Looked
	g.Entries += other.Entries
	g.Bytes += other.Bytes
	g.Forever += other.Forever
}

func (g *Group) scale(s *Sampling) {
	g.Entries, g.Bytes, g.Forever = s.estimate(g.Entries), s.estimate(g.Bytes), s.estimate(g.Forever)
}

// Order is by what Top sorts.
type Order string

// The orders of Top.
const (
	BySize Order = "size" // the largest first
	ByTTL  Order = "ttl"  // those that live longest first: those without a TTL, the largest first
	ByIdle Order = "idle" // those not used for the longest time first
)

// Top returns the first n entries of the sample in an order. They are the first of the
// cache only if the sample is Exact.
func (s *Sampling) Top(by Order, n int) []Sampled {
	top := slices.Clone(s.Entries)
	slices.SortFunc(top, func(a, b Sampled) int {
		order := 0
		switch by {
		case ByTTL:
			order = compareExpiry(b.ExpiresAt, a.ExpiresAt)
		case ByIdle:
			order = a.Used.Compare(b.Used)
		}
		return cmp.Or(order, cmp.Compare(b.Charge(), a.Charge()), bytes.Compare(a.Key, b.Key))
	})
	return top[:min(n, len(top))]
}

// compareExpiry orders moments of expiry, never being the last of all.
func compareExpiry(a, b time.Time) int {
	switch {
	case a.IsZero() || b.IsZero():
		return b.Compare(a) // the zero time is before all others
	}
	return a.Compare(b)
}
