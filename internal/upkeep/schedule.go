package upkeep

import (
	"time"

	"github.com/howdah/howdah/internal/engine"
)

const (
	// watchInterval is how often a process looks whether it leads, whether the
	// UNLOGGED caches were emptied, and which caches are full.
	watchInterval = time.Second

	// flushInterval is how often what was read is noted in the rows.
	flushInterval = 5 * time.Second

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

	// shortestPause and longestPause bound the rest between rounds for all caches.
	shortestPause = 50 * time.Millisecond
	longestPause  = 5 * time.Second

	// budgetPause bounds it for a cache with a budget, fullPause where the
	// cache is nearly full.
	budgetPause = time.Second
	fullPause   = 4 * shortestPause

	// eventPause bounds it while events of expired keys are published: with the round
	// itself, there is one each second.
	eventPause = 900 * time.Millisecond
)

// schedule says what is due when. It knows a clock only through its arguments,
// and touches nothing.
type schedule struct {
	leads  bool // this process does the rounds
	called bool // its writers call for a round, whoever leads
	events bool // subscribers wait for the events of expired keys

	pace     time.Duration // pause after the last round
	longest  time.Duration // pause between rounds for all caches; see bound
	over     bool          // a cache is over its budget
	gentle   bool          // the last round was one for a backlog
	backlogs backlogs

	nextWatch time.Time
	nextFlush time.Time
	nextRound time.Time
	nextAll   time.Time // when every cache has a round again, whatever the backlog
	nextClean time.Time
}

func newSchedule() *schedule { return &schedule{pace: watchInterval, longest: watchInterval} }

// call takes note that writers call for a round.
func (s *schedule) call() {
	s.called = true
	s.nextRound = time.Time{}
}

// announce takes note whether events of expired keys are published. If they are, the next
// round comes soon, however late it was to be.
func (s *schedule) announce(events bool, now time.Time) {
	s.events = events
	if soon := now.Add(eventPause); events && soon.Before(s.nextRound) {
		s.nextRound = soon
	}
}

// watchDue, flushDue, roundDue and cleanDue report what is due, and the first,
// second and last take note that it is done now.
func (s *schedule) watchDue(now time.Time) bool { return due(&s.nextWatch, now, watchInterval) }
func (s *schedule) flushDue(now time.Time) bool { return due(&s.nextFlush, now, flushInterval) }
func (s *schedule) cleanDue(now time.Time) bool {
	return s.leads && due(&s.nextClean, now, cleanInterval)
}
func (s *schedule) roundDue(now time.Time) bool {
	return (s.leads || s.called) && !now.Before(s.nextRound)
}

func due(next *time.Time, now time.Time, interval time.Duration) bool {
	if now.Before(*next) {
		return false
	}
	*next = now.Add(interval)
	return true
}

// wait is how long nothing is due.
func (s *schedule) wait(now time.Time) time.Duration {
	next := s.nextWatch
	if s.nextFlush.Before(next) {
		next = s.nextFlush
	}
	if (s.leads || s.called) && s.nextRound.Before(next) {
		next = s.nextRound
	}
	return max(time.Millisecond, next.Sub(now))
}

// begin chooses what the round that is due now is for: one cache with a backlog,
// or all.
func (s *schedule) begin(now time.Time) Options {
	opts := Options{MaxTime: roundTime}
	switch {
	case s.over:
		opts.MaxTime = overTime
	case len(s.backlogs) > 0 && !s.called && now.Before(s.nextAll):
		b := s.backlogs.turn()
		opts.Cache, opts.MaxTime = b.cache, b.roundTime(now)
	default:
		s.nextAll = now.Add(min(watchInterval, s.bound()))
	}
	s.gentle = opts.Cache != ""
	return opts
}

// end takes what a round did, nil if it failed, and says when the next is due.
func (s *schedule) end(rounds []Round, failed bool, budgets map[string]engine.Budget, now time.Time) {
	if failed {
		s.backlogs = nil // the cache may be gone
	}
	s.pace = s.pause(rounds, failed, budgets, now)
	s.nextRound = now.Add(s.pace)
	if !failed {
		// Without a row somebody else was in a round. While a cache is over its
		// budget, who was called goes on.
		s.called = s.called && (len(rounds) == 0 || s.over)
	}
}

// pause is the rest after a round: none while a cache is over its budget, at
// least three times the round while much has expired, then longer and longer.
func (s *schedule) pause(rounds []Round, failed bool, budgets map[string]engine.Budget, now time.Time) time.Duration {
	s.over = false
	var elapsed time.Duration
	work, stuck := false, false // stuck: there is more, and it was locked
	for _, r := range rounds {
		elapsed += r.Elapsed
		stuck = stuck || r.More && !r.HeldBack && r.Expired+r.Evicted == 0
		// What is held back does not call for the next round.
		work = work || r.Evicted > 0 || r.Expired > 0 && !r.HeldBack
		s.over = s.over || r.More && r.Evicted > 0
		s.backlogs.note(r, now)
	}
	if !s.gentle {
		s.longest = longest(rounds, budgets)
	}
	s.backlogs.forget(now)
	switch {
	case s.over:
		return time.Millisecond
	case stuck:
		s.nextAll = time.Time{}
		return max(5*time.Millisecond, 3*elapsed)
	case len(s.backlogs) > 0:
		return max(gentlePause, 3*elapsed)
	case len(rounds) == 0 && s.called:
		return engine.HoldStep
	case work, failed, len(rounds) == 0:
		return min(s.bound(), max(shortestPause, s.pace/2))
	default:
		return min(s.bound(), max(shortestPause, s.pace*2))
	}
}

// bound is the longest pause between rounds for all caches.
func (s *schedule) bound() time.Duration {
	if s.events {
		return min(s.longest, eventPause)
	}
	return s.longest
}

// longest is the longest pause by the budgets after a round for all caches.
func longest(rounds []Round, budgets map[string]engine.Budget) time.Duration {
	bound := longestPause
	for _, r := range rounds {
		b := budgets[r.Cache]
		if !b.Limited() {
			continue
		}
		bound = min(bound, budgetPause)
		if b.Share(r.Entries, r.Size) > 0.8 {
			bound = min(bound, fullPause)
		}
	}
	return bound
}
