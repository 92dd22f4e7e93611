package howdah

import (
	"github.com/howdah/howdah/internal/engine"
)

// Stats is what a DB has counted since it was opened.
type Stats struct {
	Caches []CacheStats // by name; the caches that were used
	Pool   PoolStats    // of DB.Pool
	Upkeep UpkeepStats  // of Run
}

// PoolStats are connections now.
type PoolStats struct {
	Total    int32 // idle, in use, and being made
	Idle     int32
	Acquired int32 // in use
	Max      int32 // the most there may be
	Limit    int32 // the most that PostgreSQL allows, as far as is known; Max while it has refused none
}

// CacheStats are the counters of one cache in this process.
type CacheStats struct {
	Name  string      // of the cache
	Verbs []VerbStats // the verbs that were used

	BatchKeys Histogram // keys in one shared statement
	Batches   uint64    // shared statements
	Merged    uint64    // calls that shared the place of an equal one
	Blocked   uint64    // times that a call met a lock of another transaction
	Queued    int       // calls waiting now
	Full      bool      // it refuses writes: over its budget, with nothing that may be evicted
}

// VerbStats are the counters of one verb.
type VerbStats struct {
	Verb    string    // its name, such as "get"
	Calls   uint64    // finished, or left by their callers
	Hits    uint64    // keys found by reads; for writes, calls that took effect
	Misses  uint64    // keys not found by reads; for writes, calls that changed nothing
	Errors  uint64    // calls with an error; a miss is none
	Latency Histogram // seconds from the call to its answer, waiting included
}

// Histogram counts observations by upper bound, as Prometheus does, but not
// cumulatively: Counts has one element more than Bounds, for what is beyond.
type Histogram struct {
	Bounds []float64 // upper ones, inclusive
	Counts []uint64  // observations up to each bound; the last is what is beyond
	Count  uint64    // of all observations
	Sum    float64   // of all observations
}

// UpkeepStats are the counters of Run.
type UpkeepStats struct {
	Leader   bool   // this process does the rounds now
	HeldBack bool   // its last round was slowed down: a standby or a slot is behind (see Options.MaxReplicationLag)
	Rounds   uint64 // done by this process
	Expired  uint64 // entries that they removed because they had expired
	Evicted  uint64 // entries that they removed for a budget
	Sessions uint64 // expired sessions that they removed
	Resets   uint64 // times that the UNLOGGED caches were found emptied
}

// Stats returns a snapshot of the counters.
func (db *DB) Stats() Stats {
	found := db.core().Stats()
	s := Stats{Pool: PoolStats(found.Pool), Upkeep: UpkeepStats(found.Upkeep)}
	for _, c := range found.Caches {
		s.Caches = append(s.Caches, cacheStats(c))
	}
	return s
}

func cacheStats(c engine.Stats) CacheStats {
	s := CacheStats{
		Name: c.Name, BatchKeys: Histogram(c.BatchKeys), Batches: c.Batches, Merged: c.Merged,
		Blocked: c.Blocked, Queued: c.Queued, Full: c.Full,
	}
	for _, v := range c.Verbs {
		s.Verbs = append(s.Verbs, VerbStats{
			Verb: v.Verb, Calls: v.Calls, Hits: v.Hits, Misses: v.Misses, Errors: v.Errors, Latency: Histogram(v.Latency),
		})
	}
	return s
}
