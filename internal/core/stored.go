package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

// StoredEntry is a live entry with everything that belongs to it.
type StoredEntry struct {
	verb.Entry
	StaleSeconds int // it may be served so long after it expired; 0: not at all
	Tags         int // how many tags it has; their names are not stored
}

// Stored returns those of the keys that have a live entry, of any kind and in no order. It
// bypasses memory, and does not count as a use of the entries.
func (c *Cache) Stored(ctx context.Context, keys [][]byte) (found []StoredEntry, err error) {
	if !c.isDivided() {
		return c.stored(ctx, keys)
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	byPart := make([][][]byte, len(c.parts.names))
	for _, key := range keys {
		number := c.db.partitions.of(key)
		byPart[number] = append(byPart[number], key)
	}
	for number, keys := range byPart {
		if len(keys) > 0 {
			err := c.on(ctx, number, func(c *Cache) error {
				part, err := c.stored(ctx, keys)
				if err == nil {
					found = append(found, part...)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func (c *Cache) stored(ctx context.Context, keys [][]byte) ([]StoredEntry, error) {
	e, err := c.engine(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := engine.Bounded(ctx, wholeCacheTimeout)
	defer cancel()
	hashes, wanted := make([]int64, len(keys)), make(map[string]bool, len(keys))
	for i, key := range keys {
		hashes[i], wanted[string(key)] = c.db.engines.Hash(key), true
	}
	rows, err := c.querier().Query(ctx, schema.Statement("stored", e.Table().Shape()), hashes)
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	list, err := pgx.CollectRows(rows, readStored)
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	found := list[:0]
	for _, entry := range list {
		if wanted[string(entry.Key)] { // another key may have the same hash
			found = append(found, entry)
		}
	}
	return found, nil
}

func readStored(row pgx.CollectableRow) (s StoredEntry, err error) {
	var expiry pgtype.Timestamptz
	var now time.Time
	err = row.Scan(&s.Key, &s.Value, &s.Version, &expiry, &now, &s.Kind, &s.StaleSeconds, &s.Tags)
	expiresAt := int64(pgwire.Infinity)
	if expiry.InfinityModifier == pgtype.Finite {
		expiresAt = expiry.Time.UnixMicro() - pgwire.Epoch
	}
	s.Found, s.Length = true, len(s.Value)
	statement.SetExpiry(&s.Entry, expiresAt, now.UnixMicro()-pgwire.Epoch)
	return s, err
}

// Life tells whether a cache can still hold what was stored in it: not if any field differs.
type Life struct {
	Database string `json:"database"` // a digest of what identifies it
	Cache    int64  `json:"cache"`    // changes when the cache is dropped and made again
	Epoch    int64  `json:"epoch"`    // changes when a crash of PostgreSQL has emptied the cache; 0: it cannot
}

// Standing is the life of a cache at a moment, and what a crash of PostgreSQL at that moment
// would leave of it.
type Standing struct {
	Life
	Crashes  int64 // changes when PostgreSQL has crashed
	Async    bool  // commits are not waited for: a crash takes the last of them
	Written  int64 // up to here PostgreSQL has written its log, in memory
	Flushed  int64 // and up to here on disk
	MaxBytes int64 // the budget of the cache; 0: none
}

// Standing asks PostgreSQL for the standing of the cache. Error: ErrCacheNotFound.
func (c *Cache) Standing(ctx context.Context) (s Standing, err error) {
	ctx, cancel := engine.Bounded(ctx, c.db.opts.Timeout)
	defer cancel()
	rows, err := c.db.engines.Query(ctx, schema.Query("cache_life"), c.name)
	if err != nil {
		return s, fault.From(err, false, false)
	}
	s, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (s Standing, err error) {
		var class string
		err = row.Scan(&s.Database, &s.Cache, &class, &s.Crashes, &s.Written, &s.Flushed, &s.MaxBytes)
		if class == "unlogged" {
			s.Epoch = s.Crashes
		}
		s.Async = class == "async"
		return s, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return s, fmt.Errorf("%w: %q", fault.ErrCacheNotFound, c.name)
	}
	return s, fault.From(err, false, false)
}

// Now returns the time of the database.
func (db *DB) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := engine.Bounded(ctx, db.opts.Timeout)
	defer cancel()
	rows, err := db.engines.Query(ctx, schema.Query("time"))
	if err != nil {
		return time.Time{}, fault.From(err, false, false)
	}
	us, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	return time.UnixMicro(us), fault.From(err, false, false)
}

// CreateDatabase makes the cache of a numbered database of Redis, unless it exists. Errors:
// ErrPermission, for a role that may not.
func (db *DB) CreateDatabase(ctx context.Context, number int) error {
	change := cluster.Change{Query: "create_database", Makes: true, Args: []any{number}}
	if db.servers() != nil { // where all of them would be asked
		if exists, err := db.exists(ctx, fmt.Sprintf("db%d", number)); err != nil || exists {
			return err
		}
	}
	return db.change(ctx, change)
}
