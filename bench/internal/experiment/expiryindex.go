package experiment

import (
	"context"
	"fmt"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// expiryIndex asks what an index on the expiry costs.
func expiryIndex() Experiment {
	return Experiment{
		Name:  "expiry-index",
		Title: "An index on expires_at, and what every extension pays for it",
		Needs: []service.Program{service.Postgres},
		Run:   runExpiryIndex,
		Judge: expiryVerdict,
	}
}

const expiryGroup, expiryCase = "Extending the expiry, 250-byte values", "4 times every row"

func runExpiryIndex(ctx context.Context, b *Bench, r *result.Result) error {
	rows := b.scale(100_000, 20_000)
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	variants := []struct{ name, index string }{
		{noExpiryIndex, ""},
		{withExpiryIndex, `CREATE INDEX ON expiry (expires_at)`},
	}
	err = b.turns(len(variants), func(i int) error {
		err := d.run(ctx, `DROP TABLE IF EXISTS expiry`,
			`CREATE TABLE expiry (id bigint PRIMARY KEY, expires_at timestamptz NOT NULL, value bytea NOT NULL) WITH (fillfactor = 85)`,
			fmt.Sprintf(`INSERT INTO expiry SELECT i, now() + interval '30 min', decode(repeat(md5(i::text), 16), 'hex') FROM generate_series(0, %d) AS i`, rows-1))
		if err == nil && variants[i].index != "" {
			err = d.run(ctx, variants[i].index)
		}
		if err != nil {
			return err
		}
		w := rewriting{table: "expiry", rows: rows, batch: 250, batches: 4 * rows / 250,
			statement: `UPDATE expiry SET expires_at = now() + interval '30 min' WHERE id = ANY ($1::bigint[])`}
		if err := w.measure(ctx, d, r, expiryGroup, expiryCase, variants[i].name); err != nil {
			return err
		}
		b.Progress("%-26s %8.0f rows/s", variants[i].name, r.Value(expiryGroup, expiryCase, variants[i].name, throughput))
		return nil
	})
	if err != nil {
		return err
	}
	r.Set("table", fmt.Sprintf("%d rows, logged, batches of 250", rows))
	return nil
}

const noExpiryIndex, withExpiryIndex = "no index on expires_at", "index on expires_at"

func expiryVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	v := func(i int, metric string) float64 {
		return r.Value(expiryGroup, expiryCase, []string{noExpiryIndex, withExpiryIndex}[i], metric)
	}
	ratio := func(metric string) []float64 {
		return r.RatioOf(expiryGroup, expiryCase, metric, withExpiryIndex, noExpiryIndex)
	}
	return []result.Verdict{{
		Claim: "Put no index on expires_at", Source: "no figure",
		Ours: fmt.Sprintf("with the index %.0f %% of the speed, HOT %.0f %% instead of %.0f %%, %.1f times the WAL",
			100*v(1, throughput)/v(0, throughput), v(1, "HOT"), v(0, "HOT"), v(1, "WAL")/v(0, "WAL")),
		Bar:      "with the index at most 0.9 times the share of HOT updates and at least 1.2 times the WAL",
		Word:     result.All(result.AtMost(ratio("HOT"), 0.9), result.AtLeast(ratio("WAL"), 1.2)),
		Sentence: "An index on what every extension changes forbids heap-only updates: each then writes to every index of the table.",
	}}
}
