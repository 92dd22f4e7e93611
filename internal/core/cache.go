package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/fetch"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/internal/verb"
)

// Tx is a transaction of PostgreSQL.
type Tx = pgx.Tx

// Cache is one cache of a database.
type Cache struct {
	db       *DB
	name     string
	tx       Tx
	failOpen bool
	fresh    bool
	guard    *Guard
	seen     *Seen
	writer   *tracking.Client
	limit    time.Duration // see Limited
	piece    bool          // its calls are parts of something that is timed as a whole
	caller   observe.Caller
	known    atomic.Pointer[engine.Engine]
	group    atomic.Pointer[fetch.Group]

	parts  *parts // nil: the keys of the database are not divided
	table  string // the name of the settings of the partition that this is; "": it is a whole cache
	number int    // of that partition
}

// derive returns the same cache, for a method that changes how it is used.
func (c *Cache) derive() *Cache {
	return &Cache{db: c.db, name: c.name, tx: c.tx, failOpen: c.failOpen, fresh: c.fresh, guard: c.guard, seen: c.seen, writer: c.writer, limit: c.limit, piece: c.piece, caller: c.caller, parts: c.parts, table: c.table, number: c.number}
}

// Name returns the cache's name.
func (c *Cache) Name() string { return c.name }

// settings is the name under which the settings of its table stand.
func (c *Cache) settings() string { return cmp.Or(c.table, c.name) }

// DB returns the cache's database.
func (c *Cache) DB() *DB { return c.db }

// With returns the same cache bound to a transaction.
func (c *Cache) With(tx Tx) *Cache {
	d := c.derive()
	d.tx = tx
	return d
}

// Limited returns the same cache, for people who look at it: its Scan, All, Count, CountTag,
// CountTTLs and Estimate run in READ ONLY transactions, in which PostgreSQL ends statements that take longer
// than d.
func (c *Cache) Limited(d time.Duration) *Cache {
	l := c.derive()
	l.limit = d
	l.known.Store(c.known.Load())
	return l
}

// FailOpen returns the same cache, whose reads are misses where they would fail
// because the database is away, overloaded or late.
func (c *Cache) FailOpen() *Cache {
	d := c.derive()
	d.failOpen = true
	return d
}

// querier is what the statements that are not shared run on.
func (c *Cache) querier() statement.Querier {
	if c.tx != nil {
		return c.tx
	}
	return c.db.engines
}

func (c *Cache) engine(ctx context.Context) (*engine.Engine, error) {
	if e := c.ready(); e != nil {
		return e, nil
	}
	e, err := c.db.engines.Engine(ctx, c.settings(), c.querier())
	if err == nil {
		c.keep(e)
	}
	return e, err
}

// usable returns the engine for calls; to learn about the cache takes Options.Timeout
// at most.
func (c *Cache) usable(ctx context.Context) (*engine.Engine, error) {
	e := c.ready()
	if e == nil {
		if c.tx == nil { // where calls wait as long as their context allows
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, c.db.opts.Timeout)
			defer cancel()
		}
		var err error
		if e, err = c.engine(ctx); err != nil {
			return nil, err
		}
	}
	if c.tx != nil && e.Table().Loaded.IsZero() {
		return e, e.Reload(ctx, c.tx) // a transaction before has met a table that is gone
	}
	return e, nil
}

// current is engine with settings that are read now, for statements that are
// not shared.
func (c *Cache) current(ctx context.Context) (*engine.Engine, error) {
	e, err := c.engine(ctx)
	if err == nil {
		err = e.Reload(ctx, c.querier())
	}
	return e, err
}

// ready returns the engine if nothing has to be asked for it.
func (c *Cache) ready() *engine.Engine {
	if e := c.known.Load(); e != nil && !c.db.engines.Closed() {
		return e
	}
	return nil
}

