package howdah

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

const (
	// watchInterval is how often a process looks whether it leads, whether the
	// UNLOGGED caches were emptied, and which caches are full.
	watchInterval = time.Second

	// lease is how long a leader that does not renew stays the leader.
	lease = 5 * time.Second

	// roundTime bounds one round, and with it how long a row that it removes
	// is locked: less than the default of Options.LockTimeout.
	roundTime = 12 * time.Millisecond

	// overTime is the same while a cache is over its budget: what it locks
	// then is what was not used for long.
	overTime = 50 * time.Millisecond

	// gentleTime bounds a round, and gentlePause is the rest after it, while
	// very much has expired at once: a burst that is over before the scheduler
	// makes others wait. Rows that expire faster than this removes them are met
	// by longer rounds from patience on.
	gentleTime  = 500 * time.Microsecond
	gentlePause = 18 * time.Millisecond
	patience    = 45 * time.Second

	// estimateTime is the shortest round that looks how full a cache is.
	estimateTime = 5 * time.Millisecond

	// upkeepTimeout bounds one exchange with the database.
	upkeepTimeout = 5 * time.Second
)

// UpkeepOfSessions is the name under which upkeep tells of the sessions of
// package session, beside the caches.
const UpkeepOfSessions = "howdah.session"

// Upkeep is what one round did to one cache, or to the sessions.
type Upkeep struct {
	Cache    string        // its name, or UpkeepOfSessions
	Expired  int64         // rows removed because they had expired
	Evicted  int64         // rows removed for the budget
	Bytes    int64         // what the removed rows needed: key, value and 88 bytes each; 0 for sessions
	Blocks   int64         // looked at
	Elapsed  time.Duration // in the database
	Entries  int64         // estimate of what the cache holds; 0 without a budget
	Size     int64         // bytes, likewise
	More     bool          // there is work left
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
	if db.closed.Load() {
		return nil, ErrClosed
	}
	ctx, cancel := db.bounded(ctx, upkeepTimeout+opts.MaxTime)
	defer cancel()
	lag := cmp.Or(opts.MaxReplicationLag, db.opts.MaxReplicationLag)
	var rounds []Upkeep
	err := db.unsynced(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, schema.Query("maintain"),
			opts.Cache, opts.MaxRows, opts.MaxBlocks, interval(opts.MaxTime), lag)
		if err != nil {
			return err
		}
		rounds, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (u Upkeep, err error) {
			var milliseconds float64
			err = row.Scan(&u.Cache, &u.Expired, &u.Evicted, &u.Bytes, &u.Blocks, &milliseconds, &u.Entries, &u.Size, &u.More, &u.HeldBack)
			u.Elapsed = time.Duration(milliseconds * float64(time.Millisecond))
			return u, err
		})
		return err
	})
	return rounds, schemaFailure(err)
}

// unsynced runs fn in a transaction whose commit waits for no disk: what
// upkeep does is not lost with it, only done again.
func (db *DB) unsynced(ctx context.Context, fn func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, schema.Query("unsynced")); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Run does the upkeep until ctx ends, and then returns nil. A program that
// serves caches or sessions runs it in a goroutine; of all processes on one database one
// leads and does the rounds, and when it dies another takes over within
// seconds. A process whose callers write much to a cache with a budget does
// rounds as well. Every process notes for itself what its callers read.
//
// It tells Options.Logger what goes wrong, and goes on. It returns ErrClosed
// once the DB is closed.
func (db *DB) Run(ctx context.Context) error {
	u := &upkeep{db: db, holder: rand.Text(), pace: watchInterval, longest: watchInterval}
	defer u.end(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-db.upkeep.wake:
			u.called = true
			u.nextRound = time.Time{}
		}
		if db.closed.Load() {
			return ErrClosed
		}
		err := u.step(ctx)
		if ctx.Err() != nil {
			return nil
		}
		u.report(err)
		timer.Reset(u.wait(time.Now()))
	}
}

// upkeep is the state of one Run.
type upkeep struct {
	db     *DB
	holder string // names this Run in howdah.leader

	leads   bool
	epoch   int64
	budgets map[string]budget

	pace      time.Duration
	called    bool      // its writers call for a round, whoever leads
	peeked    time.Time // the last round that it learnt of from others
	over      bool      // a cache is over its budget
	backlogs  backlogs
	nextAll   time.Time     // when every cache has a round again, whatever the backlog
	longest   time.Duration // pause between such rounds
	gentle    bool          // the last round was one for the backlog
	nextWatch time.Time
	nextRound time.Time
	nextFlush time.Time
	nextClean time.Time
	failing   string // the error that was reported last

	cleaner   sync.WaitGroup // of a VACUUM that is running
	cleaning  atomic.Bool
	cleanings map[string]cleaning
	toldOwner bool // that only the owner may run VACUUM
}

