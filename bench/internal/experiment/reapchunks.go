package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
		Quick: 20 * time.Second, Full: 100 * time.Second,
		Run:   runReapChunks,
		Judge: reapVerdict,
	}
}

const reapDeletes, reapReaders, reapCase = "Deleting the expired rows", "Readers meanwhile, 5,000/s", "half of the rows expired"

// errReaped ends the readers.
var errReaped = errors.New("everything is deleted")

// reaper deletes. It says how long its longest statement took among those that
// found something, and how long the one that found nothing and so ended it.
type reaper struct {
	name string
	reap func(ctx context.Context, d *db) (longest, closing time.Duration, err error)
}

const reapInOne, reapThousand, reapFive, reapBlocks = "one DELETE", "chunks of 1,000 rows", "chunks of 5,000 rows", "ranges of 256 blocks"

func reapers() []reaper {
	const limited = `DELETE FROM reap WHERE ctid = ANY (ARRAY(SELECT ctid FROM reap WHERE expires_at <= now() LIMIT %d))`
	chunks := func(n int) func(context.Context, *db) (time.Duration, time.Duration, error) {
		return func(ctx context.Context, d *db) (longest, closing time.Duration, err error) {
			for {
				start := time.Now()
				tag, err := d.Exec(ctx, fmt.Sprintf(limited, n))
				took := time.Since(start)
				if err != nil || tag.RowsAffected() == 0 {
					return longest, took, err
				}
				longest = max(longest, took)
			}
		}
	}
	return []reaper{
		{reapInOne, func(ctx context.Context, d *db) (time.Duration, time.Duration, error) {
			start := time.Now()
			_, err := d.Exec(ctx, `DELETE FROM reap WHERE expires_at <= now()`)
			return time.Since(start), 0, err
		}},
		{reapThousand, chunks(1000)},
		{reapFive, chunks(5000)},
		{reapBlocks, reapByBlocks},
	}
}

// reapByBlocks walks the table once, a range of blocks at a time; it knows
// where the table ends.
func reapByBlocks(ctx context.Context, d *db) (longest, closing time.Duration, err error) {
	const step = 256
	var blocks int64
	if err := d.QueryRow(ctx, `SELECT pg_relation_size('reap') / current_setting('block_size')::int`).Scan(&blocks); err != nil {
		return 0, 0, err
	}
	for from := int64(0); from < blocks; from += step {
		start := time.Now()
		_, err := d.Exec(ctx, fmt.Sprintf(`DELETE FROM reap WHERE ctid >= '(%d,0)' AND ctid < '(%d,0)' AND expires_at <= now()`, from, from+step))
		longest = max(longest, time.Since(start))
		if err != nil {
			return longest, 0, err
		}
	}
	return longest, 0, nil
}

func runReapChunks(ctx context.Context, b *Bench, r *result.Result) error {
	rows := b.scale(1_000_000, 60_000)
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	url, err := b.sqlURL(ctx)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, withPool(url, reapWorkers))
	if err != nil {
		return err
	}
	b.later(func() error { pool.Close(); return nil })
	all := reapers()
	err = b.turns(len(all), func(i int) error {
		readers := measure.Sample{Latency: measure.NewLatency(), Late: measure.NewLatency()}
		var sum reaped
		for range reapPasses {
			x, s, err := b.reap(ctx, d, pool, all[i], rows)
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			sum = reaped{sum.took + x.took/reapPasses, max(sum.longest, x.longest), max(sum.closing, x.closing)}
			readers.Latency.Merge(s.Latency)
			readers.Late.Merge(s.Late)
		}
		r.Add(reapDeletes, reapCase, all[i].name, "time", "s", sum.took.Seconds())
		r.Add(reapDeletes, reapCase, all[i].name, reapLongest, ms, sum.longest.Seconds()*1000)
		if sum.closing > 0 {
			r.Add(reapDeletes, reapCase, all[i].name, reapClosing, ms, sum.closing.Seconds()*1000)
		}
		addOpen(r, reapReaders, reapCase, all[i].name, readers)
		r.Add(reapReaders, reapCase, all[i].name, "reads", "reads", float64(readers.Latency.TotalCount()))
		return nil
	})
	if err != nil {
		return err
	}
	r.Set("table", fmt.Sprintf("%d rows of 256 bytes, UNLOGGED, every second one expired; filled and reaped %d times a round", rows, reapPasses))
	return nil
}

const reapLongest, reapClosing = "longest statement that deletes", "closing statement"

// One pass is over before there are enough reads for a 99th percentile.
const reapPasses, reapRate, reapWorkers = 2, 5000, 16

