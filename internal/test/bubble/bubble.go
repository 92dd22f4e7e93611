// Package bubble passes time in the bubbles of testing/synctest, where the clock moves only while every
// goroutine waits. A test there says exactly when something happens, on a machine of any speed.
//
// Both functions panic outside of a bubble, where they would measure the machine. That makes them the only
// way in which a test may sleep or compare times; internal/test/arrows finds the others.
package bubble

import "time"

// Pass lets d pass for the goroutine that calls it. What falls due at the same instant may still have to
// run: synctest.Wait waits for it.
func Pass(d time.Duration) {
	inside()
	time.Sleep(d)
}

// Since returns how much time has passed in the bubble since began.
func Since(began time.Time) time.Duration {
	inside()
	return time.Since(began)
}

// inside panics unless it is called in a bubble. The clock of every bubble begins in the year 2000.
func inside() {
	if time.Now().Year() > 2020 {
		panic("bubble: called outside of synctest.Test, where the clock is that of the machine")
	}
}
