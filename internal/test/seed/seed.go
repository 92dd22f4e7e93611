// Package seed gives random tests the seed of their choices, so that a test run
// of a commit says the same each time, and a hunt is a variable away.
package seed

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable names the environment variable that chooses the seeds: a number is the
// seed of every test, "random" gives each test a new one each time, and without
// it a test has the seed that its name gives.
const Variable = "HOWDAH_SEED"

// Of returns the seed of t and logs it. It is below 2^48, so that a test may count
// on from it. A Variable that is neither a number nor "random" fails the test.
func Of(t testing.TB) uint64 {
	t.Helper()
	seed, err := of(t.Name(), os.Getenv(Variable))
	if err != nil {
		t.Fatalf("%s must be a number from 0 to 18446744073709551615, or random: %v", Variable, err)
	}
	return logged(t, seed)
}

// Or returns chosen, the value of a flag of the test, unless that is 0; otherwise
// it is Of.
func Or(t testing.TB, chosen uint64) uint64 {
	t.Helper()
	if chosen != 0 {
		return logged(t, chosen)
	}
	return Of(t)
}

// Rand returns a generator with the seed of t.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Of(t), 0))
}

func of(name, variable string) (uint64, error) {
	switch variable {
	case "":
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		return h.Sum64() >> 16, nil
	case "random":
		return rand.Uint64() >> 16, nil
	}
	return strconv.ParseUint(variable, 10, 64)
}

func logged(t testing.TB, seed uint64) uint64 {
	t.Helper()
	t.Logf("%s=%d", Variable, seed)
	return seed
}
