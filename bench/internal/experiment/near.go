package experiment

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// near measures the entries that the library keeps in memory: hits, beside the
// client that does the same for Redis, and what PostgreSQL has left to do.
func near() Experiment {
	return Experiment{
		Name:  "near",
		Title: "Hot entries in the memory of a Go process: hits beside rueidis's client-side cache, and PostgreSQL's CPU",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 20 * time.Second, Full: 150 * time.Second,
		Run:   runNear,
		Judge: nearVerdicts,
	}
}

const (
	nearHits   = "GET, hits in memory"
	nearGet    = "Howdah, Get"
	nearAppend = "Howdah, GetAppend"
	nearRedis  = "rueidis, DoCache"
	fromMemory = "from memory"

	nearCPU     = "GET, 64 callers"
	nearOn      = "Howdah, near"
	nearOff     = "Howdah"
	databaseCPU = "database CPU"

	nearBound = 100 * time.Millisecond
	// nearTurns are the rounds of a full run, at least.
	nearTurns = 5
	// nearKeys fit into memory, of the process and of a core's share of it.
	nearKeys = 10_000
)

var nearCallers = []int{1, 16, 64}

// nearShares are shares of reads that memory answers, with the part of
// PostgreSQL's CPU that may be left.
var nearShares = []struct {
	name  string
	share float64
	most  float64
}{
	{"99 % from memory", 0.99, 0.167},
	{"95 % from memory", 0.95, 0.5},
}

// nearRounds makes a full run one of five turns.
func (b *Bench) nearRounds() { b.Rounds = max(b.Rounds, b.scale(nearTurns, 1)) }

// nearArena holds the contestants.
type nearArena struct {
	*Bench
	result *result.Result
	spec   workload.Spec
	near   *rival.Near
	plain  *rival.Howdah
	redis  *rival.CachedRueidis
}

func runNear(ctx context.Context, b *Bench, r *result.Result) error {
	b.nearRounds()
	a := &nearArena{Bench: b, result: r, spec: b.Workload}
	a.spec.Keys = min(a.spec.Keys, nearKeys)
	if err := a.enter(ctx); err != nil {
		return err
	}
	r.Set("workload", a.spec.String())
	r.Set("measurement", fmt.Sprintf("%d rounds of %v each after %v of warming up, in turns, closed loop", b.Rounds, b.Duration, b.warmup()))
	r.Set("bound", nearBound.String())
	if err := a.hits(ctx); err != nil {
		return err
	}
	if err := a.allocations(ctx); err != nil {
		return err
	}
	r.Set("reads that memory does not answer", "Cache.Fresh: the statement of a read that memory has no answer for")
	for _, x := range nearShares {
		if err := a.databaseCPU(ctx, x.name, x.share); err != nil {
			return err
		}
		compareAs(r, "PostgreSQL's CPU", nearCPU, x.name, databaseCPU, nearOn, nearOff, x.most)
	}
	oldest := a.near.Stats().MaxAge
	if oldest > nearBound {
		return fmt.Errorf("a hit was %v old, beyond the bound of %v", oldest, nearBound)
	}
	r.Add("Age of hits", "all", nearOn, "most", ms, oldest.Seconds()*1000)
	return nil
}

// enter starts the servers, stores every key and fills the memories.
func (a *nearArena) enter(ctx context.Context) error {
	pg, err := a.Postgres(ctx)
	if err != nil {
		return err
	}
	redis, err := a.Redis(ctx)
	if err != nil {
		return err
	}
	if a.near, err = rival.NewHowdahNear(ctx, pg.URL, "bench_near", howdah.Options{Near: howdah.NearOptions{Bound: nearBound}}); err != nil {
		return err
	}
	a.later(a.near.Close)
	if a.plain, err = rival.NewHowdahClass(ctx, pg.URL, "unlogged"); err != nil {
		return err
	}
	a.later(a.plain.Close)
	if a.redis, err = rival.NewCachedRueidis(redis.Addr); err != nil {
		return err
	}
	a.later(func() error { a.redis.Close(); return nil })
	goRedis := rival.NewGoRedis(redis.Addr, 0)
	defer goRedis.Close()
	for _, loaded := range []rival.Rival{a.near, a.plain, goRedis} {
		if err := rival.Load(ctx, loaded, a.spec); err != nil {
			return err
		}
	}
	if err := a.near.Warm(ctx, a.spec); err != nil {
		return err
	}
	return a.redis.Warm(ctx, a.spec)
}

