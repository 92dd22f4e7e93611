package howdah

import (
	"context"
	"net"
	"sync"
	"time"
)

// bound ends what a flight waits for, a connection first and its answers then,
// at a deadline or when the lone caller leaves. It is the context in which a
// connection is acquired.
//
// A context with a deadline, and deadlines on a socket, are a timer each that
// is set and stopped for every flight; in Go that costs a lone caller as much
// as a lookup costs PostgreSQL. All bounds of a DB share a timer instead, which
// is left armed.
type bound struct {
	context.Context // the lone caller's, or context.Background()
	deadlines       *deadlines
	deadline        time.Time   // guarded by deadlines.mu
	stop            func() bool // ends the watch over the context; nil if it cannot end
	prev, next      *bound      // guarded by deadlines.mu

	mu   sync.Mutex
	done chan struct{} // closed when err is set
	err  error
	conn net.Conn // that carries the flight now
}

func (b *bound) Deadline() (time.Time, bool) {
	b.deadlines.mu.Lock()
	defer b.deadlines.mu.Unlock()
	return b.deadline, true
}

func (b *bound) Done() <-chan struct{} { return b.done }

func (b *bound) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// strike ends the wait.
func (b *bound) strike(err error) {
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

// watch puts a connection under the bound, unless that has struck.
func (b *bound) watch(conn net.Conn) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.conn = conn
	}
	return b.err
}

// release takes the connection out again and reports whether it may be used
// for something else.
func (b *bound) release() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conn = nil
	return b.err == nil
}

// end must be called once nothing is waited for any more.
func (b *bound) end() {
	if b.stop != nil {
		b.stop()
	}
	b.deadlines.remove(b)
}

// deadlines are the bounds of a DB, in the order in which they strike.
type deadlines struct {
	timeout time.Duration

	mu         sync.Mutex
	head, tail *bound
	timer      *time.Timer
	fires      time.Time // the timer; zero: it is not armed
}

// begin makes a bound that strikes when the timeout has passed or ctx ends.
func (d *deadlines) begin(ctx context.Context) *bound {
	b := &bound{Context: ctx, deadlines: d, done: make(chan struct{})}
	if ctx.Done() != nil {
		b.stop = context.AfterFunc(ctx, func() { b.strike(ctx.Err()) })
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	b.deadline = time.Now().Add(d.timeout)
	d.insert(b)
	return b
}

// shorten makes a bound strike earlier, if deadline is earlier.
func (b *bound) shorten(deadline time.Time) {
	if !deadline.Before(b.deadline) {
		return
	}
	d := b.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlink(b)
	b.deadline = deadline
	d.insert(b)
}

// insert gives b its place, mostly the last one.
func (d *deadlines) insert(b *bound) {
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

func (d *deadlines) arm(at time.Time) {
	d.fires = at
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(at), d.expire)
	} else {
		d.timer.Reset(time.Until(at))
	}
}

func (d *deadlines) remove(b *bound) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlink(b)
}

func (d *deadlines) unlink(b *bound) {
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

// expire is called by the timer: at the oldest bound's deadline, or at that of
// an earlier one.
func (d *deadlines) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	b := d.head
	for ; b != nil && !b.deadline.After(now); b = b.next {
		b.strike(context.DeadlineExceeded)
	}
	d.fires = time.Time{}
	if b != nil {
		d.arm(b.deadline)
	}
}
