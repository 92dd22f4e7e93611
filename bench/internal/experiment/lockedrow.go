package experiment

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

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
		Run:   runLockedRow,
	}
}

func runLockedRow(ctx context.Context, b *Bench, r *result.Result) error {
	const name, locked, workers = "bench_locked", "the locked key", 64
	hold := time.Duration(b.scale(30, 5)) * time.Second
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	db, err := howdah.Open(ctx, pg.URL, nil)
	if err != nil {
		return err
	}
	b.later(db.Close)
	if err := db.CreateCache(ctx, howdah.CacheConfig{Name: name}); err != nil && !errors.Is(err, howdah.ErrCacheExists) {
		return err
	}
	cache := db.Cache(name)
	if err := cache.Set(ctx, locked, []byte("value"), howdah.NoExpiry); err != nil {
		return err
	}
	var refused atomic.Int64
	var kind atomic.Value
	run := func(series string, others int) error {
		sources := workload.NewSources(b.Workload, workers)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		waiting := make(chan struct{})
		go func() { // callers of the locked key, who may wait and fail
			defer close(waiting)
			for others > 0 && ctx.Err() == nil {
				if err := cache.Set(ctx, locked, []byte("other"), howdah.NoExpiry); err != nil && ctx.Err() == nil {
					refused.Add(1)
					kind.Store(err.Error())
				}
			}
		}()
		s, err := measure.Open(ctx, measure.Load{Workers: workers, Warmup: time.Second, Duration: hold - time.Second,
			Do: func(ctx context.Context, w int) error {
				i := sources[w].Next()
				return cache.Set(ctx, sources[w].Key(i), sources[w].Value(i), howdah.NoExpiry)
			}}, b.Rate)
		stop()
		<-waiting
		if err != nil {
			return fmt.Errorf("%s: %w", series, err)
		}
		addOpen(r, lockedGroup, lockedCase, series, s)
		b.Progress("%-20s p50 %.2f ms, p99 %.2f ms, max %.0f ms", series, s.Milliseconds(50), s.Milliseconds(99), float64(s.Latency.Max())/1e6)
		return nil
	}
	if err := run("no lock", 0); err != nil {
		return err
	}
	holder, err := b.sql(ctx)
	if err != nil {
		return err
	}
	tx, err := holder.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	tag, err := tx.Exec(ctx, `SELECT FROM howdah.cache_`+name+` WHERE hash = howdah.key_hash($1::bytea) FOR UPDATE`, []byte(locked))
	if err != nil {
		return err
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("the row of %q was not found", locked)
	}
	if err := run("one row locked", 1); err != nil {
		return err
	}
	if refused.Load() == 0 {
		return errors.New("nobody waited for the locked row: the experiment locked nothing")
	}
	r.Set("lock", fmt.Sprintf("held for %v by an open transaction, while one caller keeps writing the locked key", hold))
	r.Set("load", fmt.Sprintf("SETs of other keys at %g/s, open loop, %d workers", b.Rate, workers))
	r.Notes = append(r.Notes, fmt.Sprintf("The caller of the locked key was refused %d times: %v.", refused.Load(), kind.Load()))
	r.Charts = append(r.Charts, result.Chart{Kind: result.Bars, Title: "SETs of other keys: 99th percentile, ms", Group: lockedGroup, Metric: p99})
	r.Compare(lockedGroup, lockedCase, p99, "one row locked", "no lock", 0, false)
	return nil
}

const lockedGroup, lockedCase = "SETs of other keys", "latency"