// hitBatch is how many hits count as one request of the harness, whose clock
// and histogram would otherwise take as long as a hit.
const hitBatch = 64

// hits lets everybody read keys that are in memory.
func (a *nearArena) hits(ctx context.Context) error {
	for _, callers := range nearCallers {
		sources := workload.NewSources(a.spec, callers)
		buffers := make([][]byte, callers)
		for w := range buffers {
			buffers[w] = make([]byte, 0, a.spec.ValueSize+64)
		}
		contestants := []struct {
			name string
			get  func(ctx context.Context, w int, key string) ([]byte, error)
		}{
			{nearGet, func(ctx context.Context, _ int, key string) ([]byte, error) { return a.near.Get(ctx, key) }},
			{nearAppend, func(ctx context.Context, w int, key string) ([]byte, error) {
				return a.near.GetAppend(ctx, buffers[w][:0], key)
			}},
			{nearRedis, func(ctx context.Context, _ int, key string) ([]byte, error) {
				value, _, err := a.redis.Get(ctx, key)
				return value, err
			}},
		}
		which := strconv.Itoa(callers)
		err := a.turns(len(contestants), func(i int) error {
			c := contestants[i]
			m := newMeter(client(), database(a.postgres.Process))
			before := a.near.Stats()
			s, err := measure.Closed(ctx, m.attach(measure.Load{
				Workers: callers, Warmup: a.warmup(), Duration: a.Duration,
				Do: func(ctx context.Context, w int) error {
					return readBatch(a.spec, sources[w], func(key string) ([]byte, error) { return c.get(ctx, w, key) })
				},
			}))
			if err != nil {
				return err
			}
			rate := hitBatch * s.Rate()
			a.Progress("hits %4s callers  %-18s %10.0f/s", which, c.name, rate)
			a.result.Add(nearHits, which, c.name, throughput, perSecond, rate)
			m.add(a.result, nearHits, which, c.name, hitBatch*s.Requests)
			if c.name == nearRedis {
				return nil
			}
			a.result.Add(nearHits, which, c.name, fromMemory, "%", 100*shareFromMemory(before, a.near.Stats()))
			return nil
		})
		if err != nil {
			return err
		}
		for _, name := range []string{nearGet, nearAppend} {
			a.result.Compare(nearHits, which, throughput, name, nearRedis, 1.5, false)
		}
	}
	return nil
}

// readBatch reads keys one after another, and checks the answers.
func readBatch(spec workload.Spec, src *workload.Source, get func(key string) ([]byte, error)) error {
	for range hitBatch {
		i := src.Next()
		value, err := get(src.Key(i))
		if err == nil {
			err = spec.Check(i, value)
		}
		if err != nil {
			return fmt.Errorf("GET %s: %w", src.Key(i), err)
		}
	}
	return nil
}

// shareFromMemory is the share of the reads between two readings of the counters
// that memory answered, of those that could have been.
func shareFromMemory(before, after howdah.NearStats) float64 {
	hits, misses := after.Hits-before.Hits, after.Misses-before.Misses
	if hits+misses == 0 {
		return 0
	}
	return float64(hits) / float64(hits+misses)
}

// allocations counts what a hit allocates. The polls beside it allocate too: the
// least of many short loops is that of the hits.
func (a *nearArena) allocations(ctx context.Context) error {
	src := workload.NewSources(a.spec, 1)[0]
	buffer := make([]byte, 0, a.spec.ValueSize+64)
	gets := map[string]func(key string) ([]byte, error){
		nearGet:    func(key string) ([]byte, error) { return a.near.Get(ctx, key) },
		nearAppend: func(key string) ([]byte, error) { return a.near.GetAppend(ctx, buffer[:0], key) },
	}
	if err := a.near.Warm(ctx, a.spec); err != nil {
		return err
	}
	for _, name := range []string{nearGet, nearAppend} {
		least := math.Inf(1)
		for range 200 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := readBatch(a.spec, src, gets[name]); err != nil {
				return err
			}
			runtime.ReadMemStats(&after)
			least = min(least, float64(after.Mallocs-before.Mallocs)/hitBatch)
		}
		a.result.Add(nearHits, "1", name, allocations, "a call", least)
	}
	return nil
}

