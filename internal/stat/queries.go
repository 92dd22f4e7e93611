package stat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// sessionTable holds the sessions; upkeep notes them under the name that no
// cache can have.
const sessionTable = "howdah.session"

func (r *reader) tables(ctx context.Context) error {
	err := r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, schema.Query("stat_tables"), sessionTable)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Table, err error) {
			var p part
			var here bool
			err = row.Scan(&t.Name, &t.Divided, &t.Sessions, &t.Class, &t.Eviction, &t.MaxEntries, &t.MaxBytes, &t.Full, &t.Relation,
				&here, &p.oid, &t.Rows, &t.TableBytes,
				&t.Scans, &t.Fetched, &t.Inserted, &t.Updated, &t.HOT, &t.Deleted,
				&t.Live, &t.Dead, &t.Vacuumed, &t.BlocksRead, &t.BlocksHit,
				&t.Kept, &t.KeptBytes, &t.Expired, &t.Evicted, &t.LastRound)
			p.relation, p.rows = t.Relation, int64(t.rows())
			if t.number = 1; here {
				t.parts = []part{p}
			}
			return t, err
		})
		r.s.Tables = wholes(found)
		return err
	})
	if sqlState(err) == "42501" {
		role := pgx.Identifier{r.s.Role}.Sanitize()
		return fmt.Errorf("%w: role %s may not read the caches: connect as their owner, or let the owner run \"howdah migrate --runtime-role %s\"",
			ErrNoAccess, role, r.s.Role)
	}
	return err
}

// wholes makes one table of the partitions of a cache, which follow each other.
func wholes(tables []Table) []Table {
	var found []Table
	for i := range tables {
		t := &tables[i]
		if last := len(found) - 1; last >= 0 && t.Divided && found[last].Divided && found[last].Name == t.Name {
			found[last].add(t)
		} else {
			found = append(found, *t)
		}
	}
	return found
}

// add adds another partition of the cache.
func (t *Table) add(other *Table) {
	t.number += other.number
	t.MaxEntries, t.MaxBytes = t.MaxEntries+other.MaxEntries, t.MaxBytes+other.MaxBytes
	t.addFigures(other)
}

// addFigures adds what is known of other partitions of the cache. Of what was done at a
// time, the one counts that is longest ago.
func (t *Table) addFigures(other *Table) {
	switch {
	case len(other.parts) == 0:
		return
	case len(t.parts) == 0:
		t.Kept, t.KeptBytes, t.Vacuumed, t.LastRound = other.Kept, other.KeptBytes, other.Vacuumed, other.LastRound
	default:
		t.Kept, t.KeptBytes = addKnown(t.Kept, other.Kept), addKnown(t.KeptBytes, other.KeptBytes)
		t.Vacuumed, t.LastRound = longerAgo(t.Vacuumed, other.Vacuumed), longerAgo(t.LastRound, other.LastRound)
	}
	t.parts = append(t.parts, other.parts...)
	t.Full = t.Full || other.Full
	t.Rows += other.Rows
	for _, sum := range [][2]*int64{
		{&t.TableBytes, &other.TableBytes}, {&t.IndexBytes, &other.IndexBytes}, {&t.ToastBytes, &other.ToastBytes},
		{&t.Scans, &other.Scans}, {&t.Fetched, &other.Fetched}, {&t.Inserted, &other.Inserted}, {&t.Updated, &other.Updated},
		{&t.HOT, &other.HOT}, {&t.Deleted, &other.Deleted}, {&t.Live, &other.Live}, {&t.Dead, &other.Dead},
		{&t.BlocksRead, &other.BlocksRead}, {&t.BlocksHit, &other.BlocksHit}, {&t.Expired, &other.Expired}, {&t.Evicted, &other.Evicted},
	} {
		*sum[0] += *sum[1]
	}
}

// addKnown is the sum of what is known, and not known if one is not.
func addKnown(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

// longerAgo is the first of two times; nil, never, comes before all.
func longerAgo(a, b *time.Time) *time.Time {
	if a == nil || b != nil && a.Before(*b) {
		return a
	}
	return b
}

func (r *reader) upkeep(ctx context.Context) error {
	err := r.read(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, schema.Query("stat_upkeep")).
			Scan(&r.s.Leader.Name, &r.s.Leader.Until, &r.s.Resets, &r.s.Since, &r.s.Held)
	})
	if err != nil && !r.hidden("the leader of upkeep", err) {
		return err
	}
	return nil
}

func (r *reader) holders(ctx context.Context) error {
	var h Holder
	err := r.read(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, schema.Query("stat_holder")).Scan(&h.Who, &h.Age, &h.Seconds)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows), r.hidden("who holds old snapshots", err):
		return nil
	case err != nil:
		return err
	}
	r.s.Oldest = &h
	return nil
}
