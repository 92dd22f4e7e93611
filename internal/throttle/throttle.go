// Package throttle slows down the answers to wrong secrets, so that nobody can try many.
package throttle

import (
	"sync"
	"time"
)

// Failures limits the rate at which wrong secrets are answered, for all clients together. It
// is safe for concurrent use. Its fields are set before the first call.
type Failures struct {
	Pace  time.Duration // between two answers
	Burst int           // how many may come at once, for typing errors
	Most  time.Duration // no answer waits longer

	mu   sync.Mutex
	next time.Time // when the next answer is due, without the burst
}

// Delay returns how long the answer to one more wrong secret has to wait.
func (f *Failures) Delay(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next.Before(now) {
		f.next = now
	}
	burst := time.Duration(f.Burst) * f.Pace
	f.next = f.next.Add(f.Pace)
	wait := f.next.Sub(now) - burst
	if wait > f.Most {
		f.next = now.Add(f.Most + burst)
	}
	return min(max(wait, 0), f.Most)
}
