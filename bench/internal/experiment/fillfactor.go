package experiment

import (
	"context"
	"fmt"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// fillfactor asks how much room on a page updates need.
func fillfactor() Experiment {
	return Experiment{
		Name:  "fillfactor",
		Title: "Room on each page for the next version of its rows",
		Needs: []service.Program{service.Postgres},
		Run:   runFillfactor,
		Judge: fillfactorVerdict,
	}
}

const fillfactorGroup, fillfactorCase = "Rewriting every row, 250-byte values", "4 times"

func runFillfactor(ctx context.Context, b *Bench, r *result.Result) error {
	factors := []int{100, 90, 85, 70, 50}
	rows := b.scale(100_000, 20_000)
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	err = b.turns(len(factors), func(i int) error {
		err := d.run(ctx, `DROP TABLE IF EXISTS fill`,
			fmt.Sprintf(`CREATE UNLOGGED TABLE fill (id bigint PRIMARY KEY, expires_at timestamptz NOT NULL, value bytea NOT NULL) WITH (fillfactor = %d)`, factors[i]),
			fmt.Sprintf(`INSERT INTO fill SELECT i, 'infinity', decode(repeat(md5(i::text), 16), 'hex') FROM generate_series(0, %d) AS i`, rows-1),
			`ALTER TABLE fill ALTER COLUMN value SET STORAGE EXTERNAL`)
		if err != nil {
			return err
		}
		w := rewriting{table: "fill", rows: rows, batch: 250, batches: 4 * rows / 250,
			statement: `UPDATE fill SET value = decode(repeat(md5((id + 1)::text), 16), 'hex') WHERE id = ANY ($1::bigint[])`}
		series := fmt.Sprintf("fillfactor %d", factors[i])
		if err := w.measure(ctx, d, r, fillfactorGroup, fillfactorCase, series); err != nil {
			return err
		}
		b.Progress("%-16s %8.0f rows/s", series, r.Value(fillfactorGroup, fillfactorCase, series, throughput))
		return nil
	})
	if err != nil {
		return err
	}
	r.Set("table", fmt.Sprintf("%d rows, UNLOGGED, batches of 250 spread over all pages, autovacuum as in stock", rows))
	return nil
}

func fillfactorVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	v := func(factor int, metric string) float64 {
		return r.Value(fillfactorGroup, fillfactorCase, fmt.Sprintf("fillfactor %d", factor), metric)
	}
	ratio := func(metric string, of, to int) []float64 {
		return r.RatioOf(fillfactorGroup, fillfactorCase, metric, fmt.Sprintf("fillfactor %d", of), fmt.Sprintf("fillfactor %d", to))
	}
	return []result.Verdict{{
		Claim: "A fillfactor of 70 (50 at the extreme) makes updates heap-only", Source: "30 % more space",
		Ours: fmt.Sprintf("HOT at 100/85/70/50: %.0f/%.0f/%.0f/%.0f %%; size afterwards %.0f/%.0f/%.0f/%.0f MB",
			v(100, "HOT"), v(85, "HOT"), v(70, "HOT"), v(50, "HOT"), v(100, "size"), v(85, "size"), v(70, "size"), v(50, "size")),
		Bar:      "at 70 HOT at least 1.2 times that at 100, and at least 1.1 times the speed of 85",
		Word:     result.Agree(result.AtLeast(ratio("HOT", 70, 100), 1.2), result.AtLeast(ratio(throughput, 70, 85), 1.1)),
		Sentence: "Pages that start full make room for themselves with the first updates; less of the page left free from the start is enough for a table that is rewritten again and again.",
	}}
}
