package server

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
)

// The metrics of caches. Each cache has a few series and not one for each verb:
// reads are told from writes, and docs/operations.md says which verbs are which.
var (
	callsDesc    = describe("calls_total", "Calls on each cache, by whether they only read.", "cache", "op")
	keysDesc     = describe("keys_total", "Keys that reads found, or writes that took effect (hit), and those that did not (miss).", "cache", "op", "result")
	failuresDesc = describe("call_errors_total", "Calls that failed.", "cache", "op")
	durationDesc = describe("call_duration_seconds", "Time of a call, waiting included.", "cache", "op")
	mergedDesc   = describe("merged_calls_total", "Calls that shared their place in a statement with an equal one.", "cache")
	blockedDesc  = describe("blocked_calls_total", "Times that a call met a row locked by a foreign transaction.", "cache")
	queuedDesc   = describe("queued_calls", "Calls that wait for a statement now.", "cache")
	fullDesc     = describe("cache_full", "1 if the cache refuses writes because it is over its budget.", "cache")

	entriesDesc    = describe("cache_entries", "Entries in the cache, an estimate.", "cache")
	bytesDesc      = describe("cache_bytes", "Bytes that count for the budget of the cache, an estimate; only with a budget.", "cache")
	tableDesc      = describe("cache_table_bytes", "Bytes of the cache's table as of its last VACUUM or ANALYZE.", "cache")
	maxEntriesDesc = describe("cache_max_entries", "The budget of the cache in entries, if it has one.", "cache")
	maxBytesDesc   = describe("cache_max_bytes", "The budget of the cache in bytes, if it has one.", "cache")
	expiredDesc    = describe("cache_expired_total", "Entries that upkeep of any process removed because they had expired.", "cache")
	evictedDesc    = describe("cache_evicted_total", "Entries that upkeep of any process removed for the budget.", "cache")

	verbsDesc = describe("verb_calls_total", "Calls of each verb on all caches.", "verb")
	batchDesc = describe("batch_keys", "Keys of one cache in a shared statement.")
)

const (
	// maxCaches bounds the caches with series of their own. The others are
	// added up.
	maxCaches   = 64
	otherCaches = "(other)"
)

// durationBounds are those of call_duration_seconds, of the finer ones that are
// counted: powers of four from 128 us on.
var durationBounds = []float64{0.000128, 0.000512, 0.002048, 0.008192, 0.032768, 0.131072, 0.524288}

// op is the reads or the writes of a cache.
type op struct {
	calls, hits, misses, errors uint64
	latency                     howdah.Histogram
}

// cacheFigures is what is shown of one cache, or of several.
type cacheFigures struct {
	read, write     op
	merged, blocked uint64
	queued          int
	full            bool
	state           *cacheState
}

// writes are the names of the verbs that may change data. A claim is asked for a
// value, as a read is.
func writes() map[string]bool {
	found := make(map[string]bool)
	for _, v := range statement.Verbs() {
		found[v.Name] = v.Writes && v != statement.Claim
	}
	return found
}

// label is the cache label under which a cache is shown: its own name for those
// that came first, for as long as the process runs.
func (c *collector) label(cache string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.shown[cache] {
		if len(c.shown) >= maxCaches {
			return otherCaches
		}
		c.shown[cache] = true
	}
	return cache
}

// figures adds up what the process counted and what the database knows.
func (c *collector) figures(stats []howdah.CacheStats, states []cacheState) map[string]*cacheFigures {
	all := make(map[string]*cacheFigures)
	of := func(cache string) *cacheFigures {
		name := c.label(cache)
		if all[name] == nil {
			all[name] = new(cacheFigures)
		}
		return all[name]
	}
	writes := writes()
	for _, s := range stats { // before states: what is in use is shown first
		f := of(s.Name)
		f.merged += s.Merged
		f.blocked += s.Blocked
		f.queued += s.Queued
		f.full = f.full || s.Full
		for _, verb := range s.Verbs {
			if writes[verb.Verb] {
				f.write.add(verb)
			} else {
				f.read.add(verb)
			}
		}
	}
	for _, s := range states {
		f := of(s.name)
		if f.state == nil {
			f.state = new(cacheState)
		}
		f.state.add(s)
	}
	return all
}

