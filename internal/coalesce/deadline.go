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
// may be told of its deadline.
const sweepGap = int64(5 * time.Millisecond)

// armSweep sees to it that an asynchronous op is expired at its deadline even
// if no flight ever comes to take it. There is one timer for all; it is left
// armed when the queue empties and then fires in vain, once.
func (c *Coalescer) armSweep(deadline int64) {
	if deadline >= c.sweepAt {
		return
	}
	if c.sweepAt != math.MaxInt64 && c.sweepAt-deadline < sweepGap {
		return // soon enough
	}
	c.sweepAt = deadline
	wait := time.Duration(deadline - Now())
	if c.sweepTimer == nil {
		c.sweepTimer = time.AfterFunc(wait, c.sweep)
	} else {
		c.sweepTimer.Reset(wait)
	}
}

// sweep expires queued ops, and starts flights for those that waited in vain
// for a landing. Callers of Do have timers of their own.
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
	next := int64(math.MaxInt64)
	for _, l := range [...]*opList{&c.waiting, &c.reads.ready, &c.writes.ready, &c.alone.ready} {
		for op := l.head; op != nil; {
			after := op.next
			for o := c.dropExpired(op, now, &fin); o != nil; o = o.follower {
				if o.done != nil && o.Deadline != 0 {
					next = min(next, o.Deadline)
				}
			}
			if after != nil && after.list != l {
				after = l.head // it has become ready just now
			}
			op = after
		}
	}
	if next != math.MaxInt64 {
		c.armSweep(max(next, now+sweepGap))
	}
	c.sweeping = true
	c.kick(&c.reads)
	c.kick(&c.writes)
	c.sweeping = false
	c.mu.Unlock()
	fin.finish()
	c.mu.Lock()
	c.active--
	c.checkIdle()
	c.mu.Unlock()
}
