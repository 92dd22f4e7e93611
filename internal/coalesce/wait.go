package coalesce

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// waiter is where a caller of Do sleeps. Its timer is left armed from one
// wait to the next: an armed timer costs nothing, and starting and stopping
// one for every wait costs as much as the rest of it.
type waiter struct {
	ch    chan struct{} // of capacity 1: a wake-up never blocks
	timer *time.Timer
	err   error
	left  departure

	// Guarded by the Coalescer's mutex.
	op    *Op   // that is waited for; nil once its wake-up has been decided
	armed int64 // when timer fires; 0 if it is not armed
	until int64 // when its caller's grace ends; 0 while it has not begun
}

// departure says why a caller that wanted to leave was woken.
type departure uint8

const (
	ended      departure = iota // the op is done, err is its outcome
	leftSent                    // the op was sent
	leftUnsent                  // the op will not be sent
)

// wake hands the op over to its caller. Nothing may touch the op afterwards.
func (w *waiter) wake(err error) {
	w.err = err
	w.ch <- struct{}{}
}

func (c *Coalescer) newWaiter() *waiter {
	if w, ok := c.waiters.Get().(*waiter); ok {
		return w
	}
	w := &waiter{ch: make(chan struct{}, 1)}
	w.timer = time.AfterFunc(time.Hour, func() { c.overdue(w) })
	w.timer.Stop()
	return w
}

func (c *Coalescer) freeWaiter(w *waiter) {
	w.err, w.left = nil, ended
	c.waiters.Put(w)
}

// await binds a waiter to op and sees to it that it wakes at op's deadline.
func (w *waiter) await(op *Op) {
	w.op, w.until = op, 0
	op.w = w
	if op.Deadline != 0 && (w.armed == 0 || w.armed > op.Deadline) {
		w.arm(op.Deadline)
	}
}

func (w *waiter) arm(deadline int64) {
	w.armed = deadline
	w.timer.Reset(time.Duration(deadline - Now()))
}

// due is when the caller wants to leave; 0 means never.
func (w *waiter) due() int64 {
	if w.until != 0 {
		return w.until
	}
	return w.op.Deadline
}

// overdue is called by the timer: at the deadline of the op that is waited
// for, or at one of an earlier op.
func (c *Coalescer) overdue(w *waiter) {
	c.mu.Lock()
	now := Now()
	op := w.op
	switch {
	case w.armed > now: // armed anew in this very moment
		c.mu.Unlock()
	case op == nil || w.due() == 0:
		w.armed = 0
		c.mu.Unlock()
	case w.due() > now:
		w.arm(w.due())
		c.mu.Unlock()
	default:
		w.armed = 0
		err, decided := c.departs(op, nil, true)
		c.mu.Unlock()
		if decided {
			w.wake(err)
		}
	}
}

// wait sleeps until the op is done, its caller's context ends or its deadline
// passes.
func (c *Coalescer) wait(ctx context.Context, op *Op, w *waiter) error {
	var cause error
	if done := ctx.Done(); done == nil {
		<-w.ch
	} else {
		select {
		case <-w.ch:
		case <-done:
			cause = context.Cause(ctx)
			if err, decided := c.cancel(op, w, cause, errors.Is(ctx.Err(), context.DeadlineExceeded)); decided {
				c.freeWaiter(w)
				return err
			}
			<-w.ch
		}
	}
	err := w.err
	switch w.left {
	case leftSent:
		err = leftError(cause, true, false)
	case leftUnsent:
		err = leftError(cause, false, op.blocked)
	}
	c.freeWaiter(w)
	return err
}

// cancel ends the wait of op's caller because its context has ended. If that
// is not decided at once, a wake-up is on its way.
func (c *Coalescer) cancel(op *Op, w *waiter, cause error, late bool) (err error, decided bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.op != op { // done in this very moment
		return nil, false
	}
	return c.departs(op, cause, late)
}

