package core

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

// wholeCacheTimeout bounds a call that reads or changes all of a cache, where
// its context has no deadline: Options.Timeout is for single keys.
const wholeCacheTimeout = 30 * time.Second

// ScanOptions choose what Scan returns.
type ScanOptions struct {
	// Count is about how many entries a page holds. Default 100, at most 10,000.
	Count int
	// Prefix restricts to keys that begin with it. Pages then hold what of
	// about Count entries matches, perhaps nothing.
	Prefix []byte
}

// slots is the binary logarithm of how many hashes a cursor of Scan stands for. Cursors
// stay below 2^53, which clients in JavaScript read exactly; in front of those of a
// partition stands its number, of up to 64.
type slots int

const (
	wholeSlots slots = 10
	partSlots  slots = 16
)

// cursorBits is how many bits a cursor has, cursors how many of them there are.
func (s slots) cursorBits() int { return 63 - int(s) }
func (s slots) cursors() uint64 { return 1 << s.cursorBits() }

// last is the last hash of the first cursor; a page ends with such a hash.
func (s slots) last() int64 { return 1<<s - 1 }

// Scan returns one page of live entries, without their values, and the cursor
// of the next page, 0 at the end. It begins with cursor 0 and keeps no state:
// entries go by the hash of their keys, so whatever exists during the whole
// scan is returned, once.
func (c *Cache) Scan(ctx context.Context, cursor uint64, opts ScanOptions) (page []verb.Entry, next uint64, err error) {
	page, next, _, err = c.ScanCounted(ctx, cursor, opts)
	return page, next, err
}

// ScanCounted is Scan, and says how many entries it has looked at to find those of the page, expired
// ones among them: at most opts.Count.
func (c *Cache) ScanCounted(ctx context.Context, cursor uint64, opts ScanOptions) (page []verb.Entry, next uint64, looked int, err error) {
	if c.isDivided() {
		return c.scanDivided(ctx, cursor, opts)
	}
	return c.scan(ctx, cursor, wholeSlots, opts)
}

// scanDivided is Scan over one partition after the other.
func (c *Cache) scanDivided(ctx context.Context, cursor uint64, opts ScanOptions) (page []verb.Entry, next uint64, looked int, err error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	number, rest := int(cursor>>partSlots.cursorBits()), opts.count()
	next = cursor & (partSlots.cursors() - 1)
	for number < len(c.parts.names) {
		var found []verb.Entry
		var after uint64
		var seen int
		err := c.on(ctx, number, func(c *Cache) (err error) {
			found, after, seen, err = c.scan(ctx, next, partSlots, ScanOptions{Count: rest, Prefix: opts.Prefix})
			return err
		})
		if err != nil {
			return nil, 0, 0, err
		}
		page, next, rest, looked = append(page, found...), after, rest-seen, looked+seen
		if next == 0 {
			number++
		}
		if rest <= 0 && number < len(c.parts.names) {
			return page, uint64(number)<<partSlots.cursorBits() | next, looked, nil
		}
	}
	return page, 0, looked, nil
}

// count is Count within its bounds.
func (o *ScanOptions) count() int {
	if o.Count <= 0 {
		return 100
	}
	return min(o.Count, 10_000)
}

