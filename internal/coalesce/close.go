package coalesce

import (
	"context"
	"errors"
)

// Close refuses new ops with ErrClosed and waits until those that are queued
// have run; when ctx ends, the queued ones fail with ErrClosed instead. Close
// returns when no flight and no goroutine is left, so Run must end by
// Flight.Deadline. The error is ErrClosed if queued ops had to be failed. It
// may be called again, and concurrently.
func (c *Coalescer) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.checkIdle()
	c.mu.Unlock()
	select {
	case <-c.idle:
		return nil
	case <-ctx.Done():
	}
	failed := c.abort()
	<-c.idle
	if failed > 0 {
		return errors.Join(ErrClosed, context.Cause(ctx))
	}
	return nil
}

// abort fails everything that is queued and returns how many ops that were.
func (c *Coalescer) abort() int {
	var fin finished
	c.mu.Lock()
	c.aborted = true
	c.active++ // the callbacks are part of what Close waits for
	n := c.queuedOps
	c.abortList(&c.waiting, &fin) // first: they must not become ready
	for i := range c.lanes {
		for _, r := range c.lanes[i].rings() {
			for r.head != nil {
				c.abortList(&r.head.opList, &fin)
			}
		}
	}
	c.mu.Unlock()
	fin.finish()
	c.mu.Lock()
	c.done()
	c.mu.Unlock()
	return n
}

func (c *Coalescer) abortList(l *opList, fin *finished) {
	for op := l.head; op != nil; op = l.head {
		for o := op; o != nil; o = o.follower {
			c.uncount(o)
		}
		c.complete(op, ErrClosed, fin)
	}
}

// done ends one of the activities that Close waits for.
func (c *Coalescer) done() {
	c.active--
	c.checkIdle()
}

// checkIdle lets Close return when nothing is left.
func (c *Coalescer) checkIdle() {
	if !c.closed || c.active > 0 || c.queuedOps > 0 {
		return
	}
	select {
	case <-c.idle:
		return
	default:
	}
	if c.sweepTimer != nil {
		c.sweepTimer.Stop()
	}
	close(c.idle)
}