// departs lets op's caller leave: at once if the op is queued or sent; between
// the two, Run is reading the caller's bytes, and the instant at which it has
// finished is awaited. A caller that is merely late waits a little for a flight
// that probably learns that the op is blocked: "not applied" is a better answer
// than "unknown". cause is nil for a passed deadline.
func (c *Coalescer) departs(op *Op, cause error, late bool) (err error, decided bool) {
	switch {
	case op.state == queued:
		return c.withdraw(op, cause), true
	case op.Kind == exclusive:
		return nil, false // granted in this very moment
	case late && op.flight.lane.kind >= Alone && c.inGrace(op.w):
		op.leaving = leavingUnanswered
	case op.flight.sent:
		op.w.op = nil
		op.abandon()
		op.Table.stats.Cancelled++
		return leftError(cause, true, false), true
	case op.leaving != leavingWhenSent:
		op.leaving = leavingWhenSent
		op.flight.leavers++
	}
	return nil, false
}

// inGrace begins the grace of a late caller and says whether it lasts.
func (c *Coalescer) inGrace(w *waiter) bool {
	now := Now()
	if w.until == 0 {
		w.until = now + int64(c.opt.Grace)
	}
	if w.until <= now {
		return false
	}
	w.arm(w.until)
	return true
}

// withdraw removes a queued op: it had no effect.
func (c *Coalescer) withdraw(op *Op, cause error) error {
	blocked, behind := op.Table.heldUp(op), op.isBehind()
	c.leaveQueued(op)
	c.uncount(op)
	op.state = idle
	op.w.op, op.w = nil, nil
	if cause == nil {
		op.Table.stats.Expired++
	} else {
		op.Table.stats.Cancelled++
	}
	c.checkIdle()
	return queuedError(cause, blocked, behind)
}

// release wakes the caller of a sent op, which then leaves.
func (op *Op) release() {
	w := op.w
	op.leaving = staying
	op.abandon()
	w.op, w.left = nil, leftSent
	w.wake(nil)
}

// abandon leaves a sent op to its flight.
func (op *Op) abandon() {
	op.w = nil
	atomic.StoreUint32(&op.left, 1)
}

func leftError(cause error, sent, blocked bool) error {
	switch {
	case cause != nil:
		return &LeftError{Cause: cause, Sent: sent, Blocked: blocked}
	case sent:
		return errExpiredSent
	case blocked:
		return errExpiredBlocked
	}
	return errExpired
}

// queuedError is leftError for an op that was queued.
func queuedError(cause error, blocked, behind bool) error {
	switch {
	case blocked || !behind:
		return leftError(cause, false, blocked)
	case cause != nil:
		return &LeftError{Cause: cause, Behind: true}
	}
	return errExpiredBehind
}

// isBehind reports whether a queued op waits for others that came before it for its keys.
func (op *Op) isBehind() bool {
	for op.newer != nil {
		op = op.newer
	}
	return op.waiting > 0
}

// finished collects ops that are done while the mutex is held; finish tells
// their callers after it is released.
type finished struct{ head, tail *Op }

// push takes over an op that is in no queue and no list any more.
func (fin *finished) push(op *Op, err error) {
	op.state, op.flight, op.err = idle, nil, err
	if op.w != nil {
		op.w.op = nil
	}
	op.next = nil
	if fin.tail == nil {
		fin.head = op
	} else {
		fin.tail.next = op
	}
	fin.tail = op
}

func (fin *finished) finish() {
	if fin.head == nil {
		return
	}
	defer fin.rest()
	for fin.head != nil {
		op := fin.head
		next, err, w, done := op.next, op.err, op.w, op.done
		op.next, op.err, op.w, op.done = nil, nil, nil, nil
		fin.head = next
		switch {
		case done != nil:
			done(op, err)
		case w != nil:
			w.wake(err)
		}
	}
}

// rest goes on after a callback that panicked: its neighbours must not hang.
func (fin *finished) rest() {
	if fin.head != nil {
		fin.finish()
	}
}
