package core

import (
	"maps"
	"slices"
	"time"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fetch"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/upkeep"
)

// Stats is what a DB has counted since it was opened. Package howdah documents
// the fields.
type Stats struct {
	Caches []engine.Stats
	Pool   PoolStats
	Upkeep upkeep.Stats
	Near   NearStats
	Fetch  map[string]fetch.Stats // by cache

	Retries uint64 // times that reads were sent again because their connection had died

	// DiskFull is when PostgreSQL last refused a write because its disk is full;
	// zero if it never did.
	DiskFull time.Time
}

// PoolStats are connections now, to all servers, and what was counted of them.
type PoolStats struct {
	Total    int32
	Idle     int32
	Acquired int32
	Max      int32
	Limit    int32

	Opened int64         // connections since the start
	Waited time.Duration // for connections, of all callers together
}

// NearStats are the counters of the entries in memory, and what bounds them. All
// is zero where Options.Near is off, and after SetMemoryUnused.
type NearStats struct {
	Bound    time.Duration
	MaxBytes int64
	near.Stats
}

// Stats returns a snapshot of the counters.
func (db *DB) Stats() Stats {
	var s Stats
	byCache := map[string]*engine.Stats{}
	for _, server := range db.all() {
		s.add(server)
		for _, e := range server.engines.All() {
			part := e.Stats()
			if sum := byCache[part.Name]; sum != nil {
				sum.Add(part)
			} else {
				byCache[part.Name] = &part
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byCache)) {
		s.Caches = append(s.Caches, *byCache[name])
	}
	s.Fetch = db.fetches.stats()
	return s
}

// add adds what one server has counted.
func (s *Stats) add(db *DB) {
	s.Upkeep.Add(db.upkeep.Stats())
	if memory := db.Near(); memory != nil && memory.Used() {
		s.Near.Bound = db.opts.Near.Bound
		s.Near.MaxBytes = db.opts.Near.Bytes // which all servers share
		s.Near.Add(memory.Stats())
	}
	s.Retries += db.engines.Retries()
	if at := db.engines.DiskFull(); at.After(s.DiskFull) {
		s.DiskFull = at
	}
	p := db.engines.Pool.Stat()
	s.Pool.Total += p.TotalConns()
	s.Pool.Idle += p.IdleConns()
	s.Pool.Acquired += p.AcquiredConns()
	s.Pool.Max += p.MaxConns()
	s.Pool.Limit += db.engines.Limit()
	s.Pool.Opened += p.NewConnsCount()
	s.Pool.Waited += p.EmptyAcquireWaitTime()
}

// ReasonCount is how often something happened for one reason.
type ReasonCount struct {
	Reason string // a word in lower case
	Count  uint64
}

// RefusedByReason returns the counts of Refused.
func (n *NearStats) RefusedByReason() []ReasonCount {
	r := &n.Refused
	return []ReasonCount{
		{"same", r.Same}, {"overtaken", r.Overtaken}, {"parked", r.Parked}, {"unlit", r.Unlit}, {"server", r.Server},
		{"reset", r.Reset}, {"stranded", r.Stranded}, {"large", r.Large}, {"expired", r.Expired},
	}
}

// DropsByReason returns the counts of Drops.
func (n *NearStats) DropsByReason() []ReasonCount {
	d := &n.Drops
	return []ReasonCount{
		{"first", d.First}, {"server", d.Server}, {"incarnation", d.Incarnation}, {"unlit", d.Unlit},
		{"floor", d.Floor}, {"overflow", d.Overflow}, {"stranded", d.Stranded}, {"flush", d.Flush},
	}
}
