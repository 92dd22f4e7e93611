package coalesce

import "errors"

// Echo is a read that is answered with what a Set stored.
type Echo struct{ Read, Set *Op }

// noteSet keeps keyQueue.set as op comes behind all others.
func (c *Coalescer) noteSet(q *keyQueue, op *Op) {
	switch {
	case op.Kind == Set && len(op.Keys) == 1:
		q.set, q.wrote = op, op.order
	case op.Kind != Read:
		q.set, q.wrote = nil, op.order
	case q.set != nil && !c.echoes(q.set, op):
		q.set = nil
	}
}

// echoes says whether what set leaves under its key answers read.
func (c *Coalescer) echoes(set, read *Op) bool {
	return set.Echo && read.Echo && read.Kind == Read && len(read.Keys) == 1 && c.same(set, read)
}

// echo ends the reads behind a group of Sets that the group answers, each with
// the newest Set that came before it. Only those that came before the group was
// taken: the Set may have taken effect long before its flight learns of it, and
// who came later may know of a newer value.
func (c *Coalescer) echo(group *Op, known bool, fin *finished) (echoes []Echo, last bool) {
	if len(group.nodes) != 1 {
		return nil, false
	}
	n := group.nodes[0]
	set := group.oldest()
	for next := n.next; next != nil; {
		read := next.op
		for set != group && set.newer.order < read.order {
			set = set.newer
		}
		if read.order > n.q.taken || !c.echoes(set, read) || set == group && (!known || group.Left()) {
			break
		}
		next = next.next
		for o := read; o != nil; o = o.follower {
			echoes = append(echoes, Echo{Read: o, Set: set})
			c.uncount(o)
		}
		c.end(read, nil, fin)
	}
	group.Table.stats.Echoed += uint64(len(echoes))
	return echoes, group.lastWrite()
}

// lastWrite says whether an op that holds the place of one key, the first, is the
// last one there that is not a read.
func (op *Op) lastWrite() bool { return len(op.nodes) == 1 && op.nodes[0].q.writers == 1 }

// acknowledged informs the callers of a Set that took effect, and those of the
// reads that it answers.
func (c *Coalescer) acknowledged(set *Op, echoes []Echo, last bool, fin *finished) {
	stored := false
	defer func() {
		if !stored {
			for op := fin.head; op != nil; op = op.next {
				op.err = ErrIncomplete
			}
		}
		fin.finish()
	}()
	if c.opt.Acknowledged != nil {
		c.opt.Acknowledged(set, echoes, last)
	}
	stored = true
}

// unknown says whether an op that ended with err may have had an effect.
func (c *Coalescer) unknown(err error) bool {
	if _, panicked := errors.AsType[*PanicError](err); panicked || err == ErrIncomplete {
		return true
	}
	return c.opt.Unknown != nil && c.opt.Unknown(err)
}

// failBetween ends the reads that came between the Sets of a group of which
// nobody knows whether it had an effect: they can no longer run between them.
func (c *Coalescer) failBetween(group *Op, err error, fin *finished) {
	if len(group.nodes) != 1 {
		return
	}
	for n := group.nodes[0].next; n != nil && n.op.order < group.order; {
		read := n.op
		n = n.next
		for o := read; o != nil; o = o.follower {
			c.uncount(o)
		}
		c.end(read, err, fin)
	}
}

// oldest is the last op of a group.
func (op *Op) oldest() *Op {
	for op.follower != nil {
		op = op.follower
	}
	return op
}

// orphaned says whether reads wait behind a group that came before all of its
// Sets: the one that they came after has left.
func (op *Op) orphaned() bool {
	if op.Kind != Set || len(op.nodes) != 1 {
		return false
	}
	next := op.nodes[0].next
	return next != nil && next.op.order < op.order && next.op.order < op.oldest().order
}

// stepBack moves an orphaned group, which is queued or about to be, behind the
// reads that came before it. They may go as soon as what is ahead of them allows.
func (c *Coalescer) stepBack(op *Op) {
	n, oldest := &op.nodes[0], op.oldest().order
	first := n.next
	final := first
	for final.next != nil && final.next.op.order < oldest {
		final = final.next
	}
	first.prev = n.prev
	if n.prev == nil {
		n.q.head = first
	} else {
		n.prev.next = first
	}
	n.prev, n.next = final, final.next
	if n.next == nil {
		n.q.tail = n
	} else {
		n.next.prev = n
	}
	final.next = n
	if n.granted {
		n.granted = false
		op.waiting++
	}
	if op.list != nil {
		op.list.remove(op)
	}
	c.waiting.push(op)
	c.grantFrom(first)
}

// leaveQueued takes a queued op out of its group, and moves what is left of it if
// need be.
func (c *Coalescer) leaveQueued(op *Op) {
	leader := op
	for leader.newer != nil {
		leader = leader.newer
	}
	if heir := c.leave(op); heir != nil {
		leader = heir
	}
	if leader != op && leader.orphaned() {
		c.stepBack(leader)
	}
}
