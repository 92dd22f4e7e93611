package experiment

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// nearStorm takes the lease away from a memory that is read at full load, so
// that every read asks PostgreSQL at once; and fills a memory beyond its budget.
func nearStorm() Experiment {
	return Experiment{
		Name:  "near-storm",
		Title: "1,024 callers whose hits in memory end at once, and memory against its budget",
		Needs: []service.Program{service.Postgres},
		Quick: 20 * time.Second, Full: 90 * time.Second,
		Run:   runNearStorm,
		Judge: nearStormVerdicts,
	}
}

const (
	stormGroup   = "GET, 1024 callers"
	stormCallers = 1024
	stormTimeout = 500 * time.Millisecond // of a read; the library's default
	stormConns   = 8                      // to PostgreSQL; the library's default
	stormWorst   = "worst"
	stormFailed  = "failed"
	stormActive  = "statements at once"
	stormAgain   = "until hits again"

	budgetGroup = "Memory of the process"
	budgetCase  = "entries for twice the budget"
	budgetUsed  = "used of the budget"
	budgetHeap  = "growth of the heap"
)

// storm is a way to take the lease away.
type storm struct {
	name  string
	worst time.Duration // the longest that a read may take
	reads bool          // PostgreSQL answers them
	begin func(ctx context.Context, pg *service.PostgresServer) (end func() error, err error)
}

func runNearStorm(ctx context.Context, b *Bench, r *result.Result) error {
	b.nearRounds()
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	if pg.SuperURL() == "" {
		return errors.New("PostgreSQL is stopped for a moment: run near-storm without --database-url")
	}
	spec := b.Workload
	spec.Keys = min(spec.Keys, nearKeys)
	near, err := rival.NewHowdahNear(ctx, pg.URL, "bench_storm", howdah.Options{
		Timeout: stormTimeout, MaxConns: stormConns, Near: howdah.NearOptions{Bound: nearBound},
	})
	if err != nil {
		return err
	}
	b.later(near.Close)
	if err := rival.Load(ctx, near, spec); err != nil {
		return err
	}
	r.Set("reads", fmt.Sprintf("%s; timeout %v, %d connections, bound %v", spec, stormTimeout, stormConns, nearBound))
	r.Set("storms", fmt.Sprintf("%v each; measured from when the lease has lapsed", b.storming()))
	err = b.turns(len(storms), func(i int) error { return b.endure(ctx, r, near, spec, storms[i]) })
	if err != nil {
		return err
	}
	return b.overfillMemory(ctx, r)
}

// storming is how long a storm lasts after the lease has lapsed.
func (b *Bench) storming() time.Duration { return 2 * b.Duration }

var storms = []storm{
	{"polls wait for a lock", stormTimeout, true, lockLog},
	{"PostgreSQL stands still", stormTimeout + 100*time.Millisecond, false, stopPostgres},
}

// lockLog stops polls alone: reads do not touch the change log.
func lockLog(ctx context.Context, pg *service.PostgresServer) (end func() error, err error) {
	super, err := connect(ctx, pg.SuperURL())
	if err != nil {
		return nil, err
	}
	end = func() error { return super.Close(context.WithoutCancel(ctx)) } // rolls back
	return end, super.run(ctx, "BEGIN", "LOCK TABLE howdah_internal.change IN ACCESS EXCLUSIVE MODE")
}

func stopPostgres(_ context.Context, pg *service.PostgresServer) (end func() error, err error) {
	return func() error { return pg.Process.Signal(syscall.SIGCONT) }, pg.Process.Signal(syscall.SIGSTOP)
}

// phases of a storm
const (
	calm int32 = iota
	stormy
	after
	over
)

