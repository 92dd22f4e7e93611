package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/schema"
)

// TxOptions guard and order a transaction. Package howdah documents the fields.
type TxOptions struct {
	Watch []Watch
	Cache string
	Keys  [][]byte

	// Outbox returns the messages that the transaction publishes, when fn has returned without
	// an error; nil: it publishes none. Its caller calls Finish of the last one.
	Outbox func() *Outbox

	// Beside are keys of other caches, which must be in the same partition. Calls that use
	// them elsewhere are not kept back.
	Beside [][]byte
}

// Watch is a key and the version that it must still have, 0 for absent.
type Watch struct {
	Cache   string
	Key     []byte
	Version int64
	// Absent says that Version is the one that statement.Watch answered of an absent
	// key, which must not have been stored since.
	Absent bool
}

// Transact runs fn in one transaction of PostgreSQL (REPEATABLE READ) and
// commits it if fn returns nil. Because it repeats fn when PostgreSQL reports
// a conflict with another transaction, fn must have no other effects. Caches
// take part by Cache.With(tx).
//
// Errors: ErrWatch, what fn returned, ErrTimeout if conflicts last until the
// deadline (Options.Timeout, or the context's), ErrUnknownOutcome if the
// connection was lost during the commit, and one of its own if fn returned nil
// though a statement had failed, after which PostgreSQL commits nothing.
func (db *DB) Transact(ctx context.Context, opts TxOptions, fn func(ctx context.Context, tx Tx) error) error {
	ctx, span := trace.Start(ctx, db.opts.Tracer, trace.Call{Operation: "transact", Keys: len(opts.Watch) + len(opts.Keys), Writes: true})
	err := db.inOrder(ctx, opts, fn)
	span.End(trace.Result{Err: err})
	return err
}

// inOrder is Transact, which is followed.
func (db *DB) inOrder(ctx context.Context, opts TxOptions, fn func(ctx context.Context, tx Tx) error) error {
	ctx, cancel := engine.Bounded(ctx, db.opts.Timeout)
	defer cancel()
	for tries := 0; ; tries++ {
		cache, err := db.of(opts)
		if err != nil {
			return err
		}
		err = db.inOrderAt(ctx, cache, opts, fn)
		if err == nil || cache.table == "" {
			return err
		}
		if !cache.movesOn(ctx, err, tries) {
			return db.naming(cache.number, err)
		}
	}
}

// inOrderAt is inOrder on the server that holds the keys.
func (db *DB) inOrderAt(ctx context.Context, cache *Cache, opts TxOptions, fn func(ctx context.Context, tx Tx) error) error {
	run := func(ctx context.Context) error { return cache.db.transact(ctx, cache, opts, fn) }
	if len(opts.Keys) == 0 {
		return run(ctx)
	}
	e, err := cache.engine(ctx)
	if err != nil {
		return err
	}
	return e.Exclusive(ctx, opts.Keys, run)
}

// of is the cache of a transaction, or the partition of it that holds the keys. Error:
// ErrCrossPartition.
func (db *DB) of(opts TxOptions) (*Cache, error) {
	cache := db.Cache(opts.Cache)
	if db.partitions == nil {
		return cache, nil
	}
	keys := slices.Concat(opts.Keys, opts.Beside)
	for _, w := range opts.Watch {
		keys = append(keys, w.Key)
		cache = db.Cache(cmp.Or(opts.Cache, w.Cache))
	}
	number, err := db.partitions.ofAll(keys)
	if err != nil || number < 0 {
		return cache, err
	}
	return cache.part(number), nil
}

// maxMoves is how often a transaction is repeated because the table of a cache has
// another name: a table that is gone for good must not keep it.
const maxMoves = 10

func (db *DB) transact(ctx context.Context, cache *Cache, opts TxOptions, fn func(context.Context, Tx) error) error {
	moves := 0
	for attempt := 0; ; attempt++ {
		err := db.transactOnce(ctx, cache, opts, fn)
		if fault.IsMoved(err) {
			moves++
		}
		if !fault.IsConflict(err) && !(fault.IsMoved(err) && moves <= maxMoves) {
			return err
		}
		// Conflicts resolve fastest when the parties do not return in step.
		pause := time.Duration(rand.Int64N(int64(time.Millisecond) << min(attempt, 5)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fault.Timeout("other transactions kept changing the same keys; nothing was changed", err)
		}
	}
}

func (db *DB) transactOnce(ctx context.Context, cache *Cache, opts TxOptions, fn func(context.Context, Tx) error) error {
	end := func(bool) {}
	if opts.Outbox != nil {
		_ = db.bus.Prepare(ctx) // if it fails, nothing is sent
	}
	began := time.Now()
	leave, err := cache.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	err = db.engines.InTransaction(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ", func(tx pgx.Tx) error {
		end = db.events.collect(tx)
		if err := cache.holdPlace(ctx, tx); err != nil {
			return err
		}
		leave()
		if err := db.checkWatched(ctx, tx, opts.Watch); err != nil {
			return txFailure(err)
		}
		if err := fn(ctx, tx); err != nil || opts.Outbox == nil {
			return err
		}
		return db.writeOutbox(ctx, tx, began, opts.Outbox())
	})
	end(err == nil)
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("howdah: nothing was committed, because a statement inside the transaction had failed: return its error: %w", err)
	}
	return err
}

