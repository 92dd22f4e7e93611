package stat

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// sessionTable holds the sessions; upkeep notes them under the name that no
// cache can have.
const sessionTable = "howdah.session"

func (r *reader) tables(ctx context.Context) error {
	err := r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			WITH listed AS (
			    SELECT c.name, false AS sessions, c.durability, c.eviction,
			           coalesce(c.max_entries, 0) AS max_entries, coalesce(c.max_bytes, 0) AS max_bytes,
			           c.full_since IS NOT NULL AS is_full, 'howdah_internal' AS schema, 'cache_' || c.id AS relation, c.name AS noted
			    FROM howdah_internal.cache AS c
			    UNION ALL
			    SELECT 'sessions', true, '', '', 0, 0, false, 'howdah', 'session', $1::text
			)
			SELECT l.name, l.sessions,
			       CASE WHEN l.sessions THEN CASE t.relpersistence WHEN 'u' THEN 'unlogged' ELSE 'logged' END ELSE l.durability END,
			       l.eviction, l.max_entries, l.max_bytes, l.is_full, format('%I.%I', l.schema, l.relation),
			       t.oid, greatest(t.reltuples, 0)::float8, t.relpages * current_setting('block_size')::bigint,
			       coalesce(s.idx_scan, 0), coalesce(s.idx_tup_fetch, 0), coalesce(s.n_tup_ins, 0),
			       coalesce(s.n_tup_upd, 0), coalesce(s.n_tup_hot_upd, 0), coalesce(s.n_tup_del, 0),
			       coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0), greatest(s.last_vacuum, s.last_autovacuum),
			       coalesce(io.heap_blks_read + io.idx_blks_read, 0), coalesce(io.heap_blks_hit + io.idx_blks_hit, 0),
			       u.entries, u.bytes, coalesce(u.expired, 0), coalesce(u.evicted, 0), u.last_round
			FROM listed AS l
			JOIN pg_class AS t ON t.relname = l.relation AND t.relkind = 'r' AND t.relnamespace = to_regnamespace(l.schema)
			LEFT JOIN pg_stat_all_tables AS s ON s.relid = t.oid
			LEFT JOIN pg_statio_all_tables AS io ON io.relid = t.oid
			LEFT JOIN howdah.upkeep AS u ON u.cache = l.noted
			ORDER BY l.sessions, l.name`, sessionTable)
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
		return tx.QueryRow(ctx, `
			SELECT coalesce(pg_relation_size(c.oid), 0) / current_setting('block_size')::bigint,
			       coalesce(pg_table_size(c.oid) - coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0), 0),
			       coalesce(pg_indexes_size(c.oid), 0),
			       coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
			FROM pg_class AS c
			WHERE c.oid = $1
			UNION ALL SELECT 0, 0, 0, 0 LIMIT 1`, t.oid).
			Scan(&t.blocks, &t.TableBytes, &t.IndexBytes, &t.ToastBytes)
	})
}

func (r *reader) sample(ctx context.Context, t *Table) error {
	share := 100.0
	if t.blocks > sampleBlocks {
		share = 100 * sampleBlocks / float64(t.blocks)
	}
	live, gone := "expires_at > statement_timestamp()", "expires_at <= statement_timestamp()"
	bytes := "coalesce(avg(octet_length(key) + octet_length(value) + 88), 0)::float8"
	if t.Sessions { // a session that was ended is kept until it would have expired anyway
		live, bytes = "idle_"+live, "0::float8"
		gone = "idle_" + gone + " AND (idle_expires_at > '-infinity' OR absolute_expires_at <= statement_timestamp())"
	}
	s := Sample{Whole: t.blocks <= sampleBlocks}
	err := r.read(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, fmt.Sprintf(`
			SELECT count(*), count(*) FILTER (WHERE %s), count(*) FILTER (WHERE %s), %s
			FROM %s TABLESAMPLE SYSTEM (%g)`, live, gone, bytes, t.Relation, share)).Scan(&s.Rows, &s.Live, &s.Gone, &s.RowBytes)
	})
	if err == nil {
		t.Sample = &s
	}
	return err
}

func (r *reader) upkeep(ctx context.Context) error {
	err := r.read(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			SELECT l.holder, CASE WHEN isfinite(l.until) THEN l.until ELSE 'epoch' END, e.epoch - 1, e.since,
			       (SELECT min(u.held_back_since) FROM howdah.upkeep AS u)
			FROM howdah.leader AS l, howdah.epoch AS e`).
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
		return tx.QueryRow(ctx, `
			SELECT h.who, h.age::bigint, coalesce(h.seconds, 0)::float8
			FROM (
			    -- What VACUUM itself holds keeps nothing.
			    SELECT format('session %s (%s)', a.pid, coalesce(nullif(a.application_name, ''), a.usename, 'unknown')) AS who,
			           age(a.backend_xmin) AS age, extract(epoch FROM clock_timestamp() - a.xact_start) AS seconds
			    FROM pg_stat_activity AS a
			    WHERE a.pid <> pg_backend_pid() AND a.backend_type NOT IN ('autovacuum worker', 'walsender')
			    UNION ALL
			    SELECT format('prepared transaction %s', p.gid), age(p.transaction), extract(epoch FROM clock_timestamp() - p.prepared)
			    FROM pg_prepared_xacts AS p
			    UNION ALL
			    SELECT format('replication slot %s', s.slot_name), greatest(age(s.xmin), age(s.catalog_xmin)), NULL
			    FROM pg_replication_slots AS s
			    UNION ALL
			    SELECT format('standby %s', coalesce(nullif(w.application_name, ''), w.pid::text)), age(w.backend_xmin), NULL
			    FROM pg_stat_replication AS w
			) AS h
			WHERE h.age IS NOT NULL
			ORDER BY h.age DESC
			LIMIT 1`).Scan(&h.Who, &h.Age, &h.Seconds)
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
