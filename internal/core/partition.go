package core

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/upkeep"
)

// partitions is how the keys of a database are divided. Each cache has a table for each
// partition, and all tables of a partition are on one server.
type partitions struct {
	number int
	of     func(key []byte) int // the partition of a key
	holder func(partition int) *DB

	servers *servers // nil: all partitions are on one
}

// newPartitions makes a division into a number of partitions, nil if that is 0.
func newPartitions(number int, db *DB) *partitions {
	if number == 0 {
		return nil
	}
	return &partitions{number: number, of: db.engines.Partition, holder: func(int) *DB { return db }}
}

// servers are those of the partitions, nil if there is one.
func (db *DB) servers() *servers {
	if db.partitions == nil {
		return nil
	}
	return db.partitions.servers
}

// Partitions is into how many partitions the keys of each cache are divided; 0: none.
func (db *DB) Partitions() int {
	if db.partitions == nil {
		return 0
	}
	return db.partitions.number
}

// errPartitions is fault.ErrCrossPartition with what to do.
var errPartitions = fmt.Errorf("%w: give them a hash tag in common, as in {user:1}:name and {user:1}:cart", fault.ErrCrossPartition)

// errWhole is fault.ErrCrossPartition of a look at all of a cache.
var errWhole = fmt.Errorf("%w: a transaction does not reach the partitions of other servers", fault.ErrCrossPartition)

// parts is what a cache in partitions keeps of them, for all that are derived from it.
type parts struct {
	names   []string // of the settings
	engines []atomic.Pointer[engine.Engine]
}

func newParts(cache string, number int) *parts {
	p := &parts{names: make([]string, number), engines: make([]atomic.Pointer[engine.Engine], number)}
	for i := range p.names {
		p.names[i] = statement.PartitionName(cache, i)
	}
	return p
}

// isDivided reports whether the cache is in partitions, and is not one of them.
func (c *Cache) isDivided() bool { return c.parts != nil && c.table == "" }

// part returns a partition of the cache, used as the cache is, where it is now.
func (c *Cache) part(number int) *Cache { return c.partAt(number, c.db.partitions.holder(number)) }

// partAt returns a partition of the cache at a server.
func (c *Cache) partAt(number int, db *DB) *Cache {
	d := c.derive()
	d.db, d.table, d.number = db, c.parts.names[number], number
	if e := c.readyAt(number, db); e != nil {
		d.known.Store(e)
	}
	return d
}

// readyFor returns the engine that serves a key if nothing has to be asked for it, as ready
// does for a cache that is not divided. It allocates nothing.
func (c *Cache) readyFor(key []byte) *engine.Engine {
	if !c.isDivided() {
		return c.ready()
	}
	return c.readyPart(c.db.partitions.of(key))
}

func (c *Cache) readyPart(number int) *engine.Engine {
	return c.readyAt(number, c.db.partitions.holder(number))
}

// readyAt returns the engine of a partition at a server, nil if it has to be asked for.
func (c *Cache) readyAt(number int, db *DB) *engine.Engine {
	if e := c.parts.engines[number].Load(); e != nil && e.Set() == db.engines && !db.engines.Closed() {
		return e
	}
	return nil
}

// of returns the partition of a key, and the cache itself if it is not divided.
func (c *Cache) of(key []byte) *Cache {
	if !c.isDivided() {
		return c
	}
	return c.part(c.db.partitions.of(key))
}

// ofAll returns the partition that keys have in common, and the cache itself if it is not
// divided. Without keys it is the first one. Error: ErrCrossPartition.
func (c *Cache) ofAll(keys [][]byte) (*Cache, error) {
	if !c.isDivided() {
		return c, nil
	}
	number, err := c.db.partitions.ofAll(keys)
	if err != nil {
		return nil, err
	}
	return c.part(max(0, number)), nil
}

// ofAll is the partition that keys have in common, -1 if there are none. Error:
// ErrCrossPartition.
func (p *partitions) ofAll(keys [][]byte) (int, error) {
	number := -1
	for _, key := range keys {
		switch of := p.of(key); {
		case number < 0:
			number = of
		case of != number:
			return 0, errPartitions
		}
	}
	return number, nil
}

// each calls fn with each partition of the cache in order, with the cache itself if it is
// not divided. It ends at the first error. A partition that was on another server comes again.
func (c *Cache) each(ctx context.Context, fn func(*Cache) error) error {
	if !c.isDivided() {
		return fn(c)
	}
	for number := range c.parts.names {
		if err := c.on(ctx, number, fn); err != nil {
			return err
		}
	}
	return nil
}

// on calls fn with a partition of the cache, again if it was on another server. Error:
// ErrCrossPartition in a transaction, where there are several.
func (c *Cache) on(ctx context.Context, number int, fn func(*Cache) error) error {
	if c.tx != nil && c.db.servers() != nil {
		return errWhole
	}
	for tries := 0; ; tries++ {
		err := fn(c.part(number))
		if err == nil || !c.movesOn(ctx, err, tries) {
			return c.db.naming(number, err)
		}
	}
}

// keep remembers the engine of the cache.
func (c *Cache) keep(e *engine.Engine) {
	c.known.Store(e)
	if c.table != "" {
		c.parts.engines[c.number].Store(e)
	}
}

// wholeRounds makes one round on a cache of those on its partitions. There is more to do
// where it did not come to all of them.
func (p *partitions) wholeRounds(rounds []upkeep.Round) []upkeep.Round {
	if p == nil {
		return rounds
	}
	var whole []upkeep.Round
	visited := make(map[string]int)
	for _, r := range rounds {
		r.Cache = statement.CacheOf(r.Cache)
		visited[r.Cache]++
		at := slices.IndexFunc(whole, func(of upkeep.Round) bool { return of.Cache == r.Cache })
		if at < 0 {
			whole = append(whole, r)
			continue
		}
		sum := &whole[at]
		sum.Expired, sum.Evicted, sum.Bytes, sum.Blocks = sum.Expired+r.Expired, sum.Evicted+r.Evicted, sum.Bytes+r.Bytes, sum.Blocks+r.Blocks
		sum.Elapsed, sum.Entries, sum.Size = sum.Elapsed+r.Elapsed, sum.Entries+r.Entries, sum.Size+r.Size
		sum.More, sum.HeldBack = sum.More || r.More, sum.HeldBack || r.HeldBack
	}
	for i := range whole {
		r := &whole[i]
		r.More = r.More || r.Cache != upkeep.Sessions && visited[r.Cache] < p.number
	}
	return whole
}
