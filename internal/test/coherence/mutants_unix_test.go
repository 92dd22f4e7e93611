//go:build unix

package coherence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startDirect runs two programs that do without the library, with a fault, and
// writers of every kind.
func (e *experiment) startDirect(m mutant) {
	e.t.Helper()
	e.start(orders{Direct: true, Mutant: m, Actors: []string{"direct reader", "direct reader", "direct writer"}})
	e.start(orders{Direct: true, Mutant: m, Actors: []string{"direct reader", "direct writer"}})
	e.start(orders{Actors: []string{"library", "transaction", "transaction", "prepared", "sql", "trigger", "admin", "trim", "idle"}})
}

// A fault that needs no rare moment breaks a rule in a run of a few
// seconds.
func TestMutants(t *testing.T) {
	if *duration == 0 {
		t.Skip("needs -coherence.duration; TestForced has some of them")
	}
	for m, rule := range map[mutant]Rule{
		withoutXip:   Stale,
		lateToken:    OwnWrite,
		withoutLease: Stale,
		withoutBump:  OwnWrite,
		withoutLog:   Stale,
		formerID:     Stale,
	} {
		t.Run(string(m), func(t *testing.T) {
			s := twoPhase(t)
			e := newExperiment(t, s.NewURL())
			e.longest = 2900 * time.Millisecond
			e.startDirect(m)
			v := e.run(8*time.Second, func() { e.crash(s) })
			require.NotZero(t, v.Broken[rule])
		})
	}
}

// TestDirect judges memory without the library in between, for as long as asked.
func TestDirect(t *testing.T) {
	if *duration == 0 {
		t.Skip("needs -coherence.duration")
	}
	s := twoPhase(t)
	e := newExperiment(t, s.NewURL())
	e.longest, e.pace = 2900*time.Millisecond, 300*time.Microsecond
	e.startDirect(sound)
	v := e.run(*duration, e.crashesOf(s)...)
	require.Zero(t, v.Violations())
}
