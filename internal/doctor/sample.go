package doctor

import (
	"fmt"

	"github.com/jackc/pgx/v5"
)

// sampleBlocks bounds how much of a table is read: 512 blocks are 4 MiB. Of partitions it is
// for all of them together, but for sampleAtLeast.
const (
	sampleBlocks  = 512
	sampleAtLeast = 32
)

// sample is what a few random blocks of a table say of the whole.
type sample struct {
	Rows, Expired int64 // estimated, of the whole table
	Late          int64 // of the expired: those that waited longer than Options.UpkeepSilence; Howdah tables only
	Live, Budget  int64 // entries that have not expired, and their bytes as budgets count; caches only
	RowBytes      int64 // what the rows occupy in the heap, headers included
	Payload       int64 // average bytes of a payload as stored
	Blocks        int64 // how many of the table were looked at, about
}

// rowOverhead is the header of a row and its line pointer.
const rowOverhead = 28

// samples reads a few blocks of every table that has a payload.
func (r *reader) samples() error {
	for _, t := range r.db.tables {
		limit := int64(sampleBlocks)
		if t.cache != nil {
			limit = max(sampleAtLeast, limit/int64(max(1, r.db.divided())))
		}
		if t.payload == nil || t.HeapBytes == 0 || r.db.standby && t.Persistence == "u" {
			continue
		}
		blocks := max(1, t.HeapBytes/8192)
		share := min(1, float64(limit)/float64(blocks))
		expired, late, budget := "false", "false", "0"
		if t.expiry != nil {
			expired = t.removable("")
		}
		if t.known() {
			late = t.removable(fmt.Sprintf(" - interval '%d s'", int(r.opts.UpkeepSilence.Seconds())))
		}
		if t.cache != nil {
			budget = "octet_length(key) + octet_length(value) + 100"
		}
		inline := ""
		for _, c := range t.columns {
			name := pgx.Identifier{c.Name}.Sanitize()
			// A longer value is out of line and leaves a pointer of 18 bytes.
			inline += fmt.Sprintf(" + coalesce(CASE WHEN pg_column_size(%[1]s) > 2000 THEN 18 ELSE pg_column_size(%[1]s) END, 0)", name)
		}
		s := sample{Blocks: min(blocks, limit)}
		err := r.read(func(tx pgx.Tx) error {
			return tx.QueryRow(r.ctx, fmt.Sprintf(`
				SELECT count(*), count(*) FILTER (WHERE %[1]s), count(*) FILTER (WHERE %[2]s), count(*) FILTER (WHERE NOT (%[1]s)),
				       coalesce(sum(%[3]s) FILTER (WHERE NOT (%[1]s)), 0)::bigint,
				       coalesce(sum(%[4]d%[5]s), 0)::bigint, coalesce(avg(pg_column_size(%[6]s)), 0)::bigint
				FROM %[7]s TABLESAMPLE SYSTEM (%[8]g)`,
				expired, late, budget, rowOverhead, inline, pgx.Identifier{t.payload.Name}.Sanitize(), t.quoted, 100*share)).
				Scan(&s.Rows, &s.Expired, &s.Late, &s.Live, &s.Budget, &s.RowBytes, &s.Payload)
		})
		if reason, ok := skippable(err); ok {
			r.db.skip("the rows of "+t.shown(), reason)
			continue
		}
		if err != nil {
			return err
		}
		for _, n := range []*int64{&s.Rows, &s.Expired, &s.Late, &s.Live, &s.Budget, &s.RowBytes} {
			*n = int64(float64(*n) / share)
		}
		t.sample = &s
	}
	return nil
}

// removable is the condition that a row has expired, at a time before now that
// is given as in " - interval '1 s'". A session that was ended is kept until it
// would have expired anyway.
func (t *table) removable(before string) string {
	if !t.ours() {
		return t.expiry.past()
	}
	condition := fmt.Sprintf("%s <= statement_timestamp()%s", quote(t.expiry.Name), before)
	if t.sessions {
		condition = fmt.Sprintf("%s AND (%s > '-infinity' OR absolute_expires_at <= statement_timestamp()%s)", condition, quote(t.expiry.Name), before)
	}
	return condition
}

// past is the condition that the time in a column has passed. Numbers are
// taken for seconds, or milliseconds, since 1970, and small ones for nothing.
func (c *column) past() string {
	name := quote(c.Name)
	switch c.Type {
	case "timestamp with time zone":
		return name + " <= statement_timestamp()"
	case "timestamp without time zone":
		return name + " <= localtimestamp"
	case "date":
		return name + " < current_date"
	default:
		return fmt.Sprintf("%[1]s > 100000000 AND CASE WHEN %[1]s > 100000000000 THEN %[1]s / 1000 ELSE %[1]s END <= extract(epoch FROM statement_timestamp())", name)
	}
}

// reap is a block that deletes expired rows a few pages at a time, and commits
// after each: no long transaction, and no lock for longer than a few
// milliseconds. It needs PostgreSQL 14 or newer to be quick (TID range scans).
func (t *table) reap() string {
	return fmt.Sprintf(`DO $$
DECLARE
    block  bigint := 0;
    blocks CONSTANT bigint := pg_relation_size(%s) / current_setting('block_size')::bigint;
BEGIN
    WHILE block < blocks LOOP
        DELETE FROM %s
        WHERE ctid >= format('(%%s,0)', block)::tid AND ctid < format('(%%s,0)', block + 256)::tid
          AND %s;
        COMMIT;
        block := block + 256;
    END LOOP;
END
$$`, literal(t.quoted), t.quoted, t.expiry.past())
}
