package upkeep

import (
	"cmp"
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
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

// A read is noted to the minute, as its end: an entry that was read in this
// minute is more recent than one that was only written in it.
//
// The LFU counter is Redis's: it goes up by one with the chance
// 1 / (10 * counter + 1), which takes 5 * counter^2 - 4 * counter reads on
// average to get there, and down by one for each idle minute. Many reads at
// once take the inverse of that, rounded by chance.
const (
	noteRecency = `
		WITH noted AS MATERIALIZED (
			SELECT u.h, t.frequency
			FROM unnest($1::bigint[], $2::integer[]) AS u (h, n)
			CROSS JOIN LATERAL (
				SELECT t.frequency
				FROM {table} AS t
				WHERE t.hash = u.h AND t.accessed < ` + thisMinute + `
				FOR NO KEY UPDATE SKIP LOCKED) AS t
		)`
	noteFrequency = `
		WITH counted AS MATERIALIZED (
			SELECT u.h, u.n, greatest(0, t.frequency - greatest(0,
			           ` + thisMinute + ` - greatest(t.accessed, t.version / 60000000))) AS f
			FROM unnest($1::bigint[], $2::integer[]) AS u (h, n)
			CROSS JOIN LATERAL (
				SELECT t.frequency, t.accessed, t.version FROM {table} AS t WHERE t.hash = u.h OFFSET 0) AS t
		), noted AS MATERIALIZED (
			SELECT c.h, c.frequency
			FROM (SELECT h, least(255, greatest(f, floor(
			                 (4 + sqrt(16 + 20 * (greatest(0, 5 * f * f - 4 * f) + n))) / 10 + random())))::smallint AS frequency
			      FROM counted) AS c
			CROSS JOIN LATERAL (
				SELECT
				FROM {table} AS t
				WHERE t.hash = c.h AND (t.accessed < ` + thisMinute + ` OR t.frequency < c.frequency)
				FOR NO KEY UPDATE SKIP LOCKED) AS t
		)`
	// The rows are there and locked: none is inserted. It goes by the unique
	// index, where a join might read the whole table (see expire.sql).
	writeNotes = `
		INSERT INTO {table} AS t (hash, key, value, version, expires_at, accessed, frequency)
		SELECT n.h, '', '', 0, '-infinity', ` + thisMinute + `, n.frequency
		FROM noted AS n
		ON CONFLICT (hash) DO UPDATE
		SET accessed = excluded.accessed, frequency = excluded.frequency`
	thisMinute = `(ceil(extract(epoch FROM statement_timestamp()) / 60))::integer`
)

func (r *run) flush(ctx context.Context, e *engine.Engine, policy string, hashes []int64, counts []int32) error {
	sql := noteRecency + writeNotes
	if strings.HasSuffix(policy, "-lfu") {
		sql = noteFrequency + writeNotes
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := r.relaxed(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, strings.ReplaceAll(sql, "{table}", e.Table().Name()), hashes, counts)
		return err
	})
	switch fault.State(err) {
	case "42P01", "55P03": // dropped, or being altered
		return nil
	}
	return fault.FromFunction(err)
}
