package redisapi

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// Conn is one client. Feed and Output are called by one goroutine at a time
// each; calls of the library end on goroutines of their own, and so do tasks.
type Conn struct {
	engine *Engine
	id     int64
	info   Info
	since  int64           // engine clock
	ctx    context.Context // of tasks that write nothing; ends with Close
	cancel context.CancelFunc
	parser *resp.Parser
	pipe   *pipeline.Pipeline

	scratch   []byte       // the reply being made by the goroutine that feeds
	encodedAt int64        // engine clock of the last Output
	wants     values.Class // the events that are published; of the goroutine that feeds

	worked bool // a command has come that does not set up the connection

	lastSeen atomic.Int64            // engine clock, for CLIENT LIST
	lastCmd  atomic.Pointer[Command] // likewise
	blocked  atomic.Pointer[blocked] // the command that waits; nil: none
	ended    atomic.Bool             // no more input will come
	unread   atomic.Int64            // bytes received and not consumed, the command that runs included

	// What the client has set, and its subscriptions. Written under mu by the goroutine that feeds
	// or, while there is one, by the task; these read it without.
	session

	messageProto resp.Proto // of messages that answer no request: it changes with the reply of HELLO; written as session is

	redirectBroken atomic.Bool // the connection that gets its invalidations is gone

	tracker *tracking.Client // nil: CLIENT TRACKING ON was never given; written as session is

	subs    *subscriptions // nil: there never were any
	staged  *subscriptions // as EXEC will leave them; nil: it does not change them
	backlog atomic.Int64   // bytes of output that the client does not take
	closed  bool           // Close was called

	listening listening
	holding   bool          // a subscription is not confirmed yet: messages wait for that. Guarded by mu, as the next two
	held      []heldMessage // that wait
	heldBytes int           // of them

	publishing atomic.Int32 // messages on their way to other servers, whose replies wait

	monitor monitorState // guarded by mu

	softSince atomic.Int64 // engine clock since when output is over its soft limit; 0: it is not

	mu   sync.Mutex
	owed owed // guarded by mu
}

// keepReplies is the memory for replies that an idle connection keeps.
const keepReplies = 4 << 10

func newConn(e *Engine, info Info, wake func()) *Conn {
	c := &Conn{
		engine: e,
		info:   info,
		since:  e.clock(),
		parser: resp.NewParser(e.limits),
		pipe: pipeline.New(pipeline.Options{
			MaxRequests: e.options.MaxPending,
			MaxBytes:    e.options.MaxPendingBytes,
			Budget:      e.options.Memory,
			Wake:        wake,
		}),
	}
	c.ctx, c.cancel = context.WithCancel(e.ctx)
	c.begun = c.since
	c.session.reset(e)
	c.messageProto = c.proto
	c.identify()
	c.parser.SetAuthenticated(c.authenticated)
	return c
}

// Feed starts the commands at the start of data, all bytes received and not
// consumed so far, and returns how many bytes it consumed; data is not kept.
// The rest must be there again in the next call: when more has arrived, or, if
// a command or a bound held Feed up, when wake was called. Call Output after
// every Feed.
func (c *Conn) Feed(data []byte) (consumed int) {
	c.pipe.BeginInput()
	now := c.engine.clock()
	c.lastSeen.Store(now)
	c.wants = c.engine.options.DB.WantedEvents()
	// Not once more with nothing left: a connection that nothing waits on is
	// not stalled, and Output need not wake anybody for it.
	misses := 0 // commands that memory does not answer
	for consumed < len(data) && c.pipe.Admit() {
		c.unread.Store(int64(len(data) - consumed))
		if misses > 0 {
			misses--
		} else if c.recalls() {
			var n int
			if n, misses = c.recall(data[consumed:], now); n > 0 {
				consumed += n
				continue
			}
			misses--
		}
		args, n, err := c.parser.Parse(data[consumed:])
		consumed += n
		if err != nil {
			c.refuse(err)
			break
		}
		if len(args) > 0 {
			if !c.dispatch(args, now) {
				consumed -= n // it comes again when the pause is over
			}
		} else if !c.passOver(len(data) - consumed) {
			break
		}
	}
	c.unread.Store(int64(len(data) - consumed))
	if c.pipe.EndInput(len(data) - consumed + c.sessionSize()) {
		return len(data)
	}
	c.engine.stats.input.Add(uint64(consumed))
	return consumed
}

