package near

import "time"

// Parking bypasses memory for the keys of a slot, because an open transaction
// of this process has written one of them: nothing says when the
// application commits, and from then on its own reads must see the write.
type Parking struct {
	m    *Memory
	all  *Cache // see ParkAll; nil: only the slot is parked
	slot uint32
	xid  uint64  // 0: not known yet
	poll uint64  // the last one that was sent before the xid was known
	lost Instant // when the server was replaced since; see patience
}

// patience is how long an xid is waited for where it may never appear: the
// server was replaced since. It may also come from the new server, before a poll
// has noticed that one, so the wait cannot end at once.
const patience = time.Minute

// Park is called before such a write is sent. It must be followed by Until or
// Release.
func (c *Cache) Park(hash int64) *Parking {
	p := &Parking{m: c.m, slot: slotOf(c.id, hash)}
	m := c.m
	m.mu.Lock()
	m.parked[p] = struct{}{}
	m.parking[p.slot]++
	m.slots.park(p.slot)
	m.mu.Unlock()
	m.ask() // polls end it
	return p
}

// ParkAll is Park for a write of keys that are not known. The generation of the
// cache is odd meanwhile, which no entry has. It becomes what it was when a poll has
// found the transaction finished, and invalidated what the log names; otherwise
// another one.
func (c *Cache) ParkAll() *Parking {
	p := &Parking{m: c.m, all: c}
	m := c.m
	m.mu.Lock()
	m.parked[p] = struct{}{}
	if c.parked++; c.parked == 1 {
		c.gen.Add(1)
	}
	m.mu.Unlock()
	m.ask() // polls end it
	return p
}

// Until says in which transaction the write was made. Reads bypass memory until
// a poll finds it finished.
func (p *Parking) Until(xid uint64) {
	m := p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	p.xid, p.poll = xid, m.sent
	if !m.running {
		// No poll will end it, so it is not kept; but there shall be no lease
		// while it may be open.
		m.unpolled = max(m.unpolled, xid)
		m.release(p, false)
	}
}

// Release says that the write was not made, or that the outcome of its
// transaction is known.
func (p *Parking) Release() {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	p.m.release(p, false)
}

// release invalidates the slot, and serves it again after its last Parking. Polled
// says that a poll has invalidated what the transaction changed. The caller holds mu.
func (m *Memory) release(p *Parking, polled bool) {
	if _, parked := m.parked[p]; !parked {
		return
	}
	delete(m.parked, p)
	if p.all != nil {
		if !polled {
			p.all.gen.Add(nextGeneration)
		}
		if p.all.parked--; p.all.parked == 0 {
			p.all.gen.Add(^uint32(0))
		}
		return
	}
	m.slots.bump(p.slot) // before it is served again
	if m.parking[p.slot]--; m.parking[p.slot] == 0 {
		delete(m.parking, p.slot)
		m.slots.unpark(p.slot)
	}
}

// releaseFinished ends the Parkings whose transactions a poll found finished.
func (m *Memory) releaseFinished(s snapshot, replaced bool, now Instant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.parked {
		if p.xid == 0 || p.poll == m.sent {
			continue // this poll may have asked the server before the one that gave the xid
		}
		if replaced {
			p.lost = now
		}
		if s.finished(p.xid) || p.lost != (Instant{}) && now.since(p.lost) > patience {
			m.release(p, true)
		}
	}
}

// unsettled tells whether a transaction may be open that wrote while nothing
// polled.
func (m *Memory) unsettled(s snapshot, now Instant) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unpolled != 0 && (s.allFinished(m.unpolled) || now.since(m.ran) > patience) {
		m.unpolled = 0
	}
	return m.unpolled != 0
}

// parkedWrites returns how many writes are parked.
func (m *Memory) parkedWrites() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.parked)
}
