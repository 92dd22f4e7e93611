package coalesce

import "time"

// suspicion keeps the ops on a key that somebody else has locked out of
// shared batches.
type suspicion struct {
	until int64
	reads bool // a read was blocked, not only a write
}

// suspicionTime is how long a suspicion lasts if nothing succeeds before.
const suspicionTime = int64(time.Second)

// suspect says whether op must go alone.
func (c *Coalescer) suspect(op *Op) bool {
	for _, key := range op.Keys {
		s, ok := c.suspects[key]
		if !ok || (op.Kind == Read && !s.reads) {
			continue
		}
		if Now() < s.until {
			return true
		}
		delete(c.suspects, key)
	}
	return false
}

// suspectKeys records that op was blocked. It does not know which of several
// keys was locked; those that were not are cleared by their next success.
func (c *Coalescer) suspectKeys(op *Op, now int64) {
	for _, key := range op.Keys {
		s := c.suspects[key]
		c.suspects[key] = suspicion{until: now + suspicionTime, reads: s.reads || op.Kind == Read}
	}
	if len(c.suspects) < 2*c.suspectsKept+64 {
		return
	}
	for key, s := range c.suspects {
		if s.until <= now {
			delete(c.suspects, key)
		}
	}
	c.suspectsKept = len(c.suspects)
}

// heldUp says whether a foreign lock is what op waits for: it met one, or an
// op that it waits for did.
func (c *Coalescer) heldUp(op *Op) bool {
	return op.blocked || len(c.suspects) > 0 && c.suspect(op)
}

// clear ends the suspicion of the keys of an op that succeeded. A read proves
// nothing about writes.
func (c *Coalescer) clear(op *Op) {
	for _, key := range op.Keys {
		s, ok := c.suspects[key]
		switch {
		case !ok:
		case op.Kind != Read:
			delete(c.suspects, key)
		case s.reads:
			s.reads = false
			c.suspects[key] = s
		}
	}
}

// requeueAlone queues a group that was taken, and holds its keys, for a
// flight of its own.
func (c *Coalescer) requeueAlone(op *Op, fin *finished) {
	c.alone.queue(op)
	if c.aborted {
		c.complete(op, ErrClosed, fin)
		return
	}
	for o := op; o != nil; o = o.follower {
		o.flight = nil
		c.count(o)
	}
	c.kick(&c.alone)
}
