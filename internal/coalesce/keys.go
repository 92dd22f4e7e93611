package coalesce

// keyQueue is the FIFO of all ops on one key that are queued or taken, oldest
// first. It exists only while it holds one.
type keyQueue struct {
	table      *Table
	key        uint64
	head, tail *node
	writers    int // nodes that are not reads

	// set is the newest op that is not a read, if it is a Set of this key alone
	// and answers every read behind it: another Set may take its place. nil:
	// there is none.
	set   *Op
	wrote uint64 // Op.order of the newest op of this queue that is not a read
	// taken is Op.order of the newest op of all when a flight of several took a Set
	// of this key alone, the last time. Reads that came later share no place with
	// those that the Set may answer.
	taken uint64
}

// node is an op's place in the queue of one of its keys. It is granted when
// the op may run as far as this key is concerned: a read when no write is
// ahead of it, anything else when nothing is. Granted nodes are therefore
// either one write at the head, or a run of reads there.
type node struct {
	op         *Op
	q          *keyQueue
	prev, next *node
	granted    bool
}

func (n *node) read() bool { return n.op.Kind == Read }

// enqueue places op in the queues of all its keys. Because that is atomic
// under the mutex, two ops that share keys are in the same order in every
// queue they share: waiting for one another in a circle is impossible, and
// the oldest of all can always run.
func (c *Coalescer) enqueue(op *Op) {
	t := op.Table
	if len(op.Keys) <= 1 {
		op.nodes = op.node0[:0]
	} else {
		if cap(op.many) < len(op.Keys) {
			op.many = make([]node, 0, len(op.Keys))
		}
		op.nodes = op.many[:0]
	}
	op.waiting = 0
	if op.Held {
		return
	}
	for _, key := range op.Keys {
		q := t.keys[key]
		if q == nil {
			q = c.newKeyQueue(t, key)
			t.keys[key] = q
		} else if q.tail.op == op {
			continue // the op names this key twice
		}
		op.nodes = append(op.nodes, node{op: op, q: q, prev: q.tail})
		n := &op.nodes[len(op.nodes)-1]
		if n.read() {
			n.granted = q.writers == 0
		} else {
			n.granted = q.head == nil
			q.writers++
		}
		if q.tail == nil {
			q.head = n
		} else {
			q.tail.next = n
		}
		q.tail = n
		c.noteSet(q, op)
		if !n.granted {
			op.waiting++
		}
	}
}

// dequeue takes op out of the queues of all its keys and makes ready what it
// had kept waiting.
func (c *Coalescer) dequeue(op *Op) {
	for i := range op.nodes {
		n := &op.nodes[i]
		q := n.q
		if n.prev == nil {
			q.head = n.next
		} else {
			n.prev.next = n.next
		}
		if n.next == nil {
			q.tail = n.prev
		} else {
			n.next.prev = n.prev
		}
		if !n.read() {
			q.writers--
		}
		if q.set == op {
			q.set = nil
		}
		switch {
		case q.head == nil:
			delete(q.table.keys, q.key)
			c.freeKeyQueue(q)
		case n.next != nil:
			c.grantFrom(n.next)
		}
		*n = node{}
	}
	op.nodes = nil
}

// grantFrom grants what the removal of its predecessor allows: n if it is a
// write at the head, or the run of reads that begins at n if only granted
// reads are ahead.
func (c *Coalescer) grantFrom(n *node) {
	if !n.read() {
		if n.prev == nil && !n.granted {
			c.grant(n)
		}
		return
	}
	if n.prev != nil && !(n.prev.read() && n.prev.granted) {
		return
	}
	for ; n != nil && n.read() && !n.granted; n = n.next {
		c.grant(n)
	}
}

func (c *Coalescer) grant(n *node) {
	n.granted = true
	if n.op.waiting--; n.op.waiting == 0 {
		c.waiting.remove(n.op)
		c.ready(n.op)
	}
}

// replaceNode puts op, a single-key op, in the place of old in their queue.
func replaceNode(old, op *Op) {
	op.node0[0] = old.nodes[0]
	op.nodes = op.node0[:1]
	op.waiting = old.waiting
	n := &op.nodes[0]
	n.op = op
	if n.prev == nil {
		n.q.head = n
	} else {
		n.prev.next = n
	}
	if n.next == nil {
		n.q.tail = n
	} else {
		n.next.prev = n
	}
	if n.q.set == old {
		n.q.set = op
	}
	old.nodes[0] = node{}
	old.nodes = nil
}

// maxFreeKeyQueues bounds what a burst leaves behind.
const maxFreeKeyQueues = 4096

func (c *Coalescer) newKeyQueue(t *Table, key uint64) *keyQueue {
	if n := len(c.freeQueues); n > 0 {
		q := c.freeQueues[n-1]
		c.freeQueues = c.freeQueues[:n-1]
		q.table, q.key = t, key
		return q
	}
	return &keyQueue{table: t, key: key}
}

func (c *Coalescer) freeKeyQueue(q *keyQueue) {
	if len(c.freeQueues) < maxFreeKeyQueues {
		*q = keyQueue{}
		c.freeQueues = append(c.freeQueues, q)
	}
}
