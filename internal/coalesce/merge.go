package coalesce

// How far from the end of a key's queue a read looks for an equal one.
const mergeLookback = 4

// merge joins op, which is not queued yet, to a queued op of the same key if
// the rules allow: both Sets or both Reads, of one Class, nothing but reads
// between them (for a Set: nothing at all).
func (c *Coalescer) merge(op *Op) bool {
	q := op.Table.keys[op.Keys[0]]
	if q == nil {
		return false
	}
	n := q.tail
	for i := 0; i < mergeLookback && n != nil; i++ {
		o := n.op
		if o.state == queued && o.Kind == op.Kind && o.Class == op.Class && len(o.Keys) == 1 {
			if op.Kind == Set {
				lead(o, op)
			} else {
				follow(o, op)
			}
			op.Table.stats.Merged++
			return true
		}
		if op.Kind != Read || o.Kind != Read {
			return false
		}
		n = n.prev
	}
	return false
}

// lead makes op the leader of the group that old leads.
func lead(old, op *Op) {
	op.blocked, op.tries = old.blocked, old.tries
	replaceNode(old, op)
	old.list.replace(old, op)
	op.follower = old
	old.newer = op
}

// follow adds op to the group that leader leads.
func follow(leader, op *Op) {
	op.newer = leader
	op.follower = leader.follower
	if op.follower != nil {
		op.follower.newer = op
	}
	leader.follower = op
}

// leave takes op out of its group, its list and its key queues. It returns
// the op that leads the group from now on, if that has changed and anybody
// remains. Not for ops in a group that Run may be reading.
func (c *Coalescer) leave(op *Op) (leader *Op) {
	heir := op.follower
	switch {
	case op.newer != nil:
		op.newer.follower = heir
		if heir != nil {
			heir.newer = op.newer
		}
		heir = nil
	case heir != nil:
		heir.blocked = heir.blocked || op.blocked
		heir.tries = op.tries
		replaceNode(op, heir)
		op.list.replace(op, heir)
		heir.newer = nil
	default:
		op.list.remove(op)
		c.dequeue(op)
	}
	op.newer, op.follower = nil, nil
	return heir
}

// dropExpired takes the members of a queued group whose deadline has passed
// out of it and returns its leader, nil if nobody remains.
func (c *Coalescer) dropExpired(leader *Op, now int64, fin *finished) *Op {
	for o := leader; o != nil; {
		older := o.follower
		if o.expired(now) {
			heir := c.leave(o)
			if o == leader {
				leader = heir
			}
			c.uncount(o)
			o.Table.stats.Expired++
			fin.push(o, o.expiryError())
		}
		o = older
	}
	return leader
}

// expiryError is the error of an op that had no effect before its deadline.
func (op *Op) expiryError() error {
	return leftError(nil, false, op.Table.heldUp(op))
}
