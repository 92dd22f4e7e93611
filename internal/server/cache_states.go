package server

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/schema"
)

// cacheState is what the database knows of one cache.
type cacheState struct {
	name                 string
	maxEntries, maxBytes int64 // 0: no budget
	entries              int64 // an estimate
	bytes                int64 // an estimate, 0 without a budget
	tableBytes           int64 // by PostgreSQL's last VACUUM or ANALYZE
	expired, evicted     int64 // removed since the cache was made
	lastRound            float64
}

// cacheStates asks the database for the states of the caches, however many
// scrape at a time, at most once in statesAge.
type cacheStates struct {
	db *core.DB

	mu    sync.Mutex
	asked time.Time
	found []cacheState
	up    bool
}

const (
	statesAge     = 5 * time.Second
	statesTimeout = time.Second
)

// read returns the states, and whether the database answered. If it did not,
// the states are those of its last answer.
func (s *cacheStates) read() (found []cacheState, up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.asked) < statesAge {
		return s.found, s.up
	}
	ctx, cancel := context.WithTimeout(context.Background(), statesTimeout)
	defer cancel()
	found, err := s.ask(ctx)
	s.asked, s.up = time.Now(), err == nil
	if s.up {
		s.found = found
	}
	return s.found, s.up
}

func (s *cacheStates) ask(ctx context.Context) ([]cacheState, error) {
	conn, err := s.db.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	rows, err := conn.Query(ctx, schema.Query("cache_states"))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c cacheState, err error) {
		err = row.Scan(&c.name, &c.maxEntries, &c.maxBytes, &c.entries, &c.bytes, &c.tableBytes,
			&c.expired, &c.evicted, &c.lastRound)
		return c, err
	})
}
