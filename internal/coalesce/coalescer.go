package coalesce

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// Options configure a Coalescer.
type Options struct {
	// MaxKeys and MaxBytes bound a batch; a larger op flies by itself.
	// 0 means 256 keys and 1 MiB.
	MaxKeys, MaxBytes int
	// MaxQueueBytes bounds what is queued in all lanes together; beyond it
	// ops are refused with ErrOverloaded. Each op counts its Bytes and a few
	// hundred more. 0 means 64 MiB.
	MaxQueueBytes int
	// ReadFlights, WriteFlights and AloneFlights are how many calls of Run
	// each lane may have at once. 0 means 2.
	ReadFlights, WriteFlights, AloneFlights int
	// Grace is how long after its deadline a caller still waits for the answer
	// of a flight of Kind Alone, which probably says that the op is blocked and
	// had no effect. Run should end such a flight earlier. 0 means 200 ms.
	Grace time.Duration
	// Run executes one flight; see Flight for what it must do. ctx is the
	// caller's for a flight on the goroutine of a lone caller of Do, and
	// context.Background() for all others.
	Run func(ctx context.Context, f *Flight)
	// OnPanic, if not nil, is told of a panic in Run or in a done callback (a
	// *PanicError), which is otherwise only the error of the ops it left
	// open.
	OnPanic func(error)
}

// Coalescer gathers concurrent ops into batches. Make one with New.
type Coalescer struct {
	opt     Options
	waiters sync.Pool // of *waiter

	mu   sync.Mutex
	keys map[uint64]*keyQueue
	// Queued ops are in waiting until all their keys are granted, then in the
	// ready list of their lane.
	waiting              opList
	reads, writes, alone lane
	suspects             map[uint64]suspicion
	suspectsKept         int // size of suspects after its last cleaning

	queuedOps, queuedBytes int
	active                 int           // flights, holders of Exclusive, sweeps
	closed                 bool          // new ops are refused
	aborted                bool          // and queued ones
	idle                   chan struct{} // closed when closed and nothing is left

	sweeping   bool // what waits for a landing waits no longer
	sweepTimer *time.Timer
	sweepAt    int64 // when it fires; math.MaxInt64 if it is not armed

	freeKeys    []*keyQueue
	freeFlights []*Flight
	stats       Stats
}

// New makes a Coalescer. It starts no goroutine.
func New(opt Options) *Coalescer {
	defaultTo(&opt.MaxKeys, 256)
	defaultTo(&opt.MaxBytes, 1<<20)
	defaultTo(&opt.MaxQueueBytes, 64<<20)
	defaultTo(&opt.ReadFlights, 2)
	defaultTo(&opt.WriteFlights, 2)
	defaultTo(&opt.AloneFlights, 2)
	if opt.Grace <= 0 {
		opt.Grace = 200 * time.Millisecond
	}
	return &Coalescer{
		opt:      opt,
		keys:     make(map[uint64]*keyQueue),
		suspects: make(map[uint64]suspicion),
		idle:     make(chan struct{}),
		sweepAt:  math.MaxInt64,
		reads:    lane{kind: Read, limit: opt.ReadFlights, perFlight: opt.MaxKeys},
		writes:   lane{kind: Write, limit: opt.WriteFlights, perFlight: opt.MaxKeys},
		alone:    lane{kind: Alone, limit: opt.AloneFlights, perFlight: 1},
	}
}

func defaultTo(n *int, value int) {
	if *n <= 0 {
		*n = value
	}
}

// Do runs op and returns its outcome. If nobody else is about, the flight is
// run on this goroutine, with ctx.
//
// A caller that stops waiting, because ctx ends or op.Deadline passes, gets a
// *LeftError; one that is refused ErrOverloaded or ErrClosed. If the error
// matches ErrSent, the Op must not be touched again.
func (c *Coalescer) Do(ctx context.Context, op *Op) error {
	if ctx.Err() != nil {
		return leftError(context.Cause(ctx), false, false)
	}
	op.prepare(nil)
	c.mu.Lock()
	f, err := c.admit(op, true)
	w := op.w
	c.mu.Unlock()
	switch {
	case err != nil:
		return err
	case f != nil:
		return c.doInline(ctx, op, f)
	}
	return c.wait(ctx, op, w)
}

// Start runs op and calls done with its outcome, exactly once: on the
// goroutine of a flight or of a timer, or, if op is refused, before Start
// returns. done must be quick and must not block; it may call Start.
func (c *Coalescer) Start(op *Op, done func(*Op, error)) {
	op.prepare(done)
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
		op.prepare(nil)
		_, errs[i] = c.admit(op, false)
		waiters[i] = op.w
	}
	return waiters
}

// prepare makes op ready to be admitted.
func (op *Op) prepare(done func(*Op, error)) {
	if op.state != idle {
		panic("coalesce: the Op is in use")
	}
	op.w, op.done = nil, done
	op.leaving, op.blocked, op.tries = staying, false, 0
	op.newer, op.follower = nil, nil
}

// admit queues op. If the caller can fly and nobody else is about, it gives a
// flight instead, for op alone, that the caller is to run.
func (c *Coalescer) admit(op *Op, pilot bool) (*Flight, error) {
	if err := c.refuse(op); err != nil {
		return nil, err
	}
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
	l := c.laneOf(op)
	if pilot && l != &c.alone && l.ready.n == 0 && c.worthStarting(l, 1) {
		op.state = taken
		f := c.newFlight()
		f.lane, f.inline = l, op
		l.flights++
		l.airborne++
		c.active++
		return f, nil
	}
	c.count(op)
	l.queue(op)
	c.kick(l)
	return nil, nil
}

