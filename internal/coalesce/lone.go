package coalesce

import "context"

// lone is the flight of one caller of Do, on its goroutine, for its op alone.
// Only that goroutine uses it, so it needs no mutex.
type lone struct {
	slot
	c      *Coalescer
	lane   *lane
	op     *Op
	batch  [1]*Op // what Take returned
	took   bool
	ending ending
	err    error // if completed
}

// ending is what Run said about the op of a lone flight.
type ending uint8

const (
	unended ending = iota
	completed
	acknowledged
	keyBlocked
	tableBlocked
)

// newLone makes the flight of op, whose keys are granted.
func (c *Coalescer) newLone(op *Op, l *lane) *lone {
	var f *lone
	if n := len(c.freeLone); n > 0 {
		f = c.freeLone[n-1]
		c.freeLone = c.freeLone[:n-1]
	} else {
		f = &lone{c: c}
	}
	f.lane, f.op = l, op
	op.state = taken
	op.Table.feeds[l.index].takenOff()
	l.slots = append(l.slots, &f.slot)
	f.ops = 1
	l.airborne++
	c.active++
	return f
}

// doLone runs a lone flight on the goroutine of its caller.
func (c *Coalescer) doLone(ctx context.Context, f *lone) error {
	op := f.op
	landed := false
	defer func() {
		if !landed { // Run called runtime.Goexit
			f.land(ctx)
		}
	}()
	c.fly(ctx, f)
	landed = true
	w, err := f.land(ctx)
	if w == nil {
		return err
	}
	return c.wait(ctx, op, w)
}

// land ends the flight: its op is done, or, if there is a waiter, queued again.
func (f *lone) land(ctx context.Context) (again *waiter, err error) {
	c, op := f.c, f.op
	done := f.ending == acknowledged
	c.mu.Lock()
	last := op.lastWrite()
	again, err = f.leaveLane(ctx)
	c.mu.Unlock()
	if done && c.opt.Acknowledged != nil {
		c.opt.Acknowledged(op, nil, last) // no read waited for it when it was sent
	}
	return again, err
}

// leaveLane frees the slot of the flight, and the keys of its op if that is done.
func (f *lone) leaveLane(ctx context.Context) (again *waiter, err error) {
	c, l, op, t := f.c, f.lane, f.op, f.op.Table
	c.stats.took(l.kind, op.keyCount())
	t.stats.took(l.kind, op.keyCount())
	if f.ending >= keyBlocked {
		again, err = c.againAfterLone(ctx, op, f.ending)
	} else {
		err = f.err
	}
	if again == nil {
		if err == errExpired {
			t.stats.Expired++
		}
		if err == nil && t.suspicious() {
			t.clear(op)
		}
		c.dequeue(op)
		op.state = idle
	}
	t.feeds[l.index].landed()
	c.vacate(l, &f.slot)
	*f = lone{c: c}
	c.freeLone = append(c.freeLone, f)
	c.kick(l)
	c.done()
	return again, err
}

// againAfterLone queues an op that was blocked in its lone flight, unless its
// caller has no time left.
func (c *Coalescer) againAfterLone(ctx context.Context, op *Op, ending ending) (*waiter, error) {
	now := Now()
	l := op.Table.blocked(op, ending == tableBlocked, now)
	switch {
	case op.expired(now):
		op.Table.stats.Expired++
		return nil, errExpiredBlocked
	case ctx.Err() != nil:
		op.Table.stats.Cancelled++
		return nil, leftError(context.Cause(ctx), false, true)
	case c.aborted:
		return nil, ErrClosed
	}
	c.count(op)
	l.queue(op)
	c.kick(l)
	return op.w, nil
}

func (f *lone) Kind() Kind { return f.lane.kind }

func (f *lone) Lone() bool { return true }

func (f *lone) Deadline() int64 { return f.op.Deadline }

func (f *lone) Tries() int { return 0 }

func (f *lone) Take() []*Op {
	if f.took {
		return nil
	}
	f.took = true
	f.batch[0] = f.op
	return f.Retake(f.batch[:])
}

func (f *lone) Sent() {} // the caller is Run's own goroutine

func (f *lone) Retake(ops []*Op) []*Op {
	if len(ops) > 0 && f.op.expired(Now()) {
		f.Complete(f.op, errExpired)
		return ops[:0]
	}
	return ops
}

func (f *lone) Complete(op *Op, err error) {
	if f.end(op, completed) {
		f.err = err
	}
}

func (f *lone) Acknowledge(op *Op, _ bool) { f.end(op, acknowledged) }

func (f *lone) Blocked(op *Op) { f.end(op, keyBlocked) }

func (f *lone) TableBlocked(ops ...*Op) {
	for _, op := range ops {
		f.end(op, tableBlocked)
	}
}

// end records how the op has ended, once.
func (f *lone) end(op *Op, how ending) bool {
	if op != f.op || f.ending != unended {
		return false
	}
	f.ending = how
	return true
}

func (f *lone) settle(err error) { f.Complete(f.op, err) }
