package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// lockedRow asks whom an open transaction on one row delays.
func lockedRow() Experiment {
	return Experiment{
		Name:  "locked-row",
		Title: "One cached row is locked by an open transaction: what the others notice",
		Needs: []service.Program{service.Postgres},
		Quick: 20 * time.Second, Full: 60 * time.Second,
		Run:   runLockedRow,
		Judge: lockedVerdict,
	}
}

const (
	lockedGroup, lockedCase = "SETs of other keys", "latency"
	noLock, oneLocked       = "no lock", "one row locked"
	lockedCache, lockedKey  = "bench_locked", "the locked key"
	lockedWorkers           = 64
)

// lockedRows is the experiment with what it keeps between its runs.
type lockedRows struct {
	*Bench
	cache   *howdah.Cache
	hold    time.Duration
	refused int    // calls on the locked key
	kind    string // the last refusal
}

func runLockedRow(ctx context.Context, b *Bench, r *result.Result) error {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	db, err := howdah.Open(ctx, pg.URL, nil)
	if err != nil {
		return err
	}
	b.later(db.Close)
	if err := db.CreateCache(ctx, howdah.CacheConfig{Name: lockedCache}); err != nil && !errors.Is(err, howdah.ErrCacheExists) {
		return err
	}
	x := &lockedRows{Bench: b, cache: db.Cache(lockedCache), hold: time.Duration(b.scale(8, 3)) * time.Second}
	if err := x.cache.Set(ctx, lockedKey, []byte("value"), howdah.NoExpiry); err != nil {
		return err
	}
	holder, err := b.sql(ctx)
	if err != nil {
		return err
	}
	err = b.turns(2, func(i int) error {
		if i == 0 {
			return x.others(ctx, r, noLock)
		}
		return x.locked(ctx, r, holder)
	})
	if err != nil {
		return err
	}
	if x.refused == 0 {
		return errors.New("nobody waited for the locked row: the experiment locked nothing")
	}
	r.Set("lock", fmt.Sprintf("held for %v by an open transaction, while one caller keeps writing the locked key", x.hold))
	r.Set("load", fmt.Sprintf("SETs of other keys at %g/s, open loop, %d workers", b.Rate, lockedWorkers))
	r.Notes = append(r.Notes, fmt.Sprintf("The caller of the locked key was refused %d times: %s.", x.refused, x.kind))
	r.Compare(lockedGroup, lockedCase, p99, oneLocked, noLock, 0, true)
	return nil
}

func lockedVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	return []result.Verdict{{
		Claim: "A row that an open transaction holds delays only those who write that row", Source: "Howdah's own promise",
		Ours: fmt.Sprintf("99th percentile of the others %.2f ms with the lock, %.2f ms without",
			r.Value(lockedGroup, lockedCase, oneLocked, p99), r.Value(lockedGroup, lockedCase, noLock, p99)),
		Bar:      "99th percentile of the others at most 2 times that without the lock",
		Word:     result.AtMost(r.RatioOf(lockedGroup, lockedCase, p99, oneLocked, noLock), 2),
		Sentence: "The first statement that meets the lock waits for at most 20 ms and goes again without that row; no later one meets it.",
	}}
}

// locked measures the others while a transaction holds the row and one caller
// keeps writing it, who may wait and fail.
func (x *lockedRows) locked(ctx context.Context, r *result.Result, holder *db) error {
	tx, err := holder.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err := lockRow(ctx, tx); err != nil {
		return err
	}
	calls, stop := context.WithCancel(ctx)
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		for calls.Err() == nil {
			if err := x.cache.Set(calls, lockedKey, []byte("other"), howdah.NoExpiry); err != nil && calls.Err() == nil {
				x.refused++
				x.kind = err.Error()
			}
		}
	}()
	err = x.others(ctx, r, oneLocked)
	stop()
	<-waiting
	return err
}

func lockRow(ctx context.Context, tx pgx.Tx) error {
	table, err := cacheTable(ctx, tx, lockedCache)
	if err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, `SELECT FROM `+table+` WHERE hash = howdah.key_hash($1::bytea) FOR UPDATE`, []byte(lockedKey))
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("the row of %q was not found", lockedKey)
	}
	return err
}

// others measures SETs of other keys.
func (x *lockedRows) others(ctx context.Context, r *result.Result, series string) error {
	sources := workload.NewSources(x.Workload, lockedWorkers)
	warmup := x.hold / 8
	s, err := measure.Open(ctx, measure.Load{Workers: lockedWorkers, Warmup: warmup, Duration: x.hold - warmup,
		Do: func(ctx context.Context, w int) error {
			i := sources[w].Next()
			return x.cache.Set(ctx, sources[w].Key(i), sources[w].Value(i), howdah.NoExpiry)
		}}, x.Rate)
	if err != nil {
		return fmt.Errorf("%s: %w", series, err)
	}
	addOpen(r, lockedGroup, lockedCase, series, s)
	x.Progress("%-20s p50 %.2f ms, p99 %.2f ms, max %.0f ms", series, s.Milliseconds(50), s.Milliseconds(99), float64(s.Latency.Max())/1e6)
	return nil
}