// refuse says why op cannot be admitted, if so.
func (c *Coalescer) refuse(op *Op) error {
	if c.closed {
		return ErrClosed
	}
	if c.queuedOps > 0 && c.queuedBytes+op.queueCost() > c.opt.MaxQueueBytes {
		c.stats.Overloaded++
		return ErrOverloaded
	}
	return nil
}

// count accounts for an op that is queued from now on, uncount for one that
// no longer is.
func (c *Coalescer) count(op *Op) {
	op.state = queued
	c.queuedOps++
	c.queuedBytes += op.queueCost()
	if op.done == nil && op.w == nil {
		c.newWaiter().await(op)
	}
	if op.done != nil && op.Deadline != 0 {
		c.armSweep(op.Deadline)
	}
}

func (c *Coalescer) uncount(op *Op) {
	c.queuedOps--
	c.queuedBytes -= op.queueCost()
}

// doInline runs a flight for op alone on the goroutine of its caller.
func (c *Coalescer) doInline(ctx context.Context, op *Op, f *Flight) error {
	landed := false
	defer func() {
		if !landed { // Run called runtime.Goexit
			c.landInline(ctx, op, f)
		}
	}()
	c.fly(ctx, f)
	landed = true
	w, err := c.landInline(ctx, op, f)
	if w == nil {
		return err
	}
	return c.wait(ctx, op, w)
}

// landInline ends an inline flight: its op is done, or, if there is a waiter,
// queued again.
func (c *Coalescer) landInline(ctx context.Context, op *Op, f *Flight) (again *waiter, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.batch(f.lane.kind, op.keyCount())
	defer c.land(f.lane, f)
	err = f.err
	if f.ending == blockedEnding {
		now := Now()
		c.stats.Blocked++
		c.suspectKeys(op, now)
		op.blocked = true
		switch {
		case op.expired(now):
			c.stats.Expired++
			err = errExpiredBlocked
		case ctx.Err() != nil:
			c.stats.Cancelled++
			err = leftError(context.Cause(ctx), false, true)
		case c.aborted:
			err = ErrClosed
		default:
			c.count(op)
			c.alone.queue(op)
			c.kick(&c.alone)
			return op.w, nil
		}
	}
	if err == errExpired {
		c.stats.Expired++
	}
	if err == nil && len(c.suspects) > 0 {
		c.clear(op)
	}
	c.dequeue(op)
	op.state = idle
	return nil, err
}

// Exclusive waits until it holds all keys as a write does, calls fn on this
// goroutine and lets them go when fn returns. It is no flight and takes no
// slot. If ctx ends first, the error is a *LeftError and fn is not called.
func (c *Coalescer) Exclusive(ctx context.Context, keys []uint64, fn func(context.Context) error) error {
	if ctx.Err() != nil {
		return leftError(context.Cause(ctx), false, false)
	}
	op := &Op{Keys: keys, Kind: exclusive}
	w, err := c.hold(op)
	if err != nil {
		return err
	}
	if err := c.wait(ctx, op, w); err != nil {
		return err
	}
	defer c.letGo(op)
	if ctx.Err() != nil {
		return leftError(context.Cause(ctx), false, false)
	}
	return fn(ctx)
}

// hold queues an exclusive op.
func (c *Coalescer) hold(op *Op) (*waiter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refuse(op); err != nil {
		return nil, err
	}
	c.enqueue(op)
	c.count(op)
	w := op.w
	if op.waiting > 0 {
		c.waiting.push(op)
	} else {
		c.ready(op)
	}
	return w, nil
}

// letGo ends an exclusive op.
func (c *Coalescer) letGo(op *Op) {
	c.mu.Lock()
	c.dequeue(op)
	c.active--
	c.checkIdle()
	c.mu.Unlock()
}

// Close refuses new ops with ErrClosed and waits until those that are queued
// have run; when ctx ends, the queued ones fail with ErrClosed instead. Close
// returns when no flight and no goroutine is left, so Run must end by
// f.Deadline. The error is ErrClosed if queued ops had to be failed. It may be
// called again, and concurrently.
func (c *Coalescer) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.checkIdle()
	c.mu.Unlock()
	select {
	case <-c.idle:
		return nil
	case <-ctx.Done():
	}
	failed := c.abort()
	<-c.idle
	if failed > 0 {
		return errors.Join(ErrClosed, context.Cause(ctx))
	}
	return nil
}

// abort fails everything that is queued and returns how many ops that were.
func (c *Coalescer) abort() int {
	var fin finished
	c.mu.Lock()
	c.aborted = true
	c.active++ // the callbacks are part of what Close waits for
	n := c.queuedOps
	// The waiting first: they must not become ready.
	for _, l := range [...]*opList{&c.waiting, &c.reads.ready, &c.writes.ready, &c.alone.ready} {
		for op := l.head; op != nil; op = l.head {
			for o := op; o != nil; o = o.follower {
				c.uncount(o)
			}
			c.complete(op, ErrClosed, &fin)
		}
	}
	c.mu.Unlock()
	fin.finish()
	c.mu.Lock()
	c.active--
	c.checkIdle()
	c.mu.Unlock()
	return n
}

// checkIdle lets Close return when nothing is left.
func (c *Coalescer) checkIdle() {
	if !c.closed || c.active > 0 || c.queuedOps > 0 {
		return
	}
	select {
	case <-c.idle:
		return
	default:
	}
	if c.sweepTimer != nil {
		c.sweepTimer.Stop()
	}
	close(c.idle)
}

func (c *Coalescer) panicked(err error) {
	c.mu.Lock()
	c.stats.Panics++
	c.mu.Unlock()
	if c.opt.OnPanic != nil {
		c.opt.OnPanic(err)
	}
}
