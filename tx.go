package howdah

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	for _, c := range calls {
		c.flight.start = now
		if err := e.prepare(c, 0); err != nil {
			e.refuseAll(calls, c, err)
			return err
		}
	}
	requests := make([]*request, 0, len(calls))
	accepted := make([]*Call, 0, len(calls))
	for _, c := range calls {
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
		if errors.Is(first, ErrCacheNotFound) {
			e.forget()
		}
		return first
	}
	return e.repeatLost(ctx, tx, calls)
}

// refuseAll gives up calls that were to run together, one of which is invalid.
func (e *engine) refuseAll(calls []*Call, invalid *Call, err error) {
	for _, c := range calls {
		// Only the invalid one is what its error says.
		c.Err = fmt.Errorf("howdah: not run, because another call given to the same Do is invalid: %v", err)
		if c == invalid {
			c.Err = err
		}
		e.counters.record(c)
	}
}

func newRequest(c *Call, t *table) *request {
	r := &request{stmt: statementOf(c, t), table: t}
	r.add(c)
	r.encode()
	return r
}

// repeatLost runs again the calls that lost a race without effect.
func (e *engine) repeatLost(ctx context.Context, tx pgx.Tx, calls []*Call) error {
	var first error
	for _, c := range calls {
		if c.flight.again {
			c.flight.again = false
			first = cmp.Or(first, e.doIn(ctx, tx, []*Call{c}))
		}
	}
	return first
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
// connection was lost during the commit, and one of its own if fn returned nil
// though a statement had failed, after which PostgreSQL commits nothing.
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
	switch {
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return fmt.Errorf("howdah: nothing was committed, because a statement inside the transaction had failed: return its error: %w", err)
	case err != nil && sqlState(err) == "":
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

// watched is a Watch and where its row is.
type watched struct {
	Watch
	hash int64
}

// checkWatched locks the watched keys, in one order for everybody, and
// compares their versions.
func (db *DB) checkWatched(ctx context.Context, tx pgx.Tx, watch []Watch) error {
	byCache := map[string][]watched{}
	for _, w := range watch {
		byCache[w.Cache] = append(byCache[w.Cache], watched{w, db.keyHash(w.Key)})
	}
	for _, name := range slices.Sorted(maps.Keys(byCache)) {
		e, err := db.engine(ctx, name, tx)
		if err != nil {
			return err
		}
		if err := e.reload(ctx, tx); err != nil {
			return err
		}
		if err := checkWatchedIn(ctx, tx, e.tableName(), byCache[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkWatchedIn(ctx context.Context, tx pgx.Tx, table string, watch []watched) error {
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
		if _, err := tx.Exec(ctx, schema.Statement("claim", schema.Table{Name: table}), absent, absentKeys); err != nil {
			return err
		}
	}
	versions, err := lockEntries(ctx, tx, table, hashes)
	if err != nil {
		return err
	}
	for _, w := range watch {
		if versions[string(w.Key)] != w.Version {
			return ErrWatch
		}
	}
	return nil
}

// lockEntries locks the rows of these hashes, in their order, until the
// transaction ends, and returns the versions of the live entries, by key.
func lockEntries(ctx context.Context, tx pgx.Tx, table string, hashes []int64) (map[string]int64, error) {
	rows, err := tx.Query(ctx, schema.Statement("watch", schema.Table{Name: table}), hashes)
	if err != nil {
		return nil, err
	}
	versions := map[string]int64{}
	var hash, version int64
	var key []byte
	var live bool
	_, err = pgx.ForEachRow(rows, []any{&hash, &key, &version, &live}, func() error {
		if live {
			versions[string(key)] = version
		}
		return nil
	})
	return versions, err
}