// reaped is how long a pass took, and statements of it.
type reaped struct{ took, longest, closing time.Duration }

// reap fills the table and deletes what has expired while readers read.
func (b *Bench) reap(ctx context.Context, d *db, pool *pgxpool.Pool, by reaper, rows int) (x reaped, s measure.Sample, err error) {
	err = d.run(ctx, `DROP TABLE IF EXISTS reap`,
		`CREATE UNLOGGED TABLE reap (id bigint PRIMARY KEY, expires_at timestamptz NOT NULL, value bytea NOT NULL) WITH (autovacuum_enabled = off)`,
		fmt.Sprintf(`INSERT INTO reap SELECT i, now() + CASE WHEN i %% 2 = 0 THEN interval '1 day' ELSE interval '-1 day' END,
			decode(repeat(md5(i::text), 16), 'hex') FROM generate_series(0, %d) AS i`, rows-1),
		`VACUUM ANALYZE reap`, `CHECKPOINT`)
	if err != nil {
		return x, s, err
	}
	sources := workload.NewSources(workload.Spec{Keys: rows / 2, ValueSize: 8, Seed: 3}, reapWorkers)
	done := make(chan error, 1)
	finished := make(chan struct{})
	load := measure.Load{Workers: reapWorkers, Duration: time.Minute, Do: func(ctx context.Context, w int) error {
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
		var err error
		x.longest, x.closing, err = by.reap(ctx, d)
		x.took = time.Since(start)
		done <- err
		close(finished)
	}()
	s, err = measure.OpenUntil(ctx, load, reapRate, errReaped)
	if failed := <-done; err == nil {
		err = failed
	}
	if err != nil {
		return x, s, err
	}
	var left int64
	if err := d.QueryRow(ctx, `SELECT count(*) FROM reap WHERE expires_at <= now()`).Scan(&left); err != nil {
		return x, s, err
	}
	if left > 0 {
		return x, s, fmt.Errorf("%d expired rows are left", left)
	}
	b.Progress("%-22s %6.2f s, longest statement %.1f ms, closing %.0f ms; %d reads, p99 %.2f ms", by.name, x.took.Seconds(),
		x.longest.Seconds()*1000, x.closing.Seconds()*1000, s.Requests, s.Milliseconds(99))
	return x, s, nil
}

func reapVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	if _, ok := r.Find(reapDeletes, reapCase, reapThousand, reapLongest); !ok {
		return nil // an older result, which took the closing statement for the longest
	}
	all := []string{reapInOne, reapThousand, reapFive, reapBlocks}
	each := func(group, metric, format string) string {
		var out []string
		for _, name := range all {
			out = append(out, fmt.Sprintf(format, r.Value(group, reapCase, name, metric)))
		}
		return strings.Join(out, "/")
	}
	var words []string
	for _, chunks := range []string{reapThousand, reapFive} {
		ratio := func(group, metric, to string) []float64 { return r.RatioOf(group, reapCase, metric, chunks, to) }
		words = append(words, result.AtMost(ratio(reapDeletes, reapLongest, reapInOne), 0.5), result.AtMost(ratio(reapDeletes, "time", reapBlocks), 1.25),
			result.AtMost(ratio(reapReaders, p99, reapInOne), 1), result.AtMost(ratio(reapReaders, p99, reapBlocks), 1))
	}
	return []result.Verdict{{
		Claim: "Delete expired rows in chunks of 1,000 to 5,000", Source: "no figure",
		Ours: fmt.Sprintf("one DELETE/chunks of 1,000/of 5,000/ranges of 256 blocks: %s s; longest statement that deletes %s ms; readers' p99 %s ms; the chunks' closing statement, which finds nothing, %.0f and %.0f ms",
			each(reapDeletes, "time", "%.2f"), each(reapDeletes, reapLongest, "%.1f"), each(reapReaders, p99, "%.2f"),
			r.Value(reapDeletes, reapCase, reapThousand, reapClosing), r.Value(reapDeletes, reapCase, reapFive, reapClosing)),
		Bar:  "longest statement at most 0.5 times that of one DELETE; time at most 1.25 times that of block ranges; readers' p99 at most that beside one DELETE, and beside block ranges",
		Word: result.Agree(words...),
		Sentence: "Chunks make short statements, and take longer in all than one DELETE or ranges of blocks: in part for their closing statement, which scans the whole table to find that nothing is left." +
			" Block ranges do the work once; how long one takes, and how readers feel it, is set by the number of its blocks.",
	}}
}
