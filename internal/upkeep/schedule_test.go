package upkeep

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/engine"
)

// clock is the time of a test.
type clock struct{ now time.Time }

func (c *clock) pass(d time.Duration) time.Time {
	c.now = c.now.Add(d)
	return c.now
}

func TestScheduleOfAFollower(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Unix(1000, 0)}
	s := newSchedule()
	require.True(t, s.watchDue(c.now))
	require.True(t, s.flushDue(c.now))
	require.False(t, s.roundDue(c.now), "another process leads")
	require.False(t, s.cleanDue(c.now))
	require.Equal(t, watchInterval, s.wait(c.now), "it looks again in a second")
	require.False(t, s.watchDue(c.pass(watchInterval-1)))
	require.True(t, s.watchDue(c.pass(1)))

	// Its writers call: it does a round at once, and no other after it.
	s.call()
	require.True(t, s.roundDue(c.now))
	require.Equal(t, Options{MaxTime: roundTime}, s.begin(c.now))
	s.end([]Round{{Cache: "c", Expired: 1}}, false, nil, c.now)
	require.False(t, s.roundDue(c.pass(time.Hour)))

	// Another session is in a round: it tries again soon.
	s.call()
	s.begin(c.now)
	s.end([]Round{}, false, nil, c.now)
	require.False(t, s.roundDue(c.now))
	require.True(t, s.roundDue(c.pass(engine.HoldStep)))
}

// While there is work, rounds follow each other fast; then ever more slowly, and
// never too slowly for a cache with a budget.
func TestScheduleOfTheLeader(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Unix(1000, 0)}
	s := newSchedule()
	s.leads = true
	pause := func(budgets map[string]engine.Budget, rounds ...Round) time.Duration {
		s.begin(c.now)
		s.end(rounds, false, budgets, c.now)
		return s.pace
	}
	last := pause(nil, Round{Cache: "c", Expired: 5})
	for range 10 {
		next := pause(nil, Round{Cache: "c", Expired: 5})
		require.LessOrEqual(t, next, last)
		last = next
	}
	require.Equal(t, shortestPause, last)
	for range 10 {
		last = pause(nil, Round{Cache: "c"})
	}
	require.Equal(t, longestPause, last, "nothing to do")

	budgets := map[string]engine.Budget{"c": {MaxEntries: 100, Policy: "allkeys-lru"}}
	require.Equal(t, budgetPause, pause(budgets, Round{Cache: "c", Entries: 50}))
	require.Equal(t, fullPause, pause(budgets, Round{Cache: "c", Entries: 90}))
	require.Equal(t, time.Millisecond, pause(budgets, Round{Cache: "c", Entries: 110, Evicted: 5, More: true}), "over its budget")
	require.Equal(t, overTime, s.begin(c.now).MaxTime)

	// Rows that somebody holds are tried again soon, for all caches.
	require.Equal(t, 30*time.Millisecond, pause(nil, Round{Cache: "c", More: true, Elapsed: 10 * time.Millisecond}))
	require.Empty(t, s.begin(c.now).Cache)

	// What a slow standby holds back does not call for the next round.
	require.Greater(t, pause(nil, Round{Cache: "c", Expired: 5, More: true, HeldBack: true}), shortestPause)
	require.Empty(t, s.backlogs)

	require.True(t, s.cleanDue(c.now))
	require.False(t, s.cleanDue(c.pass(cleanInterval-1)))
	require.True(t, s.cleanDue(c.pass(1)))
}

// A cache of which much has expired has short rounds of its own, beside those
// for all caches; after a failure all is as at the beginning.
func TestScheduleOfABacklog(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Unix(1000, 0)}
	s := newSchedule()
	s.leads = true
	s.begin(c.now)
	s.end([]Round{{Cache: "c", Expired: 5, More: true}}, false, nil, c.now)
	require.Equal(t, gentlePause, s.pace)
	require.Equal(t, Options{Cache: "c", MaxTime: gentleTime}, s.begin(c.pass(gentlePause)))
	s.end([]Round{{Cache: "c", Expired: 5, More: true, Elapsed: time.Second}}, false, nil, c.now)
	require.Equal(t, 3*time.Second, s.pace, "three times the round")
	require.Equal(t, Options{MaxTime: roundTime}, s.begin(c.pass(watchInterval)), "the others wait no longer than a second")
	require.Equal(t, Options{Cache: "c", MaxTime: gentleTime}, s.begin(c.now))
	s.end(nil, true, nil, c.now)
	require.Empty(t, s.backlogs)
	require.Empty(t, s.begin(c.now).Cache)
}

// While events of expired keys are published, no cache waits longer than a second for a
// round, whatever else there is to do. Without them nothing changes.
func TestScheduleOfExpiredEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		round Round
	}{
		{"nothing expires", Round{Cache: "c"}},
		{"a standby is far behind", Round{Cache: "c", Expired: 5, More: true, HeldBack: true}},
		{"there is a budget", Round{Cache: "c", Entries: 50}},
	} {
		budgets := map[string]engine.Budget{"c": {MaxEntries: 100, Policy: "allkeys-lru"}}
		idle := budgetPause
		if c.round.Entries == 0 {
			budgets, idle = nil, longestPause
		}
		clock := &clock{now: time.Unix(1000, 0)}
		s := newSchedule()
		s.leads = true
		rounds := func() (pauses []time.Duration) {
			for range 12 {
				require.True(t, s.roundDue(clock.now), c.what)
				require.Equal(t, Options{MaxTime: roundTime}, s.begin(clock.now), c.what)
				s.end([]Round{c.round}, false, budgets, clock.now)
				require.False(t, s.roundDue(clock.now), c.what)
				pauses = append(pauses, s.pace)
				clock.pass(s.pace)
			}
			return pauses
		}
		for _, events := range []bool{false, true, false} {
			s.announce(events, clock.now)
			pauses := rounds()
			last := pauses[len(pauses)-1]
			if events {
				require.Equal(t, eventPause, last, c.what)
				require.Equal(t, eventPause, slices.Max(pauses), c.what)
			} else {
				require.Equal(t, idle, last, c.what)
			}
		}
		s.end([]Round{c.round}, false, budgets, clock.now)
		s.announce(true, clock.now)
		require.False(t, s.roundDue(clock.now), c.what)
		require.True(t, s.roundDue(clock.pass(eventPause)), "the round that was to come later comes now: %s", c.what)
	}

	// A cache with a backlog does not keep the others waiting.
	clock := &clock{now: time.Unix(1000, 0)}
	s := newSchedule()
	s.leads = true
	s.announce(true, clock.now)
	for last := clock.now; clock.now.Sub(last) <= time.Second; clock.pass(s.pace) {
		if s.begin(clock.now).Cache == "" {
			if clock.now.Sub(time.Unix(1000, 0)) > time.Minute {
				break
			}
			last = clock.now
		}
		s.end([]Round{{Cache: "c", Expired: 5, More: true, Elapsed: time.Millisecond}}, false, nil, clock.now)
	}
	require.Greater(t, clock.now.Sub(time.Unix(1000, 0)), time.Minute, "other caches wait longer than a second")

	// A process that does not lead does no rounds for events.
	follower := newSchedule()
	follower.announce(true, clock.now)
	require.False(t, follower.roundDue(clock.pass(time.Hour)))
}
