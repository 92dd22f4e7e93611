//go:build unix

package coherence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startDirect runs two readers that do without the library, the first of them
// with a fault, and writers of every kind.
func (e *experiment) startDirect(m mutant) {
	e.t.Helper()
	e.start(orders{Direct: true, Mutant: m, Actors: []string{"direct reader", "direct reader", "direct writer"}})
	e.start(orders{Direct: true, Mutant: m, Actors: []string{"direct reader", "direct writer"}})
	e.start(orders{Actors: []string{"library", "transaction", "transaction", "prepared", "sql", "trigger", "admin", "idle"}})
}

func TestDirect(t *testing.T) {
	s := twoPhase(t)
	e := newExperiment(t, s.NewURL())
	e.startDirect(sound)
	v := e.run(6*time.Second, func() { e.crash(s) })
	require.Zero(t, v.Violations())
}
