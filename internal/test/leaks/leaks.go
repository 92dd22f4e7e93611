// Package leaks finds goroutines that are left over.
package leaks

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Await awaits the end of the goroutines that the options do not allow, and fails the
// test if some stay. goleak itself waits for less than a connection may take to close.
func Await(t testing.TB, allowed ...goleak.Option) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		err := goleak.Find(allowed...)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
