// Package long keeps tests that take long out of the runs that must be short: soaks, hunts for
// mutants, bulk, whole matrices of crashes. "make nightly" runs them.
package long

import (
	"os"
	"testing"
)

// Variable names the environment variable that lets long tests run: any value does but the empty one.
const Variable = "HOWDAH_TEST_LONG"

// Wanted says whether long tests run.
func Wanted() bool { return os.Getenv(Variable) != "" }

// Only skips t, which takes long for the reason given, unless long tests run.
func Only(t testing.TB, reason string) {
	t.Helper()
	if !Wanted() {
		t.Skipf("takes long: %s; %s=1 runs it", reason, Variable)
	}
}

// Or returns whole if long tests run, else part: how often, how many, how large.
func Or[T any](part, whole T) T {
	if Wanted() {
		return whole
	}
	return part
}
