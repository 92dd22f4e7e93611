package coalesce

import (
	"context"
	"time"
)

// waiter is where a caller of Do sleeps.
type waiter struct {
	ch    chan struct{} // of capacity 1: a wake-up never blocks
	timer *time.Timer
	err   error
	left  departure
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
	w := &waiter{ch: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	return w
}

func (c *Coalescer) freeWaiter(w *waiter) {
	w.err, w.left = nil, ended
	c.waiters.Put(w)
}

// wait sleeps until the op is done, its caller's context ends or its deadline
// passes.
func (c *Coalescer) wait(ctx context.Context, op *Op, w *waiter) error {
	var deadline <-chan time.Time
	if op.Deadline != 0 {
		w.timer.Reset(time.Duration(op.Deadline - Now()))
		deadline = w.timer.C
	}
	var err error
	select {
	case <-w.ch:
		err = w.err
	case <-ctx.Done():
		err = c.cancel(op, w, context.Cause(ctx))
	case <-deadline:
		err = c.cancel(op, w, nil)
	}
	if deadline != nil {
		w.timer.Stop()
	}
	c.freeWaiter(w)
	return err
}

// cancel ends the wait of op's caller: at once if the op is queued or sent;
// between the two, Run is reading the caller's bytes, and the instant at
// which it has finished is awaited. cause is nil for a passed deadline.
func (c *Coalescer) cancel(op *Op, w *waiter, cause error) error {
	c.mu.Lock()
	switch {
	case op.state == idle: // done in this very moment
		c.mu.Unlock()
		<-w.ch
		return w.err
	case op.state == queued:
		err := c.withdraw(op, cause)
		c.mu.Unlock()
		return err
	case op.Kind == exclusive: // granted in this very moment
		c.mu.Unlock()
		<-w.ch
		return w.err
	case op.flight.sent:
		op.w = nil
		c.stats.Cancelled++
		c.mu.Unlock()
		return leftError(cause, true, false)
	}
	op.leaving = true
	op.flight.leavers++
	c.mu.Unlock()
	<-w.ch
	switch w.left {
	case leftSent:
		return leftError(cause, true, false)
	case leftUnsent:
		return leftError(cause, false, op.blocked)
	}
	return w.err
}

// withdraw removes a queued op: it had no effect.
func (c *Coalescer) withdraw(op *Op, cause error) error {
	c.leave(op)
	c.uncount(op)
	op.state = idle
	op.w = nil
	if cause == nil {
		c.stats.Expired++
	} else {
		c.stats.Cancelled++
	}
	c.checkIdle()
	return leftError(cause, false, op.blocked)
}

// letGo lets the caller of a sent op return. The op stays with its flight.
func (op *Op) letGo() {
	w := op.w
	op.w, op.leaving = nil, false
	w.left = leftSent
	w.wake(nil)
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

// finished collects ops that are done while the mutex is held; finish tells
// their callers after it is released.
type finished struct{ head, tail *Op }

// push takes over an op that is in no queue and no list any more.
func (fin *finished) push(op *Op, err error) {
	op.state, op.flight, op.err = idle, nil, err
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
