package coalesce

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// lane is one kind of flights with the ops that may go now.
type lane struct {
	kind      Kind // Read, Write, Alone
	limit     int  // flights at once
	perFlight int  // keys that one flight takes
	ready     opList
	flights   int // running, inline ones included
	// boarding counts the flights that have not taken yet: what is ready now
	// goes with them. Inline flights are never among them.
	boarding      int
	boardingSince int64
}

// boardingGrace is how long a flight may take to get its connection before
// another one is started beside it.
const boardingGrace = int64(time.Millisecond)

// worthStarting decides whether another flight should start now for the ops
// that are ready, more of them included: the place to tune batching. A free
// slot is used at once, without waiting for company. The one exception is
// that a flight which is still boarding will take the ops anyway, so a second
// one would only split the batch.
func (l *lane) worthStarting(more int) bool {
	if l.flights >= l.limit {
		return false
	}
	n := l.ready.n + more
	if n > l.boarding*l.perFlight {
		return true
	}
	return n > 0 && Now()-l.boardingSince > boardingGrace
}

// laneOf chooses the lane of an op whose keys are granted.
func (c *Coalescer) laneOf(op *Op) *lane {
	switch {
	case len(c.suspects) > 0 && c.suspect(op):
		return &c.alone
	case op.Kind == Read:
		return &c.reads
	}
	return &c.writes
}

// ready puts a queued op whose keys are all granted where it will be taken.
func (c *Coalescer) ready(op *Op) {
	if op.Kind == exclusive {
		c.uncount(op)
		op.state = taken
		c.active++
		w := op.w
		w.op = nil
		w.wake(nil)
		return
	}
	l := c.laneOf(op)
	l.ready.push(op)
	c.kick(l)
}

// kick starts a flight if one is worth it.
func (c *Coalescer) kick(l *lane) {
	if l.worthStarting(0) {
		l.flights++
		c.active++
		go c.runLane(l, c.board(l))
	}
}

// board makes a flight that will take from l.
func (c *Coalescer) board(l *lane) *Flight {
	l.boarding++
	l.boardingSince = Now()
	f := c.newFlight()
	f.lane = l
	return f
}

// runLane flies until nothing is ready; then its slot is free and its
// goroutine ends.
func (c *Coalescer) runLane(l *lane, f *Flight) {
	returned := false
	defer func() {
		if !returned { // Run called runtime.Goexit
			c.mu.Lock()
			c.land(l, f)
			c.mu.Unlock()
		}
	}()
	for {
		c.fly(context.Background(), f)
		// Let the callers that were just answered run: most of them come back
		// at once, and then share the next flight. Against a database on the
		// same two cores this gives a third more throughput from 16 callers on.
		runtime.Gosched()
		c.mu.Lock()
		if l.ready.n <= l.boarding*l.perFlight {
			returned = true
			c.land(l, f)
			c.mu.Unlock()
			return
		}
		c.freeFlight(f)
		f = c.board(l)
		c.mu.Unlock()
	}
}

// land gives the slot of f back, to a goroutine if anything is ready.
func (c *Coalescer) land(l *lane, f *Flight) {
	c.freeFlight(f)
	l.flights--
	c.active--
	c.kick(l)
	c.checkIdle()
}

// fly runs one flight and settles what it leaves open.
func (c *Coalescer) fly(ctx context.Context, f *Flight) {
	err := ErrIncomplete
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		f.settle(err)
	}()
	c.opt.Run(ctx, f)
}
