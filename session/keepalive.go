package session

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/session/internal/statement"
)

// maxBatch is how many sessions one statement touches at most.
const maxBatch = 50_000

// uses are the sessions that were used and whose rows do not say so yet.
type uses struct {
	mu      sync.Mutex
	last    map[ID]time.Time // by this process's clock, which only measures how long ago it was
	running atomic.Int32     // how many Runs will flush
	full    chan struct{}    // made by Run: a batch is full
	flush   sync.Mutex       // one flush at a time
}

// used keeps a use that the row does not cover, or writes it at once: if nobody
// flushes, and if the session, which has left to live as its row says, may be
// over before the next flush and one more try are done.
func (m *Manager) used(ctx context.Context, id ID, left time.Duration) {
	if m.uses.running.Load() == 0 || left < 2*m.opts.FlushInterval+m.opts.Timeout {
		// A row that somebody holds is being written by them, hence extended.
		_, _, err := m.touch(ctx, statement.Relaxed(), []ID{id}, []time.Duration{0})
		if err == nil {
			return
		}
		// The session is valid as it was read, so the caller gets it.
		m.opts.Logger.Warn("session: a use was not written, trying again with the next batch", "session", id, "error", err)
	}
	m.uses.mu.Lock()
	defer m.uses.mu.Unlock()
	if m.uses.last == nil {
		m.uses.last = make(map[ID]time.Time)
	}
	m.uses.last[id] = time.Now()
	if len(m.uses.last) >= maxBatch {
		select {
		case m.uses.full <- struct{}{}:
		default:
		}
	}
}

// forget drops a use of a session that was ended.
func (m *Manager) forget(id ID) {
	m.uses.mu.Lock()
	delete(m.uses.last, id)
	m.uses.mu.Unlock()
}

// Flush writes the uses kept in memory. What cannot be written is kept for the
// next time. Run calls it; call it yourself only to be sure of the rows.
//
// Errors: those of the database.
func (m *Manager) Flush(ctx context.Context) error {
	m.uses.flush.Lock()
	defer m.uses.flush.Unlock()
	m.uses.mu.Lock()
	last := m.uses.last
	m.uses.last = nil
	m.uses.mu.Unlock()
	if len(last) == 0 {
		return nil
	}
	ids := make([]ID, 0, len(last))
	for id := range last {
		ids = append(ids, id)
	}
	begun := time.Now()
	// In the order of the index: neighbours share its pages.
	slices.SortFunc(ids, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })

	var errs []error
	for chunk := range slices.Chunk(ids, maxBatch) {
		ages := make([]time.Duration, len(chunk))
		for i, id := range chunk {
			ages[i] = time.Since(last[id])
		}
		touched, left, err := m.touch(ctx, statement.Upkeep(), chunk, ages)
		if err != nil {
			errs = append(errs, err)
			left = chunk
		} else {
			m.stats.skipped.Add(int64(len(chunk)-len(left)) - touched)
		}
		m.keep(left, last)
	}
	m.stats.flushes.Add(1)
	m.stats.flushNanos.Add(int64(time.Since(begun)))
	return errors.Join(errs...)
}

// keep puts uses back that were not written, unless there are later ones.
func (m *Manager) keep(ids []ID, last map[ID]time.Time) {
	m.uses.mu.Lock()
	defer m.uses.mu.Unlock()
	if m.uses.last == nil {
		m.uses.last = make(map[ID]time.Time, len(ids))
	}
	for _, id := range ids {
		if last[id].After(m.uses.last[id]) {
			m.uses.last[id] = last[id]
		}
	}
}

// touch extends sessions by what their uses promise. It returns how many rows
// it wrote, and the sessions that a foreign transaction holds.
func (m *Manager) touch(ctx context.Context, class statement.Class, ids []ID, ages []time.Duration) (touched int64, locked []ID, err error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.String()
	}
	var left []string
	err = m.run.Write(ctx, class, []any{&touched, &left},
		"session_touch", names, ages)
	if err != nil {
		return 0, nil, err
	}
	for _, name := range left {
		if id, err := ParseID(name); err == nil {
			locked = append(locked, id)
		}
	}
	m.stats.touched.Add(touched)
	return touched, locked, nil
}
