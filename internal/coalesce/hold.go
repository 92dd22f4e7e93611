package coalesce

// Hold gives op its place in the queues of its keys, as a write has it, and calls
// granted when it holds all of them: before Hold returns if they are free, otherwise
// on another goroutine, which may take as long as it wants. Ops with Op.Held then
// use the keys. The keys are free again after Release, which the caller calls
// exactly once if granted was given nil; it is no flight and takes no slot.
//
// Granted is called exactly once. Errors: ErrOverloaded, ErrClosed, and a *LeftError
// if op.Deadline passed before the keys were free.
func (c *Coalescer) Hold(op *Op, granted func(error)) {
	op.prepare(c, func(_ *Op, err error) { granted(err) })
	op.Kind = exclusive
	c.mu.Lock()
	if err := c.refuse(op); err != nil {
		op.done = nil
		c.mu.Unlock()
		granted(err)
		return
	}
	c.number(op)
	c.enqueue(op)
	if op.waiting > 0 {
		c.count(op)
		c.waiting.push(op)
		c.mu.Unlock()
		return
	}
	op.done = nil
	c.held(op)
	c.mu.Unlock()
	granted(nil)
}

// Release frees the keys of an op that Hold was granted.
func (c *Coalescer) Release(op *Op) {
	c.mu.Lock()
	op.state = idle
	c.dequeue(op)
	c.done()
	c.mu.Unlock()
}

// IsNewest reports whether nothing has come for the only key of op since Hold: what
// joins it now acts in the order in which it came.
func (c *Coalescer) IsNewest(op *Op) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := op.Table.keys[op.Keys[0]]
	return q != nil && q.tail.op == op
}

// held makes op a holder of its keys.
func (c *Coalescer) held(op *Op) {
	op.state = taken
	c.active++
}
