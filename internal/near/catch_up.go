package near

import (
	"context"
	"time"
)

// catching is a call of CatchUp.
type catching struct {
	sent uint64        // polls, when it was called
	done chan struct{} // closed when a later one was applied
}

// CatchUp is called after a write of this process of keys that it does not know,
// in place of the second Bump, and needs no first one: the caller answers nothing
// that stands in line behind the write before the write is answered. It polls at once, and
// returns true when a poll that was sent after the call has invalidated what the change log
// names. It returns false if that takes longer than the bound, or ctx ends: then DropAll
// must be called.
func (m *Memory) CatchUp(ctx context.Context) bool {
	c := &catching{done: make(chan struct{})}
	m.mu.Lock()
	if !m.running { // nothing is served before a poll, which this one will have been for
		m.mu.Unlock()
		return true
	}
	c.sent = m.sent
	m.catching[c] = struct{}{}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.catching, c)
	}()
	m.ask()
	select {
	case m.hurry <- struct{}{}:
	default: // the next poll is as good: it is not sent yet
	}
	limit := time.NewTimer(m.options.Bound)
	defer limit.Stop()
	select {
	case <-c.done:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

// caughtUp ends the calls of CatchUp that the poll which was applied now is for. The
// caller holds mu.
func (m *Memory) caughtUp() {
	for c := range m.catching {
		if c.sent < m.sent {
			close(c.done)
			delete(m.catching, c)
		}
	}
}
