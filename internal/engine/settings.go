package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
)

// settingsLife is how long the settings of a cache are believed: a change by
// alter_cache reaches every process within this time and one call. For a cache
// that refuses writes it is fullLife.
const (
	settingsLife = 5 * time.Second
	fullLife     = time.Second
)

// stale reports whether the settings must be read before they are used.
func (e *Engine) stale(now time.Time) bool {
	t := e.Table()
	lifetime := settingsLife
	if t.Full {
		lifetime = fullLife
	}
	return now.Sub(t.Loaded) >= lifetime
}

// Reload reads the settings of the cache now, for statements that are not shared:
// a cache that was dropped and made again has another table. Errors:
// ErrCacheNotFound, or one of PostgreSQL.
func (e *Engine) Reload(ctx context.Context, q statement.Querier) error {
	ctx, cancel := Bounded(ctx, ConnectTimeout)
	defer cancel()
	t, err := statement.LoadOne(ctx, q, e.set.origin.Load(), e.name)
	if err != nil {
		return fault.From(err, false, false)
	}
	e.use(t.Reuse(e.Table()))
	return nil
}

// refresh reads the settings of the caches that a flight needs, and of those that were used
// since they were last read: with hundreds of caches one query each would be much. A flight
// does not rely on another that reads the same settings at this moment, for it has no answer
// yet. A cache that does not exist any more is Unknown afterwards.
func (s *Set) refresh(ctx context.Context, conn *pgxpool.Conn, needed []*Engine) error {
	now := time.Now()
	var engines []*Engine
	var names []string
	for _, e := range s.All() {
		if (e.used.Load() || slices.Contains(needed, e)) && now.Sub(e.Table().Loaded) >= fullLife {
			engines, names = append(engines, e), append(names, e.name)
		}
	}
	before := make([]*statement.Table, len(engines))
	for i, e := range engines {
		e.used.Store(false)
		before[i] = e.Table()
	}
	tables, err := s.load(ctx, conn, names)
	if fault.IsLocked(err) {
		// A migration, say. It is asked again in a second; callers do not wait.
		for i, e := range engines {
			if before[i].Known() {
				e.table.CompareAndSwap(before[i], before[i].AsOf(now.Add(fullLife-settingsLife)))
				e.used.Store(true)
			}
		}
		return err
	}
	if err != nil {
		return err
	}
	for i, e := range engines {
		t := tables[e.name]
		if t == nil {
			t = statement.Unknown(e.name)
		}
		e.use(t.Reuse(before[i]))
	}
	return nil
}

// load reads settings. For a lock it waits no longer than a shared statement does.
func (s *Set) load(ctx context.Context, conn *pgxpool.Conn, caches []string) (map[string]*statement.Table, error) {
	if s.OwnConn {
		return statement.Load(ctx, conn, s.origin.Load(), caches...)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{
		BeginQuery: fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = '%dms'", s.LockTimeout.Milliseconds()),
	})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	return statement.Load(ctx, tx, s.origin.Load(), caches...)
}
