package howdah

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
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
}

// CacheStats are the counters of one cache in this process.
type CacheStats struct {
	Name  string      // of the cache
	Verbs []VerbStats // the verbs that were used

	BatchKeys Histogram // keys in one shared statement
	Batches   uint64    // shared statements
	Merged    uint64    // calls that shared the place of an equal one
	Blocked   uint64    // times that a call met a foreign lock
	Queued    int       // calls waiting now
	Full      bool      // it refuses writes: over its budget, with nothing that may be evicted
}

// VerbStats are the counters of one verb.
type VerbStats struct {
	Verb    string    // its name, as Verb.String returns it
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

// String returns the verb's name as it stands in metrics.
func (v Verb) String() string {
	if v < verbCount {
		return verbNames[v]
	}
	return "unknown"
}

var verbNames = [verbCount]string{
	"get", "get_entry", "stat", "get_many", "stat_many", "set", "set_many", "delete", "delete_many",
	"get_delete", "expire", "touch", "get_expire", "increment", "increment_float", "append",
	"set_range", "set_many_if_absent",
}

// many tells whether the verb takes Keys.
func (v Verb) many() bool {
	switch v {
	case VerbGetMany, VerbStatMany, VerbSetMany, VerbDeleteMany, VerbSetManyIfAbsent:
		return true
	}
	return false
}

// latencyBuckets are powers of two of 32 microseconds, up to 1 s.
const latencyBuckets = 16

// counters are those of one cache, cheap enough for every call.
type counters struct {
	verbs [verbCount]struct {
		calls, hits, misses, errors atomic.Uint64
		nanoseconds                 atomic.Uint64
		latency                     [latencyBuckets + 1]atomic.Uint64
	}
}

// record counts a finished call.
func (n *counters) record(c *Call) {
	if c.Verb >= verbCount {
		return
	}
	v := &n.verbs[c.Verb]
	v.calls.Add(1)
	if c.Err != nil {
		v.errors.Add(1)
		return
	}
	elapsed := max(0, coalesce.Now()-c.flight.start)
	v.nanoseconds.Add(uint64(elapsed))
	v.latency[min(bits.Len64(uint64(elapsed)/32_000), latencyBuckets)].Add(1)
	switch {
	case c.Entries != nil:
		var hits uint64
		for i := range c.Entries {
			if c.Entries[i].Found {
				hits++
			}
		}
		v.hits.Add(hits)
		v.misses.Add(uint64(len(c.Entries)) - hits)
	case c.Status == StatusOK:
		v.hits.Add(1)
	default:
		v.misses.Add(1)
	}
}

// fail counts a call whose caller left it to its flight.
func (n *counters) fail(verb Verb) {
	n.verbs[verb].calls.Add(1)
	n.verbs[verb].errors.Add(1)
}

// Stats returns a snapshot of the counters.
func (db *DB) Stats() Stats {
	db.mu.RLock()
	defer db.mu.RUnlock()
	var s Stats
	for _, e := range db.engines {
		s.Caches = append(s.Caches, e.stats())
	}
	slices.SortFunc(s.Caches, func(a, b CacheStats) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	s.Upkeep = db.upkeep.stats()
	p := db.pool.Stat()
	s.Pool = PoolStats{Total: p.TotalConns(), Idle: p.IdleConns(), Acquired: p.AcquiredConns(), Max: p.MaxConns()}
	return s
}

func (e *engine) stats() CacheStats {
	cs := e.coalescer.Stats()
	s := CacheStats{Name: e.name, Full: e.table.Load().full, Merged: cs.Merged, Blocked: cs.Blocked, Queued: cs.Queued}
	s.BatchKeys.Sum = float64(cs.KeysTotal)
	for i, n := range cs.Keys {
		if i < len(cs.Keys)-1 {
			s.BatchKeys.Bounds = append(s.BatchKeys.Bounds, float64(uint64(1)<<i))
		}
		s.BatchKeys.Counts = append(s.BatchKeys.Counts, n)
		s.BatchKeys.Count += n
	}
	s.Batches = s.BatchKeys.Count
	for verb := range e.counters.verbs {
		v := &e.counters.verbs[verb]
		if v.calls.Load() == 0 {
			continue
		}
		vs := VerbStats{
			Verb: verbNames[verb], Calls: v.calls.Load(), Hits: v.hits.Load(), Misses: v.misses.Load(), Errors: v.errors.Load(),
		}
		vs.Latency.Sum = time.Duration(v.nanoseconds.Load()).Seconds()
		for i := range v.latency {
			n := v.latency[i].Load()
			if i < latencyBuckets {
				vs.Latency.Bounds = append(vs.Latency.Bounds, float64(32_000*(uint64(1)<<i))/1e9)
			}
			vs.Latency.Counts = append(vs.Latency.Counts, n)
			vs.Latency.Count += n
		}
		s.Verbs = append(s.Verbs, vs)
	}
	return s
}
