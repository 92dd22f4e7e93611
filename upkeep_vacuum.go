package howdah

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// cleanInterval is how often the leader looks whether autovacuum keeps up.
const cleanInterval = 20 * time.Second

// cleaning is what is known of the last VACUUM of a table.
type cleaning struct {
	notBefore time.Time
	pause     time.Duration
}

// clean runs VACUUM on the table that autovacuum has left behind most: a
// cache's table asks for one at 1 % of dead rows, so at 20 % and 10,000 it has
// been waiting for long. Only the owner of the tables may, and not behind a
// transaction pooler, where a session's settings reach others.
func (u *upkeep) clean(ctx context.Context) error {
	if u.db.opts.Pooler != "" || !u.cleaning.CompareAndSwap(false, true) {
		return nil
	}
	due, dead, err := u.due(ctx)
	if err != nil || due == "" {
		u.cleaning.Store(false)
		return err
	}
	u.cleaner.Add(1)
	go func() { // ends with Run
		defer u.cleaner.Done()
		defer u.cleaning.Store(false)
		started := time.Now()
		err := u.db.vacuum(ctx, due)
		log := u.db.opts.log()
		if err != nil && ctx.Err() == nil {
			log.Warn("howdah: VACUUM failed", "cache", due, "error", oneLine{err})
		} else if err == nil {
			log.Info("howdah: autovacuum did not keep up; ran VACUUM", "cache", due, "dead_rows", dead, "took", time.Since(started))
		}
	}()
	return nil
}

// due returns the cache whose table needs VACUUM most, if any. A VACUUM that
// an old transaction makes useless is repeated ever more rarely.
func (u *upkeep) due(ctx context.Context) (name string, dead int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	rows, err := u.db.pool.Query(ctx, `
		SELECT c.name, s.n_dead_tup, pg_has_role(t.relowner, 'USAGE')
		FROM howdah.cache AS c
		JOIN pg_class AS t ON t.relname = 'cache_' || c.name AND t.relnamespace = 'howdah'::regnamespace
		JOIN pg_stat_all_tables AS s ON s.relid = t.oid
		WHERE s.n_dead_tup > 10000 + 0.2 * s.n_live_tup
		  AND coalesce(greatest(s.last_vacuum, s.last_autovacuum), '-infinity') < statement_timestamp() - interval '1 minute'
		  AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum AS p WHERE p.relid = t.oid)
		ORDER BY s.n_dead_tup DESC`)
	if err != nil {
		return "", 0, failure(err, false, false)
	}
	type table struct {
		Name string
		Dead int64
		Own  bool
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[table])
	if err != nil {
		return "", 0, failure(err, false, false)
	}
	if u.cleanings == nil {
		u.cleanings = make(map[string]cleaning)
	}
	now := time.Now()
	for _, t := range all {
		if !t.Own {
			if !u.toldOwner {
				u.db.opts.log().Warn("howdah: autovacuum does not keep up, and only the owner of the tables may help: run the upkeep as that role, or see to autovacuum", "cache", t.Name, "dead_rows", t.Dead)
			}
			u.toldOwner = true
			continue
		}
		last := u.cleanings[t.Name]
		if now.Before(last.notBefore) {
			continue
		}
		if now.After(last.notBefore.Add(10 * time.Minute)) {
			last.pause = 0
		}
		last.pause = min(30*time.Minute, max(time.Minute, 2*last.pause))
		last.notBefore = now.Add(last.pause)
		u.cleanings[t.Name] = last
		return t.Name, t.Dead, nil
	}
	return "", 0, nil
}

// vacuum runs VACUUM at the pace of autovacuum's settings for caches.
func (db *DB) vacuum(ctx context.Context, cache string) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	// The connection goes: its settings are no longer the pool's.
	own := conn.Hijack()
	defer own.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{
		"SET vacuum_cost_delay = '1ms'",
		"SET vacuum_cost_limit = 1000",
		// TRUNCATE would need a lock that stops everybody.
		"VACUUM (SKIP_LOCKED, TRUNCATE FALSE) " + tableName(cache),
	} {
		if _, err := own.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
