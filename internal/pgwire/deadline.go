package pgwire

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Bound ends what a flight waits for, a connection first and its answers then,
// at a deadline or when the lone caller leaves. It is the context in which a
// connection is acquired.
//
// A context with a deadline, and deadlines on a socket, are a timer each that
// is set and stopped for every flight; in Go that costs a lone caller as much
// as a lookup costs PostgreSQL. All bounds of a DB share a timer instead, which
// is left armed.
type Bound struct {
	context.Context // the lone caller's, or context.Background()
	deadlines       *Deadlines
	deadline        time.Time   // guarded by deadlines.mu
	stop            func() bool // ends the watch over the context; nil if it cannot end
	prev, next      *Bound      // guarded by deadlines.mu
	ended           bool        // guarded by deadlines.mu

	mu       sync.Mutex
	done     chan struct{} // closed when err is set
	err      error
	conn     net.Conn      // that carries the flight now
	patience time.Duration // see Watch
}

// Deadline implements context.Context.
func (b *Bound) Deadline() (time.Time, bool) {
	b.deadlines.mu.Lock()
	defer b.deadlines.mu.Unlock()
	return b.deadline, true
}

// Done implements context.Context.
func (b *Bound) Done() <-chan struct{} { return b.done }

// Err implements context.Context.
func (b *Bound) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// expire ends the wait.
func (b *Bound) expire(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	b.err = err
	close(b.done)
	if b.conn != nil {
		b.conn.SetDeadline(longAgo)
	}
}

// leave is called when the context has ended. The deadline of the context leaves
// a flight that is under way its patience.
func (b *Bound) leave() {
	err := b.Context.Err()
	b.mu.Lock()
	patience := b.patience
	b.mu.Unlock()
	if patience > 0 && errors.Is(err, context.DeadlineExceeded) {
		b.hasten(time.Now().Add(patience))
		return
	}
	b.expire(err)
}

// Watch puts a connection under the bound, unless it has ended. What it carries
// still has patience when the deadline of the context has passed: an answer that
// comes soon says more than that the outcome is unknown.
func (b *Bound) Watch(conn net.Conn, patience time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.conn, b.patience = conn, patience
	}
	return b.err
}

// Release takes the connection out again and reports whether it may be used
// for something else.
func (b *Bound) Release() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conn, b.patience = nil, 0
	return b.err == nil
}

// End must be called once nothing is waited for any more.
func (b *Bound) End() {
	if b.stop != nil {
		b.stop()
	}
	b.deadlines.remove(b)
}

// Deadlines are the bounds of a DB, in the order in which they end. They share
// one timer.
type Deadlines struct {
	Timeout time.Duration // of a bound that is not moved

	mu         sync.Mutex
	head, tail *Bound
	timer      *time.Timer
	fires      time.Time // the timer; zero: it is not armed
}

// Begin makes a bound that ends when the timeout has passed or ctx ends.
func (d *Deadlines) Begin(ctx context.Context) *Bound {
	b := &Bound{Context: ctx, deadlines: d, done: make(chan struct{})}
	if ctx.Done() != nil {
		b.stop = context.AfterFunc(ctx, b.leave)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	b.deadline = time.Now().Add(d.Timeout)
	d.insert(b)
	return b
}

// Move gives a bound that has not ended another deadline.
func (b *Bound) Move(deadline time.Time) {
	d := b.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if deadline.Equal(b.deadline) {
		return
	}
	d.unlink(b)
	b.deadline = deadline
	d.insert(b)
}

// hasten gives a bound that has not ended an earlier deadline.
func (b *Bound) hasten(deadline time.Time) {
	d := b.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.ended || !deadline.Before(b.deadline) {
		return
	}
	d.unlink(b)
	b.deadline = deadline
	d.insert(b)
}

// insert gives b its place, mostly the last one.
func (d *Deadlines) insert(b *Bound) {
	for b.prev, b.next = d.tail, nil; b.prev != nil && b.prev.deadline.After(b.deadline); {
		b.prev, b.next = b.prev.prev, b.prev
	}
	if b.prev != nil {
		b.prev.next = b
	} else {
		d.head = b
	}
	if b.next != nil {
		b.next.prev = b
	} else {
		d.tail = b
	}
	if d.fires.IsZero() || d.fires.After(b.deadline) {
		d.arm(b.deadline)
	}
}

func (d *Deadlines) arm(at time.Time) {
	d.fires = at
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(at), d.fire)
	} else {
		d.timer.Reset(time.Until(at))
	}
}

func (d *Deadlines) remove(b *Bound) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlink(b)
	b.ended = true
}

func (d *Deadlines) unlink(b *Bound) {
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		d.head = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	} else {
		d.tail = b.prev
	}
}

// fire is called by the timer: at the oldest bound's deadline, or at that of
// an earlier one.
func (d *Deadlines) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	b := d.head
	for ; b != nil && !b.deadline.After(now); b = b.next {
		b.expire(context.DeadlineExceeded)
	}
	d.fires = time.Time{}
	if b != nil {
		d.arm(b.deadline)
	}
}
