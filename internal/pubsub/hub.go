package pubsub

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Hub is the subscriptions of a process. It is safe for concurrent use.
type Hub struct {
	match    func(pattern, channel []byte) bool
	seed     maphash.Seed
	parts    [parts]part
	patterns patterns
	messages sync.Pool

	subscriptions [Kinds]atomic.Int64
	names         [Kinds]atomic.Int64
	published     atomic.Uint64
	delivered     atomic.Uint64
}

// parts is how many locks the names share.
const parts = 64

// part is the channels and shard channels whose hashes are equal in some bits.
type part struct {
	mu    sync.RWMutex
	names [Kinds]map[string]*name
	_     [64]byte // so that two locks do not share a line of the processor's cache
}

// patterns are all patterns that have subscriptions.
type patterns struct {
	mu    sync.Mutex
	names map[string]*name
	all   roster[*name]
}

// name is a channel, a pattern or a shard channel that has subscriptions.
type name struct {
	text        string
	bytes       []byte
	subscribers roster[*Subscription]
	over        atomic.Bool // it has no more subscriptions
}

func (n *name) ended() bool { return n.over.Load() }

// Subscription is a receiver's subscription to one name.
type Subscription struct {
	hub      *Hub
	kind     Kind
	name     *name
	receiver Receiver
	over     atomic.Bool
}

func (s *Subscription) ended() bool { return s.over.Load() }

// New makes a Hub. match reports whether a channel matches a pattern.
func New(match func(pattern, channel []byte) bool) *Hub {
	h := &Hub{match: match, seed: maphash.MakeSeed()}
	h.messages.New = func() any { return new(Message) }
	return h
}

// lock locks what holds the names of a kind to which a name belongs. The caller calls
// unlock.
func (h *Hub) lock(kind Kind, text string) (names *map[string]*name, unlock func()) {
	if kind == Pattern {
		h.patterns.mu.Lock()
		return &h.patterns.names, h.patterns.mu.Unlock
	}
	p := &h.parts[maphash.String(h.seed, text)%parts]
	p.mu.Lock()
	return &p.names[kind], p.mu.Unlock
}

// Subscribe makes a receiver one of a channel, a pattern or a shard channel: of every message that
// is published after Subscribe has returned, until [Subscription.End]. A receiver that
// subscribes to one name twice takes its messages twice.
func (h *Hub) Subscribe(kind Kind, text string, receiver Receiver) *Subscription {
	names, unlock := h.lock(kind, text)
	defer unlock()
	n := (*names)[text]
	if n == nil {
		if *names == nil {
			*names = make(map[string]*name)
		}
		n = &name{text: text, bytes: []byte(text)}
		(*names)[text] = n
		h.names[kind].Add(1)
	}
	s := &Subscription{hub: h, kind: kind, name: n, receiver: receiver}
	n.subscribers.add(s)
	h.subscriptions[kind].Add(1)
	if kind == Pattern && n.subscribers.size == 1 {
		h.patterns.all.add(n) // with its subscriber: others may read it at once
	}
	return s
}

// End ends a subscription. It may be called again.
func (s *Subscription) End() {
	names, unlock := s.hub.lock(s.kind, s.name.text)
	defer unlock()
	if s.over.Swap(true) {
		return
	}
	n := s.name
	n.subscribers.remove()
	s.hub.subscriptions[s.kind].Add(-1)
	if n.subscribers.size > 0 {
		return
	}
	n.over.Store(true)
	delete(*names, n.text)
	s.hub.names[s.kind].Add(-1)
	if s.kind == Pattern {
		s.hub.patterns.all.remove()
	}
}

// find returns the channel or shard channel of that name, nil if it has no subscriptions.
func (h *Hub) find(kind Kind, channel []byte) *name {
	if h.names[kind].Load() == 0 {
		return nil
	}
	p := &h.parts[maphash.Bytes(h.seed, channel)%parts]
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.names[kind][string(channel)]
}

// Publish hands a message to the receivers of a channel and of the patterns that match
// it, or to those of a shard channel: kind is Channel or Shard. It returns how many subscriptions took the
// message.
func (h *Hub) Publish(kind Kind, channel, payload []byte) (receivers int) {
	h.published.Add(1)
	n := h.find(kind, channel)
	var patterns []*name
	if kind == Channel {
		patterns = h.patterns.all.all()
	}
	if n == nil && len(patterns) == 0 {
		return 0
	}
	m := h.messages.Get().(*Message)
	m.reset(channel, payload)
	if n != nil {
		receivers = n.deliver(m, kind)
	}
	for _, p := range patterns {
		if !p.ended() && h.match(p.bytes, channel) {
			receivers += p.deliver(m, Pattern)
		}
	}
	m.reset(nil, nil)
	h.messages.Put(m)
	h.delivered.Add(uint64(receivers))
	return receivers
}

// deliver hands a message to the receivers of one name.
func (n *name) deliver(m *Message, kind Kind) (receivers int) {
	pattern := ""
	if kind == Pattern {
		pattern = n.text
	}
	m.turn(kind, pattern)
	for _, s := range n.subscribers.all() {
		if !s.ended() {
			s.receiver.Deliver(m)
			receivers++
		}
	}
	return receivers
}

// Receivers returns how many subscriptions would take a message that is published now.
func (h *Hub) Receivers(kind Kind, channel []byte) (receivers int) {
	if n := h.find(kind, channel); n != nil {
		receivers = n.count()
	}
	if kind != Channel {
		return receivers
	}
	for _, p := range h.patterns.all.all() {
		if h.match(p.bytes, channel) {
			receivers += p.count()
		}
	}
	return receivers
}

// count returns the number of subscriptions to one name.
func (n *name) count() (subscriptions int) {
	for _, s := range n.subscribers.all() {
		if !s.ended() {
			subscriptions++
		}
	}
	return subscriptions
}
