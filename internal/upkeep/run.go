package upkeep

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// lease is how long a leader that does not renew stays the leader.
const lease = 5 * time.Second

// run is the state of one Run.
type run struct {
	*Upkeep
	schedule *schedule
	holder   string // names this Run in howdah.leader

	epoch   int64
	budgets map[string]engine.Budget
	learnt  time.Time // when the last round ended that was learnt from others
	failing string    // the error that was reported last

	cleaner      sync.WaitGroup // of a VACUUM that is running
	cleaning     atomic.Bool
	cleanings    map[string]cleaning
	ownerMissing bool // it was reported that only the owner may run VACUUM
}

// Run does the upkeep until ctx ends, and then returns nil. Of all processes on
// one database one leads and does the rounds, and when it dies another takes
// over within seconds. A process whose callers write much to a cache with a
// budget does rounds as well. Every process notes for itself what its callers
// read. It logs what goes wrong, and goes on. Error: ErrClosed.
func (u *Upkeep) Run(ctx context.Context) error {
	r := &run{Upkeep: u, schedule: newSchedule(), holder: rand.Text()}
	defer r.end(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-u.called:
			r.schedule.call()
		}
		if u.set.Closed() {
			return fault.ErrClosed
		}
		r.tick(ctx, time.Now())
		if ctx.Err() != nil {
			return nil
		}
		timer.Reset(r.schedule.wait(time.Now()))
	}
}

// tick does what is due and logs how it went.
func (r *run) tick(ctx context.Context, now time.Time) {
	answered, err := r.step(ctx, now)
	if ctx.Err() == nil && (err != nil || answered) {
		r.report(err)
	}
}

// step does what is due, and reports whether the database answered. A step with
// nothing to ask it says nothing about it.
func (r *run) step(ctx context.Context, now time.Time) (answered bool, err error) {
	if r.schedule.watchDue(now) {
		if err := r.watch(ctx, now); err != nil {
			r.schedule.leads = false
			r.set.Release()
			return false, err
		}
		answered = true
	}
	if r.schedule.flushDue(now) {
		if err := r.flushReads(ctx); err != nil {
			return answered, err
		}
	}
	if r.schedule.roundDue(now) {
		rounds, err := r.round(ctx, now)
		r.schedule.end(rounds, err != nil, r.budgets, time.Now())
		if err != nil {
			r.set.Release()
			return answered, err
		}
		answered = true
	}
	if r.schedule.cleanDue(now) {
		return answered, r.clean(ctx)
	}
	return answered, nil
}

// watched is what watch reads of one cache.
type watched struct {
	cache         string
	budget        engine.Budget
	entries, size int64
}

// watch renews the lease, or takes it from a leader that is gone, and looks
// at what any process must know.
func (r *run) watch(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var before, epoch int64
	var events string
	answer := func(string) bool { return false }
	if r.AskEvents != nil {
		answer = r.AskEvents()
	}
	var caches []watched
	err := r.relaxed(ctx, func(tx pgx.Tx) (err error) {
		// The statement's snapshot still shows the epoch as it was.
		if err = tx.QueryRow(ctx, schema.Query("epoch")).Scan(&before, &epoch, &events); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, schema.Query("lead"), r.holder, lease)
		if err != nil {
			return err
		}
		r.schedule.leads = tag.RowsAffected() == 1
		caches, err = watchCaches(ctx, tx)
		return err
	})
	if err != nil {
		return fault.From(err, false, false)
	}
	r.schedule.announce(answer(events), now)
	r.leads.Store(r.schedule.leads)
	r.noteEpoch(before, epoch)
	r.apply(caches)
	return nil
}

func watchCaches(ctx context.Context, tx pgx.Tx) ([]watched, error) {
	rows, err := tx.Query(ctx, schema.Query("budgets"))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w watched, err error) {
		err = row.Scan(&w.cache, &w.budget.Policy, &w.budget.MaxEntries, &w.budget.MaxBytes, &w.budget.Full, &w.entries, &w.size)
		return w, err
	})
}

// noteEpoch counts and logs when the UNLOGGED caches were emptied.
func (r *run) noteEpoch(before, epoch int64) {
	if r.epoch == 0 {
		r.epoch = before
	}
	if epoch != r.epoch {
		r.resets.Add(uint64(max(1, epoch-r.epoch)))
		r.set.Logger.Warn("howdah: the UNLOGGED caches were empty after a crash, a failover or a restore", "epoch", epoch)
	}
	r.epoch = epoch
}

