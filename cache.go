package howdah

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/verb"
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
// cache's maximum. A negative TTL is ErrInvalidTTL.
//
// Every method may return ErrUnavailable, ErrTimeout, ErrOverloaded, ErrClosed,
// ErrCacheNotFound, ErrPermission, and ErrKeyTooLong; one that writes may return
// ErrUnknownOutcome; one that stores may return ErrValueTooLarge, ErrCacheFull
// and, in a cache of class sync, ErrCollision.
//
// The methods that begin with H, S, Z and L are on hashes, sets, sorted sets and lists:
// collections under one key, each stored as one value of at most 1 MiB. One that loses
// its last element is removed. These methods may return ErrWrongType, if the key holds
// something else; one that stores returns ErrValueTooLarge for a collection that would
// become larger. Nothing is changed then. Delete, Expire, Touch, Persist, TTL, Stat,
// Copy, Rename and scans take keys of every kind; the other methods take strings only.
type Cache core.Cache

var _ Backend = (*Cache)(nil)

func (c *Cache) core() *core.Cache { return (*core.Cache)(c) }

// Name returns the cache's name.
func (c *Cache) Name() string { return c.core().Name() }

// With returns the same cache bound to a transaction of the caller: the same
// verbs run inside it, one after another; commit publishes what they did and
// rollback undoes it. The bound cache is as little safe for concurrent use as
// the transaction, and waits for locks as long as its context allows.
func (c *Cache) With(tx pgx.Tx) *Cache { return (*Cache)(c.core().With(tx)) }

// FailOpen returns the same cache, whose reads are misses (ErrMiss) where they
// would fail because the database is away, overloaded or late. Writes still
// fail.
func (c *Cache) FailOpen() *Cache { return (*Cache)(c.core().FailOpen()) }

// Fresh returns the same cache, whose reads always ask PostgreSQL, also where
// Options.Near has an answer in memory.
func (c *Cache) Fresh() *Cache { return (*Cache)(c.core().Fresh()) }

// Close does nothing: the connections belong to the DB. It makes a Cache a
// Backend.
func (c *Cache) Close() error { return nil }

// one runs a call and makes an error of a status that is not OK.
func (c *Cache) one(ctx context.Context, call *verb.Call) error { return c.core().One(ctx, call) }
