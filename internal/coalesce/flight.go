package coalesce

// Flight is one execution of Options.Run. Its methods are for Run alone, on
// one goroutine at a time, and not after Run has returned.
//
// The order is: acquire a connection, Take, encode, Sent, read the answers,
// Complete or Blocked each op. A Run that cannot get a connection still calls
// Take and completes what it got with the error.
type Flight struct {
	c       *Coalescer
	lane    *lane
	inline  *Op    // the op of the caller whose goroutine this is
	ending  ending // of inline
	err     error  // of inline
	batch   []*Op  // what Take returned
	open    opList // what of it is neither completed nor blocked
	took    bool
	tookOff int64 // when, unless inline
	sent    bool
	tries   int8  // see Tries
	leavers int   // callers that wait for Sent
	latest  int64 // latest deadline of the batch
	forever bool  // some op of the batch has no deadline
}

// ending is what Run said about the op of an inline flight.
type ending uint8

const (
	unended ending = iota
	completed
	blockedEnding
)

// Kind tells the lane: Read, Write or Alone.
func (f *Flight) Kind() Kind { return f.lane.kind }

// Lone tells whether the flight is for one caller of Do alone, and on its
// goroutine.
func (f *Flight) Lone() bool { return f.inline != nil }

// Deadline is the instant, on the clock of Now, from which no caller waits
// for the batch that Take returned; 0 means never. Run should not outlast it.
func (f *Flight) Deadline() int64 {
	switch {
	case f.inline != nil:
		return f.inline.Deadline
	case f.forever:
		return 0
	}
	return f.latest
}

// Patient is from how many tries on an op may wait for a lock as long as it
// takes.
const Patient = 5

// Tries tells, after Take, how often the op of a flight of Kind Alone has been
// tried so before, up to Patient; and Patient if nobody waits behind it. The
// fewer, the shorter should it wait for a lock.
func (f *Flight) Tries() int { return int(f.tries) }

// Take returns the ops that this flight is to run: everything that may go
// now, within MaxKeys and MaxBytes; a single op for Kind Alone. It may be
// empty, if the callers have left meanwhile. It is to be called once, as late
// as possible; the slice is valid until Run returns and may be changed.
//
// In a flight of Kind Write no key appears twice. In one of Kind Read it may,
// if ops differ in Class or name several keys.
func (f *Flight) Take() []*Op {
	if f.took {
		return nil
	}
	f.took = true
	if f.inline != nil {
		return f.takeInline()
	}
	c, l := f.c, f.lane
	var fin finished
	now := Now()
	keys, size := 0, 0
	c.mu.Lock()
	for op := l.ready.head; op != nil; op = l.ready.head {
		if op = c.dropExpired(op, now, &fin); op == nil {
			continue
		}
		if len(f.batch) > 0 && (keys+op.keyCount() > c.opt.MaxKeys || size+op.Bytes > c.opt.MaxBytes) {
			break
		}
		keys += op.keyCount()
		size += op.Bytes
		l.ready.remove(op)
		f.open.push(op)
		f.batch = append(f.batch, op)
		for o := op; o != nil; o = o.follower {
			c.uncount(o)
			o.state = taken
			o.flight = f
			f.note(o.Deadline)
		}
		if l.kind == Alone {
			if f.tries = Patient; l.ready.n > 0 {
				f.tries = op.tries
			}
			break
		}
	}
	l.boarding--
	l.airborne += len(f.batch)
	f.tookOff = now
	if keys > 0 {
		c.stats.batch(l.kind, keys)
	}
	c.kick(l)
	c.mu.Unlock()
	fin.finish()
	return f.batch
}

func (f *Flight) takeInline() []*Op {
	op := f.inline
	if op.expired(Now()) {
		f.ending, f.err = completed, errExpired
		return nil
	}
	f.batch = append(f.batch, op)
	return f.batch
}

func (f *Flight) note(deadline int64) {
	switch {
	case deadline == 0:
		f.forever = true
	case f.latest == 0 || deadline > f.latest:
		f.latest = deadline
	}
}

// Sent says that Run has copied what it needs of the callers' bytes: a caller
// that wants to leave may now return while the flight goes on for the others.
func (f *Flight) Sent() {
	if f.inline != nil {
		return
	}
	f.c.mu.Lock()
	f.sent = true
	if f.leavers > 0 {
		f.leavers = 0
		for op := f.open.head; op != nil; op = op.next {
			for o := op; o != nil; o = o.follower {
				if o.leaving == leavingWhenSent {
					o.letGo()
				}
			}
		}
	}
	f.c.mu.Unlock()
}