// budget is what upkeep needs to know of a cache's settings.
type budget struct {
	policy              string
	maxEntries, maxSize int64
	full                bool
}

func (b budget) limited() bool { return b.maxEntries > 0 || b.maxSize > 0 }

// step does what is due.
func (u *upkeep) step(ctx context.Context) error {
	now := time.Now()
	if !now.Before(u.nextWatch) {
		u.nextWatch = now.Add(watchInterval)
		if err := u.watch(ctx); err != nil {
			u.leads = false
			u.db.releaseWriters()
			return err
		}
	}
	if !now.Before(u.nextFlush) {
		u.nextFlush = now.Add(flushInterval)
		if err := u.db.flushReads(ctx); err != nil {
			return err
		}
	}
	if !now.Before(u.nextRound) && (u.leads || u.called) {
		rounds, err := u.round(ctx)
		u.pace = u.next(rounds)
		u.nextRound = time.Now().Add(u.pace)
		if err != nil {
			u.db.releaseWriters()
			return err
		}
		// Without a row somebody else was in a round. While a cache is over its
		// budget, who was called goes on.
		u.called = u.called && (len(rounds) == 0 || u.over)
	}
	if u.leads && !now.Before(u.nextClean) {
		u.nextClean = now.Add(cleanInterval)
		return u.clean(ctx)
	}
	return nil
}

// wait is how long nothing is due.
func (u *upkeep) wait(now time.Time) time.Duration {
	next := u.nextWatch
	for _, t := range []time.Time{u.nextFlush, u.nextRound} {
		if t.Before(next) && (u.leads || u.called || t != u.nextRound) {
			next = t
		}
	}
	return max(time.Millisecond, next.Sub(now))
}

// watch renews the lease, or takes it from a leader that is gone, and looks
// at what any process must know.
func (u *upkeep) watch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	var before, epoch int64
	budgets := make(map[string]budget)
	used := make(map[string]Upkeep)
	err := u.db.unsynced(ctx, func(tx pgx.Tx) error {
		// The statement's snapshot still shows the epoch as it was.
		err := tx.QueryRow(ctx, schema.Query("epoch")).Scan(&before, &epoch)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, schema.Query("lead"), u.holder, lease)
		if err != nil {
			return err
		}
		u.leads = tag.RowsAffected() == 1
		rows, err := tx.Query(ctx, schema.Query("budgets"))
		if err != nil {
			return err
		}
		var now Upkeep
		var b budget
		_, err = pgx.ForEachRow(rows, []any{&now.Cache, &b.policy, &b.maxEntries, &b.maxSize, &b.full, &now.Entries, &now.Size}, func() error {
			budgets[now.Cache] = b
			used[now.Cache] = now
			return nil
		})
		return err
	})
	if err != nil {
		return failure(err, false, false)
	}
	u.db.upkeep.leads.Store(u.leads)
	if u.epoch == 0 {
		u.epoch = before
	}
	if epoch != u.epoch {
		u.db.upkeep.resets.Add(uint64(max(1, epoch-u.epoch)))
		u.db.opts.log().Warn("howdah: the UNLOGGED caches were empty after a crash, a failover or a restore", "epoch", epoch)
	}
	u.epoch = epoch
	u.budgets = budgets
	u.db.applyBudgets(budgets, used)
	return nil
}

// round does one round and counts it.
func (u *upkeep) round(ctx context.Context) ([]Upkeep, error) {
	opts := MaintainOptions{MaxTime: roundTime}
	switch now := time.Now(); {
	case u.over:
		opts.MaxTime = overTime
	case len(u.backlogs) > 0 && !u.called && now.Before(u.nextAll):
		b := u.backlogs.turn()
		opts.Cache, opts.MaxTime = b.cache, b.roundTime(now)
	default:
		u.nextAll = now.Add(min(time.Second, u.longest))
	}
	u.gentle = opts.Cache != ""
	written := u.db.rowsWritten()
	rounds, err := u.db.Maintain(ctx, opts)
	if err != nil {
		u.backlogs = nil // the cache may be gone
		return nil, err
	}
	if len(rounds) == 0 {
		return nil, u.peek(ctx, written)
	}
	s := &u.db.upkeep
	s.rounds.Add(1)
	held := false
	for _, r := range rounds {
		held = held || r.HeldBack
		if r.Cache == UpkeepOfSessions {
			s.sessions.Add(uint64(r.Expired))
			continue
		}
		s.expired.Add(uint64(r.Expired))
		s.evicted.Add(uint64(r.Evicted))
		if opts.MaxTime < estimateTime {
			continue
		}
		u.db.press(r, u.budgets[r.Cache], written[r.Cache])
		if b := u.budgets[r.Cache]; b.limited() && b.policy == "noeviction" {
			// A cache that becomes full, or has room again, is seen at once.
			if full := b.share(r) >= 1; full != b.full {
				u.nextWatch = time.Time{}
			}
		}
	}
	if !u.gentle && s.heldBack.Swap(held) != held {
		if held {
			u.db.opts.log().Warn("howdah: expiry is slowed down: a standby or a replication slot is far behind", "bound_bytes", u.db.opts.MaxReplicationLag)
		} else {
			u.db.opts.log().Info("howdah: expiry goes on at full speed")
		}
	}
	return rounds, nil
}

