package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// bulkLoad fills a table, logged and not.
func bulkLoad() Experiment {
	return Experiment{
		Name:  "bulk-load",
		Title: "Filling a table: time and write-ahead log, LOGGED and UNLOGGED",
		Needs: []service.Program{service.Postgres},
		Run:   runBulkLoad,
	}
}

// walSegment is the stock size of a file of the write-ahead log.
const walSegment = 16 << 20

func runBulkLoad(ctx context.Context, b *Bench, r *result.Result) error {
	rows := b.scale(5_000_000, 300_000)
	group, which := "Filling a table with rows of 32 bytes", fmt.Sprintf("%d rows", rows)
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	kinds := []string{"UNLOGGED", "LOGGED"}
	err = b.turns(len(kinds), func(i int) error {
		kind := map[string]string{"UNLOGGED": "UNLOGGED", "LOGGED": ""}[kinds[i]]
		err := d.run(ctx, `DROP TABLE IF EXISTS bulk`, `CREATE `+kind+` TABLE bulk (value text)`, `CHECKPOINT`)
		if err != nil {
			return err
		}
		before, err := d.wal(ctx)
		if err != nil {
			return err
		}
		start := time.Now()
		if err := d.run(ctx, fmt.Sprintf(`INSERT INTO bulk SELECT md5(i::text) FROM generate_series(1, %d) AS i`, rows)); err != nil {
			return err
		}
		took := time.Since(start)
		after, err := d.wal(ctx)
		if err != nil {
			return err
		}
		r.Add(group, which, kinds[i], "time", "s", took.Seconds())
		r.Add(group, which, kinds[i], "WAL", "files of 16 MiB", float64(after-before)/walSegment)
		b.Progress("%-9s %.2f s, %.1f files of WAL", kinds[i], took.Seconds(), float64(after-before)/walSegment)
		return nil
	})
	if err != nil {
		return err
	}
	v := func(kind, metric string) float64 { return r.Value(group, which, kind, metric) }
	ratio := func(metric string) []float64 { return r.RatioOf(group, which, metric, "UNLOGGED", "LOGGED") }
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "UNLOGGED saves a fifth of the time and nearly all of the log", Source: "5 M rows: 16 s against 20 s, 2 files against 35",
		Ours: fmt.Sprintf("%d rows: %.2f s against %.2f s, %.1f files against %.1f",
			rows, v("UNLOGGED", "time"), v("LOGGED", "time"), v("UNLOGGED", "WAL"), v("LOGGED", "WAL")),
		Bar:      "UNLOGGED at most 0.1 times the log and 0.95 times the time",
		Word:     result.Agree(result.AtMost(ratio("WAL"), 0.1), result.AtMost(ratio("time"), 0.95)),
		Sentence: "The log that is not written is the lasting gain: it is neither archived nor sent to replicas.",
	})
	return nil
}
