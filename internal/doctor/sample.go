package doctor

import (
	"fmt"

	"github.com/jackc/pgx/v5"
)

// sampleBlocks bounds how much of a table is read: 512 blocks are 4 MiB.
const sampleBlocks = 512

// sample is what a few random blocks of a table say of the whole.
type sample struct {
	Rows, Expired int64 // estimated, of the whole table
	RowBytes      int64 // what the rows occupy in the heap, headers included
	Payload       int64 // average bytes of a payload as stored
	Blocks        int64 // how many of the table were looked at, about
}

// rowOverhead is the header of a row and its line pointer.
const rowOverhead = 28

// samples reads a few blocks of every table that has a payload.
func (r *reader) samples() error {
	for _, t := range r.db.tables {
		if t.payload == nil || t.HeapBytes == 0 || r.db.standby && t.Persistence == "u" {
			continue
		}
		blocks := max(1, t.HeapBytes/8192)
		share := min(1, float64(sampleBlocks)/float64(blocks))
		expired := "false"
		if t.expiry != nil {
			expired = t.expiry.past()
		}
		inline := ""
		for _, c := range t.columns {
			name := pgx.Identifier{c.Name}.Sanitize()
			// A longer value is out of line and leaves a pointer of 18 bytes.
			inline += fmt.Sprintf(" + coalesce(CASE WHEN pg_column_size(%[1]s) > 2000 THEN 18 ELSE pg_column_size(%[1]s) END, 0)", name)
		}
		s := sample{Blocks: min(blocks, sampleBlocks)}
		err := r.read(func(tx pgx.Tx) error {
			return tx.QueryRow(r.ctx, fmt.Sprintf(`
				SELECT count(*), count(*) FILTER (WHERE %s), coalesce(sum(%d%s), 0)::bigint, coalesce(avg(pg_column_size(%s)), 0)::bigint
				FROM %s TABLESAMPLE SYSTEM (%g)`,
				expired, rowOverhead, inline, pgx.Identifier{t.payload.Name}.Sanitize(), t.quoted, 100*share)).
				Scan(&s.Rows, &s.Expired, &s.RowBytes, &s.Payload)
		})
		if reason, ok := skippable(err); ok {
			r.db.skip("the rows of "+t.quoted, reason)
			continue
		}
		if err != nil {
			return err
		}
		for _, n := range []*int64{&s.Rows, &s.Expired, &s.RowBytes} {
			*n = int64(float64(*n) / share)
		}
		t.sample = &s
	}
	return nil
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