// peek tells the writers what the last round found, whoever did it: somebody
// else is in one now. That it has ever evicted is enough to know.
func (u *upkeep) peek(ctx context.Context, written map[string]int64) error {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	rows, err := u.db.pool.Query(ctx, schema.Query("rounds"), u.peeked)
	if err != nil {
		return failure(err, false, false)
	}
	var r Upkeep
	_, err = pgx.ForEachRow(rows, []any{&r.Cache, &r.Entries, &r.Size, &r.Evicted, &u.peeked}, func() error {
		u.db.press(r, u.budgets[r.Cache], written[r.Cache])
		return nil
	})
	return failureOrNil(err)
}

// share is how much of its budget a cache uses.
func (b budget) share(r Upkeep) float64 {
	var share float64
	if b.maxEntries > 0 {
		share = float64(r.Entries) / float64(b.maxEntries)
	}
	if b.maxSize > 0 {
		share = max(share, float64(r.Size)/float64(b.maxSize))
	}
	return share
}

// next is the pause after a round: none while a cache is over its budget, at
// least three times the round while much has expired, then longer and longer.
func (u *upkeep) next(rounds []Upkeep) time.Duration {
	const shortest, longest = 50 * time.Millisecond, 5 * time.Second
	var work bool
	u.over = false
	var elapsed time.Duration
	bound := u.longest
	if !u.gentle {
		bound = longest
	}
	stuck := false // there is more, and it was locked
	for _, r := range rounds {
		elapsed += r.Elapsed
		stuck = stuck || r.More && !r.HeldBack && r.Expired+r.Evicted == 0
		// What is held back does not call for the next round.
		work = work || r.Evicted > 0 || r.Expired > 0 && !r.HeldBack
		u.backlogs.note(r, time.Now())
		u.over = u.over || r.More && r.Evicted > 0
		if b := u.budgets[r.Cache]; b.limited() && !u.gentle {
			bound = min(bound, time.Second)
			if b.share(r) > 0.8 {
				bound = min(bound, shortest*4)
			}
		}
	}
	u.longest = bound
	u.backlogs.forget(time.Now())
	switch {
	case u.over:
		return time.Millisecond
	case stuck:
		u.nextAll = time.Time{}
		return max(5*time.Millisecond, 3*elapsed)
	case len(u.backlogs) > 0:
		return max(gentlePause, 3*elapsed)
	case len(rounds) == 0 && u.called:
		return holdStep
	case work, rounds == nil:
		return min(bound, max(shortest, u.pace/2))
	default:
		return min(bound, max(shortest, u.pace*2))
	}
}

// report logs an error when it is new, and that it is over.
func (u *upkeep) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == u.failing {
		return
	}
	if err != nil {
		u.db.opts.log().Warn("howdah: upkeep failed and will be tried again", "error", oneLine{err})
	} else {
		u.db.opts.log().Info("howdah: upkeep works again")
	}
	u.failing = text
}

// end hands over: the next leader need not wait for the lease to run out.
func (u *upkeep) end(ctx context.Context) {
	u.cleaner.Wait()
	u.db.upkeep.leads.Store(false)
	u.db.upkeep.heldBack.Store(false)
	u.db.applyBudgets(nil, nil)
	u.db.releaseWriters()
	if u.db.closed.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, err := u.db.pool.Exec(ctx, schema.Query("resign"), u.holder)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		u.db.opts.log().Debug("howdah: the leader could not hand over", "error", oneLine{err})
	}
}

// upkeepCounters are what Run counts.
type upkeepCounters struct {
	wake chan struct{} // much was written

	leads, heldBack                            atomic.Bool
	rounds, expired, evicted, sessions, resets atomic.Uint64
}

// UpkeepStats are the counters of Run.
type UpkeepStats struct {
	Leader   bool   // this process does the rounds now
	HeldBack bool   // its last round was slowed down: a standby or a slot is behind (see Options.MaxReplicationLag)
	Rounds   uint64 // done by this process
	Expired  uint64 // entries that they removed because they had expired
	Evicted  uint64 // entries that they removed for a budget
	Sessions uint64 // expired sessions that they removed
	Resets   uint64 // times that the UNLOGGED caches were found emptied
}

func (n *upkeepCounters) stats() UpkeepStats {
	return UpkeepStats{
		Leader: n.leads.Load(), HeldBack: n.heldBack.Load(), Rounds: n.rounds.Load(), Expired: n.expired.Load(),
		Evicted: n.evicted.Load(), Sessions: n.sessions.Load(), Resets: n.resets.Load(),
	}
}