func (o *op) add(v howdah.VerbStats) {
	o.calls += v.Calls
	o.hits += v.Hits
	o.misses += v.Misses
	o.errors += v.Errors
	o.latency = sum(o.latency, v.Latency)
}

func (s *cacheState) add(other cacheState) {
	s.maxEntries += other.maxEntries
	s.maxBytes += other.maxBytes
	s.entries += other.entries
	s.bytes += other.bytes
	s.tableBytes += other.tableBytes
	s.expired += other.expired
	s.evicted += other.evicted
}

func (c *collector) collectCaches(out metricSink, stats []howdah.CacheStats, states []cacheState) {
	var batches howdah.Histogram
	verbs := make(map[string]uint64)
	for _, s := range stats {
		batches = sum(batches, s.BatchKeys)
		for _, v := range s.Verbs {
			verbs[v.Verb] += v.Calls
		}
	}
	out.histogram(batchDesc, batches)
	for verb, calls := range verbs {
		out.count(verbsDesc, float64(calls), verb)
	}
	for name, f := range c.figures(stats, states) {
		f.read.collect(out, name, "read")
		f.write.collect(out, name, "write")
		if f.read.calls+f.write.calls > 0 {
			out.count(mergedDesc, float64(f.merged), name)
			out.count(blockedDesc, float64(f.blocked), name)
			out.gauge(queuedDesc, float64(f.queued), name)
			out.gauge(fullDesc, flag(f.full), name)
		}
		if f.state != nil {
			f.state.collect(out, name)
		}
	}
}

// collect shows what was called at all.
func (o *op) collect(out metricSink, cache, name string) {
	if o.calls == 0 {
		return
	}
	out.count(callsDesc, float64(o.calls), cache, name)
	out.count(keysDesc, float64(o.hits), cache, name, "hit")
	out.count(keysDesc, float64(o.misses), cache, name, "miss")
	out.count(failuresDesc, float64(o.errors), cache, name)
	out.histogram(durationDesc, coarse(o.latency, durationBounds), cache, name)
}

func (s *cacheState) collect(out metricSink, cache string) {
	out.gauge(entriesDesc, float64(s.entries), cache)
	out.gauge(tableDesc, float64(s.tableBytes), cache)
	out.count(expiredDesc, float64(s.expired), cache)
	out.count(evictedDesc, float64(s.evicted), cache)
	if s.maxEntries > 0 || s.maxBytes > 0 {
		out.gauge(bytesDesc, float64(s.bytes), cache)
	}
	if s.maxEntries > 0 {
		out.gauge(maxEntriesDesc, float64(s.maxEntries), cache)
	}
	if s.maxBytes > 0 {
		out.gauge(maxBytesDesc, float64(s.maxBytes), cache)
	}
}

// sum adds two histograms of the same bounds; one of them may be empty.
func sum(a, b howdah.Histogram) howdah.Histogram {
	if a.Counts == nil {
		b.Counts = slices.Clone(b.Counts)
		return b
	}
	for i, n := range b.Counts {
		a.Counts[i] += n
	}
	a.Count += b.Count
	a.Sum += b.Sum
	return a
}

// coarse is a histogram of fewer bounds, which are among those of h.
func coarse(h howdah.Histogram, bounds []float64) howdah.Histogram {
	c := howdah.Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1), Count: h.Count, Sum: h.Sum}
	for i, n := range h.Counts {
		at := len(bounds)
		if i < len(h.Bounds) {
			at, _ = slices.BinarySearch(bounds, h.Bounds[i])
		}
		c.Counts[at] += n
	}
	return c
}

// metricSink takes metrics.
type metricSink chan<- prometheus.Metric

func (out metricSink) count(desc *prometheus.Desc, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
}

func (out metricSink) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

// histogram makes the bucket counts cumulative, as Prometheus has them.
func (out metricSink) histogram(desc *prometheus.Desc, h howdah.Histogram, labels ...string) {
	buckets := make(map[float64]uint64, len(h.Bounds))
	var sum uint64
	for i, bound := range h.Bounds {
		sum += h.Counts[i]
		buckets[bound] = sum
	}
	// Counters are read one by one while calls go on: the total must not be
	// below the buckets.
	out <- prometheus.MustNewConstHistogram(desc, max(h.Count, sum), h.Sum, buckets, labels...)
}
