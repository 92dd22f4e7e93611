package fetch

import "sync/atomic"

// Stats are the counters of a Group. Package howdah documents them.
type Stats struct {
	Hits       uint64
	Stale      uint64
	Shared     uint64
	Loads      uint64
	LoadErrors uint64
	Early      uint64
	Waits      uint64
	Voided     uint64
	Unstored   uint64
}

type counts struct {
	hits, stale, shared, loads, loadErrors, early, waits, voided, unstored atomic.Uint64
}

// Remembered counts a hit that the caller of the Group found in memory.
func (g *Group) Remembered() { g.counts.hits.Add(1) }

// Stats returns a snapshot of the counters.
func (g *Group) Stats() Stats {
	n := &g.counts
	return Stats{
		Hits: n.hits.Load(), Stale: n.stale.Load(), Shared: n.shared.Load(), Loads: n.loads.Load(),
		LoadErrors: n.loadErrors.Load(), Early: n.early.Load(), Waits: n.waits.Load(),
		Voided: n.voided.Load(), Unstored: n.unstored.Load(),
	}
}
