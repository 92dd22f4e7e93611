package howdah

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/schema"
)

// doIn runs calls in the caller's transaction, pipelined in their order.
func (e *engine) doIn(ctx context.Context, tx pgx.Tx, calls []*Call) error {
	now := coalesce.Now()
	table := e.table.Load()
	requests := make([]*request, 0, len(calls))
	accepted := make([]*Call, 0, len(calls))
	for _, c := range calls {
		c.flight.start = now
		if err := e.prepare(c, 0); err != nil {
			c.Err = err
			return err
		}
		if table.full && c.Verb.needsRoom() {
			c.Err = nil
			c.refuse()
			e.counters.record(c)
			continue
		}
		requests = append(requests, newRequest(c, table))
		accepted = append(accepted, c)
	}
	if calls = accepted; len(calls) == 0 {
		return nil
	}
	deadline, _ := ctx.Deadline()
	conn := tx.Conn()
	mode := conn.Config().DefaultQueryExecMode
	t := &trip{
		conn:     conn,
		requests: requests,
		named:    mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeCacheDescribe,
	}
	lift := within(ctx, conn, deadline)
	err := t.run()
	if !lift() && err == nil {
		err = context.Cause(ctx)
		conn.Close(context.Background())
	}
	var first error
	for i, c := range calls {
		c.Err = nil
		if err != nil && i >= t.answered {
			c.Err = failure(err, t.isSent, c.Verb > VerbStatMany)
		} else if t.errs[i] != nil {
			c.Err = failure(t.errs[i], true, false)
		}
		e.counters.record(c)
		first = cmp.Or(first, c.Err)
	}
	if first != nil {
		return first
	}
	return e.repeatLost(ctx, tx, calls)
}

func newRequest(c *Call, t *table) *request {
	r := &request{stmt: statementOf(c, t), table: t}
	r.add(c)
	r.encode()
	return r
}

// repeatLost runs again the calls that lost a race without effect.
func (e *engine) repeatLost(ctx context.Context, tx pgx.Tx, calls []*Call) error {
	for _, c := range calls {
		if c.flight.again {
			c.flight.again = false
			if err := e.doIn(ctx, tx, []*Call{c}); err != nil {
				return err
			}
		}
	}
	return nil
}

// TxOptions guard and order a transaction of Transact.
type TxOptions struct {
	// Watch lists versions that were read earlier. If one has changed when the
	// transaction begins, Transact returns ErrWatch and does nothing; until it
	// ends, nobody else changes a watched key.
	Watch []Watch

	// Keys are the keys that fn will use in Cache. Calls of this process on
	// them are finished before fn runs, and later ones wait for it: within one
	// process nothing conflicts with it. Optional.
	Cache string
	Keys  [][]byte
}

// Watch is a key and the version that it must still have, 0 for absent.
type Watch struct {
	Cache   string
	Key     []byte
	Version int64
}

// Transact runs fn in one transaction of PostgreSQL (REPEATABLE READ) and
// commits it if fn returns nil. Because it repeats fn when PostgreSQL reports
// a conflict with another transaction, fn must have no other effects. Caches
// take part by Cache.With(tx).
//
// Errors: ErrWatch, what fn returned, ErrTimeout if conflicts last until the
// deadline (Options.Timeout, or the context's), ErrUnknownOutcome if the
// connection was lost during the commit.
func (db *DB) Transact(ctx context.Context, opts TxOptions, fn func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := db.bounded(ctx, db.opts.Timeout)
	defer cancel()
	if len(opts.Keys) == 0 {
		return db.transact(ctx, opts.Watch, fn)
	}
	e, err := db.engine(ctx, opts.Cache, db.pool)
	if err != nil {
		return err
	}
	keys := make([]uint64, len(opts.Keys))
	for i, key := range opts.Keys {
		keys[i] = uint64(db.keyHash(key))
	}
	var inner error
	err = e.coalescer.Exclusive(ctx, keys, func(ctx context.Context) error {
		inner = db.transact(ctx, opts.Watch, fn)
		return nil
	})
	if err != nil {
		return callFailure(err, VerbSet)
	}
	return inner
}

