package session

import (
	"context"
	"sync"
	"time"

	"github.com/howdah/howdah/session/internal/statement"
)

// Run writes the uses kept in memory every Options.FlushInterval, removes
// expired sessions every Options.ExpireInterval, unless the upkeep of the
// database (howdah.DB.Run, howdah maintain) does that, and looks after the
// standbys of Options.ReadURLs, until ctx ends; then it writes what is left and
// returns nil. Run one a process; any number of processes may run one.
//
// What the database refuses is logged and tried again. Error: of the last
// flush, after which uses may be lost.
func (m *Manager) Run(ctx context.Context) error {
	full := make(chan struct{}, 1)
	m.uses.mu.Lock()
	m.uses.full = full
	m.uses.mu.Unlock()
	m.uses.running.Add(1)
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() { m.watchStandbys(ctx) })
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
			if err := m.upkeep(ctx); err != nil && ctx.Err() == nil {
				m.opts.Logger.Warn("session: expired sessions were not removed, trying again later", "error", err)
			}
			continue
		}
		if err := m.Flush(ctx); err != nil && ctx.Err() == nil {
			m.opts.Logger.Warn("session: uses of sessions were not written, trying again later", "error", err)
		}
	}
}

// upkeep removes what has expired, if nobody else has done so for two
// intervals: in rounds until one is not stopped by its bound.
func (m *Manager) upkeep(ctx context.Context) error {
	var live int64
	var done bool
	err := m.run.Read(ctx, []any{&live, &done}, "session_upkeep", m.opts.ExpireInterval)
	if err != nil {
		return err
	}
	m.stats.live.Store(live + 1)
	for !done {
		_, more, err := m.Expire(ctx)
		if err != nil {
			return err
		}
		done = !more
	}
	return nil
}

// Expire does one bounded round of upkeep: it removes expired sessions and
// returns how many, and whether there may be more to remove at once. Rounds go
// around the table. Only one runs at a time in a database; a second one does
// nothing.
func (m *Manager) Expire(ctx context.Context) (expired int64, more bool, err error) {
	err = m.run.Write(ctx, statement.Upkeep(), []any{&expired, &more}, "session_expire")
	m.stats.expired.Add(expired)
	return expired, more, err
}
