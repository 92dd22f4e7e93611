package session

import (
	"context"
	"sync"
	"time"

	"github.com/howdah/howdah/session/internal/statement"
)

// heartbeats tell how old an answer of a standby is without comparing the
// clocks of two machines. This process writes numbers to a row of its own, on
// the primary, and remembers when it sent each. A standby that shows a number
// shows all that was committed before that moment. Nobody else writes the row:
// what a server of a history that a failover abandoned shows grows old.
type heartbeats struct {
	reader ID // names the row

	mu   sync.Mutex
	last int64
	sent [16]time.Time // when beat n was sent, at n modulo its length

	// The primary's clock said at, for a beat that was sent at when.
	at, when time.Time
}

// beatsInBound is how many beats are sent within Options.MaxStaleness. All of
// them, and some more, must fit into heartbeats.sent.
const beatsInBound = 5

// next begins a beat.
func (h *heartbeats) next() (beat int64, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	sent = time.Now()
	h.sent[h.last%int64(len(h.sent))] = sent
	return h.last, sent
}

// confirm notes the answer to a beat.
func (h *heartbeats) confirm(at, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.when = at, sent
}

// unknown is the age of what a server shows that shows none of our last beats.
const unknown = time.Duration(1<<63 - 1)

// age is how old, at most, what a server shows is, if it shows this beat.
func (h *heartbeats) age(beat int64) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if beat <= h.last-int64(len(h.sent)) || beat > h.last || beat < 1 {
		return unknown
	}
	return elapsed(h.sent[beat%int64(len(h.sent))])
}

// primaryClock is what the clock of the primary says now, or by the time of a
// round trip more: then a session ends a little too early on standbys, and the
// primary is asked. It is not known before the first beat.
func (h *heartbeats) primaryClock() (now time.Time, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at.Add(elapsed(h.when)), !h.when.IsZero()
}

// elapsed is the time since then by the monotonic clock, which stands still
// while a machine is suspended, or by the wall clock, if that says more.
func elapsed(then time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// beat sends one heartbeat.
func (m *Manager) beat(ctx context.Context) error {
	h := &m.standbys.beats
	beat, sent := h.next()
	var at time.Time
	err := m.run.Write(ctx, statement.Local(), []any{&at}, "session_beat", h.reader.String(), beat)
	if err == nil {
		h.confirm(at, sent)
	}
	return err
}
