// Package core is a database and its caches behind the face of package howdah:
// what that package, the doors, the sessions and the backends stand on. Package
// howdah documents what has the same name there.
package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/internal/upkeep"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/schema"
)

// DB is a database that holds the Howdah schema.
type DB struct {
	engines *engine.Set
	upkeep  *upkeep.Upkeep
	opts    Options
	fetches fetches
	bus     *bus.Bus
	*shared

	partitions *partitions   // nil: keys are not divided
	entering   chan struct{} // holds transactions that begin, where partitions can move

	subscriptions subscriptions

	follower *near.Memory // reads the change log; engines.Memory, if that is on
}

// shared is what all servers of a database have in common.
type shared struct {
	seed     []byte
	divided  int // into how many partitions; 0: none
	hub      *pubsub.Hub
	events   *events
	tracking *tracking.Table
	slow     *observe.SlowLog // nil: there is none
}

// Open connects to a PostgreSQL URL. See howdah.Open.
func Open(ctx context.Context, url string, opts Options) (*DB, error) {
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
	db, err := open(ctx, pool, o, true)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return db, nil
}

// OpenPool uses an application's own pool. See howdah.OpenPool.
func OpenPool(ctx context.Context, pool *pgxpool.Pool, opts Options) (*DB, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return open(ctx, pool, o, false)
}

func open(ctx context.Context, pool *pgxpool.Pool, o Options, own bool) (*DB, error) {
	if err := ping(ctx, pool.Acquire); err != nil {
		return nil, err
	}
	common := &shared{hub: pubsub.New(values.Match), events: new(events), tracking: tracking.New()}
	var err error
	if common.slow, err = newSlowLog(o); err != nil {
		return nil, err
	}
	if err := pool.QueryRow(ctx, schema.Query("seed")).Scan(&common.seed, &common.divided); err != nil {
		return nil, fault.From(err, false, false)
	}
	db, err := build(pool, o, own, own && o.Pooler == "", common)
	if err != nil {
		return nil, err
	}
	db.connectWaiters()
	db.upkeep.AskEvents = db.events.ask
	db.events.publish = db.publishEvent
	db.tracking.OnBegin(db.wakeFollowers)
	if common.divided > 0 {
		db.partitions = newPartitions(common.divided, db)
		err = db.spread(ctx)
	}
	return db, err
}

// build makes a DB of a pool. It asks the database nothing. ownPool says that Close closes
// the pool, ownConn that its connections have the settings that statements need.
func build(pool *pgxpool.Pool, o Options, ownPool, ownConn bool, common *shared) (*DB, error) {
	var engines *engine.Set
	follower, err := newFollower(o, &engines, common.tracking)
	if err != nil {
		return nil, err
	}
	var memory *near.Memory
	if o.Near.Bound != 0 {
		memory = follower
	}
	called := make(chan struct{}, 1)
	mode := pool.Config().ConnConfig.DefaultQueryExecMode
	engines = engine.New(pool, engine.Options{
		Timeout:       o.Timeout,
		LockTimeout:   o.LockTimeout,
		MaxValueBytes: o.MaxValueBytes,
		MaxBatchKeys:  o.MaxBatchKeys,
		MaxBatchBytes: o.MaxBatchBytes,
		MaxQueueBytes: o.MaxQueueBytes,
		MaxConns:      int(pool.Config().MaxConns),
		Seed:          common.seed,
		Partitions:    common.divided,
		OwnPool:       ownPool,
		OwnConn:       ownConn,
		Named:         o.Pooler == "" && (mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeCacheDescribe),
		Memory:        memory,
		Tracking:      common.tracking,
		Slow:          common.slow,
		Exclude:       prefixes(o.Near.Exclude),
		Tracer:        o.Tracer,
		Logger:        o.Logger,
		Called:        called,
	})
	db := &DB{
		engines:  engines,
		upkeep:   upkeep.New(engines, called, o.Pooler == "", o.MaxReplicationLag),
		opts:     o,
		shared:   common,
		follower: follower,
		entering: make(chan struct{}, pool.Config().MaxConns/2),
	}
	db.bus, err = db.newBus(pool)
	return db, err
}

// Ping asks the database whether it answers and whether its schema fits this
// program. See howdah.DB.Ping.
func (db *DB) Ping(ctx context.Context) error { return ping(ctx, db.engines.Acquire) }