// passOver refuses the command in progress, of which size bytes are there, if
// the server has no memory for the rest. The parser then takes the rest and
// forgets it.
func (c *Conn) passOver(size int) bool {
	if need := c.parser.Need(); c.pipe.Fits(size+need, need) || !c.parser.Skip() {
		return false
	}
	c.startCommand()
	c.reject(nil, errMemory)
	return true
}

// sessionSize is what the session keeps for EXEC, for a command that waits, and for
// messages.
func (c *Conn) sessionSize() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := c.queueLen + c.watched.bytes() + c.blockedSize()
	if c.subs != nil {
		size += c.subs.bytes
	}
	return size
}

// Need returns how many more bytes the command in progress needs at least: a
// hint for the size of the next read.
func (c *Conn) Need() int { return c.parser.Need() }

// Pending tells whether a command is not answered yet, or a reply not taken by
// Output.
func (c *Conn) Pending() bool { return c.pipe.Pending() }

// Killed tells whether another client has had the connection closed: close it,
// whatever is still to be written.
func (c *Conn) Killed() bool { return c.pipe.Killed() }

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

// refuse answers input that is not RESP; nothing behind it is read.
func (c *Conn) refuse(err error) {
	c.engine.stats.protocolErrors.Add(1)
	if err, ok := err.(resp.ProtocolError); ok {
		reply := resp.AppendProtocolError(nil, err)
		c.engine.stats.countError(reply)
		c.pipe.Append(reply)
	}
	c.hangUp()
}

// hangUp reads no more commands and closes when all replies are out.
func (c *Conn) hangUp() { c.pipe.HangUp() }

// start puts a request in the queue and begins its call.
func (c *Conn) start(r *request) {
	r.call.Writer = c.tracker
	tracks := c.tracking.remembers(r.cmd)
	if tracks {
		r.trackCall()
	}
	if c.pipe.Start(r, r.size) {
		if tracks { // behind Start: an invalidation must not overtake the reply
			c.track(&r.tracked, c.database, false)
		}
		c.engine.caches[c.database].Start(&r.call, r.done)
	}
}

// finish takes note that the call of a request is done. It runs on a goroutine
// of the library.
func (c *Conn) finish(r *request) {
	if r.tracked.cache != nil {
		c.trackAnswer(r)
	}
	if r.readKeys != nil && r.call.Err == nil {
		if size := r.found(); size > largeRead {
			go c.finishRead(r)
			return
		}
		r.evaluate()
	}
	c.answered(r)
}

// largeRead is from how many bytes on a value is not decoded on the goroutine that
// carries the answers of others.
const largeRead = 32 << 10

// finishRead is the end of a read of large values.
func (c *Conn) finishRead(r *request) {
	r.evaluate()
	c.answered(r)
}

// answered hands a request over that can be encoded.
func (c *Conn) answered(r *request) {
	if c.pipe.Exceeded() && !r.cmd.writes && r.isLarge() {
		r.call.Result, r.call.Entries, r.answer = verb.Entry{}, nil, nil
		r.call.Err = errMemory
	}
	c.pipe.Finish(r)
}

// Output adds the replies that are ready to out, in the order of the commands.
// closing says that no more will follow: write them and close.
func (c *Conn) Output(out *pipeline.Output) (closing bool) {
	c.encodedAt = c.engine.clock()
	before := out.Len()
	closing = c.pipe.Output(out)
	c.engine.stats.output.Add(uint64(out.Len() - before))
	if c.softSince.Load() != 0 && int64(out.Len()) < c.engine.outputLimit.Load().soft {
		c.softSince.Store(0) // the client has taken everything else
	}
	return closing
}

// Close forgets the connection. What it has started goes on without an answer;
// only tasks that write nothing are cancelled. It may be called twice.
func (c *Conn) Close() {
	if c.pipe.Close() {
		c.cancel()
		c.leave()
		c.ended.Store(true)
		if b := c.blocked.Load(); b != nil {
			b.waiter.Leave(errHungUp, edit.InAnyCase)
		}
		c.engine.pause.forget(c)
		c.leaveTracking()
		c.engine.monitors.remove(c)
		c.engine.forget(c)
	}
}
