package engine

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Stats are the counters of one cache in this process. Package howdah documents
// the fields.
type Stats struct {
	Name  string
	Verbs []VerbStats

	BatchKeys Histogram
	Batches   uint64
	Merged    uint64
	Blocked   uint64
	Queued    int
	Full      bool
	Claims    ClaimCounts
}

// ClaimCounts are the answers of claims by what they found.
type ClaimCounts [verb.Unleased + 1]uint64

// VerbStats are the counters of one verb.
type VerbStats struct {
	Verb    string
	Calls   uint64
	Hits    uint64
	Misses  uint64
	Errors  uint64
	Latency Histogram
}

// Histogram counts observations by upper bound.
type Histogram struct {
	Bounds []float64
	Counts []uint64
	Count  uint64
	Sum    float64
}

// latencyBuckets are powers of two of 32 microseconds, up to 1 s.
const latencyBuckets = 16

// counters are those of one cache, cheap enough for every call.
type counters struct {
	verbs  []verbCounters // by verb.Verb.Index
	claims [verb.Unleased + 1]atomic.Uint64
	gets   [recallShards]recallCounters
}

// recallCounters count gets that memory has answered, in addition to the counters of
// the verb: each in one step, and spread by their keys, because many processors may
// count at once.
type recallCounters struct {
	found, absent atomic.Uint64
	_             [48]byte // shares no cache line with the next
}

// recallShards is how many there are, a power of two.
const recallShards = 16

type verbCounters struct {
	calls, hits, misses, errors atomic.Uint64
	nanoseconds                 atomic.Uint64
	latency                     [latencyBuckets + 1]atomic.Uint64
}

func newCounters() counters { return counters{verbs: make([]verbCounters, len(statement.Verbs()))} }

// record counts a finished call.
func (n *counters) record(c *verb.Call) {
	if c.Verb == nil {
		return
	}
	v := &n.verbs[c.Verb.Index]
	v.calls.Add(1)
	if c.Err != nil {
		v.errors.Add(1)
		return
	}
	if c.Verb == statement.Claim {
		n.claims[c.Claim.State].Add(1)
	}
	elapsed := max(0, coalesce.Now()-c.Began)
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
	case c.Status == verb.OK:
		v.hits.Add(1)
	default:
		v.misses.Add(1)
	}
}

// recalled counts calls that were answered from memory, and took no time to count.
// Key is that of one of them.
func (n *counters) recalled(v *verb.Verb, key []byte, found, absent int) {
	if v != statement.Get {
		counters := &n.verbs[v.Index]
		counters.calls.Add(uint64(found + absent))
		counters.latency[0].Add(uint64(found + absent))
		counters.hits.Add(uint64(found))
		counters.misses.Add(uint64(absent))
		return
	}
	shard := &n.gets[0]
	if len(key) > 0 {
		shard = &n.gets[key[len(key)-1]%recallShards]
	}
	if found > 0 {
		shard.found.Add(uint64(found))
	}
	if absent > 0 {
		shard.absent.Add(uint64(absent))
	}
}

// fail counts a call whose caller left it to its flight.
func (n *counters) fail(v *verb.Verb) {
	n.verbs[v.Index].calls.Add(1)
	n.verbs[v.Index].errors.Add(1)
}

// Stats returns a snapshot of the counters.
func (e *Engine) Stats() Stats {
	cs := e.keys.Stats()
	s := Stats{Name: e.name, Full: e.Table().Full, Merged: cs.Merged, Blocked: cs.Blocked, Queued: cs.Queued}
	s.BatchKeys.Sum = float64(cs.KeysTotal)
	for i, n := range cs.Keys {
		if i < len(cs.Keys)-1 {
			s.BatchKeys.Bounds = append(s.BatchKeys.Bounds, float64(uint64(1)<<i))
		}
		s.BatchKeys.Counts = append(s.BatchKeys.Counts, n)
		s.BatchKeys.Count += n
	}
	s.Batches = s.BatchKeys.Count
	for state := range s.Claims {
		s.Claims[state] = e.counters.claims[state].Load()
	}
	for _, v := range statement.Verbs() {
		if stats := e.counters.stats(v); stats.Calls > 0 {
			s.Verbs = append(s.Verbs, stats)
		}
	}
	return s
}

// stats returns the counters of a verb.
func (n *counters) stats(v *verb.Verb) VerbStats {
	s := n.verbs[v.Index].stats(v)
	if v == statement.Get {
		for i := range n.gets {
			found, absent := n.gets[i].found.Load(), n.gets[i].absent.Load()
			s.Hits += found
			s.Misses += absent
			s.Calls += found + absent
			s.Latency.Counts[0] += found + absent
			s.Latency.Count += found + absent
		}
	}
	return s
}

func (n *verbCounters) stats(v *verb.Verb) VerbStats {
	s := VerbStats{Verb: v.Name, Calls: n.calls.Load(), Hits: n.hits.Load(), Misses: n.misses.Load(), Errors: n.errors.Load()}
	s.Latency.Sum = time.Duration(n.nanoseconds.Load()).Seconds()
	for i := range n.latency {
		count := n.latency[i].Load()
		if i < latencyBuckets {
			s.Latency.Bounds = append(s.Latency.Bounds, float64(32_000*(uint64(1)<<i))/1e9)
		}
		s.Latency.Counts = append(s.Latency.Counts, count)
		s.Latency.Count += count
	}
	return s
}
