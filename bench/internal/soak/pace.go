package soak

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/workload"
)

// timerSlack is how late the runtime may wake a sleeper: up to it the lateness
// is the harness's and not counted.
const timerSlack = 2 * time.Millisecond

// tally is what happened since the last one was taken.
type tally struct {
	latency            [kinds]*hdrhistogram.Histogram // nanoseconds, of what was answered
	hits, misses, sets int64
	errors             int64
}

func newTally() *tally {
	t := &tally{}
	for k := range t.latency {
		t.latency[k] = measure.NewLatency()
	}
	return t
}

func (t *tally) answered() int64 { return t.hits + t.misses + t.sets }

// recorder collects the answers that a contender gives.
type recorder struct {
	mu    sync.Mutex
	now   *tally
	first error // the first that went wrong
}

func (r *recorder) take() *tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.now
	r.now = newTally()
	return t
}

func (r *recorder) add(k kind, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	miss := errors.Is(err, errMiss)
	if err != nil && !miss {
		r.now.errors++
		if r.first == nil {
			r.first = err
		}
		return
	}
	switch {
	case miss:
		r.now.misses++
	case k == set:
		r.now.sets++
	default:
		r.now.hits++
	}
	h := r.now.latency[k]
	h.RecordValue(min(max(int64(took), h.LowestTrackableValue()), h.HighestTrackableValue()))
}

// pace offers requests at the configured rate until their number is reached,
// whatever the answers take: each latency counts from when the request was due,
// so that a stall counts for all that it delayed. It returns how many requests
// were made, which is fewer than were due only if ctx ends.
func pace(ctx context.Context, c *Config, who contender, r *recorder, start time.Time) (made, due int64) {
	interval := time.Duration(float64(time.Second) / (c.Reads + c.Sets))
	due = int64(c.Duration / interval)
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for _, src := range newSources(c) {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= due {
					return
				}
				at := start.Add(time.Duration(i) * interval)
				from := awaitDue(ctx, at)
				if ctx.Err() != nil {
					return
				}
				k, key := src.next()
				err := src.request(ctx, who, k, key)
				if ctx.Err() != nil {
					return
				}
				r.add(k, time.Since(from), err)
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return done.Load(), due
}

// request makes one request and checks its answer.
func (s *source) request(ctx context.Context, who contender, k kind, key int) error {
	name, ttl := workload.Key(key), s.config.TTLs.of(key)
	var value []byte
	var err error
	switch k {
	case set:
		return who.set(ctx, name, s.make(key), ttl)
	case sliding:
		value, err = who.getSliding(ctx, name, ttl)
	default:
		value, err = who.get(ctx, name)
	}
	if err != nil {
		return err
	}
	return s.check(key, value)
}

// awaitDue sleeps until a request is due and returns the instant from which
// its latency counts.
func awaitDue(ctx context.Context, due time.Time) time.Time {
	ahead := time.Until(due)
	if ahead <= 0 {
		return due
	}
	timer := time.NewTimer(ahead)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	if woken := time.Now(); woken.Sub(due) < timerSlack {
		return woken
	}
	return due
}

// preload fills a contender up to the budget, so that the first minutes are
// like the others. The keys are chosen and ordered by chance: the popular ones
// have no advantage.
func preload(ctx context.Context, c *Config, who contender) error {
	keys := rand.New(rand.NewPCG(2, 0)).Perm(c.Keys)[:min(c.Keys, int(float64(c.budget())/c.entryBytes()))]
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, src := range newSources(c)[:min(c.Callers, 32)] {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= len(keys) {
					return
				}
				if err := src.request(ctx, who, set, keys[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// percentiles are those of each kind of request.
func (t *tally) percentiles() map[string]Percentiles {
	out := map[string]Percentiles{}
	for k, h := range t.latency {
		out[kindNames[k]] = percentilesOf(h)
	}
	return out
}

func percentilesOf(h *hdrhistogram.Histogram) Percentiles {
	if h.TotalCount() == 0 {
		return Percentiles{}
	}
	at := func(p float64) float64 { return round(float64(h.ValueAtPercentile(p)) / 1e6) }
	return Percentiles{P50: at(50), P99: at(99), P999: at(99.9), Max: round(float64(h.Max()) / 1e6), Count: h.TotalCount()}
}

// round keeps three digits after the point: microseconds.
func round(ms float64) float64 { return math.Round(1000*ms) / 1000 }
