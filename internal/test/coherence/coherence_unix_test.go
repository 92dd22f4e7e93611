//go:build unix

package coherence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// Two readers behind a slow network, two servers and writers of every kind, with
// a crash.
func TestShort(t *testing.T) {
	untilEnough(t, 6*time.Second, func(d time.Duration) bool {
		s := twoPhase(t)
		e := newExperiment(t, s.NewURL())
		e.slow = true
		e.startAll()
		v := e.run(d, func() { e.crash(s) })
		require.Zero(t, v.Violations())
		return v.Hits > 1000 && v.Close > 300
	})
}

// untilEnough makes runs, each longer than the one before, until one had enough to
// judge: a busy machine does less in the same time.
func untilEnough(t *testing.T, d time.Duration, run func(d time.Duration) (enough bool)) {
	t.Helper()
	for range 4 {
		if run(d) {
			return
		}
		d *= 2
	}
	t.Error("four runs had too little to judge")
}

// The same for as long as asked.
func TestLong(t *testing.T) {
	if *duration == 0 {
		t.Skip("needs -coherence.duration")
	}
	s := twoPhase(t)
	e := newExperiment(t, s.NewURL())
	e.longest, e.pace, e.slow = 2900*time.Millisecond, 300*time.Microsecond, true
	e.startAll()
	v := e.run(*duration, e.crashesOf(s)...)
	require.Zero(t, v.Violations())
}

// After a failover clients find the standby, whose UNLOGGED caches and change
// log are empty, and whose transaction ids may lag behind those of its primary.
func TestFailover(t *testing.T) {
	primary := twoPhase(t)
	url := primary.NewURL()
	standby := primary.Standby("standby")
	e := newExperiment(t, url)
	primary.Synchronous(standby)
	e.url = pgtest.Hosts(primary, standby) + "&target_session_attrs=read-write"
	e.startAll()
	v := e.run(4*time.Second, func() { e.failOver(primary, standby) })
	require.Zero(t, v.Violations())
}

// A reader that keeps what it has read is found out: the run, from its writers
// to its judge, can fail.
func TestMapThatNeverForgets(t *testing.T) {
	untilEnough(t, 2*time.Second, func(d time.Duration) bool {
		e := newExperiment(t, pgtest.New(t))
		e.memo = 4 * e.bound
		e.start(orders{Actors: []string{"reader", "reader", "library"}}) // a map each
		e.start(orders{Actors: []string{"sql"}})
		v := e.run(d)
		return v.Broken[Stale] > 0 && v.Broken[OwnWrite] > 0 && v.Broken[Backwards] > 0 && v.Worst[Stale] > e.bound
	})
}
