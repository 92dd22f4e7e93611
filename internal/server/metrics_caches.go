package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
)

// The metrics of caches. Each cache has a few series and not one for each verb:
// reads are told from writes, and docs/operations.md says which verbs are which.
var (
	callsDesc    = describe("calls_total", "Calls on each cache, by whether they only read.", "cache", "op")
	keysDesc     = describe("keys_total", "Keys that reads found, or writes that took effect (hit), and those that did not (miss).", "cache", "op", "result")
	failuresDesc = describe("call_errors_total", "Calls that failed.", "cache", "reason")
	durationDesc = describe("call_duration_seconds", "Time of a call, waiting included.", "cache", "op")
	mergedDesc   = describe("merged_calls_total", "Calls that shared their place in a statement with an equal one.", "cache")
	blockedDesc  = describe("blocked_calls_total", "Times that a call met a row locked by a foreign transaction.", "cache")
	queuedDesc   = describe("queued_calls", "Calls that wait for a statement now.", "cache")
	fullDesc     = describe("cache_full", "1 if the cache refuses writes because it is over its budget.", "cache")

	entriesDesc    = describe("cache_entries", "Entries in the cache, an estimate.", "cache")
	bytesDesc      = describe("cache_bytes", "Bytes that count for the budget of the cache, an estimate; only with a budget.", "cache")
	tableDesc      = describe("cache_table_bytes", "Bytes of the cache's table as of its last VACUUM or ANALYZE.", "cache")
	indexDesc      = describe("cache_index_bytes", "Bytes of the cache's index as of its last VACUUM or ANALYZE.", "cache")
	deadDesc       = describe("cache_dead_rows", "Rows of the cache's table that VACUUM has yet to remove, by PostgreSQL's counters.", "cache")
	vacuumDesc     = describe("cache_last_vacuum_timestamp_seconds", "When VACUUM or autovacuum last ended on the cache's table; 0 if it never did.", "cache")
	maxEntriesDesc = describe("cache_max_entries", "The budget of the cache in entries, if it has one.", "cache")
	maxBytesDesc   = describe("cache_max_bytes", "The budget of the cache in bytes, if it has one.", "cache")
	expiredDesc    = describe("cache_expired_total", "Entries that upkeep of any process removed because they had expired.", "cache")
	evictedDesc    = describe("cache_evicted_total", "Entries that upkeep of any process removed for the budget.", "cache")
	hiddenDesc     = describe("metrics_caches_hidden", "Caches that have no series of their own and are added up.")

	verbsDesc = describe("verb_calls_total", "Calls of each verb on all caches.", "verb")
	batchDesc = describe("batch_keys", "Keys of one cache in a shared statement.")
)

// otherCaches is the label of the caches that have no series of their own. No
// cache can have this name.
const otherCaches = "(other)"

// op is the reads or the writes of a cache.
type op struct {
	calls, hits, misses uint64
	latency             engine.Histogram
}

// cacheFigures is what is shown of one cache, or of several.
type cacheFigures struct {
	read, write     op
	failures        engine.FailureCounts
	merged, blocked uint64
	queued          int
	full            bool
	state           *cacheState
}

// label is the cache label under which a cache is shown: its own name for those
// that came first, for as long as the process runs.
func (c *collector) label(cache string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.shown[cache]:
	case len(c.shown) >= c.maxCaches:
		c.hidden[cache] = true
		return otherCaches
	default:
		c.shown[cache] = true
	}
	return cache
}

// figures adds up what the process counted and what the database knows.
func (c *collector) figures(stats []engine.Stats, states []cacheState) map[string]*cacheFigures {
	all := make(map[string]*cacheFigures)
	of := func(cache string) *cacheFigures {
		name := c.label(cache)
		if all[name] == nil {
			all[name] = new(cacheFigures)
		}
		return all[name]
	}
	for _, s := range stats { // before states: what is in use is shown first
		of(s.Name).add(s)
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

func (f *cacheFigures) add(s engine.Stats) {
	f.merged += s.Merged
	f.blocked += s.Blocked
	f.queued += s.Queued
	f.full = f.full || s.Full
	for reason, n := range s.Failures {
		f.failures[reason] += n
	}
	for _, verb := range s.Verbs {
		if statement.OnlyReads(verb.Verb) {
			f.read.add(verb)
		} else {
			f.write.add(verb)
		}
	}
}

func (o *op) add(v engine.VerbStats) {
	o.calls += v.Calls
	o.hits += v.Hits
	o.misses += v.Misses
	o.latency = sum(o.latency, v.Latency)
}

func (s *cacheState) add(other cacheState) {
	s.maxEntries += other.maxEntries
	s.maxBytes += other.maxBytes
	s.entries += other.entries
	s.bytes += other.bytes
	s.tableBytes += other.tableBytes
	s.indexBytes += other.indexBytes
	s.deadRows += other.deadRows
	s.lastVacuum = max(s.lastVacuum, other.lastVacuum)
	s.expired += other.expired
	s.evicted += other.evicted
}

func (c *collector) collectCaches(out metricSink, stats []engine.Stats, states []cacheState) {
	var batches engine.Histogram
	verbs := make(map[string]uint64)
	for _, s := range stats {
		batches = sum(batches, s.BatchKeys)
		for _, v := range s.Verbs {
			verbs[v.Verb] += v.Calls
		}
	}
	if batches.Counts != nil {
		out.doubling(batchDesc, batches, batches.Bounds)
	}
	for verb, calls := range verbs {
		out.count(verbsDesc, float64(calls), verb)
	}
	for name, f := range c.figures(stats, states) {
		f.collect(out, name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out.gauge(hiddenDesc, float64(len(c.hidden)))
}

// collect shows the counters of a cache that was called at all. They are all there
// then: of a series that begins above zero Prometheus does not see the first increase.
func (f *cacheFigures) collect(out metricSink, cache string) {
	if f.read.calls+f.write.calls > 0 {
		f.read.collect(out, cache, "read")
		f.write.collect(out, cache, "write")
		for reason, n := range f.failures {
			out.count(failuresDesc, float64(n), cache, fault.Reason(reason).String())
		}
		out.count(mergedDesc, float64(f.merged), cache)
		out.count(blockedDesc, float64(f.blocked), cache)
		out.gauge(queuedDesc, float64(f.queued), cache)
		out.gauge(fullDesc, flag(f.full), cache)
	}
	if f.state != nil {
		f.state.collect(out, cache)
	}
}

func (o *op) collect(out metricSink, cache, name string) {
	out.count(callsDesc, float64(o.calls), cache, name)
	out.count(keysDesc, float64(o.hits), cache, name, "hit")
	out.count(keysDesc, float64(o.misses), cache, name, "miss")
	if o.latency.Counts == nil {
		o.latency = engine.Latencies()
	}
	out.doubling(durationDesc, o.latency, durationBounds, cache, name)
}

func (s *cacheState) collect(out metricSink, cache string) {
	out.gauge(entriesDesc, float64(s.entries), cache)
	out.gauge(tableDesc, float64(s.tableBytes), cache)
	out.gauge(indexDesc, float64(s.indexBytes), cache)
	out.gauge(deadDesc, float64(s.deadRows), cache)
	out.gauge(vacuumDesc, s.lastVacuum, cache)
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

// metricSink takes metrics.
type metricSink chan<- prometheus.Metric

func (out metricSink) count(desc *prometheus.Desc, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
}

func (out metricSink) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}
