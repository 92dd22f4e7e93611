package redisapi

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

// Conn is one client. Feed and Output are called by one goroutine at a time
// each; calls of the library end on goroutines of their own, and so do tasks.
type Conn struct {
	engine *Engine
	id     int64
	info   Info
	wake   func()
	since  int64           // engine clock
	ctx    context.Context // of tasks that write nothing; ends with Close
	cancel context.CancelFunc
	parser *resp.Parser

	scratch []byte // the reply being made by the goroutine that feeds

	killed atomic.Bool  // by another client: close at once
	unread atomic.Int64 // bytes received and not consumed, the command that runs included

	// What the client has set. Written under mu by the goroutine that feeds
	// or, while there is one, by the task; these read it without.
	session

	mu         sync.Mutex
	ready      []byte   // replies that are ready, before those of the queue
	head, tail *request // calls in the order of their replies
	inFlight   int      // of them, those not done
	queued     int      // of them, all
	held       int      // bytes held by ready and the queue
	expected   int      // bytes that a call in flight may bring, by experience
	task       *task    // waits for the calls in flight, or runs
	feeding    bool     // Feed runs: its caller will ask for Output
	told       bool     // wake was called, Output was not
	stalled    bool     // Feed stopped because of a bound or a task
	closing    bool     // no more input; close when all replies are out
	closed     bool
	lastSeen   int64 // engine clock, for CLIENT LIST
	lastCmd    *Command
}

// keepReplies is the memory for replies that an idle connection keeps.
const keepReplies = 4 << 10

func newConn(e *Engine, info Info, wake func()) *Conn {
	c := &Conn{
		engine: e,
		info:   info,
		wake:   wake,
		since:  e.clock(),
		parser: resp.NewParser(e.limits),
	}
	c.ctx, c.cancel = context.WithCancel(e.ctx)
	c.begun = c.since
	c.session.reset(e)
	c.parser.SetAuthenticated(c.authenticated)
	return c
}

// Feed starts the commands at the start of data, all bytes received and not
// consumed so far, and returns how many bytes it consumed; data is not kept.
// The rest must be there again in the next call: when more has arrived, or, if
// a command or a bound held Feed up, when wake was called. Call Output after
// every Feed.
func (c *Conn) Feed(data []byte) (consumed int) {
	c.mu.Lock()
	c.feeding = true
	c.mu.Unlock()
	now := c.engine.clock()
	// Not once more with nothing left: a connection that nothing waits on is
	// not stalled, and Output need not wake anybody for it.
	for consumed < len(data) && c.welcome(now) {
		c.unread.Store(int64(len(data) - consumed))
		args, n, err := c.parser.Parse(data[consumed:])
		consumed += n
		if err != nil {
			c.refuse(err)
			break
		}
		if len(args) == 0 {
			break
		}
		c.dispatch(args, now)
	}
	c.unread.Store(int64(len(data) - consumed))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feeding = false
	if c.closing || c.closed {
		return len(data)
	}
	c.engine.stats.input.Add(uint64(consumed))
	return consumed
}

// Need returns how many more bytes the command in progress needs at least: a
// hint for the size of the next read.
func (c *Conn) Need() int { return c.parser.Need() }

// Pending tells whether a command is not answered yet, or a reply not taken by
// Output.
func (c *Conn) Pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head != nil || c.task != nil || len(c.ready) > 0
}

// Killed tells whether another client has had the connection closed: close it,
// whatever is still to be written.
func (c *Conn) Killed() bool { return c.killed.Load() }

// Unauthenticated is for how long the client has owed the password: since it
// came, or since RESET. It is 0 if the client has given it or none is asked for.
func (c *Conn) Unauthenticated() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.authenticated {
		return 0
	}
	return time.Duration(c.engine.clock() - c.begun)
}

// welcome tells whether another command may start.
func (c *Conn) welcome(now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastSeen = now
	if c.closing || c.closed {
		return false
	}
	c.stalled = c.task != nil || !c.room()
	return !c.stalled
}

func (c *Conn) room() bool {
	o := &c.engine.options
	return c.queued < o.MaxPending && c.held+c.inFlight*c.expected < o.MaxPendingBytes
}