// endure is one storm.
func (b *Bench) endure(ctx context.Context, r *result.Result, near *rival.Near, spec workload.Spec, s storm) error {
	if err := near.Warm(ctx, spec); err != nil {
		return err
	}
	readers := &stormReaders{near: near, spec: spec}
	readers.start(ctx)
	defer readers.stop()
	time.Sleep(b.Duration)
	lapses := near.Stats().Lapsed
	end, err := s.begin(ctx, b.postgres)
	if end != nil {
		defer end() // once more does no harm
	}
	if err != nil {
		return err
	}
	time.Sleep(nearBound)
	readers.phase.Store(stormy)
	begun := time.Now()
	active, err := b.mostActive(ctx, s, begun.Add(b.storming()))
	lasted := time.Since(begun)
	readers.phase.Store(after)
	err = errors.Join(err, end())
	if err != nil {
		return err
	}
	again, err := hitsAgain(ctx, near)
	if err != nil {
		return err
	}
	stormed := readers.stop()
	if near.Stats().Lapsed == lapses {
		return fmt.Errorf("%s: the lease did not lapse: no read found an entry that was too old", s.name)
	}
	count := float64(stormed.TotalCount())
	worst := readers.worst()
	failed := 100 * float64(readers.failed.Load()) / max(1, count)
	b.Progress("%-24s %8.0f reads/s, p99 %.0f ms, worst %v, %.1f %% failed, at most %.0f statements at once, hits again after %v",
		s.name, count/lasted.Seconds(), float64(stormed.ValueAtPercentile(99))/1e6, worst.Round(time.Millisecond), failed, active, again.Round(time.Millisecond))
	add := func(metric, unit string, value float64) {
		r.Add(stormGroup, s.name, rival.HowdahName, metric, unit, value)
	}
	add(stormWorst, ms, worst.Seconds()*1000)
	add(p99, ms, float64(stormed.ValueAtPercentile(99))/1e6)
	add(throughput, perSecond, count/lasted.Seconds())
	add(stormFailed, "%", failed)
	add(stormAgain, ms, again.Seconds()*1000)
	if s.reads {
		add(stormActive, "statements", active)
	}
	return nil
}

// stormReaders read in a closed loop, and record what they meet in the storm.
type stormReaders struct {
	near       *rival.Near
	spec       workload.Spec
	phase      atomic.Int32
	failed     atomic.Int64 // in the storm
	running    sync.WaitGroup
	histograms []*hdrhistogram.Histogram
	longest    []time.Duration // of each reader, in the storm
}

func (s *stormReaders) start(ctx context.Context) {
	sources := workload.NewSources(s.spec, stormCallers)
	s.longest = make([]time.Duration, stormCallers)
	for w := range stormCallers {
		h := measure.NewLatency()
		s.histograms = append(s.histograms, h)
		s.running.Go(func() {
			for {
				first := s.phase.Load()
				if first == over {
					return
				}
				key := sources[w].Key(sources[w].Next())
				begun := time.Now()
				_, err := s.near.Get(ctx, key)
				took := time.Since(begun)
				if first >= after || s.phase.Load() == calm {
					continue
				}
				h.RecordValue(int64(took)) // it met the storm, whenever it ended
				s.longest[w] = max(s.longest[w], took)
				if err != nil {
					s.failed.Add(1)
				}
			}
		})
	}
}

// stop ends the reading, and returns the latencies in the storm.
func (s *stormReaders) stop() *hdrhistogram.Histogram {
	s.phase.Store(over)
	s.running.Wait()
	all := measure.NewLatency()
	for _, h := range s.histograms {
		all.Merge(h)
	}
	return all
}

func (s *stormReaders) worst() (worst time.Duration) {
	for _, d := range s.longest {
		worst = max(worst, d)
	}
	return worst
}

// mostActive looks, until a moment, at how many statements of the library
// PostgreSQL executes at once. One that stands still does not tell.
func (b *Bench) mostActive(ctx context.Context, s storm, until time.Time) (most float64, err error) {
	if !s.reads {
		time.Sleep(time.Until(until))
		return 0, nil
	}
	super, err := connect(ctx, b.postgres.SuperURL())
	if err != nil {
		return 0, err
	}
	defer super.Close(ctx)
	for time.Now().Before(until) {
		var n float64
		err := super.QueryRow(ctx, `
			SELECT count(*)::float8 FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()`).Scan(&n)
		if err != nil {
			return 0, err
		}
		most = max(most, n)
		time.Sleep(5 * time.Millisecond)
	}
	return most, nil
}

