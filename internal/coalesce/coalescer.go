package coalesce

import (
	"context"
	"math"
	"sync"
	"time"
)

// Options configure a Coalescer.
type Options struct {
	// MaxKeys and MaxBytes bound a batch, of all tables together; a larger op
	// flies by itself. 0 means 256 keys and 1 MiB.
	MaxKeys, MaxBytes int
	// MaxQueueBytes bounds what is queued for all Tables together; beyond it
	// ops are refused with ErrOverloaded. Each op counts its Bytes and a few
	// hundred more. 0 means 256 MiB.
	MaxQueueBytes int
	// ReadFlights, WriteFlights, AloneFlights and IsolatedFlights are how many
	// calls of Run each lane may have at once. Reads and writes that are late
	// are not counted; but of those that carry ops of one Table, there is at
	// most one more. 0 means 2.
	ReadFlights, WriteFlights, AloneFlights, IsolatedFlights int
	// MaxFlights bounds the calls of Run of all lanes, late ones included: the
	// number of connections, for instance. Only the first flight of a lane
	// starts in any case. 0 means 8.
	MaxFlights int
	// Grace is how long after its deadline a caller still waits for the answer
	// of a flight of Kind Alone or Isolated, which probably says that the op is
	// blocked and had no effect. Run should end such a flight earlier. 0 means
	// 200 ms.
	Grace time.Duration
	// Same says whether two ops with one number for a key mean the same key.
	// Those that do not neither merge nor answer each other. It is called with
	// the mutex held. nil: numbers never collide.
	Same func(a, b *Op) bool
	// Unknown says whether an op that Complete ended with this error may have had
	// an effect; it may after a panic, and after ErrIncomplete. nil: after no
	// other error.
	Unknown func(error) bool
	// Acknowledged is called once for each op given to Flight.Acknowledge, when
	// its keys are free and before any caller is answered. It stores the results
	// of the echoes. last says that no other write of its key was queued then.
	// nil: nothing is to be done.
	Acknowledged func(set *Op, echoes []Echo, last bool)
	// Run executes one flight; see Flight for what it must do. ctx is the
	// caller's for a flight on the goroutine of a lone caller of Do, and
	// context.Background() for all others.
	Run func(ctx context.Context, f Flight)
	// OnPanic, if not nil, gets each panic in Run or in a done callback (a
	// *PanicError), which is otherwise only the error of the ops it left
	// open.
	OnPanic func(error)
}

// Coalescer gathers concurrent ops of many Tables into batches. Make one with
// New.
type Coalescer struct {
	opt     Options
	waiters sync.Pool // of *waiter

	mu sync.Mutex
	// Queued ops are in waiting until all their keys are granted, then in the
	// feed of their Table for their lane.
	waiting opList
	lanes   [laneCount]lane
	crowded bool // a flight did not start because of MaxFlights

	admitted               uint64 // ops so far; see Op.order
	queuedOps, queuedBytes int
	reserved               int           // bytes; see Table.Reserve
	active                 int           // flights, holders of Exclusive, sweeps
	closed                 bool          // new ops are refused
	aborted                bool          // and queued ones
	idle                   chan struct{} // closed when closed and nothing is left

	sweeping   bool // what waits for a landing waits no longer
	sweepTimer *time.Timer
	sweepAt    int64 // when it fires; math.MaxInt64 if it is not armed
	expiryAt   int64 // when deadlines are due to be looked at; math.MaxInt64 means never

	freeQueues []*keyQueue
	freeShared []*shared
	freeLone   []*lone
	stats      Stats
}

// New makes a Coalescer. It starts no goroutine.
func New(opt Options) *Coalescer {
	defaultTo(&opt.MaxKeys, 256)
	defaultTo(&opt.MaxBytes, 1<<20)
	defaultTo(&opt.MaxQueueBytes, 256<<20)
	defaultTo(&opt.ReadFlights, 2)
	defaultTo(&opt.WriteFlights, 2)
	defaultTo(&opt.AloneFlights, 2)
	defaultTo(&opt.IsolatedFlights, 2)
	defaultTo(&opt.MaxFlights, 8)
	if opt.Grace <= 0 {
		opt.Grace = 200 * time.Millisecond
	}
	return &Coalescer{
		opt:      opt,
		idle:     make(chan struct{}),
		sweepAt:  math.MaxInt64,
		expiryAt: math.MaxInt64,
		lanes: [laneCount]lane{
			reads:    {kind: Read, index: reads, limit: opt.ReadFlights, perFlight: opt.MaxKeys, perTable: opt.ReadFlights + 1},
			writes:   {kind: Write, index: writes, limit: opt.WriteFlights, perFlight: opt.MaxKeys, perTable: opt.WriteFlights + 1},
			alone:    {kind: Alone, index: alone, limit: opt.AloneFlights, perFlight: 1, perTable: opt.AloneFlights},
			isolated: {kind: Isolated, index: isolated, limit: opt.IsolatedFlights, perFlight: 1, perTable: 1},
		},
	}
}

