package stat

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

const (
	// sampleBlocks are looked at in each table: 512 KiB; in partitions, in all of them together.
	sampleBlocks = 64

	// tablesAtOnce bounds the tables of one statement, and so the locks that it takes. A cache
	// in partitions is not divided.
	tablesAtOnce = 128

	// lookTime is how long a snapshot goes on to find out which of many tables cannot be read.
	lookTime = 4 * time.Second
)

// look measures the tables and reads some of their blocks, with one statement for many tables.
// Both wait for whoever is altering a table, but not for long: what is known of it without goes on.
func (r *reader) look(ctx context.Context) error {
	r.until = time.Now().Add(lookTime)
	all := make([]*Table, len(r.s.Tables))
	for i := range r.s.Tables {
		all[i] = &r.s.Tables[i]
	}
	measured, err := r.inGroups(ctx, all, r.measure)
	if err != nil {
		return err
	}
	_, err = r.inGroups(ctx, measured, r.sample)
	return err
}

// inGroups calls step for groups of tables, and returns the tables that it could read.
func (r *reader) inGroups(ctx context.Context, tables []*Table, step func(context.Context, []*Table) error) (read []*Table, err error) {
	for len(tables) > 0 {
		n, parts := 1, len(tables[0].parts)
		for n < len(tables) && parts+len(tables[n].parts) <= tablesAtOnce {
			parts += len(tables[n].parts)
			n++
		}
		found, err := r.inHalves(ctx, tables[:n], step)
		if err != nil {
			return nil, err
		}
		read = append(read, found...)
		tables = tables[n:]
	}
	return read, nil
}

// inHalves calls step for tables. Where one of them cannot be read, it goes on with each half of
// them, until that one is alone.
func (r *reader) inHalves(ctx context.Context, tables []*Table, step func(context.Context, []*Table) error) ([]*Table, error) {
	err := step(ctx, tables)
	switch state := sqlState(err); {
	case err == nil:
		return tables, nil
	case state == "55P03" || state == "57014" || state == "42P01": // being altered, slow, or dropped
	case state != "42501":
		return nil, err
	case len(tables) == 1:
		r.hidden("rows of "+tables[0].Relation, err)
	}
	if len(tables) == 1 || time.Now().After(r.until) {
		return nil, nil
	}
	half := len(tables) / 2
	first, err := r.inHalves(ctx, tables[:half], step)
	if err != nil {
		return nil, err
	}
	second, err := r.inHalves(ctx, tables[half:], step)
	return append(first[:len(first):len(first)], second...), err
}

// measure reads the sizes of tables.
func (r *reader) measure(ctx context.Context, tables []*Table) error {
	var oids []int64
	of := make(map[int64]int)
	for i, t := range tables {
		for _, p := range t.parts {
			oids = append(oids, p.oid)
			of[p.oid] = i
		}
	}
	sizes := make([]Table, len(tables))
	err := r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, schema.Query("stat_size"), oids)
		if err != nil {
			return err
		}
		var oid, blocks, table, index, toast int64
		_, err = pgx.ForEachRow(rows, []any{&oid, &blocks, &table, &index, &toast}, func() error {
			sum := &sizes[of[oid]]
			sum.blocks, sum.TableBytes = sum.blocks+blocks, sum.TableBytes+table
			sum.IndexBytes, sum.ToastBytes = sum.IndexBytes+index, sum.ToastBytes+toast
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	for i, t := range tables {
		t.blocks, t.TableBytes, t.IndexBytes, t.ToastBytes = sizes[i].blocks, sizes[i].TableBytes, sizes[i].IndexBytes, sizes[i].ToastBytes
	}
	return nil
}

// sample reads some blocks of tables.
func (r *reader) sample(ctx context.Context, tables []*Table) error {
	found := make([]Sample, len(tables))
	var parts []*part // in the order of their numbers in the statement
	var of []int      // the table of each
	var sql strings.Builder
	for i, t := range tables {
		found[i].Whole = t.blocks <= sampleBlocks
		if t.Divided && t.blocks == 0 { // reading each partition would be much for nothing
			continue
		}
		for k := range t.parts {
			if len(parts) > 0 {
				sql.WriteString("\nUNION ALL\n")
			}
			sql.WriteString(sampleOf(t, &t.parts[k], len(parts)))
			parts, of = append(parts, &t.parts[k]), append(of, i)
		}
	}
	if len(parts) > 0 {
		err := r.read(ctx, func(tx pgx.Tx) error {
			// Not prepared: it is another text after each change of a size.
			rows, err := tx.Query(ctx, sql.String(), pgx.QueryExecModeExec)
			if err != nil {
				return err
			}
			var n int
			var s Sample
			_, err = pgx.ForEachRow(rows, []any{&n, &s.Rows, &s.Live, &s.Gone, &s.RowBytes}, func() error {
				table := &found[of[n]]
				if table.add(s); table.Whole {
					parts[n].rows = s.Live
				}
				return nil
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, t := range tables {
		t.Sample = &found[i]
	}
	return nil
}

// sampleOf is the statement that samples one table, with a number by which its row is known.
func sampleOf(t *Table, p *part, number int) string {
	share := 100.0
	if t.blocks > sampleBlocks {
		share = 100 * sampleBlocks / float64(t.blocks)
	}
	name := "stat_sample"
	if t.Sessions {
		name = "stat_sample_sessions"
	}
	sql := schema.Query(name)
	for strings.HasPrefix(sql, "--") { // the comment, once for each table
		_, sql, _ = strings.Cut(sql, "\n")
	}
	return strings.NewReplacer("{number}", strconv.Itoa(number), "{table}", p.relation,
		"{share}", strconv.FormatFloat(share, 'f', 6, 64)).Replace(strings.TrimSpace(sql))
}

// add adds the sample of a partition.
func (s *Sample) add(of Sample) {
	if rows := s.Rows + of.Rows; rows > 0 {
		s.RowBytes = (s.RowBytes*float64(s.Rows) + of.RowBytes*float64(of.Rows)) / float64(rows)
	}
	s.Rows, s.Live, s.Gone = s.Rows+of.Rows, s.Live+of.Live, s.Gone+of.Gone
}
