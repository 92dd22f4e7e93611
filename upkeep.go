package howdah

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/upkeep"
)

// UpkeepOfSessions is the name under which Upkeep reports the sessions of
// package session, beside the caches.
const UpkeepOfSessions = upkeep.Sessions

// Upkeep is what one round did to one cache, or to the sessions: of a cache in partitions,
// to those of them that it came to.
type Upkeep struct {
	Cache    string        // its name, or UpkeepOfSessions
	Expired  int64         // rows removed because they had expired
	Evicted  int64         // rows removed for the budget
	Bytes    int64         // what the removed rows needed: key, value and 100 bytes each; 0 for sessions
	Blocks   int64         // looked at
	Elapsed  time.Duration // in the database
	Entries  int64         // estimate of what the cache holds; 0 without a budget
	Size     int64         // bytes, likewise
	More     bool          // there is work left, or a partition that the round did not come to
	HeldBack bool          // expiry was slowed down because a standby or a slot is behind
}

// MaintainOptions bound a round. The zero value of every field is its default.
type MaintainOptions struct {
	Cache     string        // or UpkeepOfSessions. Default: all, those that waited longest first
	MaxRows   int           // at most so many rows are removed. Default 20,000
	MaxBlocks int           // at most so many blocks are looked at. Default 8,192
	MaxTime   time.Duration // nothing is begun after it. Default 50 ms

	// MaxReplicationLag is as in Options. Default: that of the DB.
	MaxReplicationLag int64
}

// Maintain does one bounded round of upkeep, as howdah.maintain does from SQL,
// and says for each cache that it came to what it did. No row at all means
// that another session is in a round. Programs that run do not need it: see
// Run. Errors: ErrCacheNotFound, ErrUnavailable, ErrPermission, ErrTimeout.
func (db *DB) Maintain(ctx context.Context, opts MaintainOptions) ([]Upkeep, error) {
	found, err := db.core().Maintain(ctx, upkeep.Options(opts))
	var rounds []Upkeep
	for _, r := range found {
		rounds = append(rounds, Upkeep(r))
	}
	return rounds, err
}

// Run does the upkeep until ctx ends, and then returns nil. A program that
// serves caches or sessions runs it in a goroutine; of all processes on one
// database one leads and does the rounds, and when it dies another takes over
// within seconds. A process whose callers write much to a cache with a budget
// does rounds as well. Every process notes for itself what its callers read.
//
// It logs to Options.Logger what goes wrong, and goes on. It returns ErrClosed
// once the DB is closed.
func (db *DB) Run(ctx context.Context) error { return db.core().Run(ctx) }
