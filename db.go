package howdah

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/schema"
)

// DB is a database that holds the Howdah schema. It is safe for concurrent use.
type DB struct {
	pool    *pgxpool.Pool
	ownPool bool
	opts    Options
	seed    []byte

	// named: statements may be prepared by name (no transaction pooler).
	named bool
	// ours: the connections carry our settings, no statement needs to bring them.
	ours bool

	closed  atomic.Bool
	mu      sync.RWMutex
	engines map[string]*engine

	deadlines deadlines    // of all flights
	flights   atomic.Int32 // under way
	upkeep    upkeepCounters
}

// Open connects to a PostgreSQL URL or a key=value string, checks that the
// schema is there, and changes nothing. In a URL the parameter
// pooler=transaction is Options.Pooler, and with several hosts the primary
// among them is used. opts may be nil.
//
// Errors: ErrUnavailable, ErrSchemaMissing, ErrSchemaTooNew, ErrPermission, or
// one that says what is wrong with the URL.
func Open(ctx context.Context, url string, opts *Options) (*DB, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	config, err := poolConfig(url, &o)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("howdah: %w", err)
	}
	db, err := open(ctx, pool, o)
	if err != nil {
		pool.Close()
		return nil, err
	}
	db.ownPool = true
	db.ours = o.Pooler == ""
	return db, nil
}

// OpenPool uses an application's own pool. Its connections are used for one
// statement or one transaction at a time and their settings are left as they
// are; Close does not close it. opts may be nil; MaxConns is ignored.
func OpenPool(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*DB, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return open(ctx, pool, o)
}

func open(ctx context.Context, pool *pgxpool.Pool, o Options) (*DB, error) {
	db := &DB{pool: pool, opts: o, engines: make(map[string]*engine), deadlines: deadlines{timeout: o.Timeout}}
	db.upkeep.wake = make(chan struct{}, 1)
	mode := pool.Config().ConnConfig.DefaultQueryExecMode
	db.named = o.Pooler == "" && (mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeCacheDescribe)
	if err := db.Ping(ctx); err != nil {
		return nil, err
	}
	if err := pool.QueryRow(ctx, schema.Query("seed")).Scan(&db.seed); err != nil {
		return nil, failure(err, false, false)
	}
	return db, nil
}

// Ping asks the database whether it answers and whether its schema fits this
// program. Errors: as of Open.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := db.bounded(ctx, connectTimeout)
	defer cancel()
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return failure(err, false, false)
	}
	defer conn.Release()
	switch err := migrate.Check(ctx, conn); {
	case err == nil:
		return nil
	case errors.Is(err, migrate.ErrTooNew):
		return fmt.Errorf("%w: %w", ErrSchemaTooNew, err)
	case errors.Is(err, migrate.ErrMissing), errors.Is(err, migrate.ErrForeign):
		return fmt.Errorf("%w: %w", ErrSchemaMissing, err)
	case errors.Is(err, migrate.ErrPermission):
		return fmt.Errorf("%w: %w", ErrPermission, err)
	case errors.Is(err, migrate.ErrUnsupported):
		return fmt.Errorf("howdah: %w", err)
	default:
		return failure(err, false, false)
	}
}

// bounded gives a context without a deadline one.
func (db *DB) bounded(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// Pool returns the connections beneath, for statements of the application's
// own. Connections that Open made have settings that suit Howdah
// (application_name, lock_timeout, enable_seqscan off).
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Cache returns the cache of that name. It does not ask the database: the
// first call on a cache that does not exist returns ErrCacheNotFound, on a
// name that cannot exist ErrInvalidName.
func (db *DB) Cache(name string) *Cache {
	return &Cache{db: db, name: name}
}

// Close waits for calls in flight, at most Options.Timeout, and closes what
// Open opened. Calls made after it fail with ErrClosed. It may be called twice.
// Connections of Pool that are in use then, by a transaction that was not
// ended, say, are closed when they are given back; the log counts them.
func (db *DB) Close() error {
	if db.closed.Swap(true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), db.opts.Timeout)
	defer cancel()
	db.mu.Lock()
	engines := db.engines
	db.engines = nil
	db.mu.Unlock()
	var errs []error
	for _, e := range engines {
		errs = append(errs, e.coalescer.Close(ctx))
	}
	if db.ownPool {
		db.closePool(ctx)
	}
	return errors.Join(errs...)
}

// closePool closes the pool, which waits for each connection in use; this does
// only until ctx ends.
func (db *DB) closePool(ctx context.Context) {
	closed := make(chan struct{})
	go func() {
		db.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		db.opts.log().Warn("howdah: closed while connections of the pool were in use", "connections", db.pool.Stat().AcquiredConns())
	}
}

// engine returns the engine of a cache, making it if the cache exists. q asks
// about it, so that a transaction can use a cache that it has just created.
func (db *DB) engine(ctx context.Context, name string, q querier) (*engine, error) {
	if db.closed.Load() {
		return nil, ErrClosed
	}
	db.mu.RLock()
	e := db.engines[name]
	db.mu.RUnlock()
	if e != nil && e.table.Load().known() {
		return e, nil
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	ctx, cancel := db.bounded(ctx, connectTimeout)
	defer cancel()
	t, err := loadTable(ctx, q, name, nil)
	if err != nil {
		return nil, failure(err, false, false)
	}
	if e, err = db.engineOf(t); err == nil && !e.table.Load().known() {
		e.table.Store(t)
	}
	return e, err
}

// unasked is engine without asking whether the cache exists: the first flight
// does.
func (db *DB) unasked(name string) (*engine, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return db.engineOf(&table{name: name})
}

// engineOf returns the engine of a table, making it if there is none.
func (db *DB) engineOf(t *table) (*engine, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.engines == nil {
		return nil, ErrClosed
	}
	e := db.engines[t.name]
	if e == nil {
		e = newEngine(db, t)
		db.engines[t.name] = e
	}
	return e, nil
}

// log is the logger, or one that says nothing.
func (o *Options) log() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// localSettings is the statement that brings along, for one transaction, what
// a shared statement needs and its connection does not have: "" if nothing.
// set_config with is_local holds until the end of the transaction, and the
// statements up to a Sync are one, so this costs no round trip.
func (db *DB) localSettings(t *table, write bool, lockTimeout time.Duration) string {
	async := write && t.durability == "async"
	bounds := lockTimeout != db.opts.LockTimeout || write && !db.ours
	if !async && !bounds && (db.ours || !db.named) {
		return ""
	}
	var settings []string
	set := func(name, value string) {
		settings = append(settings, fmt.Sprintf("set_config('%s', '%s', true)", name, value))
	}
	if async {
		set("synchronous_commit", "off")
	}
	if bounds {
		set("lock_timeout", fmt.Sprintf("%dms", lockTimeout.Milliseconds()))
	}
	if !db.ours && db.named {
		set("enable_seqscan", "off") // for the reason given in poolConfig
	}
	return "SELECT " + strings.Join(settings, ", ")
}
