package server

import (
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// The metrics of values that one caller loads for all, on the caches where claims
// were made.
var (
	claimsDesc  = describe("claims_total", "Claims of a value or of the lease to load it, by what they found.", "cache", "state")
	fulfilsDesc = describe("fulfils_total", "Values that were loaded under a lease, by whether they were stored.", "cache", "result")
)

// leases is what is shown of one cache, or of several.
type leases struct {
	claims         engine.ClaimCounts
	stored, voided uint64
}

func (c *collector) collectClaims(out metricSink, stats []engine.Stats) {
	all := make(map[string]*leases)
	for _, s := range stats {
		if s.Claims == (engine.ClaimCounts{}) {
			continue
		}
		name := c.label(s.Name)
		if all[name] == nil {
			all[name] = new(leases)
		}
		all[name].add(s)
	}
	for name, l := range all {
		for state := verb.Hit; state <= verb.Unleased; state++ {
			out.count(claimsDesc, float64(l.claims[state]), name, state.String())
		}
		out.count(fulfilsDesc, float64(l.stored), name, "stored")
		out.count(fulfilsDesc, float64(l.voided), name, "voided")
	}
}

func (l *leases) add(s engine.Stats) {
	for state, n := range s.Claims {
		l.claims[state] += n
	}
	for _, v := range s.Verbs {
		if v.Verb == statement.Fulfil.Name {
			l.stored += v.Hits
			l.voided += v.Misses
		}
	}
}
