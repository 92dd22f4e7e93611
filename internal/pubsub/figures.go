package pubsub

// Subscribers returns how many subscriptions there are to a channel or shard channel itself,
// patterns not counted.
func (h *Hub) Subscribers(kind Kind, channel []byte) int {
	if n := h.find(kind, channel); n != nil {
		return n.count()
	}
	return 0
}

// Names returns the channels or shard channels that have subscriptions, in no order: those that match
// a pattern, or all if pattern is nil.
func (h *Hub) Names(kind Kind, pattern []byte) (names []string) {
	for i := range h.parts {
		p := &h.parts[i]
		p.mu.RLock()
		for text, n := range p.names[kind] {
			if pattern == nil || h.match(pattern, n.bytes) {
				names = append(names, text)
			}
		}
		p.mu.RUnlock()
	}
	return names
}

// Stats are the figures of a Hub.
type Stats struct {
	Names         [Kinds]int // channels, patterns, shard channels that have subscriptions
	Subscriptions [Kinds]int
	Published     uint64 // messages since the start, also those that had no receiver
	Delivered     uint64 // messages since the start, each as often as it had receivers
}

// Stats returns the figures as they are now.
func (h *Hub) Stats() (s Stats) {
	for kind := range Kinds {
		s.Names[kind] = int(h.names[kind].Load())
		s.Subscriptions[kind] = int(h.subscriptions[kind].Load())
	}
	s.Published, s.Delivered = h.published.Load(), h.delivered.Load()
	return s
}
