package soak

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// facts are what PostgreSQL says of a contender's table at one moment.
type facts struct {
	Heap, Index, Free       int64 // bytes; free as VACUUM noted it
	Live, Dead              int64 // rows, as PostgreSQL counts them, those stored out of line too
	Updates, HotUpdates     int64 // since the table was made
	Autovacuums, Vacuums    int64
	WAL                     int64 // bytes written by the server
	XID, OldestXmin         int64 // the next transaction's; how many transactions the oldest snapshot is behind
	Entries, Bytes, Expired int64 // counted row by row: live ones, what these count as, and expired ones still there
	Connections             int64 // of clients
}

// sampler asks one server about one table.
type sampler struct {
	conn  *pgx.Conn
	table string
	free  bool // pg_freespacemap is there
}

func newSampler(ctx context.Context, url, table string) (*sampler, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	s := &sampler{conn: conn, table: table}
	// Part of PostgreSQL's contrib modules; without it one line is missing.
	if _, err := conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_freespacemap`); err == nil {
		s.free = true
	}
	return s, nil
}

func (s *sampler) facts(ctx context.Context) (f facts, err error) {
	err = s.conn.QueryRow(ctx, `
		SELECT pg_table_size(c.oid), pg_indexes_size(c.oid),
		       h.n_live_tup, h.n_dead_tup + coalesce(t.n_dead_tup, 0), h.n_tup_upd, h.n_tup_hot_upd,
		       h.autovacuum_count, h.vacuum_count,
		       (pg_current_wal_insert_lsn() - '0/0')::bigint,
		       pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
		       (SELECT coalesce(max(age(a.backend_xmin)), 0) FROM pg_stat_activity AS a WHERE a.pid <> pg_backend_pid()),
		       (SELECT count(*) FROM pg_stat_activity AS a WHERE a.backend_type = 'client backend')
		FROM pg_class AS c
		JOIN pg_stat_all_tables AS h ON h.relid = c.oid
		LEFT JOIN pg_stat_all_tables AS t ON t.relid = c.reltoastrelid
		WHERE c.oid = $1::text::regclass`, s.table).Scan(
		&f.Heap, &f.Index, &f.Live, &f.Dead, &f.Updates, &f.HotUpdates, &f.Autovacuums, &f.Vacuums,
		&f.WAL, &f.XID, &f.OldestXmin, &f.Connections)
	if err != nil {
		return f, fmt.Errorf("looking at %s: %w", s.table, err)
	}
	if s.free {
		err = s.conn.QueryRow(ctx, `SELECT coalesce(sum(avail), 0) FROM pg_freespace($1::text::regclass)`, s.table).Scan(&f.Free)
		if err != nil {
			return f, fmt.Errorf("free space of %s: %w", s.table, err)
		}
	}
	err = s.conn.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE expires_at > now()),
		       coalesce(sum(octet_length(key) + octet_length(value) + 100) FILTER (WHERE expires_at > now()), 0),
		       count(*) FILTER (WHERE expires_at <= now())
		FROM `+s.table).Scan(&f.Entries, &f.Bytes, &f.Expired)
	if err != nil {
		return f, fmt.Errorf("counting %s: %w", s.table, err)
	}
	return f, nil
}

// rewritten compares the table with a copy that is freshly written, live rows
// only and as full as the settings of the table say: what VACUUM FULL would
// make of it.
func (s *sampler) rewritten(ctx context.Context) (size, fresh int64, err error) {
	err = s.conn.QueryRow(ctx, `SELECT pg_total_relation_size($1::text::regclass)`, s.table).Scan(&size)
	if err != nil {
		return 0, 0, err
	}
	var fillfactor, key string
	err = s.conn.QueryRow(ctx, `
		SELECT coalesce((SELECT option_value FROM pg_options_to_table(c.reloptions) WHERE option_name = 'fillfactor'), '100'),
		       (SELECT pg_get_constraintdef(p.oid) FROM pg_constraint AS p WHERE p.conrelid = c.oid AND p.contype = 'p')
		FROM pg_class AS c WHERE c.oid = $1::text::regclass`, s.table).Scan(&fillfactor, &key)
	if err != nil {
		return 0, 0, err
	}
	for _, sql := range []string{
		`DROP TABLE IF EXISTS public.soak_copy`,
		`CREATE UNLOGGED TABLE public.soak_copy (LIKE ` + s.table + ` INCLUDING STORAGE) WITH (fillfactor = ` + fillfactor + `)`,
		`INSERT INTO public.soak_copy SELECT * FROM ` + s.table + ` WHERE expires_at > now()`,
		`ALTER TABLE public.soak_copy ADD ` + key, // as dense as an index can be
		`VACUUM public.soak_copy`, // its maps count too, as the table's do
	} {
		if _, err := s.conn.Exec(ctx, sql); err != nil {
			return 0, 0, fmt.Errorf("copying %s: %w", s.table, err)
		}
	}
	err = s.conn.QueryRow(ctx, `SELECT pg_total_relation_size('public.soak_copy')`).Scan(&fresh)
	return size, fresh, err
}

func (s *sampler) close(ctx context.Context) { s.conn.Close(context.WithoutCancel(ctx)) }
