package upkeep

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

const (
	// cleanInterval is how often the leader looks whether autovacuum keeps up.
	cleanInterval = 5 * time.Second

	// A table grows by what dies in it between two vacuums. Autovacuum looks
	// every minute at most (autovacuum_naptime), which is long for a cache that
	// is rewritten within a minute.
	minPause = 15 * time.Second

	// maxPause is how rarely a VACUUM is tried that an old snapshot makes
	// useless. Autovacuum goes on trying every minute.
	maxPause = 10 * time.Minute
)

// cleaning is what is known of the last VACUUM of a table.
type cleaning struct {
	notBefore time.Time
	pause     time.Duration
}

// again is when the next may come: soon after one that removed most of the dead
// rows, and ever later after others.
func (c cleaning) again(useful bool, now time.Time) cleaning {
	c.pause = min(maxPause, 2*max(minPause, c.pause))
	if useful {
		c.pause = minPause
	}
	c.notBefore = now.Add(c.pause)
	return c
}

// waste is a table that waits for VACUUM.
type waste struct {
	Cache      string // or howdah_internal.change, the change log
	Table      string
	Dead       int64
	LastVacuum time.Time
	Own        bool // VACUUM is for the owner
}

// clean runs VACUUM on the table that autovacuum has left behind most: a
// cache's table asks for one at 1 % of dead rows, so at 20 % and 10,000 it has
// been waiting for long. Only the owner of the tables may, and not behind a
// transaction pooler, where a session's settings reach others.
func (r *run) clean(ctx context.Context) error {
	if !r.vacuums || !r.cleaning.CompareAndSwap(false, true) {
		return nil
	}
	due, err := r.due(ctx)
	if err != nil || due == nil {
		r.cleaning.Store(false)
		return err
	}
	r.cleaner.Add(1)
	go func() { // ends with Run
		defer r.cleaner.Done()
		defer r.cleaning.Store(false)
		started := time.Now()
		left, err := vacuum(ctx, r.set, due)
		r.cleanings[due.Cache] = r.cleanings[due.Cache].again(err == nil && left < due.Dead/2, time.Now())
		log := r.set.Logger
		if err != nil && ctx.Err() == nil {
			log.Warn("howdah: VACUUM failed", "cache", due.Cache, "error", fault.OneLine(err))
		} else if err == nil {
			log.Info("howdah: autovacuum did not keep up; ran VACUUM", "cache", due.Cache, "dead_rows", due.Dead, "left", left, "took", time.Since(started))
		}
	}()
	return nil
}

// due returns the table that needs VACUUM most, if any.
func (r *run) due(ctx context.Context) (*waste, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	rows, err := r.set.Query(ctx, schema.Query("waste"), minPause)
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[waste])
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	if r.cleanings == nil {
		r.cleanings = make(map[string]cleaning)
	}
	for _, t := range all {
		if !t.Own {
			if !r.ownerMissing {
				r.set.Logger.Warn("howdah: autovacuum does not keep up, and only the owner of the tables may help: run the upkeep as that role, or see to autovacuum", "cache", t.Cache, "dead_rows", t.Dead)
			}
			r.ownerMissing = true
			continue
		}
		if !time.Now().Before(r.cleanings[t.Cache].notBefore) {
			return t, nil
		}
	}
	return nil, nil
}

// vacuum runs VACUUM at the pace of autovacuum's settings for caches, and
// returns how many dead rows it left: those that an old snapshot may see.
func vacuum(ctx context.Context, set *engine.Set, t *waste) (left int64, err error) {
	conn, err := set.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	// The connection goes: its settings are no longer the pool's.
	own := conn.Hijack()
	defer own.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{
		"SET search_path = pg_catalog, pg_temp",
		"SET vacuum_cost_delay = '1ms'",
		"SET vacuum_cost_limit = 1000",
		// TRUNCATE would need a lock that stops everybody.
		schema.Statement("vacuum", schema.Table{Name: t.Table}),
	} {
		if _, err := own.Exec(ctx, sql); err != nil {
			return 0, err
		}
	}
	// On PostgreSQL 14 the statistics arrive a little later.
	for range 20 {
		var told bool
		err := own.QueryRow(ctx, schema.Query("dead_rows"), t.Table, t.LastVacuum).Scan(&left, &told)
		if err != nil || told {
			return left, err
		}
		select {
		case <-ctx.Done():
			return left, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return left, nil // skipped: somebody holds the table
}
