package redisapi

import (
	"maps"
	"slices"

	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/resp"
)

// subscriptions are those of one connection. The goroutine that feeds the connection, or
// its task, changes them under the lock of the connection, which Deliver takes too: so
// no message comes before the confirmation of its subscription or behind that of its end.
type subscriptions struct {
	conn  *Conn // nil inside EXEC: they take effect when it has ended
	names [pubsub.Kinds]map[string]*pubsub.Subscription
	total int
	bytes int // memory
	most  int // that bytes may become
}

// subscriptionOverhead is the memory of a subscription apart from its name, in bytes.
const subscriptionOverhead = 256

func newSubscriptions(c *Conn) *subscriptions {
	return &subscriptions{conn: c, most: c.engine.options.MaxPendingBytes}
}

// add subscribes to a name, unless that is done.
func (s *subscriptions) add(kind pubsub.Kind, name []byte) {
	if _, known := s.names[kind][string(name)]; known {
		return
	}
	if s.names[kind] == nil {
		s.names[kind] = make(map[string]*pubsub.Subscription)
	}
	text := string(name)
	var subscription *pubsub.Subscription
	if s.conn != nil {
		subscription = s.conn.engine.options.DB.Hub().Subscribe(kind, text, s.conn)
	}
	s.names[kind][text] = subscription
	s.total++
	s.bytes += subscriptionOverhead + len(text)
}

// remove ends the subscription to a name, if there is one.
func (s *subscriptions) remove(kind pubsub.Kind, name string) {
	subscription, known := s.names[kind][name]
	if !known {
		return
	}
	if s.conn != nil {
		subscription.End()
	}
	delete(s.names[kind], name)
	s.total--
	s.bytes -= subscriptionOverhead + len(name)
}

// shown is the number in the confirmations of a kind: channels and patterns count
// together.
func (s *subscriptions) shown(kind pubsub.Kind) int64 {
	if kind == pubsub.Shard {
		return int64(len(s.names[pubsub.Shard]))
	}
	return int64(len(s.names[pubsub.Channel]) + len(s.names[pubsub.Pattern]))
}

// sorted returns the names of a kind.
func (s *subscriptions) sorted(kind pubsub.Kind) []string {
	return slices.Sorted(maps.Keys(s.names[kind]))
}

// takes reports whether a message is for one of the subscriptions.
func (s *subscriptions) takes(m *pubsub.Message) (known bool) {
	if m.Kind == pubsub.Pattern {
		_, known = s.names[pubsub.Pattern][m.Pattern]
	} else {
		_, known = s.names[m.Kind][string(m.Channel)]
	}
	return known
}

// copied returns a copy that takes effect later.
func (s *subscriptions) copied() *subscriptions {
	c := *s
	c.conn = nil
	for kind, names := range s.names {
		c.names[kind] = maps.Clone(names)
	}
	return &c
}

// follow makes the subscriptions those of a copy that was changed.
func (s *subscriptions) follow(changed *subscriptions) {
	for kind := range pubsub.Kinds {
		for name := range s.names[kind] {
			if _, kept := changed.names[kind][name]; !kept {
				s.remove(kind, name)
			}
		}
		for name := range changed.names[kind] {
			s.add(kind, []byte(name))
		}
	}
}

// subscribed returns the subscriptions as the next command sees them, nil if there never were
// any.
func (c *Conn) subscribed() *subscriptions {
	if c.staged != nil {
		return c.staged
	}
	return c.subs
}

// isSubscriber reports whether the client is one, as Redis's flag P says. The
// goroutine that feeds calls it, or a task.
func (c *Conn) isSubscriber() bool {
	s := c.subscribed()
	return s != nil && s.total > 0
}

// onlySubscribes reports whether the client may not use ordinary commands: in RESP2 it
// could not tell their replies from messages.
func (c *Conn) onlySubscribes() bool { return c.proto == resp.RESP2 && c.isSubscriber() }

