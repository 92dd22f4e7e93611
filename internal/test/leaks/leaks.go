// Package leaks finds goroutines that are left over.
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds what Await waits for. It is reached only where a goroutine stays.
const patience = time.Minute

// Await awaits the end of the goroutines that the options do not allow, and fails the
// test if some stay. A test that looks for what it leaves behind starts with
// goleak.IgnoreCurrent, and runs while no other test does: not in parallel.
func Await(t testing.TB, allowed ...goleak.Option) {
	t.Helper()
	if err := find(patience, allowed...); err != nil {
		t.Error(err)
	}
}

// Exit ends a test program with the code of its tests, unless goroutines are left over that
// the options do not allow: then they are printed, and the code says that tests failed. It
// is for TestMain, after what the tests share has been stopped.
func Exit(code int, allowed ...goleak.Option) {
	if code != 0 {
		os.Exit(code)
	}
	if err := find(patience, allowed...); err != nil {
		fmt.Fprintln(os.Stderr, "the tests leave goroutines behind:", err)
		code = 1
	}
	os.Exit(code)
}

// find is goleak.Find, which itself waits for less than a connection may take to close.
func find(limit time.Duration, allowed ...goleak.Option) error {
	for deadline := time.Now().Add(limit); ; {
		err := goleak.Find(allowed...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