// Do runs calls and waits for all of them: in one transaction's order where
// the cache is bound to one, otherwise together with everybody's calls, in
// order only where they share a key. It returns the first call's error; each
// call has its own in Err. Statuses such as a miss are no errors.
//
// If the context, or the time of a call, ends before the answer, the calls must
// not be used again: PostgreSQL may still be answering them.
func (c *Cache) Do(ctx context.Context, calls ...*verb.Call) error {
	if c.db.opts.Tracer != nil {
		return c.doTraced(ctx, calls)
	}
	return c.do(ctx, calls)
}

func (c *Cache) do(ctx context.Context, calls []*verb.Call) error {
	if c.fresh {
		for _, call := range calls {
			call.Fresh = true
		}
	}
	if c.writer != nil {
		for _, call := range calls {
			call.Writer = c.writer
		}
	}
	if c.piece {
		for _, call := range calls {
			call.Part = true
		}
	}
	c.nameCaller(calls)
	if c.isDivided() {
		return c.forgive(c.doDivided(ctx, calls), calls)
	}
	return c.forgive(c.doNow(ctx, calls), calls)
}

// doNow runs calls on the table of the cache, or of its partition.
func (c *Cache) doNow(ctx context.Context, calls []*verb.Call) error {
	e, err := c.usable(ctx)
	wants := c.db.WantedEvents()
	if wants != 0 && err == nil {
		for _, call := range calls {
			c.watchEvents(e, call, wants)
		}
	}
	switch {
	case err != nil:
		for _, call := range calls {
			call.Err = err
		}
	case c.tx != nil:
		err = e.DoIn(ctx, c.tx, calls)
		if wants != 0 && err == nil {
			err = c.nameEvents(ctx, e, calls, wants)
		}
	case len(calls) == 1:
		err = e.Do(ctx, calls[0])
	default:
		err = e.DoAll(ctx, calls)
	}
	return err
}

// One runs a call and makes an error of a status that is not OK.
func (c *Cache) One(ctx context.Context, call *verb.Call) error {
	if err := c.Do(ctx, call); err != nil {
		return err
	}
	return call.Status.Err()
}

// missed is the miss of a cache that fails open.
type missed struct{ reason error }

func (e *missed) Error() string        { return fmt.Sprintf("%v (failing open: %v)", fault.ErrMiss, e.reason) }
func (e *missed) Is(target error) bool { return target == fault.ErrMiss }

// isForgivable reports that the database did not answer, not that the call was
// wrong.
func isForgivable(err error) bool {
	return errors.Is(err, fault.ErrUnavailable) || errors.Is(err, fault.ErrTimeout) || errors.Is(err, fault.ErrOverloaded)
}

// readsOnly reports that the calls change nothing.
func readsOnly(calls []*verb.Call) bool {
	for _, call := range calls {
		if call.Verb == nil || call.Verb.Writes {
			return false
		}
	}
	return true
}

// Start begins a call without waiting for it and calls done exactly once, on
// another goroutine or before it returns. done must be quick and must not
// block; it may call Start. Calls on one key are run in the order in which
// they were started. The call's deadline is Options.Timeout from now, and later
// for a large value. It is meant for servers and event loops, and not for a
// cache bound to a transaction, where it panics.
func (c *Cache) Start(call *verb.Call, done func(*verb.Call)) {
	if c.isDivided() {
		c.startDivided(call, done)
		return
	}
	e, err := c.unasked()
	if err != nil {
		call.Err = err
		done(call)
		return
	}
	call.Fresh = call.Fresh || c.fresh
	c.watch(e, call)
	e.Start(call, done)
}

// unasked returns the engine of a cache for what does not wait: the first flight finds
// out whether the cache exists. It panics for a cache bound to a transaction.
func (c *Cache) unasked() (*engine.Engine, error) {
	if c.tx != nil {
		panic("howdah: a call without waiting on a cache that is bound to a transaction")
	}
	if e := c.ready(); e != nil {
		return e, nil
	}
	e, err := c.db.engines.Unasked(c.settings())
	if err == nil && e.Table().Known() {
		c.keep(e)
	}
	return e, err
}
