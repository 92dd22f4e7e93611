package near

import "errors"

// errUnlit is what a poll without a state row amounts to.
var errUnlit = errors.New("near: the change log has no state row yet")

// follower is where the polls have come to. Only Run uses it.
type follower struct {
	cursor      Cursor // zero: nothing is known of the change log
	incarnation [16]byte
	tick        int64
	start       int64 // of the server, also where there is no change log
}

// apply takes in the answer of a poll that was sent at an instant, and ends the calls of
// CatchUp that wait for it.
func (m *Memory) apply(sent Instant, a Answer) error {
	err := m.takeIn(sent, a)
	if err == nil || err == errUnlit {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.caughtUp()
	}
	return err
}

// takeIn changes slots and generations first, and then the lease: a reader that sees
// the lease sees them too. The Listener is told last: see Listener.
func (m *Memory) takeIn(sent Instant, a Answer) error {
	s, err := parseSnapshot(a.Snapshot)
	if err != nil {
		return err
	}
	old := m.view.Load()
	next := &view{asked: sent, gen: old.gen, lit: a.Lit, stranded: a.Stranded, start: a.Start}
	var foreign []Change
	replaced := m.follow.start != 0 && m.follow.start != a.Start
	why := m.follow.reset(a)
	if why != dropNothing {
		m.counts.drops[why].Add(1)
		next.gen++
		m.own.forget(next.gen)
		m.sweepSoon()
		m.missed()
	} else {
		foreign = m.foreign(a.Changes)
		m.invalidate(foreign)
		m.signalChanges(a.Changes)
		m.own.expire()
	}
	if old.stranded && !a.Stranded {
		m.dropDurable()
	}
	m.releaseFinished(s, replaced, sent) // what they wrote is invalidated
	if !a.Lit {
		m.follow = follower{start: a.Start}
		m.view.Store(next)
		if why != dropNothing {
			m.tellMissed()
		}
		return errUnlit
	}
	m.follow = follower{cursor: s.cursor(), incarnation: a.Incarnation, tick: a.Tick, start: a.Start}
	if !m.unsettled(s, sent) {
		next.end = sent.add(m.options.Bound)
	}
	m.view.Store(next)
	if why != dropNothing || old.stranded || a.Stranded {
		m.tellMissed()
	} else {
		m.tell(foreign)
	}
	return nil
}

// reset says why everything must be dropped: the changes since the cursor may
// not be all in the answer.
func (f *follower) reset(a Answer) drop {
	switch {
	case f.cursor.Xmax == 0 && !a.Lit:
		return dropNothing // there is nothing
	case f.cursor.Xmax == 0:
		return dropFirst // reads that are on their way now
	case f.start != a.Start:
		return dropServer
	case !a.Lit:
		return dropUnlit
	case f.incarnation != a.Incarnation:
		return dropIncarnation
	case a.Floor > f.tick:
		return dropFloor
	case a.Overflow:
		return dropOverflow
	}
	return dropNothing
}

// foreign returns the changes but for those of writes of this process that have
// invalidated what they changed.
func (m *Memory) foreign(changes []Change) []Change {
	list := changes[:0:0]
	for _, change := range changes {
		if !m.own.take(change.Xid, change.Cache) {
			list = append(list, change)
		}
	}
	return list
}

func (m *Memory) invalidate(changes []Change) {
	if m.slots == nil {
		return
	}
	for _, change := range changes {
		for _, hash := range change.Hashes {
			m.slots.bump(slotOf(change.Cache, hash))
		}
		if change.Hashes == nil {
			m.dropCache(change.Cache)
		}
	}
}

// dropCache invalidates all of a cache. A cache without a handle has no
// entries.
func (m *Memory) dropCache(id int32) {
	m.mu.Lock()
	c := m.caches[id]
	m.mu.Unlock()
	if c != nil {
		c.DropAll()
	}
}

// dropDurable invalidates the caches that were not served while the database
// was stranded.
func (m *Memory) dropDurable() {
	m.counts.drops[dropStranded].Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.caches {
		if c.durable.Load() {
			c.gen.Add(nextGeneration)
		}
	}
	m.sweepSoon()
}
