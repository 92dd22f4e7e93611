package coalesce

// How far from the end of a key's queue a read looks for an equal one.
const mergeLookback = 4

// merge joins op, which is not queued yet, to a queued op of the same key if
// the rules allow: both Sets or both Reads, of one Class, nothing but reads
// between them; for a Set only reads that the other one answers.
func (c *Coalescer) merge(op *Op) bool {
	q := op.Table.keys[op.Keys[0]]
	if q == nil {
		return false
	}
	if op.Kind == Set {
		if old := q.set; old != nil && c.equal(old, op) {
			lead(q, old, op)
			op.Table.stats.Merged++
			return true
		}
		return false
	}
	n := q.tail
	for i := 0; i < mergeLookback && n != nil && n.read() && n.op.order > max(q.wrote, q.taken); i++ {
		if c.equal(n.op, op) {
			follow(n.op, op)
			op.Table.stats.Merged++
			return true
		}
		n = n.prev
	}
	return false
}

// equal says whether op may share the place of old.
func (c *Coalescer) equal(old, op *Op) bool {
	return old.state == queued && old.Kind == op.Kind && old.Class == op.Class && old.Echo == op.Echo &&
		len(old.Keys) == 1 && c.same(old, op)
}

// same says whether two ops with the same number for a key mean the same key.
func (c *Coalescer) same(a, b *Op) bool { return c.opt.Same == nil || c.opt.Same(a, b) }

// lead makes op the leader of the group that old leads.
func lead(q *keyQueue, old, op *Op) {
	// Reads that are behind old and came after it ask for what old stores.
	old.echoed = q.tail.op.order > old.order
	op.blocked, op.tries = old.blocked, old.tries
	replaceNode(old, op)
	q.wrote = op.order
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
// remains. Not for ops in a group that Run may be reading. What is left may be
// orphaned.
func (c *Coalescer) leave(op *Op) (leader *Op) {
	heir := op.follower
	switch {
	case op.newer != nil:
		op.newer.follower = heir
		if heir != nil {
			heir.newer = op.newer
			heir.echoed = heir.echoed || op.echoed
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
// out of it and returns its leader, nil if nobody remains. The leader may have
// changed its list; see stepBack.
func (c *Coalescer) dropExpired(leader *Op, now int64, fin *finished) *Op {
	left, behind := false, leader.isBehind()
	for o := leader; o != nil; {
		older := o.follower
		if o.expired(now) {
			left = true
			heir := c.leave(o)
			if o == leader {
				leader = heir
			}
			c.uncount(o)
			o.Table.stats.Expired++
			fin.push(o, queuedError(nil, o.Table.heldUp(o), behind))
		}
		o = older
	}
	if left && leader != nil && leader.orphaned() {
		c.stepBack(leader)
	}
	return leader
}
