package verb

import "sync/atomic"

// timing is what a call that turns out to be slow tells of its way. A caller that has
// left its call to a flight may read it while the flight writes it.
type timing struct {
	sent   int64 // coalesce.Now when its first statement was sent; 0: none was
	rows   int   // of that statement; written before sent is
	locked uint32
}

// BeginTiming forgets what an earlier use of the call has left.
func (c *Call) BeginTiming() { c.timing = timing{} }

// NoteSent notes that a statement with so many rows is sent for the call now. behindLock
// says that it has waited for that because others held the row or the table: all its time
// counts so.
func (c *Call) NoteSent(now int64, rows int, behindLock bool) {
	if atomic.LoadInt64(&c.timing.sent) != 0 {
		return
	}
	if behindLock {
		now = c.Began
		c.NoteLocked()
	}
	c.timing.rows = rows
	atomic.StoreInt64(&c.timing.sent, now)
}

// NoteLocked notes that another transaction held the row of the call, or its table.
func (c *Call) NoteLocked() { atomic.StoreUint32(&c.timing.locked, 1) }

// ShareTiming makes the timing of a call that merged with this one the same.
func (c *Call) ShareTiming(follower *Call) {
	sent, rows, locked := c.Timing()
	if sent == 0 {
		return
	}
	if locked {
		follower.NoteLocked()
	}
	follower.NoteSent(max(follower.Began, sent), rows, false)
}

// Timing returns when the first statement of the call was sent, by coalesce.Now, with how
// many rows, and whether it met a lock. sent is 0 if it was not sent.
func (c *Call) Timing() (sent int64, rows int, locked bool) {
	if sent = atomic.LoadInt64(&c.timing.sent); sent != 0 {
		rows = c.timing.rows
	}
	return sent, rows, atomic.LoadUint32(&c.timing.locked) != 0
}
