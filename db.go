package howdah

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/core"
)

// DB is a database that holds the Howdah schema. It is safe for concurrent use.
type DB core.DB

func (db *DB) core() *core.DB { return (*core.DB)(db) }

// Open connects to a PostgreSQL URL or a key=value string, checks that the
// schema is there, and changes nothing. In a URL the parameter
// pooler=transaction is Options.Pooler, and with several hosts the primary
// among them is used. opts may be nil.
//
// Errors: ErrUnavailable, ErrSchemaMissing, ErrSchemaTooNew, ErrPermission, or
// one that says what is wrong with the URL.
func Open(ctx context.Context, url string, opts *Options) (*DB, error) {
	db, err := core.Open(ctx, url, opts.core())
	return (*DB)(db), err
}

// OpenPool uses an application's own pool. Its connections are used for one
// statement or one transaction at a time and their settings are left as they
// are; Close does not close it. opts may be nil; MaxConns is ignored. Errors: as
// of Open.
func OpenPool(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*DB, error) {
	db, err := core.OpenPool(ctx, pool, opts.core())
	return (*DB)(db), err
}

// Ping asks the database whether it answers and whether its schema fits this
// program. Errors: as of Open.
func (db *DB) Ping(ctx context.Context) error { return db.core().Ping(ctx) }

// Pool returns the connections beneath, for statements of the application's
// own. Connections that Open made have settings that suit Howdah
// (application_name, lock_timeout, enable_seqscan off).
func (db *DB) Pool() *pgxpool.Pool { return db.core().Pool() }

// Cache returns the cache of that name. It does not ask the database: the
// first call on a cache that does not exist returns ErrCacheNotFound, on a
// name that cannot exist ErrInvalidName.
func (db *DB) Cache(name string) *Cache { return (*Cache)(db.core().Cache(name)) }

// Close waits for the loads of Fetch, each for its FetchOptions.Timeout at most,
// and for calls in flight, at most Options.Timeout, and closes what Open opened. Calls made after it fail with ErrClosed. It may be called twice.
// Connections of Pool that are in use then, by a transaction that was not
// ended, say, are closed when they are given back; the log counts them.
func (db *DB) Close() error { return db.core().Close() }