// apply hands the engines what watch saw: whose reads are to be counted, and who
// is full. A cache that it has not seen is newer, or gone.
func (r *run) apply(caches []watched) {
	r.budgets = make(map[string]engine.Budget, len(caches))
	found := make(map[string]watched, len(caches))
	for _, w := range caches {
		r.budgets[w.cache] = w.budget
		found[w.cache] = w
	}
	r.set.KeepBudgets()
	for _, e := range r.set.All() {
		if w, ok := found[e.Name()]; ok {
			e.Apply(w.budget, w.entries, w.size)
		}
	}
}

// written is how many rows this process has written to each cache.
func (r *run) written() map[string]int64 {
	rows := make(map[string]int64)
	for _, e := range r.set.All() {
		rows[e.Name()] = e.Pressure.Rows()
	}
	return rows
}

// round does one round and counts it.
func (r *run) round(ctx context.Context, now time.Time) ([]Round, error) {
	opts := r.schedule.begin(now)
	written := r.written()
	rounds, err := r.Maintain(ctx, opts)
	if err != nil {
		return nil, err
	}
	if len(rounds) == 0 {
		return []Round{}, r.learn(ctx, written)
	}
	r.rounds.Add(1)
	held := false
	for _, round := range rounds {
		held = held || round.HeldBack
		if round.Cache == Sessions {
			r.sessions.Add(uint64(round.Expired))
			continue
		}
		r.expired.Add(uint64(round.Expired))
		r.evicted.Add(uint64(round.Evicted))
		if opts.MaxTime >= estimateTime {
			r.observe(round, written[round.Cache])
		}
	}
	if !r.schedule.gentle && r.heldBack.Swap(held) != held {
		r.reportHeldBack(held)
	}
	return rounds, nil
}

// observe tells the writers of a cache what a round found.
func (r *run) observe(round Round, written int64) {
	b, known := r.budgets[round.Cache]
	if !known { // it is newer than the last watch
		r.schedule.nextWatch = time.Time{}
		return
	}
	if e := r.set.Known(round.Cache); e != nil {
		e.Observe(b, round.Entries, round.Size, round.Evicted > 0, written)
	}
	if b.Limited() && b.Policy == "noeviction" {
		// A cache that becomes full, or has room again, is seen at once.
		if full := b.Share(round.Entries, round.Size) >= 1; full != b.Full {
			r.schedule.nextWatch = time.Time{}
		}
	}
}

// learn tells the writers what the last round found that another session did:
// it is in one now. That it has ever evicted is enough to know.
func (r *run) learn(ctx context.Context, written map[string]int64) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	rows, err := r.set.Query(ctx, schema.Query("rounds"), r.learnt)
	if err != nil {
		return fault.From(err, false, false)
	}
	var round Round
	_, err = pgx.ForEachRow(rows, []any{&round.Cache, &round.Entries, &round.Size, &round.Evicted, &r.learnt}, func() error {
		b, known := r.budgets[round.Cache]
		if e := r.set.Known(round.Cache); e != nil && known && b.Policy != "noeviction" { // there only what this process has counted itself is exact
			e.Observe(b, round.Entries, round.Size, round.Evicted > 0, written[round.Cache])
		}
		return nil
	})
	return fault.From(err, false, false)
}

func (r *run) reportHeldBack(held bool) {
	if held {
		r.set.Logger.Warn("howdah: expiry is slowed down: a standby or a replication slot is far behind", "bound_bytes", r.maxReplicationLag)
	} else {
		r.set.Logger.Info("howdah: expiry goes on at full speed")
	}
}

// report logs an error when it is new, and when upkeep works again.
func (r *run) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == r.failing {
		return
	}
	if err != nil {
		r.set.Logger.Warn("howdah: upkeep failed and will be tried again", "error", fault.OneLine(err))
	} else {
		r.set.Logger.Info("howdah: upkeep works again")
	}
	r.failing = text
}

// end hands over: the next leader need not wait for the lease to run out.
func (r *run) end(ctx context.Context) {
	r.cleaner.Wait()
	r.leads.Store(false)
	r.heldBack.Store(false)
	r.set.Detach()
	if r.set.Closed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, err := r.set.Pool.Exec(ctx, schema.Query("resign"), r.holder)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		r.set.Logger.Debug("howdah: the leader could not hand over", "error", fault.OneLine(err))
	}
}