// Retake prepares another attempt at ops that Take returned and that had no
// effect, in the same flight (a failed batch that is split, say): it takes
// away those whose callers have left or whose deadline has passed and returns
// the others, which wait again for Sent. The slice is filtered in place.
func (f *Flight) Retake(ops []*Op) []*Op {
	now := Now()
	kept := ops[:0]
	if op := f.inline; op != nil {
		if len(ops) > 0 && op.expired(now) {
			f.ending, f.err = completed, errExpired
			return kept
		}
		return ops
	}
	var fin finished
	c := f.c
	c.mu.Lock()
	f.sent = false
	for _, op := range ops {
		if op.list != &f.open {
			continue
		}
		if op = f.remain(op, now, &fin); op != nil {
			kept = append(kept, op)
		}
	}
	c.mu.Unlock()
	fin.finish()
	return kept
}

// remain takes the members of a taken group that need no other attempt out of
// it and returns its leader, nil if nobody remains.
func (f *Flight) remain(leader *Op, now int64, fin *finished) *Op {
	c := f.c
	for o := leader; o != nil; {
		older := o.follower
		if o.abandoned() || o.leaving != staying || o.expired(now) {
			heir := c.leave(o)
			if o == leader {
				leader = heir
			}
			switch {
			case o.abandoned():
			case o.expired(now):
				c.stats.Expired++
			default:
				o.blocked = c.heldUp(o)
				o.w.left = leftUnsent
				c.stats.Cancelled++
			}
			fin.push(o, c.expiryError(o))
		}
		o = older
	}
	return leader
}

// Complete ends an op that Take returned, with its followers: their callers
// get err and what Run has stored in their Calls; their keys are free for the
// next. Run must not touch the op afterwards. done callbacks run inside.
func (f *Flight) Complete(op *Op, err error) {
	if f.inline != nil {
		if op == f.inline && f.ending == unended {
			f.ending, f.err = completed, err
		}
		return
	}
	c := f.c
	var fin finished
	c.mu.Lock()
	if op.list == &f.open {
		c.complete(op, err, &fin)
	}
	c.mu.Unlock()
	fin.finish()
}

// complete ends a group, taken or not, that is in a list.
func (c *Coalescer) complete(op *Op, err error, fin *finished) {
	op.list.remove(op)
	if err == nil && len(c.suspects) > 0 {
		c.clear(op)
	}
	c.dequeue(op)
	for o := op; o != nil; {
		older := o.follower
		o.newer, o.follower = nil, nil
		fin.push(o, err)
		o = older
	}
}

// Blocked says that op met a lock held by somebody else and had no effect. It
// is run again in a flight of its own, until its deadline; its keys are
// suspect and kept out of shared batches until an op on them succeeds or
// about a second has passed. Reads are kept out only if it was a read that
// was blocked: plain reads wait for no row lock.
func (f *Flight) Blocked(op *Op) {
	c := f.c
	if f.inline != nil {
		if op == f.inline && f.ending == unended {
			f.ending = blockedEnding
		}
		return
	}
	var fin finished
	now := Now()
	c.mu.Lock()
	if op.list == &f.open {
		c.stats.Blocked++
		c.suspectKeys(op, now)
		if f.lane.kind == Alone {
			op.tries = min(op.tries+1, Patient)
		}
		for o := op; o != nil; o = o.follower {
			o.blocked, o.tries = true, op.tries
		}
		if op = f.remain(op, now, &fin); op != nil {
			f.open.remove(op)
			c.requeueAlone(op, &fin)
		}
	}
	c.mu.Unlock()
	fin.finish()
}

// settle ends what Run has left open.
func (f *Flight) settle(err error) {
	if f.inline != nil {
		if f.ending == unended {
			f.ending, f.err = completed, err
		}
		if _, ok := err.(*PanicError); ok {
			f.c.panicked(err)
		}
		return
	}
	if !f.took {
		// Without this, a Run that never takes would be called for ever.
		f.Take()
	}
	c := f.c
	var fin finished
	c.mu.Lock()
	for f.open.head != nil {
		c.complete(f.open.head, err, &fin)
	}
	c.mu.Unlock()
	if _, ok := err.(*PanicError); ok {
		c.panicked(err)
	}
	fin.finish()
}

func (c *Coalescer) newFlight() *Flight {
	if n := len(c.freeFlights); n > 0 {
		f := c.freeFlights[n-1]
		c.freeFlights = c.freeFlights[:n-1]
		return f
	}
	return &Flight{c: c}
}

func (c *Coalescer) freeFlight(f *Flight) {
	clear(f.batch)
	*f = Flight{c: c, batch: f.batch[:0]}
	c.freeFlights = append(c.freeFlights, f)
}
