package coalesce

import "context"

// Exclusive waits until it holds all keys as a write does, calls fn on this
// goroutine and frees the keys when fn returns. It is no flight and takes no
// slot. If ctx ends first, the error is a *LeftError and fn is not called.
func (t *Table) Exclusive(ctx context.Context, keys []uint64, fn func(context.Context) error) error {
	if ctx.Err() != nil {
		return leftError(context.Cause(ctx), false, false)
	}
	c := t.c
	op := &Op{Table: t, Keys: keys, Kind: exclusive}
	w, err := c.hold(op)
	if err != nil {
		return err
	}
	if err := c.wait(ctx, op, w); err != nil {
		return err
	}
	defer c.freeKeys(op)
	if ctx.Err() != nil {
		return leftError(context.Cause(ctx), false, false)
	}
	return fn(ctx)
}

// hold queues an exclusive op.
func (c *Coalescer) hold(op *Op) (*waiter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refuse(op); err != nil {
		return nil, err
	}
	c.number(op)
	c.enqueue(op)
	c.count(op)
	w := op.w
	if op.waiting > 0 {
		c.waiting.push(op)
	} else {
		c.ready(op)
	}
	return w, nil
}

// freeKeys ends an exclusive op.
func (c *Coalescer) freeKeys(op *Op) {
	c.mu.Lock()
	c.dequeue(op)
	c.done()
	c.mu.Unlock()
}
