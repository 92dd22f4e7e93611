package coalesce

import (
	"math"
	"time"
)

var epoch = time.Now()

// Now is the clock of Op.Deadline: monotonic nanoseconds since the program
// started, plus one (0 as a deadline means none). A deadline is
// coalesce.Now() + int64(timeout).
func Now() int64 { return int64(time.Since(epoch)) + 1 }

// Time is an instant of that clock as the time package has it.
func Time(instant int64) time.Time { return epoch.Add(time.Duration(instant - 1)) }

// sweepGap is the least time between two sweeps: how late an asynchronous op
// may hear of its deadline.
const sweepGap = int64(5 * time.Millisecond)

// armSweep arms the one timer, unless it fires soon enough. It is left armed
// when the queue empties and then fires in vain, once.
func (c *Coalescer) armSweep(at int64) {
	if at >= c.sweepAt || c.sweepAt != math.MaxInt64 && c.sweepAt-at < sweepGap {
		return
	}
	c.sweepAt = at
	wait := time.Duration(at - Now())
	if c.sweepTimer == nil {
		c.sweepTimer = time.AfterFunc(wait, c.sweep)
	} else {
		c.sweepTimer.Reset(wait)
	}
}

// expireAt expires queued ops at a deadline even if no flight ever comes to
// take them.
func (c *Coalescer) expireAt(deadline int64) {
	c.expiryAt = min(c.expiryAt, deadline)
	c.armSweep(deadline)
}

// watch has the next sweep look at the slots of a lane that ops wait for.
func (c *Coalescer) watch(l *lane) {
	if l.watched {
		return
	}
	l.watched = true
	now := Now()
	for _, s := range l.slots {
		if s.since == 0 && s.ops > 0 {
			s.since = now
		}
	}
	c.armSweep(now + sweepGap)
}

// sweep expires queued ops, finds late flights, and starts flights for ops
// that waited in vain for a landing.
func (c *Coalescer) sweep() {
	var fin finished
	c.mu.Lock()
	if c.closed && c.active == 0 && c.queuedOps == 0 {
		c.mu.Unlock() // fired while Close was stopping the timer
		return
	}
	c.active++
	c.sweepAt = math.MaxInt64
	now := Now()
	if c.expiryAt <= now {
		c.expire(now, &fin)
	}
	if c.expiryAt != math.MaxInt64 {
		c.armSweep(c.expiryAt)
	}
	c.sweeping = true
	for i := range c.lanes {
		c.look(&c.lanes[i], now)
	}
	c.sweeping = false
	c.mu.Unlock()
	fin.finish()
	c.mu.Lock()
	c.done()
	c.mu.Unlock()
}

// look finds the late flights of a lane and starts what may start now.
func (c *Coalescer) look(l *lane, now int64) {
	l.watched = false
	for _, s := range l.slots {
		if s.since != 0 && !s.late && l.shared() && now-s.since >= l.patience() {
			s.late = true
			l.late++
			l.airborne -= s.ops
			c.stats.LateFlights++
		}
	}
	c.kick(l)
}

// expire ends the queued ops whose deadlines have passed. Callers of Do have
// timers of their own.
func (c *Coalescer) expire(now int64, fin *finished) {
	next := c.expireList(&c.waiting, now, fin) // first: they may become ready
	for i := range c.lanes {
		for _, r := range c.lanes[i].rings() {
			for f := r.head; f != nil; {
				after := f.next // f leaves the ring if it empties
				next = min(next, c.expireList(&f.opList, now, fin))
				f = after
			}
		}
	}
	c.expiryAt = math.MaxInt64
	if next != math.MaxInt64 {
		c.expiryAt = max(next, now+sweepGap)
	}
}

// expireList returns the next deadline in a list of queued ops.
func (c *Coalescer) expireList(l *opList, now int64, fin *finished) (next int64) {
	next = math.MaxInt64
	for op := l.head; op != nil; {
		after := op.next
		for o := c.dropExpired(op, now, fin); o != nil; o = o.follower {
			if o.done != nil && o.Deadline != 0 {
				next = min(next, o.Deadline)
			}
		}
		if after != nil && after.list != l {
			after = l.head // it has become ready just now
		}
		op = after
	}
	return next
}
