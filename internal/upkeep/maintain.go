// Package upkeep removes what has expired and what a budget has no room for,
// writes to the rows when they were read, and helps where autovacuum does not
// keep up. A schedule, which knows only a clock, says what is due when.
package upkeep

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/schema"
)

// timeout bounds one exchange with the database.
const timeout = 5 * time.Second

// Sessions is the name under which a Round reports the sessions of package
// session, beside the caches.
const Sessions = "howdah.session"

// Round is what one round did to one cache, or to the sessions. Package howdah
// documents the fields of Round, Options and Stats.
type Round struct {
	Cache    string
	Expired  int64
	Evicted  int64
	Bytes    int64
	Blocks   int64
	Elapsed  time.Duration
	Entries  int64
	Size     int64
	More     bool
	HeldBack bool
}

// Options bound a round. The zero value of every field is its default.
type Options struct {
	Cache     string
	MaxRows   int
	MaxBlocks int
	MaxTime   time.Duration

	MaxReplicationLag int64
}

// Stats are the counters of Run.
type Stats struct {
	Leader   bool
	HeldBack bool
	Rounds   uint64
	Expired  uint64
	Evicted  uint64
	Sessions uint64
	Resets   uint64
}

// Add adds the counters of another server.
func (s *Stats) Add(o Stats) {
	s.Leader, s.HeldBack = s.Leader || o.Leader, s.HeldBack || o.HeldBack
	s.Rounds, s.Expired, s.Evicted = s.Rounds+o.Rounds, s.Expired+o.Expired, s.Evicted+o.Evicted
	s.Sessions, s.Resets = s.Sessions+o.Sessions, s.Resets+o.Resets
}

// Upkeep is the upkeep of one database by one process.
type Upkeep struct {
	set               *engine.Set
	called            <-chan struct{} // engine.Options.Called
	vacuums           bool            // a session's settings stay with it: no transaction pooler
	maxReplicationLag int64

	// AskEvents is called before the setting of keyspace events is read. What it returns
	// takes what was read, and reports whether events of expired keys are published. nil:
	// none are.
	AskEvents func() (answer func(setting string) (expired bool))

	leads, heldBack                            atomic.Bool
	rounds, expired, evicted, sessions, resets atomic.Uint64
}

// New makes the upkeep of a Set. called is engine.Options.Called, vacuums says
// that VACUUM may be run on its connections, and maxReplicationLag is the default
// of Options.MaxReplicationLag.
func New(set *engine.Set, called <-chan struct{}, vacuums bool, maxReplicationLag int64) *Upkeep {
	return &Upkeep{set: set, called: called, vacuums: vacuums, maxReplicationLag: maxReplicationLag}
}

// Stats returns a snapshot of the counters.
func (u *Upkeep) Stats() Stats {
	return Stats{
		Leader: u.leads.Load(), HeldBack: u.heldBack.Load(), Rounds: u.rounds.Load(), Expired: u.expired.Load(),
		Evicted: u.evicted.Load(), Sessions: u.sessions.Load(), Resets: u.resets.Load(),
	}
}

// Maintain does one bounded round, as howdah.maintain does from SQL, and says for
// each cache that it came to what it did. No row at all means that another
// session is in a round. Errors: ErrClosed, ErrCacheNotFound, ErrUnavailable,
// ErrPermission, ErrTimeout.
func (u *Upkeep) Maintain(ctx context.Context, opts Options) ([]Round, error) {
	if u.set.Closed() {
		return nil, fault.ErrClosed
	}
	ctx, cancel := engine.Bounded(ctx, timeout+opts.MaxTime)
	defer cancel()
	lag := cmp.Or(opts.MaxReplicationLag, u.maxReplicationLag)
	var maxTime *time.Duration
	if opts.MaxTime != 0 {
		maxTime = &opts.MaxTime
	}
	var rounds []Round
	err := u.relaxed(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, schema.Query("maintain"),
			opts.Cache, opts.MaxRows, opts.MaxBlocks, maxTime, lag)
		if err != nil {
			return err
		}
		rounds, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Round, err error) {
			var milliseconds float64
			err = row.Scan(&r.Cache, &r.Expired, &r.Evicted, &r.Bytes, &r.Blocks, &milliseconds, &r.Entries, &r.Size, &r.More, &r.HeldBack)
			r.Elapsed = time.Duration(milliseconds * float64(time.Millisecond))
			return r, err
		})
		return err
	})
	for _, round := range rounds {
		if err == nil && round.Cache != Sessions {
			u.set.Removals().Round(statement.CacheOf(round.Cache), round.Expired, round.Evicted)
		}
	}
	return rounds, fault.FromFunction(err)
}

// relaxed runs fn in a transaction whose commit waits for no disk: what upkeep
// does is not lost with it, only done again.
func (u *Upkeep) relaxed(ctx context.Context, fn func(pgx.Tx) error) error {
	return u.set.Begin(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, schema.Query("unsynced")); err != nil {
			return err
		}
		return fn(tx)
	})
}