func defaultTo(n *int, value int) {
	if *n <= 0 {
		*n = value
	}
}

// Do runs op and returns its outcome. If nothing else is under way, the flight
// is run on this goroutine, with ctx.
//
// A caller that stops waiting, because ctx ends or op.Deadline passes, gets a
// *LeftError; one that is refused ErrOverloaded or ErrClosed. If the error
// matches ErrSent, the Op must not be touched again.
func (c *Coalescer) Do(ctx context.Context, op *Op) error {
	if ctx.Err() != nil {
		return leftError(context.Cause(ctx), false, false)
	}
	op.prepare(c, nil)
	c.mu.Lock()
	f, err := c.admit(op, true)
	w := op.w
	c.mu.Unlock()
	switch {
	case err != nil:
		return err
	case f != nil:
		return c.doLone(ctx, f)
	}
	return c.wait(ctx, op, w)
}

// Start runs op and calls done with its outcome, exactly once: on the
// goroutine of a flight or of a timer, or, if op is refused, before Start
// returns. done must be quick and must not block; it may call Start.
func (c *Coalescer) Start(op *Op, done func(*Op, error)) {
	op.prepare(c, done)
	c.mu.Lock()
	_, err := c.admit(op, false)
	c.mu.Unlock()
	if err != nil {
		op.done = nil
		done(op, err)
	}
}

// DoAll runs ops together and waits for all of them. It returns what Do would
// for each.
func (c *Coalescer) DoAll(ctx context.Context, ops []*Op) []error {
	errs := make([]error, len(ops))
	if ctx.Err() != nil {
		for i := range errs {
			errs[i] = leftError(context.Cause(ctx), false, false)
		}
		return errs
	}
	for i, w := range c.admitAll(ops, errs) {
		if w != nil {
			errs[i] = c.wait(ctx, ops[i], w)
		}
	}
	return errs
}

// admitAll queues ops; those that are refused have an error and no waiter.
func (c *Coalescer) admitAll(ops []*Op, errs []error) []*waiter {
	waiters := make([]*waiter, len(ops))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, op := range ops {
		op.prepare(c, nil)
		_, errs[i] = c.admit(op, false)
		waiters[i] = op.w
	}
	return waiters
}

// prepare makes op ready to be admitted.
func (op *Op) prepare(c *Coalescer, done func(*Op, error)) {
	switch {
	case op.state != idle:
		panic("coalesce: the Op is in use")
	case op.Table == nil:
		panic("coalesce: the Op has no Table")
	case op.Table.c != c:
		panic("coalesce: the Table of the Op belongs to another Coalescer")
	}
	op.w, op.done = nil, done
	op.leaving, op.blocked, op.tries = staying, false, 0
	op.newer, op.follower, op.echoed = nil, nil, false
}

// admit queues op. If the caller can fly and nothing else is under way, it
// returns a flight instead, for op alone, that the caller is to run.
func (c *Coalescer) admit(op *Op, pilot bool) (*lone, error) {
	if err := c.refuse(op); err != nil {
		return nil, err
	}
	c.number(op)
	if op.mergeable() && c.merge(op) {
		c.count(op)
		return nil, nil
	}
	c.enqueue(op)
	if op.waiting > 0 {
		c.count(op)
		c.waiting.push(op)
		return nil, nil
	}
	l := op.Table.lane(op)
	if pilot && l.shared() && l.ready == 0 && !op.Table.feeds[l.index].held && c.worthStarting(l, 1) {
		return c.newLone(op, l), nil
	}
	c.count(op)
	l.queue(op)
	c.kick(l)
	return nil, nil
}

// refuse says why op cannot be admitted, if so.
func (c *Coalescer) refuse(op *Op) error {
	switch {
	case c.aborted, c.closed && !op.Held:
		return ErrClosed
	case op.Held:
		return nil
	}
	if op.Table.full(op.queueCost()) {
		return ErrOverloaded
	}
	return nil
}

// count accounts for an op that is queued from now on, uncount for one that
// no longer is.
func (c *Coalescer) count(op *Op) {
	t, cost := op.Table, op.queueCost()
	op.state = queued
	c.queuedOps++
	c.queuedBytes += cost
	t.queuedOps++
	t.queuedBytes += cost
	if op.done == nil && op.w == nil {
		c.newWaiter().await(op)
	}
	if op.done != nil && op.Deadline != 0 {
		c.expireAt(op.Deadline)
	}
}

func (c *Coalescer) uncount(op *Op) {
	t, cost := op.Table, op.queueCost()
	c.queuedOps--
	c.queuedBytes -= cost
	t.queuedOps--
	t.queuedBytes -= cost
}

// number gives op its place in the order of all ops.
func (c *Coalescer) number(op *Op) {
	c.admitted++
	op.order = c.admitted
}
