package coalesce

// shared is a flight on a goroutine of its own, for whatever ops it takes.
type shared struct {
	slot
	c       *Coalescer
	lane    *lane
	feeds   []*feed // that Take has taken from
	batch   []*Op   // what Take returned
	open    opList  // what of it is neither completed nor blocked
	took    bool
	tookOff int64 // when
	sent    bool
	tries   int8  // see Tries
	leavers int   // callers that wait for Sent
	latest  int64 // latest deadline of the batch
	forever bool  // some op of the batch has no deadline
	keys    int   // in the batch
	bytes   int   // in the batch
}

func (c *Coalescer) newShared(l *lane) *shared {
	var f *shared
	if n := len(c.freeShared); n > 0 {
		f = c.freeShared[n-1]
		c.freeShared = c.freeShared[:n-1]
	} else {
		f = &shared{c: c}
	}
	f.lane = l
	return f
}

func (c *Coalescer) freeSharedFlight(f *shared) {
	clear(f.batch)
	clear(f.feeds)
	*f = shared{c: c, batch: f.batch[:0], feeds: f.feeds[:0]}
	c.freeShared = append(c.freeShared, f)
}

func (f *shared) Kind() Kind { return f.lane.kind }

func (f *shared) Lone() bool { return false }

func (f *shared) Deadline() int64 {
	if f.forever {
		return 0
	}
	return f.latest
}

func (f *shared) Tries() int { return int(f.tries) }

// turnsPerFlight is how many tables share a flight if all have more waiting
// than fits: enough of them for each to come soon, and few enough for their
// statements to be shared well.
const turnsPerFlight = 8

func (f *shared) Take() []*Op {
	if f.took {
		return nil
	}
	f.took = true
	c, l := f.c, f.lane
	var fin finished
	now := Now()
	c.mu.Lock()
	turn := max(1, c.opt.MaxKeys/min(max(1, l.ring.n), turnsPerFlight))
	if l.kind == Isolated {
		turn = c.opt.MaxKeys
	}
	for l.ring.head != nil && f.takeTurn(l.ring.head, turn, now, &fin) {
	}
	l.boarding--
	f.ops = len(f.batch)
	l.airborne += f.ops
	f.tookOff = now
	f.countTables()
	c.kick(l)
	c.mu.Unlock()
	fin.finish()
	return f.batch
}

// takeTurn takes what one table may have in one turn, or as much of it as
// there is room for, and says whether the flight has room for more.
func (f *shared) takeTurn(from *feed, turn int, now int64, fin *finished) (more bool) {
	c, l := f.c, f.lane
	begin := f.keys
	again := from.taken > 0
	more = true
	for op := from.head; op != nil && f.keys-begin < turn; op = from.head {
		if op = c.dropExpired(op, now, fin); op == nil || op.list != &from.opList {
			continue
		}
		if more = f.fits(op); !more {
			break
		}
		from.remove(op)
		f.take(op)
		from.taken += op.keyCount()
		if l.kind == Alone {
			more = false
			break
		}
	}
	if f.keys == begin {
		return more
	}
	if !again {
		f.feeds = append(f.feeds, from)
	}
	if l.ring.head == from {
		l.ring.rotate()
	}
	return more && l.kind != Isolated
}

// fits says whether there is room for op.
func (f *shared) fits(op *Op) bool {
	opt := &f.c.opt
	return len(f.batch) == 0 || f.keys+op.keyCount() <= opt.MaxKeys && f.bytes+op.Bytes <= opt.MaxBytes
}

// take adds an op and its followers to the batch.
func (f *shared) take(op *Op) {
	f.keys += op.keyCount()
	f.bytes += op.Bytes
	f.open.push(op)
	f.batch = append(f.batch, op)
	if op.Kind == Set && len(op.nodes) == 1 {
		op.nodes[0].q.taken = f.c.admitted
	}
	for o := op; o != nil; o = o.follower {
		f.c.uncount(o)
		o.state = taken
		o.flight = f
		f.note(o.Deadline)
	}
	if f.tries = Patient; f.lane.ready > 0 {
		f.tries = op.tries
	}
}

func (f *shared) note(deadline int64) {
	switch {
	case deadline == 0:
		f.forever = true
	case f.latest == 0 || deadline > f.latest:
		f.latest = deadline
	}
}

// countTables counts what has been taken, for the flight and each table.
func (f *shared) countTables() {
	if f.keys == 0 {
		return
	}
	f.c.stats.took(f.lane.kind, f.keys)
	for _, from := range f.feeds {
		from.table.stats.took(f.lane.kind, from.taken)
		from.taken = 0
		from.takenOff()
	}
}

