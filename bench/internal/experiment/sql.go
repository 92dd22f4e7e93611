package experiment

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// db is one connection for the experiments that look at PostgreSQL itself.
type db struct{ *pgx.Conn }

func connect(ctx context.Context, url string) (*db, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	return &db{conn}, nil
}

// sql connects to the PostgreSQL of this experiment, as its superuser where we
// started it: CHECKPOINT and statistics need that. The connection is closed
// with the experiment.
func (b *Bench) sql(ctx context.Context) (*db, error) {
	url, err := b.sqlURL(ctx)
	if err != nil {
		return nil, err
	}
	d, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	b.later(func() error { return d.Close(context.WithoutCancel(ctx)) })
	return d, nil
}

func (b *Bench) sqlURL(ctx context.Context) (string, error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return "", err
	}
	if url := pg.SuperURL(); url != "" {
		return url, nil
	}
	return pg.URL, nil
}

// withPool sets the size of a pool in a URL.
func withPool(url string, size int) string {
	return withParameter(url, "pool_max_conns", strconv.Itoa(size))
}

// withParameter adds a parameter to a URL.
func withParameter(url, name, value string) string {
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	return url + separator + name + "=" + value
}

// run executes statements one after another. What only a superuser may do is
// left out for others: it makes numbers steadier, not different.
func (d *db) run(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.Exec(ctx, s); err != nil && !(s == "CHECKPOINT" && strings.Contains(err.Error(), "42501")) {
			return fmt.Errorf("%s: %w", strings.Join(strings.Fields(s), " "), err)
		}
	}
	return nil
}

// cacheTable is the name of the table behind a cache.
func cacheTable(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, cache string) (name string, err error) {
	err = q.QueryRow(ctx, `SELECT 'howdah_internal.cache_' || id FROM howdah_internal.cache WHERE name = $1::text`, cache).Scan(&name)
	if err != nil {
		return "", fmt.Errorf("the table of cache %s: %w", cache, err)
	}
	return name, nil
}

// wal is the position in the write-ahead log, in bytes.
func (d *db) wal(ctx context.Context) (position int64, err error) {
	err = d.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint`).Scan(&position)
	return position, err
}

// megabytes is the size of a table with what belongs to it, or of an index.
func (d *db) megabytes(ctx context.Context, relation string) (float64, error) {
	var bytes int64
	err := d.QueryRow(ctx, `SELECT pg_total_relation_size($1::text::regclass)`, relation).Scan(&bytes)
	return float64(bytes) / (1 << 20), err
}

// updates are counters of a table since it was made.
type updates struct{ all, hot, dead int64 }

func (u updates) hotShare() float64 {
	if u.all == 0 {
		return 0
	}
	return 100 * float64(u.hot) / float64(u.all)
}

// updates waits until the counters have arrived: other sessions report them
// with a delay of up to a second.
func (d *db) updates(ctx context.Context, table string, atLeast int64) (u updates, err error) {
	for range 100 {
		err = d.QueryRow(ctx, `
			SELECT n_tup_upd, n_tup_hot_upd, n_dead_tup FROM pg_stat_user_tables
			WHERE relid = $1::text::regclass`, table).Scan(&u.all, &u.hot, &u.dead)
		if err != nil || u.all >= atLeast {
			return u, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return u, fmt.Errorf("PostgreSQL counted %d updates of %s, not %d", u.all, table, atLeast)
}