// writeOutbox makes messages a part of a transaction, if it is where messages are: on a server
// beside home it is not, and Finish publishes them.
func (db *DB) writeOutbox(ctx context.Context, tx Tx, began time.Time, o *Outbox) error {
	if o == nil || o.db != db {
		return nil
	}
	return txFailure(o.write(ctx, tx, began))
}

// enter waits until a transaction may begin that holds a partition in its place, for which it
// needs a second connection for a moment: half of them stay for that. leave may be called
// twice.
func (c *Cache) enter(ctx context.Context) (leave func(), err error) {
	if !c.mayMove() {
		return func() {}, nil
	}
	if cap(c.db.entering) == 0 {
		return nil, errors.New("howdah: a transaction on several servers needs 2 connections for a moment: raise MaxConns")
	}
	select {
	case c.db.entering <- struct{}{}:
	case <-ctx.Done():
		return nil, fault.Timeout("all connections were in use", context.Cause(ctx))
	}
	return sync.OnceFunc(func() { <-c.db.entering }), nil
}

// mayMove reports whether this is a partition that Citus may move to another server.
func (c *Cache) mayMove() bool { return c.table != "" && c.db.partitions.servers != nil }

// holdPlace keeps the partition on its server until a transaction ends, if it can move.
// Error: ErrElsewhere.
func (c *Cache) holdPlace(ctx context.Context, tx Tx) error {
	if !c.mayMove() {
		return nil
	}
	e, err := c.engine(ctx)
	if err != nil {
		return err
	}
	shard := e.Table().Shard
	if _, err := tx.Exec(ctx, schema.Statement("hold_place", schema.Table{}), shard, c.number); err != nil {
		return txFailure(err)
	}
	// The snapshot of the transaction may be older than its lock, and show a place that the
	// partition has left: somebody with a younger one looks.
	rows, err := c.db.engines.Query(ctx, schema.Query("present"), shard)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	return txFailure(err)
}

// txFailure keeps conflicts, which transact repeats, and translates the rest.
func txFailure(err error) error {
	if errors.Is(err, fault.ErrWatch) || fault.IsConflict(err) {
		return err
	}
	return fault.From(err, false, false)
}

// watched is a Watch and where its row is.
type watched struct {
	Watch
	hash int64
}

// checkWatched locks the watched keys, in one order for everybody, and
// compares their versions.
func (db *DB) checkWatched(ctx context.Context, tx Tx, watch []Watch) error {
	byCache := map[string][]watched{}
	for _, w := range watch {
		name := db.Cache(w.Cache).of(w.Key).settings()
		byCache[name] = append(byCache[name], watched{w, db.engines.Hash(w.Key)})
	}
	for _, name := range slices.Sorted(maps.Keys(byCache)) {
		e, err := db.engines.Engine(ctx, name, tx)
		if err != nil {
			return err
		}
		if err := e.Reload(ctx, tx); err != nil {
			return err
		}
		if err := checkWatchedIn(ctx, tx, e.Table().Name(), byCache[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkWatchedIn(ctx context.Context, tx Tx, table string, watch []watched) error {
	slices.SortFunc(watch, func(a, b watched) int { return cmp.Compare(a.hash, b.hash) })
	hashes := make([]int64, len(watch))
	var absent []int64
	var absentKeys [][]byte
	for i, w := range watch {
		hashes[i] = w.hash
		if w.Version == 0 {
			absent, absentKeys = append(absent, w.hash), append(absentKeys, w.Key)
		}
	}
	if len(absent) > 0 {
		if _, err := tx.Exec(ctx, schema.Statement("hold", schema.Table{Name: table}), absent, absentKeys); err != nil {
			return err
		}
	}
	rows, err := lockRows(ctx, tx, table, hashes)
	if err != nil {
		return err
	}
	for _, w := range watch {
		row := rows[string(w.Key)]
		if w.Version == 0 && row.live || w.Version != 0 && row != (lockedRow{w.Version, !w.Absent}) {
			return fault.ErrWatch
		}
	}
	return nil
}

// lockedRow is the row of a key.
type lockedRow struct {
	version int64
	live    bool // there is an entry
}

// lockRows locks the rows of these hashes, in their order, until the transaction
// ends, and returns them by key.
func lockRows(ctx context.Context, tx Tx, table string, hashes []int64) (map[string]lockedRow, error) {
	rows, err := tx.Query(ctx, schema.Statement("lock", schema.Table{Name: table}), hashes)
	if err != nil {
		return nil, err
	}
	locked := map[string]lockedRow{}
	var hash int64
	var key []byte
	var row lockedRow
	_, err = pgx.ForEachRow(rows, []any{&hash, &key, &row.version, &row.live}, func() error {
		locked[string(key)] = row
		return nil
	})
	return locked, err
}