func (f *shared) Sent() {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	f.sent = true
	if f.leavers == 0 {
		return
	}
	f.leavers = 0
	for op := f.open.head; op != nil; op = op.next {
		for o := op; o != nil; o = o.follower {
			if o.leaving == leavingWhenSent {
				o.release()
			}
		}
	}
}

func (f *shared) Retake(ops []*Op) []*Op {
	now := Now()
	kept := ops[:0]
	var fin finished
	c := f.c
	c.mu.Lock()
	f.sent = false
	for _, op := range ops {
		if op.list != &f.open {
			continue
		}
		switch op = f.remain(op, now, &fin); {
		case op == nil:
		case op.orphaned():
			f.open.remove(op)
			c.stepBack(op)
			c.requeued(op)
		default:
			kept = append(kept, op)
		}
	}
	c.mu.Unlock()
	fin.finish()
	return kept
}

// remain takes the members of a taken group that need no other attempt out of
// it and returns its leader, nil if none remains.
func (f *shared) remain(leader *Op, now int64, fin *finished) *Op {
	for o := leader; o != nil; {
		older := o.follower
		if o.abandoned() || o.leaving != staying || o.expired(now) {
			blocked := o.Table.heldUp(o)
			heir := f.c.leave(o)
			if o == leader {
				leader = heir
			}
			switch {
			case o.abandoned():
			case o.expired(now):
				o.Table.stats.Expired++
			default:
				o.blocked = blocked
				o.w.left = leftUnsent
				o.Table.stats.Cancelled++
			}
			fin.push(o, leftError(nil, false, blocked))
		}
		o = older
	}
	return leader
}

func (f *shared) Complete(op *Op, err error) {
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
	if err == nil && op.Table.suspicious() {
		op.Table.clear(op)
	}
	if err != nil && op.Kind == Set && c.unknown(err) {
		c.failBetween(op, err, fin)
	}
	c.end(op, err, fin)
}

// end takes a group out of its list and its queues.
func (c *Coalescer) end(op *Op, err error, fin *finished) {
	op.list.remove(op)
	c.dequeue(op)
	for o := op; o != nil; {
		older := o.follower
		o.newer, o.follower = nil, nil
		fin.push(o, err)
		o = older
	}
}

func (f *shared) Acknowledge(op *Op, known bool) {
	c := f.c
	var fin finished
	c.mu.Lock()
	if op.list != &f.open {
		c.mu.Unlock()
		return
	}
	echoes, last := c.echo(op, known, &fin)
	c.complete(op, nil, &fin)
	c.mu.Unlock()
	c.acknowledged(op, echoes, last, &fin)
}

func (f *shared) Blocked(op *Op) {
	var fin finished
	f.c.mu.Lock()
	f.blocked(op, false, Now(), &fin)
	f.c.mu.Unlock()
	fin.finish()
}

func (f *shared) TableBlocked(ops ...*Op) {
	var fin finished
	now := Now()
	f.c.mu.Lock()
	for _, op := range ops {
		f.blocked(op, true, now, &fin)
	}
	f.c.mu.Unlock()
	fin.finish()
}

// blocked queues a group that met a lock, on a key or the whole table, for
// another flight. It still holds its keys.
func (f *shared) blocked(op *Op, table bool, now int64, fin *finished) {
	if op.list != &f.open {
		return
	}
	c := f.c
	if f.lane.kind == Alone {
		op.tries = min(op.tries+1, Patient)
	}
	l := op.Table.blocked(op, table, now)
	if f.lane.kind == Isolated && !table {
		l = &c.lanes[alone] // the table itself is free
	}
	for o := op; o != nil; o = o.follower {
		o.blocked, o.tries = true, op.tries
	}
	if op = f.remain(op, now, fin); op == nil {
		return
	}
	f.open.remove(op)
	if op.orphaned() {
		c.stepBack(op)
	} else {
		l.queue(op)
	}
	if c.aborted {
		c.complete(op, ErrClosed, fin)
		return
	}
	c.requeued(op)
	c.kick(l)
}

// requeued counts a group that was taken and is queued again.
func (c *Coalescer) requeued(op *Op) {
	for o := op; o != nil; o = o.follower {
		o.flight = nil
		c.count(o)
	}
}

// settle ends what Run has left open.
func (f *shared) settle(err error) {
	// Without this, a Run that never takes would be called for ever.
	f.Take()
	c := f.c
	var fin finished
	c.mu.Lock()
	for f.open.head != nil {
		c.complete(f.open.head, err, &fin)
	}
	c.mu.Unlock()
	fin.finish()
}