// changeSubscriptions runs a command that subscribes or unsubscribes. Its reply, which is a
// push, is given whether or not the client wants replies.
func (c *Conn) changeSubscriptions(cmd *Command, args [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.scratch = cmd.subscribes(c.ownSubscriptions(), c.proto, args, shrink(c.scratch, keepReplies))
	c.engine.stats.count(cmd, 0, c.scratch)
	if !c.muted || !isError(c.scratch) {
		c.pipe.Append(c.scratch)
	}
	c.unlisten(false)
}

// stageSubscriptions runs such a command inside EXEC.
func (c *Conn) stageSubscriptions(cmd *Command, args [][]byte, reply []byte) []byte {
	if c.staged == nil {
		now := c.subs
		if now == nil {
			now = newSubscriptions(c)
		}
		c.staged = now.copied()
	}
	start := len(reply)
	reply = cmd.subscribes(c.staged, c.proto, args, reply)
	c.engine.stats.count(cmd, 0, reply[start:])
	return reply
}

// resume gives the reply of a task, together with which the subscriptions that it has made
// take effect, and the protocol of messages that it has chosen.
func (c *Conn) resume(t *task) {
	if c.subs == nil && c.staged == nil && c.messageProto == c.proto {
		c.pipe.Resume(t.out, &t.large)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if staged := c.staged; staged != nil && !c.closed {
		c.ownSubscriptions().follow(staged)
		c.unlisten(false)
	}
	c.staged = nil
	c.messageProto = c.proto
	c.pipe.Resume(t.out, &t.large)
	if c.holding {
		c.unlisten(false)
		c.letGoMessages()
	}
}

// endSubscriptions ends all of them without a word.
func (c *Conn) endSubscriptions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs != nil {
		c.subs.follow(new(subscriptions))
		c.unlisten(false)
	}
}

// leave ends the subscriptions of a connection that is closed.
func (c *Conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.unlisten(true)
	if c.subs == nil {
		return
	}
	for _, names := range c.subs.names {
		for _, subscription := range names {
			subscription.End()
		}
	}
}

// Deliver implements pubsub.Receiver.
func (c *Conn) Deliver(m *pubsub.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || !c.subs.takes(m) || c.engine.silent.Load() {
		return
	}
	encoded := encodeMessage(m, c.messageProto)
	if c.holding {
		c.hold(m, encoded)
		return
	}
	c.checkBacklog(c.pipe.Push(encoded))
}

// encodeMessage returns a message in a version of the protocol.
func encodeMessage(m *pubsub.Message, proto resp.Proto) []byte {
	version := &m.Encoded[0]
	if proto == resp.RESP3 {
		version = &m.Encoded[1]
	}
	if len(*version) > 0 {
		return *version
	}
	dst := *version
	if size := 64 + len(m.Pattern) + len(m.Channel) + len(m.Payload); size > cap(dst) {
		dst = make([]byte, 0, size)
	}
	switch m.Kind {
	case pubsub.Pattern:
		dst = resp.AppendPush(dst, proto, 4)
		dst = resp.AppendBulkString(dst, "pmessage")
		dst = resp.AppendBulkString(dst, m.Pattern)
	case pubsub.Shard:
		dst = resp.AppendPush(dst, proto, 3)
		dst = resp.AppendBulkString(dst, "smessage")
	default:
		dst = resp.AppendPush(dst, proto, 3)
		dst = resp.AppendBulkString(dst, "message")
	}
	dst = resp.AppendBulk(dst, m.Channel)
	*version = resp.AppendBulk(dst, m.Payload)
	return *version
}

// checkBacklog closes the connection of a subscriber that does not read what it is sent:
// waiting is how many bytes are not handed to the server yet. The lock is held.
func (c *Conn) checkBacklog(waiting int) {
	e, stuck := c.engine, c.backlog.Load()
	unread := int64(waiting) + stuck
	limit := e.outputLimit.Load()
	reason := ""
	switch {
	case limit.hard > 0 && unread >= limit.hard:
		reason = "its unread output has reached the hard limit of client-output-buffer-limit pubsub"
	case limit.soft > 0 && unread >= limit.soft:
		now := e.clock()
		if c.softSince.CompareAndSwap(0, now) {
			break
		}
		if now-c.softSince.Load() > limit.time {
			reason = "its unread output has been over the soft limit of client-output-buffer-limit pubsub for too long"
		}
	default:
		c.softSince.Store(0)
	}
	if reason == "" && stuck > 0 && unread > pipeline.Free && c.pipe.Exceeded() {
		reason = "it does not read, and the clients hold more than max-clients-memory"
	}
	if reason == "" || c.pipe.Killed() {
		return
	}
	e.stats.cut.Add(1)
	e.options.Logger.Warn("closing a subscriber", "client", c.info.RemoteAddr, "reason", reason, "unread_bytes", unread)
	c.pipe.Kill()
}

// Backlog takes note of how many bytes of the output the client has not taken although
// they were ready to be written.
func (c *Conn) Backlog(bytes int) { c.backlog.Store(int64(bytes)) }

// Subscriber reports whether the client waits for messages, or for the lines of MONITOR: it
// may be silent for as long as it likes.
func (c *Conn) Subscriber() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.monitoring || c.subs != nil && c.subs.total > 0
}

// subscribes reports whether the client waits for messages.
func (c *Conn) subscribes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subs != nil && c.subs.total > 0
}

// EndMessages pushes no more messages to any connection, so that none keeps being written to
// while the server waits for the last replies.
func (e *Engine) EndMessages() { e.silent.Store(true) }
