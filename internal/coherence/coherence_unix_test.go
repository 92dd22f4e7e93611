//go:build unix

package coherence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/pgtest"
)

// Two readers behind a slow network, two servers and writers of every kind, with
// a crash.
func TestShort(t *testing.T) {
	s := twoPhase(t)
	e := newExperiment(t, s.NewURL())
	e.slow = true
	e.startAll()
	v := e.run(6*time.Second, func() { e.crash(s) })
	require.Zero(t, v.Violations())
	require.Greater(t, v.Hits, 1000)
	require.Greater(t, v.Close, 300)
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
	e := newExperiment(t, pgtest.New(t))
	e.memo = 4 * e.bound
	e.start(orders{Actors: []string{"reader", "reader", "library"}}) // a map each
	e.start(orders{Actors: []string{"sql"}})
	v := e.run(2 * time.Second)
	for _, rule := range []Rule{Stale, OwnWrite, Backwards} {
		require.NotZero(t, v.Broken[rule], rule)
	}
	require.Greater(t, v.Worst[Stale], e.bound)
}