func (db *DB) transact(ctx context.Context, watch []Watch, fn func(context.Context, pgx.Tx) error) error {
	for attempt := 0; ; attempt++ {
		err := db.transactOnce(ctx, watch, fn)
		if code := sqlState(err); code != "40001" && code != "40P01" && code != "55P03" {
			return err
		}
		// Conflicts resolve fastest when the parties do not return in step.
		pause := time.Duration(rand.Int64N(int64(time.Millisecond) << min(attempt, 5)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", &deadlineError{"other transactions kept changing the same keys; nothing was changed"}, err)
		}
	}
}

func (db *DB) transactOnce(ctx context.Context, watch []Watch, fn func(context.Context, pgx.Tx) error) error {
	tx, err := db.pool.BeginTx(ctx, pgx.TxOptions{
		// Two statements in one text are one round trip.
		BeginQuery: "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = " + db.lockBudget(ctx),
	})
	if err != nil {
		return failure(err, false, false)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err := db.checkWatched(ctx, tx, watch); err != nil {
		return txFailure(err)
	}
	if err := fn(ctx, tx); err != nil {
		return err
	}
	err = tx.Commit(ctx)
	if err != nil && sqlState(err) == "" && !errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return txFailure(err)
}

// lockBudget is how long a statement of a transaction may wait for a lock:
// half of what is left, so that PostgreSQL answers before the caller leaves.
func (db *DB) lockBudget(ctx context.Context) string {
	left := db.opts.Timeout
	if d, ok := ctx.Deadline(); ok {
		left = time.Until(d)
	}
	return fmt.Sprintf("'%dms'", max(1, left.Milliseconds()/2))
}

// txFailure keeps conflicts, which transact repeats, and translates the rest.
func txFailure(err error) error {
	switch code := sqlState(err); {
	case err == nil, errors.Is(err, ErrWatch), code == "40001", code == "40P01", code == "55P03":
		return err
	default:
		return failure(err, false, false)
	}
}

// checkWatched locks the watched keys, in one order for everybody, and
// compares their versions.
func (db *DB) checkWatched(ctx context.Context, tx pgx.Tx, watch []Watch) error {
	byCache := map[string][]Watch{}
	for _, w := range watch {
		byCache[w.Cache] = append(byCache[w.Cache], w)
	}
	names := make([]string, 0, len(byCache))
	for name := range byCache {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := db.checkWatchedIn(ctx, tx, name, byCache[name]); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) checkWatchedIn(ctx context.Context, tx pgx.Tx, cache string, watch []Watch) error {
	hashes := make([]int64, len(watch))
	var absent []int64
	var absentKeys [][]byte
	for i, w := range watch {
		hashes[i] = db.keyHash(w.Key)
		if w.Version == 0 {
			absent, absentKeys = append(absent, hashes[i]), append(absentKeys, w.Key)
		}
	}
	if len(absent) > 0 {
		if _, err := tx.Exec(ctx, schema.Statement("claim", schema.Table{Name: tableName(cache)}), absent, absentKeys); err != nil {
			return err
		}
	}
	rows, err := tx.Query(ctx, schema.Statement("watch", schema.Table{Name: tableName(cache)}), hashes)
	if err != nil {
		return err
	}
	found := map[int64]Watch{}
	var w Watch
	var hash int64
	var live bool
	_, err = pgx.ForEachRow(rows, []any{&hash, &w.Key, &w.Version, &live}, func() error {
		if live {
			found[hash] = Watch{Key: bytes.Clone(w.Key), Version: w.Version}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, w := range watch {
		now, ok := found[hashes[i]]
		if !ok || !bytes.Equal(now.Key, w.Key) {
			now.Version = 0
		}
		if now.Version != w.Version {
			return ErrWatch
		}
	}
	return nil
}
