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
	m.mu.Lock()
	running := m.running
	m.mu.Unlock()
	if !running { // nothing is served before a poll, which this one will have been for
		return true
	}
	limit := time.NewTimer(m.options.Bound)
	defer limit.Stop()
	return m.awaitPoll(ctx.Done(), limit.C)
}

// awaitPoll polls at once, and returns true when a poll that was sent after the call was
// applied, false if one of the channels says that it lasts too long.
func (m *Memory) awaitPoll(done <-chan struct{}, late <-chan time.Time) bool {
	c := &catching{done: make(chan struct{})}
	m.mu.Lock()
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
	select {
	case <-c.done:
		return true
	case <-late:
	case <-done:
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
