package howdah

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cache is one cache of a database: a table of its own, with its own
// durability, TTLs and budget. It is safe for concurrent use and costs
// nothing to make: DB.Cache.
//
// Calls made at the same time share statements. A call returns when
// PostgreSQL has answered, and an acknowledged write is committed in the
// cache's durability class. Calls of one goroutine, made one after another,
// are seen in that order.
//
// A TTL of 0 is the cache's default, NoExpiry none; neither outlives the
// cache's maximum.
type Cache struct {
	db       *DB
	name     string
	tx       pgx.Tx
	failOpen bool
	known    atomic.Pointer[engine]
}

var _ Backend = (*Cache)(nil)

// Name returns the cache's name.
func (c *Cache) Name() string { return c.name }

// With returns the same cache bound to a transaction of the caller: the same
// verbs run inside it, one after another; commit publishes what they did and
// rollback undoes it. The bound cache is as little safe for concurrent use as
// the transaction, and waits for locks as long as its context allows.
func (c *Cache) With(tx pgx.Tx) *Cache {
	return &Cache{db: c.db, name: c.name, tx: tx, failOpen: c.failOpen}
}

// FailOpen returns the same cache, whose reads are misses (ErrMiss) where they
// would fail because the database is away, overloaded or late. Writes still
// fail.
func (c *Cache) FailOpen() *Cache {
	return &Cache{db: c.db, name: c.name, tx: c.tx, failOpen: true}
}

// Close does nothing: the connections belong to the DB. It makes a Cache a
// Backend.
func (c *Cache) Close() error { return nil }

// querier is what the statements that are not shared run on.
func (c *Cache) querier() querier {
	if c.tx != nil {
		return c.tx
	}
	return c.db.pool
}

func (c *Cache) engine(ctx context.Context) (*engine, error) {
	if e := c.ready(); e != nil {
		return e, nil
	}
	e, err := c.db.engine(ctx, c.name, c.querier())
	if err == nil {
		c.known.Store(e)
	}
	return e, err
}

// current is engine with settings that are read now, for statements that are
// not shared: a table that was dropped and made again has another name.
func (c *Cache) current(ctx context.Context) (*engine, error) {
	e, err := c.engine(ctx)
	if err == nil {
		err = e.reload(ctx, c.querier())
	}
	return e, err
}

// ready returns the engine if nothing has to be asked for it.
func (c *Cache) ready() *engine {
	if e := c.known.Load(); e != nil && !c.db.closed.Load() {
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
func (c *Cache) Do(ctx context.Context, calls ...*Call) error {
	var err error
	e := c.ready()
	if e == nil {
		if c.tx == nil { // where calls wait as long as their context allows
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, c.db.opts.Timeout)
			defer cancel()
		}
		e, err = c.engine(ctx)
	}
	if err == nil && c.tx != nil && e.table.Load().loaded.IsZero() {
		err = e.reload(ctx, c.tx) // a transaction before has met a table that is gone
	}
	switch {
	case err != nil:
		for _, call := range calls {
			call.Err = err
		}
	case c.tx != nil:
		err = e.doIn(ctx, c.tx, calls)
	case len(calls) == 1:
		err = e.do(ctx, calls[0])
	default:
		err = e.doAll(ctx, calls)
	}
	if err != nil && c.failOpen && forgivable(err) && readsOnly(calls) {
		return fmt.Errorf("%w (failing open: %w)", ErrMiss, err)
	}
	return err
}

// forgivable errors say that the database did not answer, not that the call
// was wrong.
func forgivable(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrTimeout) || errors.Is(err, ErrOverloaded)
}

// readsOnly tells that nothing would be changed by the calls.
func readsOnly(calls []*Call) bool {
	for _, call := range calls {
		if call.Verb > VerbStatMany {
			return false
		}
	}
	return true
}

// Start begins a call without waiting for it and calls done exactly once, on
// another goroutine or before it returns. done must be quick and must not
// block; it may call Start. Calls on one key are run in the order in which
// they were started. The call's deadline is Options.Timeout from now.
// It is meant for servers and event loops, and not for a cache bound to a
// transaction, where it panics.
func (c *Cache) Start(call *Call, done func(*Call)) {
	if c.tx != nil {
		panic("howdah: Start on a cache that is bound to a transaction")
	}
	e := c.ready()
	if e == nil {
		var err error
		if e, err = c.db.unasked(c.name); err != nil {
			call.Err = err
			done(call)
			return
		}
		if e.table.Load().known() {
			c.known.Store(e)
		}
	}
	e.start(call, done)
}

// decimal is what VerbIncrementFloat adds: no NaN and no infinity, though
// PostgreSQL calculates with them, and nothing that it cannot.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,4})?$`)

// maxDecimal bounds the digits; a long double has fewer.
const maxDecimal = 5000

// check finds what is wrong with a call's arguments.
func (c *Call) check(maxValue int) error {
	if c.Verb >= verbCount {
		return fmt.Errorf("howdah: no verb %d", c.Verb)
	}
	if many := c.Verb.many(); many != (c.Keys != nil) {
		if many && len(c.Key) == 0 {
			c.Keys = [][]byte{}
		} else {
			return fmt.Errorf("howdah: %s takes %s", c.Verb, map[bool]string{true: "Keys, not Key", false: "Key, not Keys"}[many])
		}
	}
	if withValues := c.Verb == VerbSetMany || c.Verb == VerbSetManyIfAbsent; withValues && len(c.Values) != len(c.Keys) {
		return fmt.Errorf("howdah: %d values for %d keys", len(c.Values), len(c.Keys))
	}
	if len(c.Key) > MaxKeyBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrKeyTooLong, len(c.Key), MaxKeyBytes)
	}
	for _, key := range c.Keys {
		if len(key) > MaxKeyBytes {
			return fmt.Errorf("%w: %d bytes, at most %d", ErrKeyTooLong, len(key), MaxKeyBytes)
		}
	}
	if c.Verb == VerbIncrementFloat && (len(c.DeltaFloat) > maxDecimal || !decimal.MatchString(c.DeltaFloat)) {
		return fmt.Errorf("%w: the delta must be a decimal number, such as -1.5 or 2e3", ErrNotFloat)
	}
	size := len(c.Value)
	if c.Verb == VerbSetRange {
		if c.Offset < 0 {
			return fmt.Errorf("howdah: offset %d is negative", c.Offset)
		}
		size += c.Offset
	}
	for _, value := range c.Values {
		size = max(size, len(value))
	}
	if size > maxValue || size < 0 {
		return fmt.Errorf("%w: %d bytes, at most %d (Options.MaxValueBytes)", ErrValueTooLarge, size, maxValue)
	}
	return nil
}

// set makes the call of a TTL verb; a negative TTL is refused.
func ttlExpiry(ttl time.Duration) (Expiry, error) {
	if ttl < 0 {
		return Expiry{}, fmt.Errorf("%w: %v is negative; use 0 for the cache's default or NoExpiry", ErrInvalidTTL, ttl)
	}
	return ExpireIn(ttl), nil
}
