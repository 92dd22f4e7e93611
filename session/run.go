package session

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/session/internal/statement"
)

// Run writes the uses kept in memory every Options.FlushInterval and removes
// expired sessions every Options.ExpireInterval, until ctx ends; then it writes
// what is left and returns nil. Run one a process; any number of processes may
// run one.
//
// What the database refuses is logged and tried again. Error: of the last
// flush, after which uses may be lost.
func (m *Manager) Run(ctx context.Context) error {
	full := make(chan struct{}, 1)
	m.uses.mu.Lock()
	m.uses.full = full
	m.uses.mu.Unlock()
	m.uses.running.Add(1)
	flush := time.NewTicker(m.opts.FlushInterval)
	defer flush.Stop()
	expire := time.NewTicker(m.opts.ExpireInterval)
	defer expire.Stop()
	for {
		select {
		case <-ctx.Done():
			// From here on uses are written at once; what was kept goes now.
			m.uses.running.Add(-1)
			return m.Flush(context.WithoutCancel(ctx))
		case <-flush.C:
		case <-full:
		case <-expire.C:
			if err := m.expireAll(ctx); err != nil && ctx.Err() == nil {
				m.opts.Logger.Warn("session: expired sessions were not removed, trying again later", "error", err)
			}
			continue
		}
		if err := m.Flush(ctx); err != nil && ctx.Err() == nil {
			m.opts.Logger.Warn("session: uses of sessions were not written, trying again later", "error", err)
		}
	}
}

// expireAll does rounds until one is not stopped by its bound.
func (m *Manager) expireAll(ctx context.Context) error {
	for {
		_, more, err := m.Expire(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// Expire does one bounded round of upkeep: it removes expired sessions and
// returns how many, and whether there may be more to remove at once. Rounds go
// around the table. Only one runs at a time in a database; a second one does
// nothing.
func (m *Manager) Expire(ctx context.Context) (expired int64, more bool, err error) {
	err = m.run.Write(ctx, statement.Upkeep(), []any{&expired, &more}, `SELECT expired, more FROM howdah.session_expire()`)
	m.stats.expired.Add(expired)
	return expired, more, err
}

type counters struct {
	created, reads, refused, rotated, revoked, touched, flushes, expired atomic.Int64
}

// Stats counts what a Manager has done since New.
type Stats struct {
	Created int64 // sessions started
	Reads   int64 // reads of the database
	Refused int64 // reads that found no session for the token
	Rotated int64
	Revoked int64 // sessions ended by a call, not by time
	Touched int64 // rows written for uses
	Flushes int64 // batches of them
	Expired int64 // rows removed by this process's upkeep
	Waiting int   // uses kept in memory now
}

// Stats returns the counters.
func (m *Manager) Stats() Stats {
	m.uses.mu.Lock()
	waiting := len(m.uses.last)
	m.uses.mu.Unlock()
	return Stats{
		Created: m.stats.created.Load(), Reads: m.stats.reads.Load(), Refused: m.stats.refused.Load(),
		Rotated: m.stats.rotated.Load(), Revoked: m.stats.revoked.Load(), Touched: m.stats.touched.Load(),
		Flushes: m.stats.flushes.Load(), Expired: m.stats.expired.Load(), Waiting: waiting,
	}
}
