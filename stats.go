package howdah

import (
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/near"
)

// Stats is what a DB has counted since it was opened.
type Stats struct {
	Caches []CacheStats // by name; the caches that were used
	Pool   PoolStats    // of DB.Pool; with several servers, of the pools of all
	Upkeep UpkeepStats  // of Run
	Near   NearStats    // of the entries in memory
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

	Fetch FetchStats
}

// FetchStats are the counters of Fetch and FetchMany on one cache in this process.
type FetchStats struct {
	Hits       uint64 // values that were there, in memory or in PostgreSQL, and keys known to be absent
	Stale      uint64 // expired values that were served
	Shared     uint64 // keys whose callers joined a claim or a load that was under way
	Loads      uint64 // calls of load
	LoadErrors uint64 // of these, those that failed; that there is no value is no failure
	Early      uint64 // of these, those that began before the value had expired
	Waits      uint64 // times that callers waited for the load of another process
	Voided     uint64 // values that were not stored because their keys were changed while they were loaded
	Unstored   uint64 // values that were not stored because PostgreSQL did not answer, the cache was full, or they were too large
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

// NearStats are the counters of the entries that a DB keeps in memory (see
// Options.Near). All is zero where it keeps none.
type NearStats struct {
	Bound    time.Duration // Options.Near.Bound
	MaxBytes int64         // Options.Near.Bytes, or its default
	Bytes    int64         // that are used, with an overhead for each entry
	Entries  int           // in memory, those included that are no longer valid
	Parked   int           // writes in transactions of this process that are still open

	Hits       uint64 // reads that memory answered
	AbsentHits uint64 // of these, those that found that there is no entry
	Misses     uint64 // reads that could have been answered from memory, and asked PostgreSQL
	Lapsed     uint64 // of these, those that found an entry which was too old to be served

	// Ages are the ages of the hits in seconds: how long before the hit the last
	// poll of the change log was sent. None is beyond Bound. The Sum is an
	// estimate from the buckets.
	Ages   Histogram
	MaxAge time.Duration // age of the oldest hit

	Fills   uint64       // answers of PostgreSQL that were kept
	Refused NearRefusals // answers that were not
	Drops   NearDrops    // times that many entries were dropped at once

	Polls       uint64    // polls of the change log that PostgreSQL answered
	FailedPolls uint64    // polls that failed
	PollLatency Histogram // seconds, of answered polls; the Sum is an estimate from the buckets
	Lapses      uint64    // times that no poll succeeded for Bound although reads wanted memory

	// Lag is how long ago the last poll was sent that found the change log; 0 while no
	// reads want memory. Reads ask PostgreSQL while it is beyond Bound.
	Lag time.Duration
}

// NearRefusals count answers of PostgreSQL that were not kept in memory, by
// reason.
type NearRefusals struct {
	Same      uint64 // memory had this answer already
	Overtaken uint64 // a write, or another read with another answer, came between
	Parked    uint64 // a transaction of this process that is still open has written the key
	Unlit     uint64 // no poll has succeeded yet, or there is no change log
	Server    uint64 // another server answered than the one that is polled
	Reset     uint64 // all was dropped while the answer was on its way
	Stranded  uint64 // a prepared transaction is older than the change log
	Large     uint64 // the entry would take more than an eighth of MaxBytes
	Expired   uint64 // the entry had expired when the answer came
}

// NearDrops count how often all entries in memory, or those of one cache, were
// dropped, by reason.
type NearDrops struct {
	First       uint64 // the change log was read for the first time
	Server      uint64 // PostgreSQL was restarted, or another server took its place
	Incarnation uint64 // the change log was emptied by a crash or a restore
	Unlit       uint64 // the change log was gone
	Floor       uint64 // changes were trimmed before this process saw them: it was away for too long
	Overflow    uint64 // there were more changes at once than a poll returns
	Stranded    uint64 // durable caches only: a prepared transaction is older than the change log
	Flush       uint64 // one cache was flushed, altered or dropped
}

// Stats returns a snapshot of the counters.
func (db *DB) Stats() Stats {
	found := db.core().Stats()
	s := Stats{Pool: poolStats(found.Pool), Upkeep: UpkeepStats(found.Upkeep), Near: nearStats(found.Near)}
	for _, c := range found.Caches {
		cache := cacheStats(c)
		cache.Fetch = FetchStats(found.Fetch[c.Name])
		s.Caches = append(s.Caches, cache)
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

func nearStats(n core.NearStats) NearStats {
	s := NearStats{
		Bound: n.Bound, MaxBytes: n.MaxBytes, Bytes: n.Bytes, Entries: n.Entries, Parked: n.Parked,
		Hits: n.Hits, AbsentHits: n.AbsentHits, Misses: n.Misses, Lapsed: n.Lapsed, MaxAge: n.MaxAge,
		Fills: n.Fills, Refused: NearRefusals(n.Refused), Drops: NearDrops(n.Drops),
		Polls: n.Polls, FailedPolls: n.FailedPolls, Lapses: n.Lapses, Lag: n.Lag,
	}
	if n.Bound > 0 {
		s.Ages = histogram(append(n.Ages[:], 0), func(i int) time.Duration { return n.Bound * time.Duration(i+1) / near.AgeBuckets })
		s.PollLatency = histogram(n.PollLatency[:], near.PollBucket)
	}
	return s
}

// histogram is one of counts by upper bound, the last of which has none. Each
// observation adds the middle of its bucket to the sum.
func histogram(counts []uint64, bound func(i int) time.Duration) Histogram {
	h := Histogram{Counts: counts}
	lower := 0.0
	for i, n := range counts {
		upper := bound(i).Seconds()
		if i < len(counts)-1 {
			h.Bounds = append(h.Bounds, upper)
		}
		h.Count += n
		h.Sum += float64(n) * (lower + upper) / 2
		lower = upper
	}
	return h
}

func poolStats(p core.PoolStats) PoolStats {
	return PoolStats{Total: p.Total, Idle: p.Idle, Acquired: p.Acquired, Max: p.Max, Limit: p.Limit}
}
