package contract

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/verb"
)

// PostgreSQL calculates with NaN and infinities; a cache must not store them.
// They are refused before anything is sent, so that a caller's transaction
// survives.
func TestOnlyDecimalNumbersAreAdded(t *testing.T) {
	t.Parallel()
	for _, d := range doors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{T: t, Cache: d.open(t)}
			require.NoError(t, f.Set(t.Context(), "one", []byte("1"), 0))
			for _, bad := range []string{"NaN", "Infinity", "-inf", "1e99999", "0x10", "1_000", " 1", "ten", ".", ""} {
				for _, key := range []string{"one", "absent"} {
					err := dbtest.Do(t.Context(), f.Cache, &verb.Call{Verb: statement.IncrementFloat, Key: []byte(key), DeltaFloat: bad})
					require.ErrorIs(t, err, howdah.ErrNotFloat, "%q", bad)
				}
			}
			f.holds("one", []byte("1"))
			f.holds("absent", nil)
			for _, good := range []string{"-.5", "+2.", "1E-1", "1e4932", "-1e4932"} {
				f.do(&verb.Call{Verb: statement.IncrementFloat, Key: []byte("sum"), DeltaFloat: good})
			}
		})
	}
}
