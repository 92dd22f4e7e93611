package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// reapChunks compares ways to delete what has expired.
func reapChunks() Experiment {
	return Experiment{
		Name:  "reap-chunks",
		Title: "Deleting what has expired, while readers read",
		Needs: []service.Program{service.Postgres},
		Run:   runReapChunks,
	}
}

const reapDeletes, reapReaders, reapCase = "Deleting the expired rows", "Readers meanwhile, 2,000/s", "half of the rows expired"

// errReaped ends the readers.
var errReaped = errors.New("everything is deleted")

// reaper deletes and says how long its longest statement took.
type reaper struct {
	name string
	reap func(ctx context.Context, d *db) (longest time.Duration, err error)
}

func reapers() []reaper {
	const limited = `DELETE FROM reap WHERE ctid = ANY (ARRAY(SELECT ctid FROM reap WHERE expires_at <= now() LIMIT %d))`
	chunks := func(n int) func(context.Context, *db) (time.Duration, error) {
		return func(ctx context.Context, d *db) (longest time.Duration, err error) {
			for {
				start := time.Now()
				tag, err := d.Exec(ctx, fmt.Sprintf(limited, n))
				longest = max(longest, time.Since(start))
				if err != nil || tag.RowsAffected() == 0 {
					return longest, err
				}
			}
		}
	}
	return []reaper{
		{"one DELETE", func(ctx context.Context, d *db) (time.Duration, error) {
			start := time.Now()
			_, err := d.Exec(ctx, `DELETE FROM reap WHERE expires_at <= now()`)
			return time.Since(start), err
		}},
		{"chunks of 1,000 rows", chunks(1000)},
		{"chunks of 5,000 rows", chunks(5000)},
		{"ranges of 256 blocks", reapByBlocks},
	}
}

// reapByBlocks walks the table once, a range of blocks at a time.
func reapByBlocks(ctx context.Context, d *db) (longest time.Duration, err error) {
	const step = 256
	var blocks int64
	if err := d.QueryRow(ctx, `SELECT pg_relation_size('reap') / current_setting('block_size')::int`).Scan(&blocks); err != nil {
		return 0, err
	}
	for from := int64(0); from < blocks; from += step {
		start := time.Now()
		_, err := d.Exec(ctx, fmt.Sprintf(`DELETE FROM reap WHERE ctid >= '(%d,0)' AND ctid < '(%d,0)' AND expires_at <= now()`, from, from+step))
		longest = max(longest, time.Since(start))
		if err != nil {
			return longest, err
		}
	}
	return longest, nil
}

func runReapChunks(ctx context.Context, b *Bench, r *result.Result) error {
	const rate, readers = 2000, 16
	rows := b.scale(1_000_000, 60_000)
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	url, err := b.sqlURL(ctx)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, withPool(url, readers))
	if err != nil {
		return err
	}
	b.later(func() error { pool.Close(); return nil })
	all := reapers()
	spec := workload.Spec{Keys: rows / 2, ValueSize: 8, Seed: 3}
	err = b.turns(len(all), func(i int) error {
		err := d.run(ctx, `DROP TABLE IF EXISTS reap`,
			`CREATE UNLOGGED TABLE reap (id bigint PRIMARY KEY, expires_at timestamptz NOT NULL, value bytea NOT NULL) WITH (autovacuum_enabled = off)`,
			fmt.Sprintf(`INSERT INTO reap SELECT i, now() + CASE WHEN i %% 2 = 0 THEN interval '1 day' ELSE interval '-1 day' END,
				decode(repeat(md5(i::text), 16), 'hex') FROM generate_series(0, %d) AS i`, rows-1),
			`VACUUM ANALYZE reap`, `CHECKPOINT`)
		if err != nil {
			return err
		}
		sources := workload.NewSources(spec, readers)
		type reaped struct {
			took, longest time.Duration
			err           error
		}
		done := make(chan reaped, 1)
		finished := make(chan struct{})
		load := measure.Load{Workers: readers, Duration: time.Minute, Do: func(ctx context.Context, w int) error {
			select {
			case <-finished:
				return errReaped
			default:
			}
			var value []byte
			return pool.QueryRow(ctx, `SELECT value FROM reap WHERE id = $1 AND expires_at > now()`, 2*sources[w].Next()).Scan(&value)
		}}
		go func() {
			start := time.Now()
			longest, err := all[i].reap(ctx, d)
			done <- reaped{time.Since(start), longest, err}
			close(finished)
		}()
		s, err := measure.OpenUntil(ctx, load, rate, errReaped)
		if err != nil {
			return err
		}
		x := <-done
		if x.err != nil {
			return x.err
		}
		var left int64
		if err := d.QueryRow(ctx, `SELECT count(*) FROM reap WHERE expires_at <= now()`).Scan(&left); err != nil {
			return err
		}
		if left > 0 {
			return fmt.Errorf("%s: %d expired rows are left", all[i].name, left)
		}
		r.Add(reapDeletes, reapCase, all[i].name, "time", "s", x.took.Seconds())
		r.Add(reapDeletes, reapCase, all[i].name, "longest statement", ms, x.longest.Seconds()*1000)
		addOpen(r, reapReaders, reapCase, all[i].name, s)
		b.Progress("%-22s %6.2f s, longest statement %.0f ms, readers' p99 %.2f ms", all[i].name, x.took.Seconds(), x.longest.Seconds()*1000, s.Milliseconds(99))
		return nil
	})
	if err != nil {
		return err
	}
	r.Set("table", fmt.Sprintf("%d rows of 256 bytes, UNLOGGED, every second one expired", rows))
	r.Charts = append(r.Charts, result.Chart{Kind: result.Bars, Title: "Seconds to delete all of them", Group: reapDeletes, Metric: "time"},
		result.Chart{Kind: result.Bars, Title: "Readers' 99th percentile meanwhile, ms", Group: reapReaders, Metric: p99})
	v := func(group string, i int, metric string) float64 { return r.Value(group, reapCase, all[i].name, metric) }
	ratio := func(metric string, of, to int) []float64 {
		return r.RatioOf(reapDeletes, reapCase, metric, all[of].name, all[to].name)
	}
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "Delete expired rows in chunks of 1,000 to 5,000", Source: "no figure",
		Ours: fmt.Sprintf("one DELETE %.2f s, chunks of 1,000 %.2f s, of 5,000 %.2f s, block ranges %.2f s (longest statement %.0f ms)",
			v(reapDeletes, 0, "time"), v(reapDeletes, 1, "time"), v(reapDeletes, 2, "time"), v(reapDeletes, 3, "time"), v(reapDeletes, 3, "longest statement")),
		Word:     result.Agree(result.AtMost(ratio("longest statement", 1, 0), 0.5), result.AtMost(ratio("time", 1, 3), 1.25)),
		Sentence: "Short statements are right, but each LIMIT scans again over what earlier ones deleted; walking the table by block ranges is as short and does the work once.",
	})
	return nil
}