// hitsAgain is how long it takes until memory answers again.
func hitsAgain(ctx context.Context, near *rival.Near) (time.Duration, error) {
	begun, hits := time.Now(), near.Stats().Hits
	for near.Stats().Hits == hits {
		if time.Since(begun) > time.Minute {
			return 0, errors.New("memory answers nothing a minute after the storm")
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begun), nil
}

// overfillMemory reads twice as much as memory may hold.
func (b *Bench) overfillMemory(ctx context.Context, r *result.Result) error {
	spec := b.Workload
	budget := max(int64(spec.Keys)*int64(spec.ValueSize)/2, 1<<20)
	return b.turns(1, func(int) error {
		near, err := rival.NewHowdahNear(ctx, b.postgres.URL, "bench_budget", howdah.Options{Near: howdah.NearOptions{Bound: nearBound, Bytes: budget}})
		if err != nil {
			return err
		}
		defer near.Close()
		if err := rival.Load(ctx, near, spec); err != nil {
			return err
		}
		before := liveHeap()
		used, err := readAll(ctx, near, spec)
		if err != nil {
			return err
		}
		grown := liveHeap() - before
		stats := near.Stats()
		if stats.Fills == 0 {
			return errors.New("memory kept no entry")
		}
		add := func(metric, unit string, value float64) {
			r.Add(budgetGroup, budgetCase, rival.HowdahName, metric, unit, max(0, value))
		}
		add(budgetUsed, "%", 100*float64(used)/float64(budget))
		add(budgetHeap, "% of the budget", 100*grown/float64(budget))
		add("entries", "entries", float64(stats.Entries))
		b.Progress("budget of %.1f MB: at most %.1f %% used, the heap grew by %.1f MB, %d of %d entries", float64(budget)/1e6,
			100*float64(used)/float64(budget), grown/1e6, stats.Entries, spec.Keys)
		return nil
	})
}

// readAll reads every key twice by 64 callers, and returns the most bytes that
// memory was found to use.
func readAll(ctx context.Context, near *rival.Near, spec workload.Spec) (used int64, err error) {
	const callers = 64
	group, ctx := errgroup.WithContext(ctx)
	most := make([]int64, callers)
	for w := range callers {
		group.Go(func() error {
			for i := w; i < 2*spec.Keys; i += callers {
				if _, err := near.Get(ctx, workload.Key(i%spec.Keys)); err != nil {
					return err
				}
				if i%100 == w%100 {
					most[w] = max(most[w], near.Stats().Bytes)
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return slices.Max(most), err
}

// liveHeap are the bytes that a collection leaves.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func nearStormVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	var ours, words []string
	for _, s := range storms {
		find := func(metric string) result.Metric {
			m, _ := r.Find(stormGroup, s.name, rival.HowdahName, metric)
			return m
		}
		worst, failed, active := find(stormWorst), find(stormFailed), find(stormActive)
		text := fmt.Sprintf("%s: %.0f ms at most, %.1f %% failed, hits again after %.0f ms", s.name, worst.Median(), failed.Median(), find(stormAgain).Median())
		words = append(words, result.AtMost(worst.Rounds, s.worst.Seconds()*1000))
		if s.reads {
			text += fmt.Sprintf(", %.0f statements at once", active.Median())
			words = append(words, result.AtMost(failed.Rounds, 0), result.AtMost(active.Rounds, stormConns))
		}
		ours = append(ours, text)
	}
	used, _ := r.Find(budgetGroup, budgetCase, rival.HowdahName, budgetUsed)
	heap, _ := r.Find(budgetGroup, budgetCase, rival.HowdahName, budgetHeap)
	return []result.Verdict{
		{
			Claim: "When memory may not answer, its readers do not flood PostgreSQL, and none waits beyond its timeout", Source: "Howdah's own promise",
			Ours:     strings.Join(ours, "; "),
			Bar:      "while polls wait for a lock no read fails or takes longer than its timeout of 500 ms, and at most 8 statements run at once; while PostgreSQL stands still every read ends within 600 ms",
			Word:     result.All(words...),
			Sentence: "What memory may not answer goes the way of every read without memory: callers share statements, over a few connections.",
		},
		{
			Claim: "Entries in memory keep their budget", Source: "Howdah's own promise",
			Ours:     fmt.Sprintf("%.1f %% of the budget used at most; the heap grew by %.0f %% of it", used.Median(), heap.Median()),
			Bar:      "never more than the budget used, and the heap grows by 125 % of it at most; 8 MiB for any number of entries are not counted",
			Word:     result.All(result.AtMost(used.Rounds, 100), result.AtMost(heap.Rounds, 125)),
			Sentence: "The budget counts keys and values, with what an entry costs besides.",
		},
	}
}