// refuse answers input that is not RESP; nothing behind it is read.
func (c *Conn) refuse(err error) {
	c.engine.stats.protocolErrors.Add(1)
	if err, ok := err.(resp.ProtocolError); ok {
		reply := resp.AppendProtocolError(nil, err)
		c.engine.stats.countError(reply)
		c.append(reply)
	}
	c.hangUp()
}

// hangUp reads no more commands and closes when all replies are out.
func (c *Conn) hangUp() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
}

// append adds a reply that is ready, behind those of all earlier commands.
func (c *Conn) append(reply []byte) {
	c.mu.Lock()
	c.appendLocked(reply)
	c.mu.Unlock()
}

func (c *Conn) appendLocked(reply []byte) {
	if c.tail != nil {
		c.tail.after = append(c.tail.after, reply...)
	} else {
		c.ready = append(c.ready, reply...)
	}
	c.held += len(reply)
}

// start puts a request in the queue and begins its call.
func (c *Conn) start(r *request) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		r.release()
		return
	}
	if c.tail == nil {
		c.head = r
	} else {
		c.tail.next = r
	}
	c.tail = r
	c.inFlight++
	c.queued++
	c.held += r.size
	c.mu.Unlock()
	c.engine.caches[c.database].Start(&r.call, r.done)
}

// finish takes note that the call of a request is done. It runs on a goroutine
// of the library.
func (c *Conn) finish(r *request) {
	if c.engine.watches.inUse() {
		r.eachFound(func(key []byte) { c.engine.watches.found(c.database, key) })
	}
	c.mu.Lock()
	c.inFlight--
	if c.closed {
		c.mu.Unlock()
		r.release()
		return
	}
	r.ready = true
	results := r.results()
	r.size += results
	c.held += results
	c.expected = max(results, c.expected-c.expected/16)
	var begin *task
	if c.inFlight == 0 && c.task != nil {
		begin = c.task
	}
	tell := r == c.head && c.tellLocked()
	c.mu.Unlock()
	if begin != nil {
		begin.start()
	}
	if tell {
		c.wake()
	}
}

// tellLocked reports whether wake must be called.
func (c *Conn) tellLocked() bool {
	if c.told || c.feeding || c.closed {
		return false
	}
	c.told = true
	return true
}

// Output appends the replies that are ready, in the order of the commands.
// closing says that no more will follow: write them and close.
func (c *Conn) Output(dst []byte) (out []byte, closing bool) {
	start := len(dst)
	c.mu.Lock()
	c.told = false
	dst = append(dst, c.ready...)
	c.held -= len(c.ready)
	c.ready = shrink(c.ready, keepReplies)
	// Take the ready ones off the queue; they are encoded without the lock,
	// from the library's memory straight into dst.
	first := c.head
	for r := c.head; r != nil && r.ready; r = r.next {
		c.head = r.next
		c.queued--
		c.held -= r.size + len(r.after)
	}
	rest := c.head
	if rest == nil {
		c.tail = nil
	}
	c.mu.Unlock()

	now := c.engine.clock()
	for r := first; r != rest; {
		next := r.next
		var failed bool
		dst, failed = r.encode(dst)
		r.cmd.stats.add(now-r.started, failed)
		dst = append(dst, r.after...)
		r.release()
		r = next
	}
	c.engine.stats.output.Add(uint64(len(dst) - start))

	c.mu.Lock()
	again := c.stalled && c.task == nil && c.room() && c.tellLocked()
	closing = c.closed || c.killed.Load() || c.closing && c.head == nil && len(c.ready) == 0 && c.task == nil
	c.mu.Unlock()
	if again {
		c.wake()
	}
	return dst, closing
}

// Close forgets the connection. What it has started goes on without an answer;
// only tasks that write nothing are cancelled. It may be called twice.
func (c *Conn) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	first := c.head
	c.head, c.tail, c.ready = nil, nil, nil
	c.watched.release()
	// Those in flight are released when they are done.
	for r := first; r != nil; {
		next := r.next
		r.next = nil
		if r.ready {
			r.release()
		}
		r = next
	}
	c.mu.Unlock()
	c.cancel()
	c.engine.forget(c)
}
