package engine

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
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
	Failures  FailureCounts
}

// ClaimCounts are the answers of claims by what they found.
type ClaimCounts [verb.Unleased + 1]uint64

// FailureCounts are the failed calls by their reason.
type FailureCounts [fault.Reasons]uint64

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

// The bounds of latencies are the powers of two of a second from 2^-15 s, 31 us,
// to 2^5 s, so that their counts are those of a native histogram of Prometheus too.
const (
	leastLatency   = -15 // exponent of the first bound
	latencyBuckets = 21  // beside the one that has no bound
)

// latencyBucket is the bucket of a latency in nanoseconds: the first whose bound
// it does not exceed.
func latencyBucket(nanoseconds int64) int {
	units := (uint64(max(nanoseconds, 1))<<-leastLatency - 1) / 1e9 // whole first bounds, less than the latency
	return min(bits.Len64(units), latencyBuckets)
}

// counters are those of one cache, cheap enough for every call.
type counters struct {
	verbs    []verbCounters // by verb.Verb.Index
	claims   [verb.Unleased + 1]atomic.Uint64
	failures [fault.Reasons]atomic.Uint64
	gets     [recallShards]recallCounters
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

// record counts a finished call, and returns how many nanoseconds it took.
func (n *counters) record(c *verb.Call) (elapsed int64) {
	if c.Verb == nil {
		return 0
	}
	elapsed = max(0, coalesce.Now()-c.Began)
	v := &n.verbs[c.Verb.Index]
	v.calls.Add(1)
	if c.Err != nil {
		v.errors.Add(1)
		n.failures[fault.ReasonOf(c.Err)].Add(1)
		return elapsed
	}
	if c.Verb == statement.Claim {
		n.claims[c.Claim.State].Add(1)
	}
	v.nanoseconds.Add(uint64(elapsed))
	v.latency[latencyBucket(elapsed)].Add(1)
	hits, misses := c.Hits()
	if hits > 0 {
		v.hits.Add(uint64(hits))
	}
	if misses > 0 {
		v.misses.Add(uint64(misses))
	}
	return elapsed
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

// fail counts a call whose caller left it to its flight, with an error.
func (n *counters) fail(v *verb.Verb, err error) {
	n.verbs[v.Index].calls.Add(1)
	n.verbs[v.Index].errors.Add(1)
	n.failures[fault.ReasonOf(err)].Add(1)
}

// Stats returns a snapshot of the counters.
func (e *Engine) Stats() Stats {
	cs := e.keys.Stats()
	s := Stats{Name: e.cache, Full: e.Table().Full, Merged: cs.Merged, Blocked: cs.Blocked, Queued: cs.Queued}
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
	for reason := range s.Failures {
		s.Failures[reason] = e.counters.failures[reason].Load()
	}
	for _, v := range statement.Verbs() {
		if stats := e.counters.stats(v); stats.Calls > 0 {
			s.Verbs = append(s.Verbs, stats)
		}
	}
	return s
}

// Add adds the counters of another partition of the cache.
func (s *Stats) Add(part Stats) {
	s.BatchKeys.add(&part.BatchKeys)
	s.Batches += part.Batches
	s.Merged += part.Merged
	s.Blocked += part.Blocked
	s.Queued += part.Queued
	s.Full = s.Full || part.Full
	for i, n := range part.Claims {
		s.Claims[i] += n
	}
	for i, n := range part.Failures {
		s.Failures[i] += n
	}
	for _, v := range part.Verbs {
		at := slices.IndexFunc(s.Verbs, func(own VerbStats) bool { return own.Verb == v.Verb })
		if at < 0 {
			s.Verbs = append(s.Verbs, v)
			continue
		}
		own := &s.Verbs[at]
		own.Calls, own.Hits, own.Misses, own.Errors = own.Calls+v.Calls, own.Hits+v.Hits, own.Misses+v.Misses, own.Errors+v.Errors
		own.Latency.add(&v.Latency)
	}
}

// add adds what another histogram with the same bounds has counted.
func (h *Histogram) add(other *Histogram) {
	for i, n := range other.Counts {
		h.Counts[i] += n
	}
	h.Count += other.Count
	h.Sum += other.Sum
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
	s := VerbStats{
		Verb: v.Name, Calls: n.calls.Load(), Hits: n.hits.Load(), Misses: n.misses.Load(), Errors: n.errors.Load(),
		Latency: Latencies(),
	}
	s.Latency.Sum = time.Duration(n.nanoseconds.Load()).Seconds()
	for i := range n.latency {
		s.Latency.Counts[i] = n.latency[i].Load()
		s.Latency.Count += s.Latency.Counts[i]
	}
	return s
}

// Quantile returns the upper bound of the bucket that a share of all observations reaches,
// nil without observations. What is beyond the last bound counts as the last bound.
func (h *Histogram) Quantile(share float64) *float64 {
	if h.Count == 0 || len(h.Bounds) == 0 {
		return nil
	}
	rest := share * float64(h.Count)
	for i, count := range h.Counts {
		if rest -= float64(count); rest <= 0 {
			return &h.Bounds[min(i, len(h.Bounds)-1)]
		}
	}
	return &h.Bounds[len(h.Bounds)-1]
}

// Latencies returns a histogram of latencies, in seconds, that has counted nothing
// yet.
func Latencies() Histogram {
	h := Histogram{Bounds: make([]float64, latencyBuckets), Counts: make([]uint64, latencyBuckets+1)}
	for i := range h.Bounds {
		h.Bounds[i] = math.Ldexp(1, leastLatency+i)
	}
	return h
}
