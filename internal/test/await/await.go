// Package await waits for conditions that no signal announces: those of other processes, of PostgreSQL, of
// counters. It asks again and again, so a fast machine is fast and a slow one merely slow.
//
// A condition must stay true once it is: one that holds for a moment is missed by whoever asks too late.
package await

import (
	"context"
	"testing"
	"time"
)

// Limit is how long a condition may take. It only bounds how long a failure takes: a healthy test never
// comes near it, on however busy a machine.
const Limit = 2 * time.Minute

// The pauses between two questions grow from the first one to the last one: what comes soon is seen soon, and
// what takes long is not slowed down by questions.
const firstPause, lastPause = time.Millisecond, 32 * time.Millisecond

// True returns when condition does. It runs condition on the goroutine that calls it, which must be that of
// the test, so condition may use require. If that takes longer than Limit, the test fails with what was awaited.
func True(t testing.TB, what string, condition func() bool) {
	t.Helper()
	if !Until(context.Background(), condition) {
		t.Fatalf("never: %s", what)
	}
}

// Until returns when condition does, at the latest when ctx ends or Limit is over, and says whether condition
// was true. Any goroutine may call it.
func Until(ctx context.Context, condition func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	for pause := firstPause; !condition(); pause = min(2*pause, lastPause) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
	return true
}