// scan is Scan over the table of the cache, or of its partition. It returns too how many
// entries it has looked at.
func (c *Cache) scan(ctx context.Context, cursor uint64, slots slots, opts ScanOptions) (page []verb.Entry, next uint64, seen int, err error) {
	e, err := c.current(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	if cursor >= slots.cursors() {
		return nil, 0, 0, nil
	}
	ctx, cancel := engine.Bounded(ctx, wholeCacheTimeout)
	defer cancel()
	count := opts.count()
	// The page ends with its last slot, so that no entry of it is skipped.
	var last *int64
	err = c.reading(ctx, func(q statement.Querier) error {
		rows, err := q.Query(ctx, schema.Statement("scan_page", e.Table().Shape()),
			int64(cursor<<slots), count, notNil(opts.Prefix), slots.last())
		if err != nil {
			return err
		}
		var row scannedRow
		_, err = pgx.ForEachRow(rows, append([]any{&last, &seen}, row.targets()...), func() error {
			if row.key != nil {
				page = append(page, row.entry())
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, 0, 0, fault.From(err, false, false)
	}
	if last == nil || seen < count || uint64(*last>>slots)+1 >= slots.cursors() {
		return page, 0, seen, nil
	}
	return page, uint64(*last>>slots) + 1, seen, nil
}

// scannedRow takes the columns of an entry as pgx reads them.
type scannedRow struct {
	key       []byte
	length    *int
	version   *int64
	expiresAt pgtype.Timestamptz
	now       time.Time
	kind      *int16
}

func (r *scannedRow) targets() []any {
	return []any{&r.key, &r.length, &r.version, &r.expiresAt, &r.now, &r.kind}
}

func (r *scannedRow) entry() verb.Entry {
	e := verb.Entry{Key: r.key, Found: true, Length: *r.length, Version: *r.version, Kind: *r.kind}
	expiresAt := int64(pgwire.Infinity)
	if r.expiresAt.InfinityModifier == pgtype.Finite {
		expiresAt = r.expiresAt.Time.UnixMicro() - pgwire.Epoch
	}
	statement.SetExpiry(&e, expiresAt, r.now.UnixMicro()-pgwire.Epoch)
	r.key = nil
	return e
}

// All iterates over the live entries whose keys begin with prefix (nil: all),
// without their values, page by page as Scan does. It ends at the first error.
func (c *Cache) All(ctx context.Context, prefix []byte) iter.Seq2[verb.Entry, error] {
	return func(yield func(verb.Entry, error) bool) {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			page, next, err := c.Scan(ctx, cursor, ScanOptions{Count: 1000, Prefix: prefix})
			if err != nil {
				yield(verb.Entry{}, err)
				return
			}
			for _, entry := range page {
				if !yield(entry, nil) {
					return
				}
			}
			cursor = next
		}
	}
}

// Keys returns the live keys that begin with prefix (nil: all), in no order
// and in one snapshot. All does the same in pieces.
func (c *Cache) Keys(ctx context.Context, prefix []byte) (keys [][]byte, err error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	err = c.each(ctx, func(c *Cache) error {
		part, err := c.keys(ctx, prefix)
		if err == nil {
			keys = append(keys, part...)
		}
		return err
	})
	return keys, err
}

func (c *Cache) keys(ctx context.Context, prefix []byte) ([][]byte, error) {
	var keys [][]byte
	err := c.whole(ctx, func(ctx context.Context, tx Tx, table schema.Table) error {
		rows, err := tx.Query(ctx, schema.Statement("keys", table), prefixArgs(prefix)...)
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
		return err
	})
	return keys, err
}

func prefixArgs(prefix []byte) []any {
	return []any{notNil(prefix), after(prefix[:min(len(prefix), indexedBytes)])}
}

// Estimate returns about how many entries there are, by what PostgreSQL noted when it last
// analyzed the table. It reads no entry. Of several servers it adds up those that answer.
// Errors: ErrCacheNotFound, or that of the first server if none answers.
func (c *Cache) Estimate(ctx context.Context) (total int64, err error) {
	all := c.db.all()
	found := make([]*int64, len(all))
	failed := make([]error, len(all))
	var work sync.WaitGroup
	for i, server := range all {
		work.Go(func() {
			at := c
			if server != c.db {
				at = server.Cache(c.name)
			}
			failed[i] = fault.From(at.reading(ctx, func(q statement.Querier) error {
				return readOne(ctx, q, &found[i], schema.Query("estimated_entries"), c.name)
			}), false, false)
		})
	}
	work.Wait()
	exists, answered := false, false
	for i, n := range found {
		answered = answered || failed[i] == nil
		if n != nil {
			exists = true
			total += *n
		}
	}
	switch {
	case !answered:
		return 0, failed[0]
	case !exists:
		return 0, fault.ErrCacheNotFound
	}
	return total, nil
}

// Count returns how many live entries there are, exactly: it reads the whole
// table. Caches gives a cheap estimate.
func (c *Cache) Count(ctx context.Context) (total int64, err error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	err = c.each(ctx, func(c *Cache) error {
		var n int64
		err := c.whole(ctx, func(ctx context.Context, tx Tx, table schema.Table) error {
			return tx.QueryRow(ctx, schema.Statement("count", table)).Scan(&n)
		})
		total += n
		return err
	})
	return total, err
}

// TTLCount is how many entries a cache holds, with and without a TTL.
type TTLCount struct {
	Entries int64         // that live
	WithTTL int64         // of these, the ones that will expire
	MeanTTL time.Duration // of the ones that will expire; 0 if there are none
}

// CountTTLs is Count with a look at the TTLs. It too reads the whole table.
func (c *Cache) CountTTLs(ctx context.Context) (n TTLCount, err error) {
	var seconds float64 // of all that expire
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	err = c.each(ctx, func(c *Cache) error {
		var part TTLCount
		var mean float64
		err := c.whole(ctx, func(ctx context.Context, tx Tx, table schema.Table) error {
			return tx.QueryRow(ctx, schema.Statement("count_ttls", table)).Scan(&part.Entries, &part.WithTTL, &mean)
		})
		n.Entries, n.WithTTL = n.Entries+part.Entries, n.WithTTL+part.WithTTL
		seconds += mean * float64(part.WithTTL)
		return err
	})
	mean := seconds / float64(max(1, n.WithTTL))
	n.MeanTTL = time.Duration(min(mean*float64(time.Second), math.MaxInt64/2)) // a date far away does not fit
	return n, err
}

// RandomKey returns the key of some live entry, or ErrMiss if there is none.
func (c *Cache) RandomKey(ctx context.Context) ([]byte, error) {
	if !c.isDivided() {
		return c.randomKey(ctx)
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	for _, number := range rand.Perm(len(c.parts.names)) {
		var key []byte
		err := c.on(ctx, number, func(c *Cache) (err error) {
			key, err = c.randomKey(ctx)
			return err
		})
		if !errors.Is(err, fault.ErrMiss) {
			return key, err
		}
	}
	return nil, fault.ErrMiss
}

func (c *Cache) randomKey(ctx context.Context) ([]byte, error) {
	e, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := engine.Bounded(ctx, wholeCacheTimeout)
	defer cancel()
	rows, err := c.querier().Query(ctx, schema.Statement("random_key", e.Table().Shape()), rand.Int64())
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	if len(keys) == 0 {
		return nil, fault.ErrMiss
	}
	return keys[0], nil
}

// DeletePrefix removes the entries whose keys begin with prefix and returns
// how many live ones that were. It goes through the cache in pieces, so it is
// not atomic: what is stored meanwhile may stay. With CacheConfig.PrefixIndex
// it goes through the keys with the prefix only.
func (c *Cache) DeletePrefix(ctx context.Context, prefix []byte) (total int64, err error) {
	ctx, span := c.traced(ctx, "delete_prefix", 0, true)
	defer func() { span.End(trace.Result{Err: err}) }()
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	err = c.each(ctx, func(c *Cache) error {
		n, err := c.deletePrefix(ctx, prefix, c.db.WantedEvents()&values.GenericEvent != 0)
		total += n
		return err
	})
	if total > 0 || err == nil {
		c.noteWhole(ctx, "delete_prefix", observe.ByPrefix, total, "", prefix)
	}
	return total, err
}

// deletePrefix is DeletePrefix. announces says that each deletion is an event.
func (c *Cache) deletePrefix(ctx context.Context, prefix []byte, announces bool) (total int64, err error) {
	e, err := c.current(ctx)
	if err != nil {
		return 0, err
	}
	ctx, cancel := engine.Bounded(ctx, wholeCacheTimeout)
	defer cancel()
	var indexed bool
	if err := c.one(ctx, &indexed, schema.Query("prefix_index"), e.Name()); err != nil {
		return 0, fault.From(err, false, false)
	}
	p := pages{prefix: notNil(prefix), announces: announces}
	page := "delete_page_by_hash"
	p.start, p.end = int64(0), int64(math.MaxInt64)
	if indexed {
		page = "delete_page_by_key"
		p.start, p.end = notNil(prefix[:min(len(prefix), indexedBytes)]), afterIndexed(prefix)
	}
	p.sql = schema.Statement(page, e.ShapeIn(nil))
	err = c.writeAll(ctx, e, func() error {
		total, err = c.deletePages(ctx, e, p)
		return err
	})
	return total, err
}

// pages is what deletePages removes: the entries with a prefix, from start to end.
type pages struct {
	sql        string
	start, end any
	prefix     []byte
	announces  bool
}

// deletePages removes entries page by page.
func (c *Cache) deletePages(ctx context.Context, e *engine.Engine, p pages) (total int64, err error) {
	for p.start != nil {
		var next any
		var deleted int64
		var keys [][]byte
		err := c.staying(ctx, e, func(db statement.Querier) error {
			rows, err := db.Query(ctx, p.sql, p.start, p.end, p.prefix, p.announces)
			if err == nil {
				_, err = pgx.ForEachRow(rows, []any{&next, &deleted, &keys}, func() error { return nil })
			}
			return err
		})
		if fault.IsLocked(err) && c.tx == nil && ctx.Err() == nil {
			continue // somebody holds a row of this page for a moment
		}
		if err == nil {
			err = c.announceDeleted(ctx, keys)
		}
		if err != nil {
			return total, c.written(err)
		}
		total += deleted
		p.start = next
	}
	return total, nil
}

// staying runs a statement that writes, while its partition stays on its server.
func (c *Cache) staying(ctx context.Context, e *engine.Engine, fn func(statement.Querier) error) error {
	in := func(tx pgx.Tx) error {
		if err := e.StayIn(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	}
	switch {
	case c.tx != nil:
		return in(c.tx)
	case e.Table().Shard == 0:
		return c.db.engines.Change(ctx, func(conn *pgxpool.Conn) error { return fn(conn) })
	}
	return c.db.engines.Change(ctx, func(conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, in)
	})
}

// writeAll runs a write of keys that are not known.
func (c *Cache) writeAll(ctx context.Context, e *engine.Engine, fn func() error) error {
	if c.tx != nil {
		return e.WriteAllIn(ctx, c.tx, fn)
	}
	defer e.CatchUp(ctx)
	return fn()
}

// indexedBytes is how much of a key is in the prefix index.
const indexedBytes = 1024

// afterIndexed is no less than what the prefix index has of any key with this
// prefix.
func afterIndexed(prefix []byte) []byte {
	if end := after(prefix[:min(len(prefix), indexedBytes)]); end != nil {
		return end
	}
	return bytes.Repeat([]byte{0xff}, indexedBytes)
}

// Flush empties the cache: at once by TRUNCATE if no other transaction is
// using it, else by deleting every entry. If one holds an entry, that is done
// in pieces, as DeletePrefix does, until ctx ends (without a deadline, for 30 s).
func (c *Cache) Flush(ctx context.Context) error { return c.db.FlushAll(ctx, []*Cache{c}) }

// FlushAll flushes caches one after the other. Clients that track keys are told once to
// drop everything, unless they have read something since.
func (db *DB) FlushAll(ctx context.Context, caches []*Cache) error {
	told := db.tracking.Told()
	for i, c := range caches {
		err := c.flush(ctx)
		if err == nil {
			c.noteWhole(ctx, "flush", observe.Flushed, observe.Unknown, "", nil)
		}
		if last := err != nil || i == len(caches)-1; last && c.tx == nil {
			db.tracking.Flushed(c.writer, told)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flush is Flush, and leaves it to the caller to tell the clients that track keys.
func (c *Cache) flush(ctx context.Context) (err error) {
	ctx, span := c.traced(ctx, "flush", 0, true)
	defer func() { span.End(trace.Result{Err: err}) }()
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	return c.each(ctx, func(c *Cache) error { return c.flushTable(ctx) })
}

// bounded gives a call on all of a cache its time, for all partitions together.
func (c *Cache) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.tx != nil { // where calls wait as long as their context allows
		return ctx, func() {}
	}
	return engine.Bounded(ctx, wholeCacheTimeout)
}

// written turns the error of a statement that changes all of a cache into one of ours. One in
// a transaction ends with it.
func (c *Cache) written(err error) error {
	if c.tx != nil {
		return fault.FromFunction(err)
	}
	return fault.FromChange(err)
}

// flushTable is flush for the table of the cache, or of its partition.
func (c *Cache) flushTable(ctx context.Context) error {
	e, err := c.engine(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := engine.Bounded(ctx, wholeCacheTimeout)
	defer cancel()
	var xid uint64
	flush := func() error { return c.changeOne(ctx, &xid, schema.Query("flush"), c.settings()) }
	err = c.writeAll(ctx, e, func() error {
		if c.tx != nil { // the change log will tell
			return flush()
		}
		return e.Flush(&xid, flush)
	})
	if fault.IsLocked(err) && c.tx == nil && ctx.Err() == nil {
		// Not once more: everybody would wait behind each TRUNCATE.
		_, err := c.deletePrefix(ctx, nil, false)
		return err
	}
	return c.written(err)
}

// changeOne is one for a statement that may change any entry.
func (c *Cache) changeOne(ctx context.Context, value any, sql string, args ...any) error {
	if c.tx != nil {
		return c.one(ctx, value, sql, args...)
	}
	return c.db.engines.Change(ctx, func(conn *pgxpool.Conn) error { return readOne(ctx, conn, value, sql, args...) })
}

// one runs a statement that answers one value, and leaves value as it is if there
// is no row.
func (c *Cache) one(ctx context.Context, value any, sql string, args ...any) error {
	return readOne(ctx, c.querier(), value, sql, args...)
}

func readOne(ctx context.Context, q statement.Querier, value any, sql string, args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, []any{value}, func() error { return nil })
	return err
}

// reading runs fn on what the statements of the cache that are not shared run on, within the
// bounds of Limited.
func (c *Cache) reading(ctx context.Context, fn func(statement.Querier) error) error {
	if c.limit == 0 || c.tx != nil {
		return fn(c.querier())
	}
	return c.db.engines.Begin(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx Tx) error {
		if err := c.limitIn(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// limitIn bounds the statements of a transaction as Limited says.
func (c *Cache) limitIn(ctx context.Context, tx Tx) error {
	if c.limit == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, schema.Query("limit_statements"), strconv.FormatInt(c.limit.Milliseconds(), 10))
	return err
}

// whole runs fn in a read-only transaction that may scan the table from end
// to end, which our connections otherwise avoid. ctx is that of bounded.
func (c *Cache) whole(ctx context.Context, fn func(ctx context.Context, tx Tx, table schema.Table) error) error {
	e, err := c.current(ctx)
	if err != nil {
		return err
	}
	table := e.Table().Shape()
	if c.tx != nil {
		return fault.From(fn(ctx, c.tx, table), false, false)
	}
	return fault.From(c.db.engines.Begin(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx Tx) error {
		if _, err := tx.Exec(ctx, schema.Query("allow_seqscan")); err != nil {
			return err
		}
		if err := c.limitIn(ctx, tx); err != nil {
			return err
		}
		return fn(ctx, tx, table)
	}), false, false)
}

// after returns the first byte string that is greater than all that begin
// with prefix, nil if there is none.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// notNil makes of no bytes the empty value: nil would be NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
