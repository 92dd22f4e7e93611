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
	flights   int   // running, inline ones included
	airborne  int   // ops that they have taken and not landed with
	typical   int64 // nanoseconds from take-off to landing, an average
	// boarding counts the flights that have not taken yet: what is ready now
	// goes with them. Inline flights are never among them.
	boarding      int
	boardingSince int64
}

// boardingGrace is how long a flight may take to get its connection before
// another one is started beside it.
const boardingGrace = int64(time.Millisecond)

// smallFlight is up to how many ops in the air a few more wait for a landing,
// and shortFlight up to what typical duration of a flight. For 16 callers
// beside a database on the same two cores this is a tenth more GETs; for more
// callers, whose flights are large, it would be 4 % less.
const (
	smallFlight = 16
	shortFlight = int64(500 * time.Microsecond)
)

// worthStarting decides whether another flight should start now for the ops
// that are ready, more of them included: the place to tune batching. A free
// slot is used at once, without waiting for company, with two exceptions. A
// flight which is still boarding will take the ops anyway, so a second one
// would only split the batch. And where flights are small and land soon, what
// would fill less than half of another one waits for the landing, at most
// until the next sweep: most of the cost of a small flight is that of a
// statement.
func (c *Coalescer) worthStarting(l *lane, more int) bool {
	n := l.ready.n + more
	if n == 0 || l.flights >= l.limit {
		return false
	}
	if 2*n < l.airborne && l.airborne <= smallFlight && l.typical < shortFlight && !c.sweeping {
		c.armSweep(Now() + sweepGap)
		return false
	}
	return n > l.boarding*l.perFlight || Now()-l.boardingSince > boardingGrace
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
	l.queue(op)
	c.kick(l)
}

// queue makes op one of those that may go. In the lane of suspects those that
// have been tried least go first: the others may wait for long yet.
func (l *lane) queue(op *Op) {
	if l.kind == Alone && op.tries < Patient {
		for o := l.ready.head; o != nil; o = o.next {
			if o.tries > op.tries {
				l.ready.insert(op, o)
				return
			}
		}
	}
	l.ready.push(op)
}

// kick starts a flight if one is worth it.
func (c *Coalescer) kick(l *lane) {
	if c.worthStarting(l, 0) {
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
		c.landed(l, f)
		if !c.worthStarting(l, 0) {
			returned = true
			c.active--
			c.checkIdle()
			c.mu.Unlock()
			return
		}
		l.flights++
		f = c.board(l)
		c.mu.Unlock()
	}
}

// land gives the slot of f back, to a goroutine if anything is ready.
func (c *Coalescer) land(l *lane, f *Flight) {
	c.landed(l, f)
	c.kick(l)
	c.active--
	c.checkIdle()
}

// landed takes f out of its lane.
func (c *Coalescer) landed(l *lane, f *Flight) {
	l.flights--
	if f.inline != nil {
		l.airborne--
	} else if len(f.batch) > 0 {
		l.airborne -= len(f.batch)
		l.typical += (Now() - f.tookOff - l.typical) / 8
	}
	c.freeFlight(f)
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
