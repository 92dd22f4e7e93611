package near

// signal is for those who wait for a change of a slot.
type signal struct {
	changed chan struct{}
	waiters int
}

// Changed returns a channel that is closed when a poll has found a change under a
// hash that was committed after the call, or may have missed one. There are polls
// until stop is called. Without a lease the channel is nil: then memory learns of no
// change.
//
// Keys that share a slot, and changes of a whole cache, wake waiters for nothing.
func (c *Cache) Changed(hash int64) (changed <-chan struct{}, stop func()) {
	m, slot := c.m, slotOf(c.id, hash)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ask()
	if !m.clock().before(m.view.Load().end) {
		return nil, func() {}
	}
	s := m.signals[slot]
	if s == nil {
		s = &signal{changed: make(chan struct{})}
		m.signals[slot] = s
	}
	s.waiters++
	return s.changed, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if s.waiters--; s.waiters == 0 && m.signals[slot] == s {
			delete(m.signals, slot)
		}
	}
}

// signalChanges wakes those who wait for one of the changes.
func (m *Memory) signalChanges(changes []Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, change := range changes {
		if len(m.signals) == 0 {
			return
		}
		for _, hash := range change.Hashes {
			slot := slotOf(change.Cache, hash)
			if s := m.signals[slot]; s != nil {
				close(s.changed)
				delete(m.signals, slot)
			}
		}
		if change.Hashes == nil {
			m.signalAll()
		}
	}
}

// signalAll wakes all. The caller holds mu.
func (m *Memory) signalAll() {
	for _, s := range m.signals {
		close(s.changed)
	}
	clear(m.signals)
}

// missed wakes all, because changes may have been missed.
func (m *Memory) missed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signalAll()
}

// awaited tells whether somebody waits for a change.
func (m *Memory) awaited() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.signals) > 0
}
