package server

import (
	"context"
	"maps"
	"slices"
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
	here                 bool    // the server that answered has a table of it
	full                 bool    // it, or one of its partitions, refuses writes
}

// databaseState is what the database knows of itself.
type databaseState struct {
	version, role string // of the server; "primary" or "standby"
	schema        int    // the newest migration
}

// serverState is one of the servers that Citus spreads a database over.
type serverState struct {
	address string
	up      bool  // it answered; else its share is missing from all figures
	entries int64 // as of cacheState
	bytes   int64 // of tables and indexes
}

// cacheStates asks the database for the states of the caches, however many
// scrape at a time, at most once in statesAge.
type cacheStates struct {
	db *core.DB

	mu      sync.Mutex
	asked   time.Time
	found   states
	removed map[string]map[string]removals // by server and by cache, as it answered last
}

// removals are counters, which are not to fall while a server is away.
type removals struct{ expired, evicted int64 }

// states are the answer of the database.
type states struct {
	up       bool      // it answered; else database is of its last answer
	at       time.Time // of the answer; zero: it never answered
	caches   []cacheState
	servers  []serverState // where there are several
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
	s.ask(ctx)
	s.asked = time.Now()
	return s.found
}

// answer is what one server says.
type answer struct {
	database databaseState
	caches   []cacheState
	err      error
}

// ask asks all servers at once, and keeps what they say. s.mu is held.
func (s *cacheStates) ask(ctx context.Context) {
	servers := s.db.Servers()
	if servers == nil {
		servers = []core.Server{{DB: s.db}}
	}
	answers := make([]answer, len(servers))
	var work sync.WaitGroup
	for i, server := range servers {
		work.Go(func() { answers[i] = askServer(ctx, server.DB) })
	}
	work.Wait()
	if s.found.up = answers[0].err == nil; s.found.up {
		s.found.database = answers[0].database
	}
	if slices.ContainsFunc(answers, func(a answer) bool { return a.err == nil }) {
		s.found.at = time.Now()
		s.found.caches = s.merge(servers, answers)
	}
	if s.found.servers = nil; len(servers) > 1 {
		for i, server := range servers {
			s.found.servers = append(s.found.servers, answers[i].state(server.Address))
		}
	}
}

// state is what is told of one server of several.
func (a *answer) state(address string) serverState {
	of := serverState{address: address, up: a.err == nil}
	for i := range a.caches {
		of.entries += a.caches[i].entries
		of.bytes += a.caches[i].tableBytes + a.caches[i].indexBytes
	}
	return of
}

// merge makes one state of each cache. What was removed on a server that is away stays
// counted.
func (s *cacheStates) merge(servers []core.Server, answers []answer) []cacheState {
	if len(servers) == 1 {
		return answers[0].caches
	}
	former := s.removed
	s.removed = make(map[string]map[string]removals)
	merged := make(map[string]*cacheState)
	for i := range answers {
		for _, of := range answers[i].caches {
			if merged[of.name] == nil {
				merged[of.name] = &cacheState{name: of.name, maxEntries: of.maxEntries, maxBytes: of.maxBytes}
			}
			if of.here {
				merged[of.name].addServer(of)
			}
		}
	}
	for i, server := range servers {
		removed := former[server.Address]
		if answers[i].err == nil {
			removed = make(map[string]removals)
			for _, of := range answers[i].caches {
				removed[of.name] = removals{of.expired, of.evicted}
			}
		}
		s.removed[server.Address] = removed
		for name, of := range removed {
			if sum := merged[name]; sum != nil {
				sum.expired, sum.evicted = sum.expired+of.expired, sum.evicted+of.evicted
			}
		}
	}
	var all []cacheState
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		all = append(all, *merged[name])
	}
	return all
}

// addServer adds what another server has of the cache, but for the budget, which all know,
// and for what was removed. Of rounds and VACUUM it tells the one that is longest ago.
func (s *cacheState) addServer(of cacheState) {
	if !s.here {
		s.lastRound, s.lastVacuum = of.lastRound, of.lastVacuum
	}
	s.here = true
	s.entries += of.entries
	s.bytes += of.bytes
	s.tableBytes += of.tableBytes
	s.indexBytes += of.indexBytes
	s.deadRows += of.deadRows
	s.full = s.full || of.full
	s.lastRound, s.lastVacuum = min(s.lastRound, of.lastRound), min(s.lastVacuum, of.lastVacuum)
}

func askServer(ctx context.Context, db *core.DB) (a answer) {
	conn, err := db.Acquire(ctx)
	if err != nil {
		return answer{err: err}
	}
	defer conn.Release()
	d := &a.database
	if err := conn.QueryRow(ctx, schema.Query("database_state")).Scan(&d.version, &d.role, &d.schema); err != nil {
		return answer{err: err}
	}
	rows, err := conn.Query(ctx, schema.Query("cache_states"))
	if err != nil {
		return answer{err: err}
	}
	a.caches, a.err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c cacheState, err error) {
		err = row.Scan(&c.name, &c.maxEntries, &c.maxBytes, &c.entries, &c.bytes, &c.tableBytes,
			&c.expired, &c.evicted, &c.lastRound, &c.indexBytes, &c.deadRows, &c.lastVacuum, &c.here, &c.full)
		return c, err
	})
	return a
}
