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
	indexBytes           int64   // of the primary key, by the last VACUUM or ANALYZE
	deadRows             int64   // by PostgreSQL's counters
	lastVacuum           float64 // in Unix seconds; 0: never
}

// databaseState is what the database knows of itself.
type databaseState struct {
	version, role string // of the server; "primary" or "standby"
	schema        int    // the newest migration
}

// cacheStates asks the database for the states of the caches, however many
// scrape at a time, at most once in statesAge.
type cacheStates struct {
	db *core.DB

	mu    sync.Mutex
	asked time.Time
	found states
}

// states are the answer of the database.
type states struct {
	up       bool      // it answered; else the rest is its last answer
	at       time.Time // of the answer; zero: it never answered
	caches   []cacheState
	database databaseState
}

const (
	statesAge     = 5 * time.Second
	statesTimeout = time.Second
)

// read returns the states of the last statesAge.
func (s *cacheStates) read() states {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.asked) < statesAge {
		return s.found
	}
	ctx, cancel := context.WithTimeout(context.Background(), statesTimeout)
	defer cancel()
	found, err := s.ask(ctx)
	s.asked = time.Now()
	if s.found.up = err == nil; s.found.up {
		s.found = found
	}
	return s.found
}

func (s *cacheStates) ask(ctx context.Context) (found states, err error) {
	conn, err := s.db.Acquire(ctx)
	if err != nil {
		return found, err
	}
	defer conn.Release()
	d := &found.database
	if err := conn.QueryRow(ctx, schema.Query("database_state")).Scan(&d.version, &d.role, &d.schema); err != nil {
		return found, err
	}
	rows, err := conn.Query(ctx, schema.Query("cache_states"))
	if err != nil {
		return found, err
	}
	found.caches, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c cacheState, err error) {
		err = row.Scan(&c.name, &c.maxEntries, &c.maxBytes, &c.entries, &c.bytes, &c.tableBytes,
			&c.expired, &c.evicted, &c.lastRound, &c.indexBytes, &c.deadRows, &c.lastVacuum)
		return c, err
	})
	found.up, found.at = true, time.Now()
	return found, err
}
