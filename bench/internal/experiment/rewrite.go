package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
)

// rewriting is what fillfactor and expiry-index share: rows of a table are
// written again and again in batches, as a cache does.
type rewriting struct {
	table     string
	rows      int
	batch     int
	batches   int
	statement string // with $1, a number that chooses the rows of a batch
}

// measure runs the batches and notes how fast they were, and what became of
// the table.
func (w rewriting) measure(ctx context.Context, d *db, r *result.Result, group, which, series string) error {
	if err := d.run(ctx, "VACUUM ANALYZE "+w.table, "CHECKPOINT"); err != nil {
		return err
	}
	start, before := time.Now(), int64(0)
	before, err := d.wal(ctx)
	if err != nil {
		return err
	}
	var longest time.Duration
	for i := range w.batches {
		began := time.Now()
		tag, err := d.Exec(ctx, w.statement, w.pick(i))
		if err != nil {
			return err
		}
		if tag.RowsAffected() != int64(w.batch) {
			return fmt.Errorf("a batch of %d wrote %d rows", w.batch, tag.RowsAffected())
		}
		longest = max(longest, time.Since(began))
	}
	took := time.Since(start)
	after, err := d.wal(ctx)
	if err != nil {
		return err
	}
	written := w.batch * w.batches
	u, err := d.updates(ctx, w.table, int64(written))
	if err != nil {
		return err
	}
	size, err := d.megabytes(ctx, w.table)
	if err != nil {
		return err
	}
	r.Add(group, which, series, throughput, "rows/s", float64(written)/took.Seconds())
	r.Add(group, which, series, "HOT", "% of the updates", u.hotShare())
	r.Add(group, which, series, "size", "MB after it", size)
	r.Add(group, which, series, "WAL", "bytes a row", float64(after-before)/float64(written))
	r.Add(group, which, series, "longest batch", ms, longest.Seconds()*1000)
	return nil
}

// pick spreads a batch over the table: every row is written equally often, in
// an order that no page likes.
func (w rewriting) pick(i int) []int64 {
	const prime = 15485863
	ids := make([]int64, w.batch)
	for j := range ids {
		ids[j] = int64(i*w.batch+j) * prime % int64(w.rows)
	}
	return ids
}
