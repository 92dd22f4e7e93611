package session

import (
	"context"
	"time"
)

const MaxBatch = maxBatch

// Used notes uses that the rows do not cover, as Get does.
func (m *Manager) Used(ids ...ID) {
	for _, id := range ids {
		m.used(context.Background(), id, 24*time.Hour)
	}
}

// Keep is Used where nobody runs.
func (m *Manager) Keep(ids ...ID) {
	last := make(map[ID]time.Time, len(ids))
	for _, id := range ids {
		last[id] = time.Now()
	}
	m.keep(ids, last)
}

// SharedReads is how many reads went to the primary, in how many statements.
func (m *Manager) SharedReads() (reads, statements uint64) {
	stats := m.reads.coalescer.Stats()
	return stats.KeysTotal, stats.Reads
}
