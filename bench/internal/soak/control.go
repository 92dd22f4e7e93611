package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/bench/internal/service"
)

// tableKinds is how a table of each durability class is made.
var tableKinds = map[string]string{"unlogged": "UNLOGGED", "async": "", "sync": ""}

// controlTable has the settings that published advice gives for sessions and
// caches: no index on expires_at, room for HOT updates, an eager autovacuum.
const controlTable = `
	CREATE %s TABLE public.soak_control (
		key        text        PRIMARY KEY,
		value      bytea       NOT NULL,
		expires_at timestamptz NOT NULL
	) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.01,
	        autovacuum_vacuum_cost_delay = 2)`

const (
	// controlPool is as many connections as a pool of an application has; the
	// rate keeps few of them busy.
	controlPool = 16

	// controlEvery is the pace of its two jobs, and controlChunk the most rows
	// that one of their DELETEs takes; chunks follow each other until nothing is
	// left. UPDATEs take more.
	controlEvery = 30 * time.Second
	controlChunk = 5000
	touchChunk   = 50_000
)

// control is what an application with a careful DBA has: one statement a call,
// reads that filter what has expired, remembered keys whose lives a job
// extends, and a job that deletes in chunks.
type control struct {
	pool   *pgxpool.Pool
	budget int64

	mu   sync.Mutex
	used map[string]time.Duration // read with sliding expiry and not yet extended; their TTLs

	rounds, expired, evicted atomic.Int64
}

func newControl(ctx context.Context, c *Config, pg *service.PostgresServer) (contender, error) {
	config, err := pgxpool.ParseConfig(pg.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = controlPool
	if c.Class == "async" {
		config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, fmt.Sprintf(controlTable, tableKinds[c.Class])); err != nil {
		pool.Close()
		return nil, err
	}
	return &control{pool: pool, budget: c.budget(), used: map[string]time.Duration{}}, nil
}

func (t *control) name() string  { return ControlName }
func (t *control) table() string { return "public.soak_control" }

func (t *control) get(ctx context.Context, key string) (value []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = t.pool.QueryRow(ctx, `SELECT value FROM public.soak_control WHERE key = $1 AND expires_at > now()`, key).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errMiss
	}
	return value, err
}

// getSliding reads, and leaves the rest to the job.
func (t *control) getSliding(ctx context.Context, key string, ttl time.Duration) ([]byte, error) {
	value, err := t.get(ctx, key)
	if err == nil {
		t.mu.Lock()
		t.used[key] = ttl
		t.mu.Unlock()
	}
	return value, err
}

func (t *control) set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := t.pool.Exec(ctx, `
		INSERT INTO public.soak_control (key, value, expires_at)
		VALUES ($1, $2, coalesce(now() + nullif($3::interval, '0'), 'infinity'))
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`, key, value, ttl)
	return err
}

// run does the two jobs, at the same time, until ctx ends.
func (t *control) run(ctx context.Context) error {
	jobs := []func(context.Context) error{t.extend, t.clean}
	failed := make(chan error, len(jobs))
	for _, job := range jobs {
		go func() { failed <- repeat(ctx, job) }()
	}
	var all []error
	for range jobs {
		all = append(all, <-failed)
	}
	return errors.Join(all...)
}

// repeat runs a job at the pace of controlEvery.
func repeat(ctx context.Context, job func(context.Context) error) error {
	tick := time.NewTicker(controlEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := job(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// extend lets what was read live longer, all keys of one TTL in one UPDATE.
func (t *control) extend(ctx context.Context) error {
	t.mu.Lock()
	used := t.used
	t.used = make(map[string]time.Duration, len(used))
	t.mu.Unlock()
	byTTL := map[time.Duration][]string{}
	for key, ttl := range used {
		byTTL[ttl] = append(byTTL[ttl], key)
	}
	for ttl, keys := range byTTL {
		for len(keys) > 0 {
			n := min(touchChunk, len(keys))
			_, err := t.pool.Exec(ctx, `
				UPDATE public.soak_control SET expires_at = now() + $2::interval
				WHERE key = ANY ($1) AND expires_at > now()`, keys[:n], ttl)
			if err != nil {
				return err
			}
			keys = keys[n:]
		}
	}
	return nil
}

// clean deletes what has expired, and then, as the advice knows no budget, what
// would expire soonest, until the rest fits: with sliding expiry that is close
// to what was not used for longest.
func (t *control) clean(ctx context.Context) error {
	t.rounds.Add(1)
	n, err := t.deleteChunks(ctx, 1<<62, `
		DELETE FROM public.soak_control
		WHERE ctid = ANY (ARRAY(SELECT ctid FROM public.soak_control WHERE expires_at <= now() LIMIT $1)) AND expires_at <= now()`)
	t.expired.Add(n)
	if err != nil {
		return err
	}
	var rows, bytes int64
	err = t.pool.QueryRow(ctx, `
		SELECT count(*), coalesce(sum(octet_length(key) + octet_length(value) + 100), 0) FROM public.soak_control`).Scan(&rows, &bytes)
	if err != nil || bytes <= t.budget {
		return err
	}
	n, err = t.deleteChunks(ctx, (bytes-t.budget)*rows/bytes, `
		DELETE FROM public.soak_control
		WHERE ctid = ANY (ARRAY(SELECT ctid FROM public.soak_control ORDER BY expires_at LIMIT $1))`)
	t.evicted.Add(n)
	return err
}

// deleteChunks repeats a DELETE until it has removed so many rows, or finds few
// more. It misses some of each chunk: those that were written meanwhile.
func (t *control) deleteChunks(ctx context.Context, rows int64, sql string) (deleted int64, err error) {
	for deleted < rows {
		chunk := min(controlChunk, rows-deleted)
		tag, err := t.pool.Exec(ctx, sql, chunk)
		deleted += tag.RowsAffected()
		if err != nil || tag.RowsAffected() < chunk/2 || tag.RowsAffected() == 0 {
			return deleted, err
		}
	}
	return deleted, nil
}

func (t *control) upkeep() upkeepWork {
	return upkeepWork{t.rounds.Load(), t.expired.Load(), t.evicted.Load()}
}

func (t *control) close() { t.pool.Close() }
