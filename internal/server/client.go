package server

import (
	"time"

	"github.com/howdah/howdah/internal/pipeline"
)

// Bounds on what one connection may hold of the server's memory, beyond one
// request and the replies that the protocol allows to be pending.
const (
	// softInput is how much unanswered input is kept before reading pauses
	// until answers are out.
	softInput = 256 << 10
	// softOutput is how much the client may leave unread before its further
	// requests wait.
	softOutput = 1 << 20
	// maxSegments bounds the pieces that one write is made of.
	maxSegments = 64
)

// client is one connection apart from its socket. One goroutine at a time
// works on it.
type client struct {
	conn    Protocol
	remote  string
	in      inbound
	out     pipeline.Output  // what the socket has not taken yet
	account pipeline.Account // charged for out

	eof     bool // nothing more will be read
	closing bool // the protocol wants it closed once out is written

	active  time.Time // last input, or output that the client took
	stalled time.Time // since when out waits for the client
}

// receive takes input. Where there is no backlog data is not kept, only what
// the protocol leaves of it is copied. A backlog is offered at once: one that
// the protocol has not seen would pass for the beginning of a large request,
// and grow for ever.
func (c *client) receive(data []byte) {
	if c.in.len() > 0 {
		c.in.append(data, c.conn.Need())
		c.feed()
		return
	}
	if c.mayFeed() {
		data = data[c.conn.Feed(data):]
	}
	c.in.append(data, c.conn.Need())
}

// end says that nothing more will be read.
func (c *client) end() {
	c.eof = true
	if c.conn != nil { // a handshake may not have ended
		c.conn.Ended()
	}
}

// feed offers the backlog to the protocol and reports whether it took some.
func (c *client) feed() bool {
	if c.in.len() == 0 || !c.mayFeed() {
		return false
	}
	n := c.conn.Feed(c.in.bytes())
	c.in.discard(n)
	return n > 0
}

func (c *client) mayFeed() bool { return !c.closing && c.out.Len() <= softOutput }

// collect adds the replies that are ready to out.
func (c *client) collect(out *pipeline.Output) {
	if !c.closing {
		c.closing = c.conn.Output(out)
	}
}

// take adds the replies that are ready to out. If out was empty, the stall timeout
// counts from now: expired must not count from an earlier reply.
func (c *client) take(now time.Time) {
	if c.out.Len() == 0 {
		c.stalled = now
	}
	c.collect(&c.out)
	c.account.Set(c.out.Held())
	c.conn.Backlog(c.out.Len())
}

// wrote takes n bytes of out, which were written, away.
func (c *client) wrote(n int, now time.Time) {
	if n > 0 {
		c.out.Discard(n)
		c.active, c.stalled = now, now
	}
	c.account.Set(c.out.Held())
	c.conn.Backlog(c.out.Len())
}

// keep takes over what the client did not take of out.
func (c *client) keep(out *pipeline.Output, now time.Time) {
	c.stalled = now
	c.out.Keep(out)
	c.account.Set(c.out.Held())
	c.conn.Backlog(c.out.Len())
}

// release gives the memory of a connection that is over back.
func (c *client) release() {
	c.in = inbound{}
	c.out.Release()
	c.account.Set(0)
}

// wantsInput says whether to read on. With replies pending, a backlog waits; a
// backlog without any is the beginning of one large request.
func (c *client) wantsInput() bool {
	return !c.eof && c.mayFeed() && (c.in.len() < softInput || !c.conn.Pending())
}

// done says that everything that will ever be written has been.
func (c *client) done() bool {
	return c.out.Len() == 0 && (c.closing || c.eof && !c.conn.Pending())
}

const stalledReason = "it does not read its replies"

// expired returns why the time of the connection is up, or "".
func (c *client) expired(now time.Time, limits *connLimits) string {
	unread, idle := c.out.Len() > 0, limits.idle()
	switch {
	case unread && now.Sub(c.stalled) > limits.stallTimeout:
		return stalledReason
	case c.conn.Unauthenticated() > limits.authTimeout:
		return "it did not authenticate in time"
	case idle > 0 && now.Sub(c.active) > idle && !unread && !c.conn.Pending() && !c.conn.Subscriber():
		return "it was idle"
	}
	return ""
}
