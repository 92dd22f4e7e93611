package seed

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	t.Setenv(Variable, "")
	fixed := Of(t)
	require.Equal(t, fixed, Of(t), "a test has one seed")
	t.Run("of another name", func(t *testing.T) { require.NotEqual(t, fixed, Of(t)) })

	t.Setenv(Variable, "random")
	seen := map[uint64]bool{fixed: true}
	for range 100 {
		seen[Of(t)] = true
	}
	require.Len(t, seen, 101, "each seed is new")
	for seed := range seen {
		require.Less(t, seed, uint64(1)<<48)
		t.Setenv(Variable, strconv.FormatUint(seed, 10))
		require.Equal(t, seed, Of(t), "what is logged repeats it")
	}
}

func TestBadVariable(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"Random", "-1", "1.5", "0x10", " 1", "18446744073709551616"} {
		_, err := of(t.Name(), bad)
		require.Error(t, err, bad)
	}
}

// The flag of a test comes before the variable.
func TestOr(t *testing.T) {
	t.Setenv(Variable, "7")
	require.Equal(t, uint64(42), Or(t, 42))
	require.Equal(t, uint64(7), Or(t, 0))
}

// Two generators of one test choose the same.
func TestRand(t *testing.T) {
	t.Parallel()
	a, b := Rand(t), Rand(t)
	for range 100 {
		require.Equal(t, a.Uint64(), b.Uint64())
	}
}
