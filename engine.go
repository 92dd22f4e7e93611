package howdah

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/schema"
)

// engine runs the shared calls of one cache: the coalescer decides what goes
// together, a flight turns it into statements.
type engine struct {
	db        *DB
	name      string
	coalescer *coalesce.Coalescer
	table     atomic.Pointer[table]
	counters  counters
	reads     atomic.Pointer[reads] // nil: reads are not noted
	pressure  pressure
	spins     [coalesce.Write + 1]*spin // by the kind of a lone flight
}

// flightState is a call's part in the coalescer.
type flightState struct {
	op    coalesce.Op
	start int64 // coalesce.Now when the call was made
	limit int64 // Options.MaxValueBytes
	again bool  // a race was lost without effect: to be run once more
}

func newEngine(db *DB, t *table) *engine {
	e := &engine{db: db, name: t.name}
	e.table.Store(t)
	for kind := range e.spins {
		e.spins[kind] = &spin{flights: &db.flights}
	}
	e.pressure.wake = db.upkeep.wake
	e.pressure.every.Store(firstRound)
	e.coalescer = coalesce.New(coalesce.Options{
		MaxKeys:       db.opts.MaxBatchKeys,
		MaxBytes:      db.opts.MaxBatchBytes,
		MaxQueueBytes: db.opts.MaxQueueBytes,
		Run:           e.run,
	})
	return e
}

// prepare checks a call and gives it its place among the others. Whatever is
// wrong with its arguments is found here, before anything is sent.
func (e *engine) prepare(c *Call, deadline int64) error {
	if err := c.check(e.db.opts.MaxValueBytes); err != nil {
		return err
	}
	f := &c.flight
	f.limit = int64(e.db.opts.MaxValueBytes)
	f.again = false
	op := &f.op
	op.Call, op.Deadline = c, deadline
	op.Class = uint8(c.Verb)
	op.Kind = coalesce.Write
	switch {
	case c.Verb <= VerbStatMany:
		op.Kind = coalesce.Read
	case c.Verb == VerbSet && c.Condition == Always && c.Expiry.kind != expiryKeep && !c.WantOld && !c.WantVersion:
		op.Kind = coalesce.Set
	}
	if c.Keys == nil {
		op.SetKey(uint64(e.db.keyHash(c.Key)))
		op.Bytes = len(c.Key) + len(c.Value)
		return nil
	}
	op.Keys = make([]uint64, len(c.Keys))
	op.Bytes = 0
	for i, key := range c.Keys {
		op.Keys[i] = uint64(e.db.keyHash(key))
		op.Bytes += len(key)
	}
	for _, value := range c.Values {
		op.Bytes += len(value)
	}
	return nil
}

// deadline is when a call gives up, on the clock of package coalesce.
func (e *engine) deadline(ctx context.Context, now int64) int64 {
	timeout := e.db.opts.Timeout
	if d, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(d))
	}
	return now + int64(timeout)
}

// do runs one call and waits for it.
func (e *engine) do(ctx context.Context, c *Call) error {
	c.flight.start = coalesce.Now()
	err := e.prepare(c, e.deadline(ctx, c.flight.start))
	if err == nil {
		verb := c.Verb
		if err = e.coalescer.Do(ctx, &c.flight.op); err != nil {
			if abandoned(err) {
				// The call still belongs to its flight and is not touched.
				err = callFailure(err, verb)
				e.counters.fail(verb)
				return err
			}
			err = callFailure(err, verb)
		}
	}
	c.Err = err
	e.counters.record(c)
	return err
}

// doAll runs calls together and waits for all of them.
func (e *engine) doAll(ctx context.Context, calls []*Call) (first error) {
	now := coalesce.Now()
	deadline := e.deadline(ctx, now)
	ops := make([]*coalesce.Op, 0, len(calls))
	for _, c := range calls {
		c.flight.start = now
		if c.Err = e.prepare(c, deadline); c.Err == nil {
			ops = append(ops, &c.flight.op)
		} else {
			e.counters.record(c)
		}
	}
	for i, err := range e.coalescer.DoAll(ctx, ops) {
		c := ops[i].Call.(*Call)
		if err != nil {
			c.Err = callFailure(err, c.Verb)
		}
		if abandoned(err) {
			e.counters.fail(c.Verb) // its results belong to the flight
		} else {
			e.counters.record(c)
		}
	}
	for _, c := range calls {
		first = cmp.Or(first, c.Err)
	}
	return first
}

// start runs one call and tells done.
func (e *engine) start(c *Call, done func(*Call)) {
	c.flight.start = coalesce.Now()
	if err := e.prepare(c, c.flight.start+int64(e.db.opts.Timeout)); err != nil {
		c.Err = err
		e.counters.record(c)
		done(c)
		return
	}
	e.coalescer.Start(&c.flight.op, func(op *coalesce.Op, err error) {
		c.Err = nil
		if err != nil {
			c.Err = callFailure(err, c.Verb)
		}
		e.counters.record(c)
		done(c)
	})
}

// connect gets a connection and sees to it that the cache's settings are not
// older than tableRefresh.
func (e *engine) connect(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := e.db.pool.Acquire(ctx)
	if err != nil {
		return nil, failure(err, false, false)
	}
	t := e.table.Load()
	lifetime := tableRefresh
	if t.full {
		lifetime = fullRefresh
	}
	if time.Since(t.loaded) < lifetime {
		return conn, nil
	}
	fresh, err := e.refresh(ctx, conn, t)
	switch {
	case err == nil:
		e.table.Store(fresh)
	case lockedOut(err) && t.known():
		// A migration, say. It is asked again in a second; callers do not wait.
		e.table.CompareAndSwap(t, t.asOf(time.Now().Add(fullRefresh-lifetime)))
	default:
		conn.Release()
		return nil, failure(err, false, false)
	}
	return conn, nil
}

// refresh reads the cache's settings again. For a lock it waits no longer than
// a shared statement does.
func (e *engine) refresh(ctx context.Context, conn *pgxpool.Conn, old *table) (*table, error) {
	if !old.known() {
		old = nil
	}
	if e.db.ours {
		return loadTable(ctx, conn, e.name, old)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{
		BeginQuery: fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = '%dms'", e.db.opts.LockTimeout.Milliseconds()),
	})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	return loadTable(ctx, tx, e.name, old)
}

// tableName is the name of the cache's table, as far as is known.
func (e *engine) tableName() string { return schema.TableName(e.table.Load().id) }

// reload reads the cache's settings now.
func (e *engine) reload(ctx context.Context, q querier) error {
	ctx, cancel := e.db.bounded(ctx, connectTimeout)
	defer cancel()
	old := e.table.Load()
	if !old.known() {
		old = nil
	}
	t, err := loadTable(ctx, q, e.name, old)
	if err != nil {
		return failure(err, false, false)
	}
	e.table.Store(t)
	return nil
}

// known tells whether the table's settings were ever read.
func (t *table) known() bool { return t.durability != "" }

// asOf is the table as if it had been loaded at another time.
func (t *table) asOf(loaded time.Time) *table {
	other := *t
	other.loaded = loaded
	return &other
}

// reconnect is connect after a connection was lost: the others in the pool
// are no better, unless it is the application's.
func (e *engine) reconnect(ctx context.Context) (*pgxpool.Conn, error) {
	if e.db.ownPool {
		e.db.pool.Reset()
	}
	return e.connect(ctx)
}
