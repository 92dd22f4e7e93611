package server

import "github.com/howdah/howdah/internal/observe"

var prefixDesc = describe("prefix_keys_total", "Keys with a prefix of --metrics-prefixes that reads found (hit) or did not find (miss).", "cache", "prefix", "result")

// collectPrefixes shows the reads by prefixes that the operator has named, of the caches that
// this process has used. Those of caches without series of their own are added up.
func (c *collector) collectPrefixes(out metricSink, named *observe.Named) {
	type label struct{ cache, prefix string }
	sums := make(map[label][2]uint64)
	named.Each(func(cache, prefix string, hits, misses uint64) {
		at := label{c.label(cache), prefix}
		sum := sums[at]
		sums[at] = [2]uint64{sum[0] + hits, sum[1] + misses}
	})
	for at, sum := range sums {
		out.count(prefixDesc, float64(sum[0]), at.cache, at.prefix, "hit")
		out.count(prefixDesc, float64(sum[1]), at.cache, at.prefix, "miss")
	}
}
