package stat

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
		r.s.Tables, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Table, err error) {
			err = row.Scan(&t.Name, &t.Sessions, &t.Class, &t.Eviction, &t.MaxEntries, &t.MaxBytes, &t.Full, &t.Relation,
				&t.oid, &t.Rows, &t.TableBytes,
				&t.Scans, &t.Fetched, &t.Inserted, &t.Updated, &t.HOT, &t.Deleted,
				&t.Live, &t.Dead, &t.Vacuumed, &t.BlocksRead, &t.BlocksHit,
				&t.Kept, &t.KeptBytes, &t.Expired, &t.Evicted, &t.LastRound)
			return t, err
		})
		return err
	})
	if sqlState(err) == "42501" {
		role := pgx.Identifier{r.s.Role}.Sanitize()
		return fmt.Errorf("%w: role %s may not read the caches: connect as their owner, or let the owner run \"howdah migrate --runtime-role %s\"",
			ErrNoAccess, role, r.s.Role)
	}
	return err
}

// sampleBlocks are looked at in each table: 512 KiB.
const sampleBlocks = 64

// look measures each table and reads some of its blocks. Both wait for whoever
// is altering the table, but not for long: what is known of it without goes on.
func (r *reader) look(ctx context.Context) error {
	for i := range r.s.Tables {
		t := &r.s.Tables[i]
		for _, step := range []func(context.Context, *Table) error{r.measure, r.sample} {
			err := step(ctx, t)
			switch state := sqlState(err); {
			case err == nil:
				continue
			case state == "55P03" || state == "57014" || state == "42P01": // being altered, slow, or dropped
			case !r.hidden("rows of "+t.Relation, err):
				return err
			}
			break
		}
	}
	return nil
}

func (r *reader) measure(ctx context.Context, t *Table) error {
	return r.read(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, schema.Query("stat_size"), t.oid).
			Scan(&t.blocks, &t.TableBytes, &t.IndexBytes, &t.ToastBytes)
	})
}

func (r *reader) sample(ctx context.Context, t *Table) error {
	share := 100.0
	if t.blocks > sampleBlocks {
		share = 100 * sampleBlocks / float64(t.blocks)
	}
	query := strings.ReplaceAll(schema.Query("stat_sample"), "{table}", t.Relation)
	if t.Sessions {
		query = schema.Query("stat_sample_sessions")
	}
	s := Sample{Whole: t.blocks <= sampleBlocks}
	err := r.read(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, query, share).Scan(&s.Rows, &s.Live, &s.Gone, &s.RowBytes)
	})
	if err == nil {
		t.Sample = &s
	}
	return err
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
