package tracking

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// prefixes are the clients that broadcast, by the prefixes of keys that they have asked
// for. A key is looked up once for each length that a prefix has: there are few.
type prefixes struct {
	clients map[string]map[*Client]struct{}
	lengths []int // of the prefixes, ascending, each once
}

// add registers a client for a prefix.
func (p *prefixes) add(prefix string, c *Client) {
	if p.clients == nil {
		p.clients = make(map[string]map[*Client]struct{})
	}
	if p.clients[prefix] == nil {
		p.clients[prefix] = make(map[*Client]struct{})
		if i, found := slices.BinarySearch(p.lengths, len(prefix)); !found {
			p.lengths = slices.Insert(p.lengths, i, len(prefix))
		}
	}
	p.clients[prefix][c] = struct{}{}
}

// remove ends all registrations of a client.
func (p *prefixes) remove(c *Client) {
	for _, prefix := range c.prefixes {
		delete(p.clients[prefix], c)
		if len(p.clients[prefix]) == 0 {
			delete(p.clients, prefix)
		}
	}
	p.lengths = p.lengths[:0]
	for prefix := range p.clients {
		p.lengths = append(p.lengths, len(prefix))
	}
	slices.Sort(p.lengths)
	p.lengths = slices.Compact(p.lengths)
}

// of calls found with each prefix of a key that a client has asked for.
func (p *prefixes) of(key string, found func(prefix string)) {
	for _, length := range p.lengths {
		if length > len(key) {
			return
		}
		if _, wanted := p.clients[key[:length]]; wanted {
			found(key[:length])
		}
	}
}

// listed returns the clients of a prefix, in the order in which they are told.
func (p *prefixes) listed(prefix string) []*Client {
	return slices.SortedFunc(maps.Keys(p.clients[prefix]), func(a, b *Client) int { return cmp.Compare(a.number, b.number) })
}

// Overlap returns a prefix of the client that is a prefix of this one, or has it as one.
func (c *Client) Overlap(prefix string) (other string, overlaps bool) {
	for _, own := range c.Prefixes() {
		if Overlap(own, prefix) {
			return own, true
		}
	}
	return "", false
}

// Overlap reports whether one of two prefixes begins with the other: some keys have both.
func Overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// Prefixes returns those that the client has asked for, sorted; nil if it does not
// broadcast.
func (c *Client) Prefixes() []string {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	return slices.Clone(c.prefixes)
}
