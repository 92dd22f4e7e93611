package upkeep

import (
	"cmp"
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// flushRows bounds one statement of a flush.
const flushRows = 1000

// flushReads writes to the rows when, and how often, they were read. It returns
// the first error; what could not be written is forgotten, for it is only a hint.
func (r *run) flushReads(ctx context.Context) error {
	var first error
	for _, e := range r.set.All() {
		reads := e.Reads()
		if reads == nil {
			continue
		}
		hashes, counts := reads.Take()
		for len(hashes) > 0 {
			chunk := min(flushRows, len(hashes))
			first = cmp.Or(first, r.flush(ctx, e, reads.Policy, hashes[:chunk], counts[:chunk]))
			hashes, counts = hashes[chunk:], counts[chunk:]
		}
	}
	return first
}

func (r *run) flush(ctx context.Context, e *engine.Engine, policy string, hashes []int64, counts []int32) error {
	note := "note_recency"
	if strings.HasSuffix(policy, "-lfu") {
		note = "note_frequency"
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := r.relaxed(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, schema.Statement(note, schema.Table{Name: e.Table().Name()}), hashes, counts)
		return err
	})
	switch fault.State(err) {
	case "42P01", "55P03": // dropped, or being altered
		return nil
	}
	return fault.FromFunction(err)
}
