// Package measure drives a load and takes its throughput and latencies.
package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Load is work that any number of callers do at once.
type Load struct {
	Workers  int
	Warmup   time.Duration // not measured
	Duration time.Duration
	// Do makes one request. worker is below Workers, and is used by one
	// goroutine at a time.
	Do func(ctx context.Context, worker int) error
	// Begin and End, if set, are called as the measured time begins and ends.
	Begin, End func()
}

// Sample is what was measured.
type Sample struct {
	Requests int64
	Elapsed  time.Duration
	Latency  *hdrhistogram.Histogram // nanoseconds
	// Late is how long after they were due the requests of an open loop began:
	// because the harness woke late, or no worker was free. Latency holds it, but for
	// wakings that were less than 2 ms late.
	Late *hdrhistogram.Histogram
}

// Rate is requests per second.
func (s Sample) Rate() float64 { return float64(s.Requests) / s.Elapsed.Seconds() }

// Milliseconds is a percentile of the latencies.
func (s Sample) Milliseconds(percentile float64) float64 {
	return float64(s.Latency.ValueAtPercentile(percentile)) / 1e6
}

// NewLatency makes a histogram of nanoseconds from 1 us to 2 minutes, exact
// to 1 %.
func NewLatency() *hdrhistogram.Histogram {
	return hdrhistogram.New(1000, int64(2*time.Minute), 2)
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	h.RecordValue(min(max(int64(d), 1000), int64(2*time.Minute)))
}

// Closed keeps every worker busy: the next request follows the answer of the
// last. It finds what a system can do at most. Its latencies are those of a
// saturated system, and a stall hides the requests that would have been made
// meanwhile: latencies that matter come from Open. The first error ends it.
// If no request is answered within Duration, because a disk or a machine
// stalled, the measured time goes on until the first answer, for at most
// patience: a stall is then part of the sample.
func Closed(ctx context.Context, l Load) (Sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var phase atomic.Int32 // 0 warming up, 1 measuring, 2 done
	answered, first := context.WithCancel(ctx)
	defer first()
	var wg sync.WaitGroup
	latencies := make([]*hdrhistogram.Histogram, l.Workers)
	counts := make([]int64, l.Workers)
	for w := range l.Workers {
		h := NewLatency()
		latencies[w] = h
		wg.Go(func() {
			for phase.Load() < 2 {
				start := time.Now()
				if err := l.Do(ctx, w); err != nil {
					cancel(err)
					return
				}
				if phase.Load() == 1 { // answered within the measured time
					record(h, time.Since(start))
					if counts[w]++; counts[w] == 1 {
						first()
					}
				}
			}
		})
	}
	wait(ctx, l.Warmup)
	if l.Begin != nil {
		l.Begin()
	}
	phase.Store(1)
	start := time.Now()
	wait(ctx, l.Duration)
	wait(answered, patience)
	phase.Store(2)
	elapsed := time.Since(start)
	if l.End != nil {
		l.End()
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return Sample{}, err
	}
	s := Sample{Elapsed: elapsed, Latency: NewLatency()}
	for w, h := range latencies {
		s.Latency.Merge(h)
		s.Requests += counts[w]
	}
	if s.Requests == 0 {
		return s, fmt.Errorf("%w within %v", ErrNoAnswer, l.Duration+patience)
	}
	return s, nil
}

// patience is how long a closed loop waits for its first answer, after the time
// that it was to measure.
const patience = 10 * time.Second

// ErrNoAnswer says that a closed loop measured nothing.
var ErrNoAnswer = errors.New("no request was answered")

// ErrBehind says that a rate was more than the system could take.
var ErrBehind = errors.New("the offered rate was not reached")

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
