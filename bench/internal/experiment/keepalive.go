package experiment

import (
	"context"
	"fmt"
	"time"

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
		Quick: 22 * time.Second, Full: 85 * time.Second,
		Run: runKeepalive,
	}
}

const keepaliveGroup, keepaliveCase = "Reads of sessions, 16 callers", "as fast as they can"

// Reported per thousand reads, so that variants of different speed compare.
const perThousand = "per 1,000 reads"

const rowVersions, walAll, walRecords = "row versions", "WAL", "WAL without page images"

func runKeepalive(ctx context.Context, b *Bench, r *result.Result) error {
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	super, err := b.sqlURL(ctx)
	if err != nil {
		return err
	}
	if err := b.ownSessions(ctx, d); err != nil {
		return err
	}
	if err := b.keepaliveSpeed(ctx, d, super, pg.URL, r); err != nil {
		return err
	}
	updates, err := b.keepaliveCounts(ctx, d, super, pg.URL, r)
	if err != nil {
		return err
	}
	ratio := func(metric, of string) []float64 {
		return r.RatioOf(keepaliveGroup, keepaliveCase, metric, of, keepEvery)
	}
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "Remember used sessions, in memory or in a TEMP table, extend them in one UPDATE every so often, and skip those extended lately", Source: "SQL, no figure",
		Ours: fmt.Sprintf("at 100 reads per lifetime %.0f updates with every read, %.0f in batches, %.1f in batches that skip, %.1f by Howdah; reads/s %.1f times (Howdah %.1f times), WAL %.1f %% (Howdah %.1f %%) of an UPDATE for every read",
			updates[keepEvery], updates[keepBatch], updates[keepSkip], updates[keepHowdah],
			result.Median(ratio(throughput, keepSkip)), result.Median(ratio(throughput, keepHowdah)),
			100*result.Median(ratio(walAll, keepSkip)), 100*result.Median(ratio(walAll, keepHowdah))),
		Bar:  "batches that skip, against an UPDATE for every read: at least 1.2 times the reads, at most 0.9 times the WAL",
		Word: result.All(result.AtLeast(ratio(throughput, keepSkip), 1.2), result.AtMost(ratio(walAll, keepSkip), 0.9)),
		Sentence: "The batch removes a commit from every read; skipping removes the row versions of sessions that are used all the time." +
			" A TEMP table does what a parameter does, and writes to the catalogs for it. Skipped as in the source, a session may end up to the window early; Howdah's writes cover the window in advance, so that none does.",
	})
	return nil
}

// keepaliveSpeed lets callers read as fast as they can.
func (b *Bench) keepaliveSpeed(ctx context.Context, d *db, super, url string, r *result.Result) error {
	const workers = 16
	duration := max(b.Duration*2, 800*time.Millisecond)
	times := lifetimes{idle: 30 * time.Minute, skip: 10 * time.Minute, flush: duration / 8, timeout: 10 * time.Second}
	sessions := b.scale(5000, 1000)
	inspect := d.run(ctx, `CREATE EXTENSION IF NOT EXISTS pg_walinspect`) == nil
	err := b.turns(len(keepers), func(i int) error {
		k, err := newKeeper(ctx, d, super, url, keepers[i], "bench_keepalive", sessions, times)
		if err != nil {
			return err
		}
		defer k.close()
		before, err := makeDue(ctx, d, k, sessions)
		if err != nil {
			return err
		}
		start, err := d.wal(ctx)
		if err != nil {
			return err
		}
		k.start(ctx)
		sources := workload.NewSources(workload.Spec{Keys: sessions, ValueSize: 250, Seed: 11}, workers)
		s, err := measure.Closed(ctx, measure.Load{Workers: workers, Duration: duration, Do: func(ctx context.Context, w int) error {
			return k.read(ctx, sources[w].Next())
		}})
		written, stopErr := k.stop()
		if err == nil {
			err = stopErr
		}
		if err != nil {
			return fmt.Errorf("%s: %w", keepers[i], err)
		}
		end, err := d.wal(ctx)
		if err != nil {
			return err
		}
		k.close() // sessions report what they counted when they end
		after, err := d.updates(ctx, k.table(), before.all+written)
		if err != nil {
			return err
		}
		thousands := float64(s.Requests) / 1000
		addClosed(r, keepaliveGroup, keepaliveCase, keepers[i], s)
		r.Add(keepaliveGroup, keepaliveCase, keepers[i], rowVersions, perThousand, float64(after.all-before.all)/thousands)
		r.Add(keepaliveGroup, keepaliveCase, keepers[i], "dead rows", "at the end", float64(after.dead))
		r.Add(keepaliveGroup, keepaliveCase, keepers[i], walAll, "kB "+perThousand, float64(end-start)/1000/thousands)
		records := 0.0
		if inspect {
			if records, err = d.walRecords(ctx, start, end); err != nil {
				return err
			}
			r.Add(keepaliveGroup, keepaliveCase, keepers[i], walRecords, "kB "+perThousand, records/1000/thousands)
		}
		b.Progress("%-42s %7.0f reads/s  %6.0f row versions, %6.0f kB of WAL, %6.0f without page images, per 1,000", keepers[i], s.Rate(),
			float64(after.all-before.all)/thousands, float64(end-start)/1000/thousands, records/1000/thousands)
		return nil
	})
	if err != nil {
		return err
	}
	r.Set("reads at full speed", fmt.Sprintf("%d sessions of 256 characters, all due for an extension at first; flushed every %v, runs of %v from a checkpoint on", sessions, times.flush, duration))
	if inspect {
		r.Set(walRecords, "the records as pg_walinspect counts them, apart from the full-page images after the checkpoint (full_page_writes=on)")
	} else {
		r.Notes = append(r.Notes, "The WAL is not told apart from its page images: pg_walinspect comes with PostgreSQL 15 and wants a superuser.")
	}
	return nil
}

// makeDue sets every session to be due for an extension. It returns the
// counters of the table with that in them.
func makeDue(ctx context.Context, d *db, k keeper, sessions int) (updates, error) {
	before, err := d.updates(ctx, k.table(), 0)
	if err != nil {
		return before, err
	}
	if err := d.run(ctx, fmt.Sprintf(`UPDATE %s SET %s = now() + interval '15 min'`, k.table(), k.expiry())); err != nil {
		return before, err
	}
	// Saves the wait for the counters. Before version 15 there is no such way.
	_, _ = d.Exec(ctx, `SELECT pg_stat_force_next_flush()`)
	before, err = d.updates(ctx, k.table(), before.all+int64(sessions))
	if err != nil {
		return before, err
	}
	return before, d.run(ctx, `VACUUM ANALYZE `+k.table(), `CHECKPOINT`)
}

// walRecords is the size of the records between two positions of the log,
// without the full-page images among them. What is read must be on disk, so
// something is committed after it; a checkpoint would remove what is to be read.
func (d *db) walRecords(ctx context.Context, start, end int64) (bytes float64, err error) {
	if err := d.run(ctx, `SELECT pg_logical_emit_message(true, 'howdah-bench', '')`); err != nil {
		return 0, err
	}
	err = d.QueryRow(ctx, `
		SELECT coalesce(sum(record_size), 0)
		FROM pg_get_wal_stats('0/0'::pg_lsn + $1::numeric, '0/0'::pg_lsn + $2::numeric)`, start, end).Scan(&bytes)
	return bytes, err
}
