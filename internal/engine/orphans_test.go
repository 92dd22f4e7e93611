package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/verb"
)

// While no connection was lost, a write neither asks PostgreSQL nor allocates: keepBack has no
// connection here.
func TestWritesPayNothingForOrphans(t *testing.T) {
	fl := &flight{Flight: writing{}, set: &Set{}}
	ops := []*coalesce.Op{{}, {}}
	calls := []*verb.Call{{}}
	e := &Engine{set: fl.set}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		ops = fl.keepBack(ops)
		if e.awaitOrphans(t.Context(), calls) != nil || fl.set.orphans.Await(t.Context(), nil) != nil {
			t.Fail()
		}
	}))
	require.Len(t, ops, 2)
}

// writing is a flight of writes.
type writing struct{ coalesce.Flight }

func (writing) Kind() coalesce.Kind { return coalesce.Write }