func ping(ctx context.Context, acquire func(context.Context) (*pgxpool.Conn, error)) error {
	ctx, cancel := engine.Bounded(ctx, engine.ConnectTimeout)
	defer cancel()
	conn, err := acquire(ctx)
	if err != nil {
		return fault.From(err, false, false)
	}
	defer conn.Release()
	switch err := migrate.Check(ctx, conn); {
	case err == nil:
		return nil
	case errors.Is(err, migrate.ErrTooNew):
		return fmt.Errorf("%w: %w", fault.ErrSchemaTooNew, err)
	case errors.Is(err, migrate.ErrMissing), errors.Is(err, migrate.ErrForeign):
		return fmt.Errorf("%w: %w", fault.ErrSchemaMissing, err)
	case errors.Is(err, migrate.ErrPermission):
		return fmt.Errorf("%w: %w", fault.ErrPermission, err)
	case errors.Is(err, migrate.ErrUnsupported):
		return fmt.Errorf("howdah: %w", err)
	default:
		return fault.From(err, false, false)
	}
}

// Maintain does one bounded round of upkeep on each server. See howdah.DB.Maintain.
func (db *DB) Maintain(ctx context.Context, opts upkeep.Options) ([]upkeep.Round, error) {
	var rounds []upkeep.Round
	var err error
	for _, server := range db.all() {
		done, failed := server.upkeep.Maintain(ctx, opts)
		rounds, err = append(rounds, done...), cmp.Or(err, failed)
	}
	return db.partitions.wholeRounds(rounds), err
}

// Run does the upkeep until ctx ends. See howdah.DB.Run.
func (db *DB) Run(ctx context.Context) error {
	beside, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	if s := db.servers(); s != nil {
		s.begin(beside, &work)
		defer s.end()
	}
	work.Go(func() { db.Waiters().Run(beside) })
	return db.run(ctx)
}

// run is Run for one server.
func (db *DB) run(ctx context.Context) error {
	beside, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { _ = db.follower.Run(beside) })
	work.Go(func() {
		if db.bus.Run(beside) == nil { // another Run goes on otherwise
			db.subscriptions.end(fault.ErrNotRunning)
		}
	})
	return db.upkeep.Run(ctx)
}

// Pool returns the connections beneath.
func (db *DB) Pool() *pgxpool.Pool { return db.engines.Pool }

// Acquire returns a connection of Pool, and waits for one that is in use if
// PostgreSQL allows no more. Errors: as of pgxpool.Pool.Acquire.
func (db *DB) Acquire(ctx context.Context) (*pgxpool.Conn, error) { return db.engines.Acquire(ctx) }

// Timeout is Options.Timeout, or its default.
func (db *DB) Timeout() time.Duration { return db.opts.Timeout }

// Tracer is Options.Tracer.
func (db *DB) Tracer() trace.Tracer { return db.opts.Tracer }

// Cache returns the cache of that name, without asking the database.
func (db *DB) Cache(name string) *Cache {
	c := &Cache{db: db, name: name}
	if db.partitions != nil {
		c.parts = newParts(name, db.partitions.number)
	}
	return c
}

// Failure turns the error of a statement that was run on a connection of Pool
// into the error that the DB's own calls would return. sent says that the
// statement changes data and may have reached PostgreSQL. If the server is lost,
// or is the primary no more, the connections to it that Open made are given up,
// so that the primary is looked for again.
func (db *DB) Failure(err error, sent bool) error {
	if err != nil && fault.IsLost(err) {
		db.engines.Drop()
	}
	return fault.From(err, sent, sent)
}

// Close waits for calls in flight and closes what Open opened. See
// howdah.DB.Close.
func (db *DB) Close() error {
	db.fetches.close() // their loads want to store what they made
	db.subscriptions.end(fault.ErrClosed)
	db.Waiters().Close()
	if s := db.servers(); s != nil {
		for _, other := range s.close() {
			defer other.closeServer()
		}
	}
	return db.closeServer()
}

// closeServer is Close for one server.
func (db *DB) closeServer() error {
	ctx, cancel := context.WithTimeout(context.Background(), db.opts.Timeout)
	defer cancel()
	first, err := db.engines.Close(ctx)
	if first && db.engines.OwnPool {
		db.closePool(ctx)
	}
	return err
}

// closePool closes the pool, which waits for each connection in use; this does
// only until ctx ends.
func (db *DB) closePool(ctx context.Context) {
	pool := db.engines.Pool
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		db.opts.Logger.Warn("howdah: closed while connections of the pool were in use", "connections", pool.Stat().AcquiredConns())
	}
}