// databaseCPU lets memory answer a share of the reads, and compares what
// PostgreSQL does for the others, and for the polls, with what it does for all of
// them where nothing is in memory.
func (a *nearArena) databaseCPU(ctx context.Context, which string, share float64) error {
	const callers = 64
	sources := workload.NewSources(a.spec, callers)
	read := func(get func(ctx context.Context, src *workload.Source, key string) ([]byte, error)) func(context.Context, int) error {
		return func(ctx context.Context, w int) error {
			i := sources[w].Next()
			value, err := get(ctx, sources[w], sources[w].Key(i))
			if err != nil {
				return err
			}
			return a.spec.Check(i, value)
		}
	}
	contestants := []struct {
		name string
		do   func(ctx context.Context, w int) error
	}{
		{nearOn, read(func(ctx context.Context, src *workload.Source, key string) ([]byte, error) {
			if src.Chance(share) {
				return a.near.Get(ctx, key)
			}
			return a.near.GetFresh(ctx, key)
		})},
		{nearOff, read(func(ctx context.Context, _ *workload.Source, key string) ([]byte, error) {
			return a.plain.Get(ctx, key)
		})},
	}
	return a.turns(len(contestants), func(i int) error {
		c := contestants[i]
		m := newMeter(client(), database(a.postgres.Process))
		allBefore, hitsBefore := a.near.Reads()
		polls := a.near.Stats().Polls
		begun := time.Now()
		s, err := measure.Closed(ctx, m.attach(measure.Load{Workers: callers, Warmup: a.warmup(), Duration: 2 * a.Duration, Do: c.do}))
		if err != nil {
			return err
		}
		a.noteClosed(a.result, m, nearCPU, which, c.name, s)
		if c.name == nearOn {
			all, hits := a.near.Reads()
			a.result.Add(nearCPU, which, c.name, fromMemory, "%", 100*float64(hits-hitsBefore)/float64(all-allBefore))
			a.result.Add(nearCPU, which, c.name, "polls", perSecond, float64(a.near.Stats().Polls-polls)/time.Since(begun).Seconds())
		}
		return nil
	})
}

func nearVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	return []result.Verdict{nearHitsVerdict(r), nearCPUVerdict(r)}
}

func nearHitsVerdict(r *result.Result) result.Verdict {
	var ours, words []string
	for _, callers := range nearCallers {
		which := strconv.Itoa(callers)
		get, into := r.RatioOf(nearHits, which, throughput, nearGet, nearRedis), r.RatioOf(nearHits, which, throughput, nearAppend, nearRedis)
		ours = append(ours, fmt.Sprintf("%d: %.2f and %.2f", callers, result.Median(get), result.Median(into)))
		words = append(words, result.AtLeast(get, 1.5), result.AtLeast(into, 1.5))
	}
	allocated, measured := r.Find(nearHits, "1", nearAppend, allocations)
	if measured {
		// A count is the same in every round, so one is enough.
		words = append(words, result.AtMost([]float64{allocated.Median(), allocated.Median()}, 0))
	}
	return result.Verdict{
		Claim: "A hit in memory is faster than one of a client-side cache of Redis, and allocates nothing", Source: "Howdah's own promise",
		Ours: fmt.Sprintf("Get and GetAppend to rueidis's DoCache, by callers: %s times as many; GetAppend allocates %g times a call",
			strings.Join(ours, ", "), allocated.Median()),
		Bar:      "with 1, 16 and 64 callers at least 1.5 times rueidis, by Get and by GetAppend; 0 allocations with GetAppend",
		Word:     result.All(words...),
		Sentence: "Both answer from the memory of the process; Get copies the value, which its caller may change.",
	}
}

func nearCPUVerdict(r *result.Result) result.Verdict {
	var ours, words []string
	for _, x := range nearShares {
		left := r.RatioOf(nearCPU, x.name, databaseCPU, nearOn, nearOff)
		ours = append(ours, fmt.Sprintf("%s: %.3f of %.2f s", x.name, result.Median(left), r.Value(nearCPU, x.name, nearOff, databaseCPU)))
		words = append(words, result.AtMost(left, x.most))
	}
	return result.Verdict{
		Claim: "With most reads answered from memory PostgreSQL has a fraction of the work left, polls included", Source: "Howdah's own promise",
		Ours:     "CPU per million reads of 64 callers, " + strings.Join(ours, "; "),
		Bar:      "at 99 % at most a sixth of the CPU without memory, at 95 % at most half",
		Word:     result.All(words...),
		Sentence: "What memory does not answer comes alone, and costs more for each key than in a shared statement.",
	}
}
