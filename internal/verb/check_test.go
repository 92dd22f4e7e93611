package verb

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
)

// TestCheckOfManyValues: many values that are allowed one by one do not fit into a message.
func TestCheckOfManyValues(t *testing.T) {
	t.Parallel()
	set := &Verb{Many: true, Values: true, Writes: true}
	value := make([]byte, 320<<20)
	for n, want := range map[int]error{3: nil, 4: fault.ErrValueTooLarge} {
		c := &Call{Verb: set, Keys: slices.Repeat([][]byte{nil}, n), Values: slices.Repeat([][]byte{value}, n)}
		require.ErrorIs(t, c.Check(len(value)), want)
	}
	key := make([]byte, MaxKeyBytes)
	c := &Call{Verb: &Verb{Many: true}, Keys: slices.Repeat([][]byte{key}, 960*16+1)}
	require.ErrorIs(t, c.Check(1), fault.ErrValueTooLarge)
}
