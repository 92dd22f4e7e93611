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

// timerSlack is how late a sleeping goroutine may be woken: the runtime's
// timers count milliseconds, and timers of the kernel that do not cost a third
// of a core at 20,000 requests a second, which is taken from what is measured.
// Up to it the lateness is the harness's own; beyond it, it is that of the
// system under test, which left the harness no core.
const timerSlack = 2 * time.Millisecond

// maxLag ends a run that falls ever further behind.
const maxLag = 10 * time.Second

// Open makes requests at a fixed rate whatever the answers take, as users do.
// Each latency is counted from when the request was due, not from when a
// worker was free to make it, so a stall counts for every request that it
// delayed (there is no coordinated omission). Only where a worker that slept
// for its request woke less than 2 ms late is that left out. Sample.Late has
// all lateness, left out or not. Workers bounds how many may be waiting at once. If the
// system falls behind for good the error wraps ErrBehind.
func Open(ctx context.Context, l Load, rate float64) (Sample, error) {
	return OpenUntil(ctx, l, rate, nil)
}

// OpenUntil is Open that also ends, without an error, when a request returns
// the error stop: the load of something that takes its own time.
func OpenUntil(ctx context.Context, l Load, rate float64, stop error) (Sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	interval := time.Duration(float64(time.Second) / rate)
	total := int64((l.Warmup + l.Duration) / interval)
	warm := int64(l.Warmup / interval)
	if interval <= 0 || total <= warm {
		return Sample{}, fmt.Errorf("a rate of %g in %v makes no request", rate, l.Duration)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	latencies := make([]*hdrhistogram.Histogram, l.Workers)
	late := make([]*hdrhistogram.Histogram, l.Workers)
	for w := range latencies {
		latencies[w], late[w] = NewLatency(), NewLatency()
	}
	start := time.Now()
	begin := time.AfterFunc(l.Warmup, func() {
		if l.Begin != nil {
			l.Begin()
		}
	})
	defer begin.Stop()
	for w := range l.Workers {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= total || ctx.Err() != nil {
					return
				}
				due := start.Add(time.Duration(i) * interval)
				from := awaitDue(ctx, due)
				if ctx.Err() != nil {
					return
				}
				lateBy := time.Since(due)
				if err := l.Do(ctx, w); err != nil {
					cancel(err)
					return
				}
				took := time.Since(from)
				if i >= warm {
					record(latencies[w], took)
					record(late[w], lateBy)
				}
				if took > maxLag {
					cancel(fmt.Errorf("%w: a request waited %v", ErrBehind, took.Round(time.Millisecond)))
				}
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start.Add(l.Warmup))
	if l.End != nil {
		l.End()
	}
	if err := context.Cause(ctx); err != nil && (stop == nil || !errors.Is(err, stop)) {
		return Sample{}, err
	}
	s := Sample{Elapsed: elapsed, Latency: NewLatency(), Late: NewLatency()}
	for w := range latencies {
		s.Latency.Merge(latencies[w])
		s.Late.Merge(late[w])
	}
	s.Requests = s.Latency.TotalCount()
	if s.Requests == 0 {
		return s, errors.New("nothing was measured: the run was too short")
	}
	return s, nil
}

// awaitDue sleeps until a request is due and returns the instant from which
// its latency counts.
func awaitDue(ctx context.Context, due time.Time) time.Time {
	ahead := time.Until(due)
	if ahead <= 0 {
		return due
	}
	wait(ctx, ahead)
	if woken := time.Now(); woken.Sub(due) < timerSlack {
		return woken
	}
	return due
}
