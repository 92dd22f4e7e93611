package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/tracking"
)

// trackingBound is how soon after a change the clients that track a key are told, where
// Options.Near is off.
const trackingBound = 100 * time.Millisecond

// listener tells a table of what others have changed.
type listener struct{ *tracking.Table }

// Changed implements near.Listener.
func (l listener) Changed(hash int64) { l.Table.Changed(hash, nil) }

// ChangedKeys implements near.Listener.
func (l listener) ChangedKeys(keys [][]byte) {
	changed := make([]tracking.Key, len(keys))
	for i, key := range keys {
		changed[i].Name = string(key)
	}
	l.Table.ChangedKeys(changed)
}

// Tracking returns the clients that track keys of this database.
func (db *DB) Tracking() *tracking.Table { return db.tracking }

// ErrNoLog is the error of Track for a cache that has no change log.
var ErrNoLog = errors.New("howdah: the cache has no change log")

// ErrNotFollowed is the error of Track where the log cannot be read in time.
var ErrNotFollowed = errors.New("howdah: the change log is not followed: DB.Run does not run, or polls fail")

// ErrNoKeys is the error of TrackPrefixes for a cache whose change log has no keys.
var ErrNoKeys = errors.New("howdah: the change log of the cache has no keys")

// Track is called before a client begins to track keys of the cache. It returns when
// the change log is followed. Errors: ErrNoLog, ErrNotFollowed after Options.Timeout, and
// those of a read.
func (c *Cache) Track(ctx context.Context) error {
	return c.follow(ctx, func(e *engine.Engine) error {
		if e.Logged() == 0 {
			return fmt.Errorf("%w: %s", ErrNoLog, c.name)
		}
		return nil
	})
}

// TrackPrefixes is Track for a client that wants to be told of keys by their prefixes.
// Errors: ErrNoKeys, and those of Track.
func (c *Cache) TrackPrefixes(ctx context.Context) error {
	return c.follow(ctx, func(e *engine.Engine) error {
		if e.LoggedKeys() == 0 {
			return fmt.Errorf("%w: %s", ErrNoKeys, c.name)
		}
		return nil
	})
}

// follow returns when the change log is followed, if the settings of the cache are fit.
func (c *Cache) follow(ctx context.Context, fit func(*engine.Engine) error) error {
	return c.each(ctx, func(c *Cache) error { return c.followTable(ctx, fit) })
}

// followTable is follow for the table of the cache, or of its partition.
func (c *Cache) followTable(ctx context.Context, fit func(*engine.Engine) error) error {
	e, err := c.engine(ctx)
	if err == nil && fit(e) != nil { // it may have been turned on since
		err = e.Reload(ctx, c.db.engines)
	}
	if err == nil {
		err = fit(e)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.db.opts.Timeout)
	defer cancel()
	if !c.db.follower.Follow(ctx) {
		return ErrNotFollowed
	}
	return nil
}

// Logged returns a number for where the change log has the changes of keys, 0 if it has
// none, or that is not known yet. What was read may be tracked if the number was the same
// before and after.
func (c *Cache) Logged(keys [][]byte) int64 { return c.logged(keys, (*engine.Engine).Logged) }

// LoggedKeys is Logged, 0 also if the log has no keys.
func (c *Cache) LoggedKeys(keys [][]byte) int64 { return c.logged(keys, (*engine.Engine).LoggedKeys) }

// logged adds up the numbers of the tables: a table that replaces another has a greater one.
func (c *Cache) logged(keys [][]byte, of func(*engine.Engine) int32) (sum int64) {
	if !c.isDivided() {
		keys = [][]byte{nil}
	}
	for _, key := range keys {
		e := c.of(key).usedEngine()
		if e == nil || of(e) == 0 {
			return 0
		}
		sum += int64(of(e))
	}
	return sum
}

// usedEngine is the engine of the cache if it was used before, or nil.
func (c *Cache) usedEngine() *engine.Engine {
	if e := c.ready(); e != nil {
		return e
	}
	return c.db.engines.Known(c.settings())
}

// Hash is the hash of a key in the change log.
func (db *DB) Hash(key []byte) int64 { return db.engines.Hash(key) }

// By returns the same cache, whose writes are those of a client that tracks keys.
func (c *Cache) By(writer *tracking.Client) *Cache {
	if writer == nil {
		return c
	}
	d := c.derive()
	d.writer = writer
	return d
}
