package core

import (
	"cmp"
	"slices"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/upkeep"
)

// Stats is what a DB has counted since it was opened. Package howdah documents
// the fields.
type Stats struct {
	Caches []engine.Stats
	Pool   PoolStats
	Upkeep upkeep.Stats
}

// PoolStats are connections now.
type PoolStats struct {
	Total    int32
	Idle     int32
	Acquired int32
	Max      int32
	Limit    int32
}

// Stats returns a snapshot of the counters.
func (db *DB) Stats() Stats {
	var s Stats
	for _, e := range db.engines.All() {
		s.Caches = append(s.Caches, e.Stats())
	}
	slices.SortFunc(s.Caches, func(a, b engine.Stats) int { return cmp.Compare(a.Name, b.Name) })
	s.Upkeep = db.upkeep.Stats()
	p := db.engines.Pool.Stat()
	s.Pool = PoolStats{Total: p.TotalConns(), Idle: p.IdleConns(), Acquired: p.AcquiredConns(), Max: p.MaxConns(), Limit: db.engines.Limit()}
	return s
}
