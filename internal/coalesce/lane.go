package coalesce

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// lane is one kind of flights with the ops that may go now.
type lane struct {
	kind      Kind // Read, Write, Alone, Isolated
	index     int  // in Coalescer.lanes and Table.feeds
	limit     int  // flights at once, without the late ones
	perFlight int  // how much of its backlog one flight takes
	perTable  int  // flights at once that take from the same table

	// The feeds with something ready take turns. Those of tables that have
	// perTable flights in the air are apart.
	ring, held ring
	ready      int // ops in the feeds of ring

	slots    []*slot // of the flights, lone ones included
	late     int     // slots that are late
	watched  bool    // a sweep is due to look at the slots
	airborne int     // ops that flights have taken and not landed with, but for late ones
	typical  int64   // nanoseconds from take-off to landing, an average
	// boarding counts the flights that have not taken yet: what is ready now
	// goes with them. Lone flights are never among them.
	boarding      int
	boardingSince int64
}

// The lanes, by their index. The shared ones come first.
const (
	reads = iota
	writes
	alone
	isolated
	laneCount
)

// slot is what a flight occupies in its lane.
type slot struct {
	ops   int   // that the flight has taken
	since int64 // when the flight was first seen in the air; 0 if it was not
	late  bool  // the flight has been in the air for too long to count
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

// A flight is late when it is seen in the air, while others wait for its slot,
// for lateFlight and for lateTimes as long as flights of its lane typically
// are. A full flight beside a database on the same machine takes up to 4 ms, a
// lock is waited for five times as long. Where each flight takes long because
// the database does, more of them would not help: there the average adapts.
const (
	lateFlight = int64(5 * time.Millisecond)
	lateTimes  = 4
)

// shared says whether ops of many tables fly together. The other lanes wait for
// locks: their flights take long by nature, and are never late, lest they take
// connections from those that can do something.
func (l *lane) shared() bool { return l.kind <= Write }

// patience is from what duration on a flight is late.
func (l *lane) patience() int64 { return max(lateFlight, lateTimes*l.typical) }

// backlog is what flights could take now: ops, or tables for Isolated.
func (l *lane) backlog() int {
	if l.kind == Isolated {
		return l.ring.n
	}
	return l.ready
}

// rings are those that may hold feeds.
func (l *lane) rings() [2]*ring { return [2]*ring{&l.ring, &l.held} }

// worthStarting decides whether another flight should start now for the ops
// that are ready, more of them included: the place to tune batching. A free
// slot is used at once, without waiting for company, with two exceptions. A
// flight which is still boarding will take the ops anyway, so a second one
// would only split the batch. And where flights are small and land soon, what
// would fill less than half of another one waits for the landing, at most
// until the next sweep: most of the cost of a small flight is that of a
// statement.
func (c *Coalescer) worthStarting(l *lane, more int) bool {
	n := l.backlog() + more
	switch {
	case n == 0:
		return false
	case len(l.slots)-l.late >= l.limit, l.landsSoon(n) && !c.sweeping:
		c.watch(l)
		return false
	case n <= l.boarding*l.perFlight && Now()-l.boardingSince <= boardingGrace:
		return false
	case len(l.slots) > 0 && !c.roomBeside(l):
		c.watch(l)
		c.crowded = true
		return false
	}
	return true
}

// landsSoon says whether n ops are better off waiting for a landing.
func (l *lane) landsSoon(n int) bool {
	return 2*n < l.airborne && l.airborne <= smallFlight && l.typical < shortFlight && l.shared()
}

// roomBeside says whether MaxFlights allow one more flight beside those of l.
// Late flights are replaced only as long as that leaves a flight for each lane:
// trouble in one lane does not take the connections of the others.
func (c *Coalescer) roomBeside(l *lane) bool {
	replaces := len(l.slots) >= l.limit
	flights := 0
	for i := range c.lanes {
		n := len(c.lanes[i].slots)
		if replaces {
			n = max(n, 1)
		}
		flights += n
	}
	return flights < c.opt.MaxFlights
}

// ready puts a queued op whose keys are all granted where it will be taken.
func (c *Coalescer) ready(op *Op) {
	if op.Kind == exclusive {
		c.uncount(op)
		c.held(op)
		if w := op.w; w != nil {
			w.op = nil
			w.wake(nil)
			return
		}
		done := op.done
		op.done = nil
		go done(op, nil) // not under the mutex
		return
	}
	l := op.Table.lane(op)
	l.queue(op)
	c.kick(l)
}

// queue makes op one of those that may go. In the lane of suspects those of a
// table that have been tried least go first: the others may wait for long yet.
func (l *lane) queue(op *Op) {
	f := &op.Table.feeds[l.index]
	if l.kind == Alone && op.tries < Patient {
		for o := f.head; o != nil; o = o.next {
			if o.tries > op.tries {
				f.insert(op, o)
				return
			}
		}
	}
	f.push(op)
}

// kick starts a flight if one is worth it.
func (c *Coalescer) kick(l *lane) {
	if c.worthStarting(l, 0) {
		c.active++
		go c.runLane(l, c.board(l))
	}
}

// board makes a flight that will take from l.
func (c *Coalescer) board(l *lane) *shared {
	l.boarding++
	l.boardingSince = Now()
	f := c.newShared(l)
	l.slots = append(l.slots, &f.slot)
	return f
}

// runLane flies until nothing is ready; then its slot is free and its
// goroutine ends.
func (c *Coalescer) runLane(l *lane, f *shared) {
	returned := false
	defer func() {
		if !returned { // Run called runtime.Goexit
			c.mu.Lock()
			c.landed(f)
			c.kick(l)
			c.done()
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
		c.landed(f)
		if !c.worthStarting(l, 0) {
			returned = true
			c.done()
			c.mu.Unlock()
			return
		}
		f = c.board(l)
		c.mu.Unlock()
	}
}

// landed takes f out of its lane.
func (c *Coalescer) landed(f *shared) {
	l := f.lane
	if f.ops > 0 {
		// One flight that takes long does not make that typical.
		l.typical += (min(Now()-f.tookOff, l.patience()) - l.typical) / 8
	}
	for _, from := range f.feeds {
		from.landed()
	}
	c.vacate(l, &f.slot)
	c.freeSharedFlight(f)
}

// vacate frees the slot of a flight. Where MaxFlights kept others from
// starting, they come first.
func (c *Coalescer) vacate(l *lane, s *slot) {
	last := len(l.slots) - 1
	for i := range l.slots {
		if l.slots[i] == s {
			l.slots[i] = l.slots[last]
			l.slots[last] = nil
			l.slots = l.slots[:last]
			break
		}
	}
	if s.late {
		l.late--
	} else {
		l.airborne -= s.ops
	}
	if c.crowded {
		c.crowded = false
		for i := range c.lanes {
			if other := &c.lanes[i]; other != l {
				c.kick(other)
			}
		}
	}
}

// pilot is a Flight as fly sees it.
type pilot interface {
	Flight
	settle(err error) // ends what Run has left open
}

// fly runs one flight and settles what it leaves open.
func (c *Coalescer) fly(ctx context.Context, f pilot) {
	err := ErrIncomplete
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		f.settle(err)
		if _, ok := err.(*PanicError); ok {
			c.panicked(err)
		}
	}()
	c.opt.Run(ctx, f)
}

func (c *Coalescer) panicked(err error) {
	c.mu.Lock()
	c.stats.Panics++
	c.mu.Unlock()
	if c.opt.OnPanic != nil {
		c.opt.OnPanic(err)
	}
}
