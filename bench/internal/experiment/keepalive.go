package experiment

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// keepalive compares ways to slide the expiry of sessions that are used.
func keepalive() Experiment {
	return Experiment{
		Name:  "keepalive",
		Title: "Sliding expiry: an UPDATE for every read, in batches, or only when due",
		Needs: []service.Program{service.Postgres},
		Run:   runKeepalive,
	}
}

const keepaliveGroup, keepaliveCase = "Reads of sessions, 16 callers", "logged table"

// Reported per thousand reads, so that variants of different speed compare.
const perThousand = "per 1,000 reads"

func runKeepalive(ctx context.Context, b *Bench, r *result.Result) error {
	const workers, chunk = 16, 50_000
	sessions := b.scale(100_000, 20_000)
	duration := time.Duration(b.scale(10, 2)) * time.Second
	flushEvery := duration / 4
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	url, err := b.sqlURL(ctx)
	if err != nil {
		return err
	}
	variants := []struct {
		name     string
		everyOne bool // UPDATE with every read
		batch    bool
		skip     bool // what was extended lately
	}{
		{"no extension", false, false, false},
		{"UPDATE for every read", true, false, false},
		{"batches", false, true, false},
		{"batches, skipping the recently extended", false, true, true},
	}
	spec := workload.Spec{Keys: sessions, ValueSize: 250, Seed: 11}
	err = b.turns(len(variants), func(i int) error {
		v := variants[i]
		err := d.run(ctx, `DROP TABLE IF EXISTS keepalive`,
			`CREATE TABLE keepalive (id bigint PRIMARY KEY, payload text NOT NULL, expires_at timestamptz NOT NULL) WITH (fillfactor = 85)`,
			fmt.Sprintf(`INSERT INTO keepalive SELECT i, repeat(md5(i::text), 8), now() + interval '20 min' FROM generate_series(0, %d) AS i`, sessions-1),
			`VACUUM ANALYZE keepalive`, `CHECKPOINT`)
		if err != nil {
			return err
		}
		pool, err := pgxpool.New(ctx, withPool(url, workers))
		if err != nil {
			return err
		}
		defer pool.Close()
		sources := workload.NewSources(spec, workers)
		var mu sync.Mutex
		used := map[int64]bool{}
		flush := func() error {
			mu.Lock()
			ids := make([]int64, 0, len(used))
			for id := range used {
				ids = append(ids, id)
			}
			clear(used)
			mu.Unlock()
			for len(ids) > 0 {
				n := min(chunk, len(ids))
				sql := `UPDATE keepalive SET expires_at = now() + interval '30 min' WHERE id = ANY ($1) AND expires_at > now()`
				if v.skip {
					sql += ` AND expires_at < now() + interval '25 min'`
				}
				if _, err := pool.Exec(ctx, sql, ids[:n]); err != nil {
					return err
				}
				ids = ids[n:]
			}
			return nil
		}
		stop, flushed := make(chan struct{}), make(chan error, 1)
		go func() {
			tick := time.NewTicker(flushEvery)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					flushed <- flush()
					return
				case <-tick.C:
					if err := flush(); err != nil {
						<-stop
						flushed <- err
						return
					}
				}
			}
		}()
		before, err := d.wal(ctx)
		if err != nil {
			return err
		}
		s, loadErr := measure.Closed(ctx, measure.Load{Workers: workers, Duration: duration, Do: func(ctx context.Context, w int) error {
			id := int64(sources[w].Next())
			var payload string
			err := pool.QueryRow(ctx, `SELECT payload FROM keepalive WHERE id = $1 AND expires_at > now()`, id).Scan(&payload)
			switch {
			case err != nil:
				return err
			case v.everyOne:
				_, err = pool.Exec(ctx, `UPDATE keepalive SET expires_at = now() + interval '30 min' WHERE id = $1`, id)
			case v.batch:
				mu.Lock()
				used[id] = true
				mu.Unlock()
			}
			return err
		}})
		close(stop)
		if err := <-flushed; err != nil {
			return err
		}
		if loadErr != nil {
			return loadErr
		}
		after, err := d.wal(ctx)
		if err != nil {
			return err
		}
		pool.Close() // sessions report what they counted when they end
		least := int64(0)
		if v.everyOne {
			least = s.Requests
		} else if v.batch {
			least = 1
		}
		u, err := d.updates(ctx, "keepalive", least)
		if err != nil {
			return err
		}
		thousands := float64(s.Requests) / 1000
		addClosed(r, keepaliveGroup, keepaliveCase, v.name, s)
		r.Add(keepaliveGroup, keepaliveCase, v.name, "WAL", "kB "+perThousand, float64(after-before)/1000/thousands)
		r.Add(keepaliveGroup, keepaliveCase, v.name, "row versions", perThousand, float64(u.all)/thousands)
		b.Progress("%-42s %7.0f reads/s  %6.0f row versions per 1,000", v.name, s.Rate(), float64(u.all)/thousands)
		return nil
	})
	if err != nil {
		return err
	}
	r.Set("sessions", fmt.Sprintf("%d of 256 characters, flushed every %v in chunks of %d, runs of %v", sessions, flushEvery, chunk, duration))
	r.Charts = append(r.Charts, result.Chart{Kind: result.Bars, Title: "Reads/s", Group: keepaliveGroup, Metric: throughput},
		result.Chart{Kind: result.Bars, Title: "kB of WAL per 1,000 reads", Group: keepaliveGroup, Metric: "WAL"})
	rate := func(i int) float64 { return r.Value(keepaliveGroup, keepaliveCase, variants[i].name, throughput) }
	wal := func(i int) float64 { return r.Value(keepaliveGroup, keepaliveCase, variants[i].name, "WAL") }
	ratio := func(metric string) []float64 {
		return r.RatioOf(keepaliveGroup, keepaliveCase, metric, variants[3].name, variants[1].name)
	}
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "Remember used sessions, extend them in one UPDATE every so often, and skip those extended lately", Source: "SQL, no figure",
		Ours:     fmt.Sprintf("%.1f times the reads/s of an UPDATE for every read, %.1f %% of its WAL", rate(3)/rate(1), 100*wal(3)/wal(1)),
		Word:     result.All(result.AtLeast(ratio(throughput), 1.2), result.AtMost(ratio("WAL"), 0.9)),
		Sentence: "The batch removes a commit from every read; skipping removes the row versions of sessions that are used all the time.",
	})
	return nil
}
