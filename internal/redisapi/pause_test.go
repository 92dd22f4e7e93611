package redisapi

import (
	"sync"
	"testing"
	"time"
)

// A pause that begins while the one before ends is not lost, whichever comes first.
func TestAPauseThatMeetsTheEndOfAnother(t *testing.T) {
	t.Parallel()
	const rounds, timers = 10_000, 64
	for round := range rounds {
		p := &pause{}
		p.begin(pauseWrites, time.Hour)
		p.mu.Lock() // until all of them wait, or are about to
		p.end = time.Now()
		var work sync.WaitGroup
		for i := range timers {
			work.Go(p.over)
			if i == timers/2 {
				work.Go(func() { p.begin(pauseWrites, time.Hour) })
			}
		}
		p.mu.Unlock()
		work.Wait()
		p.timer.Stop()
		if p.mode.Load() != pauseWrites || time.Until(p.end) <= 0 {
			t.Fatalf("round %d: the pause is lost", round)
		}
	}
}
