package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/howdah/howdah/bench/internal/alarm"
)

// maxLag ends a run that falls ever further behind.
const maxLag = 10 * time.Second

// Open makes requests at a fixed rate whatever the answers take, as users do.
// Each latency is counted from when the request was due, not from when it was
// begun, so a stall counts for every request that it delayed (there is no
// coordinated omission). That holds the harness's own lateness too, which
// Sample.Late has apart. Workers bounds how many may be waiting at once. If the
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
	clocks := make([]*alarm.Alarm, l.Workers)
	for w := range clocks {
		var err error
		if clocks[w], err = alarm.New(); err != nil {
			return Sample{}, err
		}
		defer clocks[w].Close()
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
				// By a timer of the kernel: those of the runtime are late by up
				// to a millisecond, and to spin would take a core from what is
				// measured.
				if err := clocks[w].Until(due); err != nil {
					cancel(err)
				}
				if ctx.Err() != nil {
					return
				}
				lateBy := time.Since(due)
				if err := l.Do(ctx, w); err != nil {
					cancel(err)
					return
				}
				took := time.Since(due)
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
