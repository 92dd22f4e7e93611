package redisapi

import (
	"bytes"
	"errors"
	"sync/atomic"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/resp"
)

// listening is for which kinds of subscriptions of a connection other servers send what
// they publish. Changed under the lock of the connection.
type listening [pubsub.Kinds]bool

// source is the kind under which others send the messages of a kind of subscriptions.
func source(kind pubsub.Kind) pubsub.Kind {
	if kind == pubsub.Pattern {
		return pubsub.Channel
	}
	return kind
}

// subscribing is a command that is confirmed when other servers know that this one has
// subscribers. It has the connection to itself. Its subscriptions take messages already,
// which wait for the confirmation.
type subscribing struct {
	conn  *Conn
	cmd   *Command
	kind  pubsub.Kind
	reply []byte
	added []string // the names that are new
	err   error
	stage atomic.Int32 // 2: others know, or there was an error, and every earlier command has ended
}

// listen has other servers send their messages for a command that subscribes. It tells
// whether the command may run now; if not, it is confirmed later, or was answered with an
// error. A server that carries no messages serves the subscribers that it has for its own.
func (c *Conn) listen(cmd *Command, args [][]byte) (now bool) {
	kind := source(cmd.subscribesTo)
	if c.listens(kind) {
		return true
	}
	s := &subscribing{conn: c, cmd: cmd, kind: kind}
	joined, err := c.engine.options.DB.Listen(kind, s.known)
	switch {
	case errors.Is(err, fault.ErrNotRunning):
		return true
	case err != nil:
		c.reject(cmd, err)
		return false
	case joined:
		c.heard(kind)
		return true
	}
	s.begin(args)
	c.pipe.Exclusive(s.step)
	return false
}

// begin subscribes, so that no message that this server publishes from now on is missed.
func (s *subscribing) begin(args [][]byte) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	subs := c.ownSubscriptions()
	for _, name := range args[1:] {
		if _, known := subs.names[s.cmd.subscribesTo][string(name)]; !known {
			s.added = append(s.added, string(name))
		}
	}
	c.holding = true
	s.reply = s.cmd.subscribes(subs, c.proto, args, nil)
}

// listens reports whether others send their messages for this connection.
func (c *Conn) listens(kind pubsub.Kind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listening[kind]
}

// heard notes that others send their messages for this connection.
func (c *Conn) heard(kind pubsub.Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.listening[kind] {
		c.engine.options.DB.Unlisten(kind)
		return
	}
	c.listening[kind] = true
}

// known is called when others know of this server, or could not be told.
func (s *subscribing) known(err error) {
	if s.err = err; err == nil {
		s.conn.heard(s.kind)
	}
	s.step()
}

// step runs the command when nothing is missing any more.
func (s *subscribing) step() {
	if s.stage.Add(1) < 2 {
		return
	}
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	reply := s.reply
	if s.err != nil && !errors.Is(s.err, fault.ErrNotRunning) {
		for _, name := range s.added {
			c.subs.remove(s.cmd.subscribesTo, name)
		}
		reply = resp.AppendError(nil, c.engine.errorText(s.err, false))
	}
	c.engine.stats.count(s.cmd, 0, reply)
	if c.muted && isError(reply) {
		reply = nil
	}
	c.unlisten(false)
	c.pipe.Resume(reply, new(pipeline.Output))
	c.letGoMessages()
}

// heldMessage is one for a subscription that is not confirmed yet.
type heldMessage struct {
	pubsub.Message
	encoded []byte
}

// hold keeps a message until a subscription is confirmed. The lock is held.
func (c *Conn) hold(m *pubsub.Message, encoded []byte) {
	if cap(encoded) < pubsub.Keep {
		encoded = bytes.Clone(encoded) // else it is not overwritten by other messages
	}
	c.held = append(c.held, heldMessage{pubsub.Message{Kind: m.Kind, Pattern: m.Pattern, Channel: bytes.Clone(m.Channel)}, encoded})
	c.heldBytes += len(encoded)
	c.checkBacklog(c.heldBytes)
}

// letGoMessages sends, behind the confirmation, what waited for it. The lock is held.
func (c *Conn) letGoMessages() {
	held := c.held
	c.holding, c.held, c.heldBytes = false, nil, 0
	for i := range held {
		if !c.closed && c.subs.takes(&held[i].Message) {
			c.checkBacklog(c.pipe.Push(held[i].encoded))
		}
	}
}

// subscribeStaged has what EXEC has subscribed to take messages, and returns when other
// servers know of it. The replies are made: an error is logged. It runs in the task.
func (t *task) subscribeStaged() {
	c := t.conn
	if c.staged == nil || c.listens(pubsub.Channel) || len(c.staged.names[pubsub.Channel])+len(c.staged.names[pubsub.Pattern]) == 0 {
		return
	}
	c.mu.Lock()
	if !c.closed {
		c.holding, c.messageProto = true, c.proto
		c.ownSubscriptions().follow(c.staged)
		c.staged = nil
	}
	c.mu.Unlock()
	known := make(chan error, 1)
	joined, err := c.engine.options.DB.Listen(pubsub.Channel, func(err error) { known <- err })
	if err == nil && !joined {
		err = <-known // bounded by the timeout of a statement, and ends with Run
	}
	switch {
	case err == nil:
		c.heard(pubsub.Channel)
	case !errors.Is(err, fault.ErrNotRunning):
		c.engine.log("messages of other servers do not reach a subscription made by EXEC", "error", err)
	}
}

// unlisten tells others that this connection has no subscriptions of a kind any more.
// The lock is held. all: it has none at all.
func (c *Conn) unlisten(all bool) {
	for kind, on := range c.listening {
		kind := pubsub.Kind(kind)
		if on && (all || c.subs == nil || c.subs.shown(kind) == 0) {
			c.listening[kind] = false
			c.engine.options.DB.Unlisten(kind)
		}
	}
}

// ownSubscriptions makes them at the first use. The lock is held.
func (c *Conn) ownSubscriptions() *subscriptions {
	if c.subs == nil {
		c.subs = newSubscriptions(c)
	}
	return c.subs
}

// publishing is a PUBLISH that waits until other servers can read its message.
type publishing struct {
	request   *request
	receivers int
	err       error
	stage     atomic.Int32 // 2: it is in the queue of replies, and the outcome is known
}

func (w *publishing) end(receivers int, err error) {
	w.receivers, w.err = receivers, err // the request may have been released, with its connection
	w.step()
}

func (w *publishing) step() {
	if w.stage.Add(1) < 2 {
		return
	}
	c := w.request.conn
	w.request.to, w.request.call.Err = int64(w.receivers), w.err
	c.publishing.Add(-1) // first: who compares it with what is in flight must not count this twice
	c.pipe.Finish(w.request)
}

// onlyPublishes reports whether nothing is in flight but messages: an earlier command may
// not be overtaken by one.
func (c *Conn) onlyPublishes() bool {
	inFlight := c.pipe.InFlight()
	return inFlight == int(c.publishing.Load())
}
