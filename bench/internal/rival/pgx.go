package rival

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PgxName is plain PostgreSQL in the report.
const PgxName = "pgx, one statement a call"

type plainPgx struct {
	pool     *pgxpool.Pool
	size     int
	get, set string
}

// The tables of plain PostgreSQL.
const (
	PgxTable        = "plain_cache"         // UNLOGGED
	PgxDurableTable = "plain_cache_durable" // LOGGED
)

// CreatePgxTable makes the table that plain PostgreSQL is measured with: what
// an application would write for itself.
func CreatePgxTable(ctx context.Context, url string) error {
	return createTable(ctx, url, "UNLOGGED", PgxTable)
}

// CreateDurablePgxTable makes the same table, LOGGED.
func CreateDurablePgxTable(ctx context.Context, url string) error {
	return createTable(ctx, url, "", PgxDurableTable)
}

func createTable(ctx context.Context, url, kind, name string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, fmt.Sprintf(`
		DROP TABLE IF EXISTS %[2]s;
		CREATE %[1]s TABLE %[2]s (
			key        text        PRIMARY KEY,
			value      bytea       NOT NULL,
			expires_at timestamptz NOT NULL DEFAULT 'infinity'
		)`, kind, name))
	return err
}

// NewPgx uses a pool of connections and one prepared statement a call, on the
// table of CreatePgxTable.
func NewPgx(ctx context.Context, url string, size int) (Rival, error) {
	return newPgx(ctx, url, size, PgxTable)
}

// NewDurablePgx is NewPgx on the table of CreateDurablePgxTable.
func NewDurablePgx(ctx context.Context, url string, size int) (Rival, error) {
	return newPgx(ctx, url, size, PgxDurableTable)
}

func newPgx(ctx context.Context, url string, size int, table string) (Rival, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(size)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	r := &plainPgx{pool: pool, size: size}
	r.get, r.set = statements(table)
	return r, nil
}

// statements read and write a row of a table.
func statements(table string) (get, set string) {
	return `SELECT value FROM ` + table + ` WHERE key = $1 AND expires_at > now()`,
		`INSERT INTO ` + table + ` (key, value) VALUES ($1, $2)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`
}

func (r *plainPgx) Name() string { return fmt.Sprintf("%s, pool of %d", PgxName, r.size) }

func (r *plainPgx) Get(ctx context.Context, key string) (value []byte, err error) {
	err = r.pool.QueryRow(ctx, r.get, key).Scan(&value)
	return value, err
}

func (r *plainPgx) Set(ctx context.Context, key string, value []byte) error {
	_, err := r.pool.Exec(ctx, r.set, key, value)
	return err
}

func (r *plainPgx) Close() error { r.pool.Close(); return nil }
