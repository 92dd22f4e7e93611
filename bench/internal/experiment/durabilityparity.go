package experiment

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// durabilityParity sets each promise of Redis beside the same one of Howdah.
func durabilityParity() Experiment {
	return Experiment{
		Name:  "durability-parity",
		Title: "The same promise on both sides: Redis with its log, Howdah's classes",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 20 * time.Second, Full: 110 * time.Second,
		Run:   runDurabilityParity,
		Judge: durabilityVerdict,
	}
}

func runDurabilityParity(ctx context.Context, b *Bench, r *result.Result) error {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	for _, p := range parityPromises {
		h, err := rival.NewHowdahClass(ctx, pg.URL, p.durability)
		if err != nil {
			return err
		}
		b.later(h.Close)
		var args []string
		if p.fsync != "" {
			args = []string{"--appendonly", "yes", "--appendfsync", p.fsync}
		}
		redis, err := b.redisWith(ctx, "redis-"+p.durability, args...)
		if err != nil {
			return err
		}
		g := rival.NewGoRedis(redis.Addr, 0)
		b.later(g.Close)
		rueidis, err := rival.NewRueidis(redis.Addr)
		if err != nil {
			return err
		}
		b.later(rueidis.Close)
		all := []contestant{
			{h, []part{client(), database(pg.Process)}},
			{g, []part{client(), server(redis.Process)}},
			{rueidis, []part{client(), server(redis.Process)}},
		}
		for _, c := range all[:2] {
			if err := rival.Load(ctx, c, b.Workload); err != nil {
				return err
			}
		}
		for _, n := range parityGoroutines {
			group, which := parityGroup(n), p.name
			err := b.turns(len(all), func(i int) error {
				c := all[i]
				sources := workload.NewSources(b.Workload, n)
				m := newMeter(c.parts...)
				s, err := measure.Closed(ctx, m.attach(measure.Load{Workers: n, Warmup: b.warmup(), Duration: b.Duration,
					Do: func(ctx context.Context, w int) error { return rival.Do(ctx, c, b.Workload, sources[w], 0) }}))
				if err != nil {
					return err
				}
				addClosed(r, group, which, c.Name(), s)
				m.add(r, group, which, c.Name(), s.Requests)
				b.Progress("%-48s %3d goroutines %-9s %8.0f/s", p.name, n, c.Name(), s.Rate())
				return nil
			})
			if err != nil {
				return err
			}
			r.Compare(group, which, throughput, rival.HowdahName, rival.GoRedisName, 0, false)
			r.Compare(group, which, throughput, rival.HowdahName, rival.RueidisName, 0, false)
		}
	}
	r.Set("workload", b.Workload.String())
	return nil
}

// parityGoroutines are the numbers of callers, parityPromises what they are
// promised.
var (
	parityGoroutines = []int{1, 64}
	parityPromises   = []struct{ name, durability, fsync string }{
		{"nothing kept: unlogged, no log", "unlogged", ""},
		{"the last moments may be lost: async, everysec", "async", "everysec"},
		{"nothing may be lost: sync, always", "sync", "always"},
	}
)

func parityGroup(goroutines int) string { return fmt.Sprintf("SET, %d goroutines", goroutines) }

// durabilityVerdict judges the better client of Redis in each round: which of
// them is faster is a matter of the number of callers.
func durabilityVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	var parts, words []string
	for _, n := range parityGoroutines {
		var medians []string
		for _, p := range parityPromises {
			behind := r.RatioOf(parityGroup(n), p.name, throughput, rival.HowdahName, rival.GoRedisName)
			for i, v := range r.RatioOf(parityGroup(n), p.name, throughput, rival.HowdahName, rival.RueidisName) {
				behind[i] = min(behind[i], v)
			}
			medians = append(medians, fmt.Sprintf("%.2f", result.Median(behind)))
			words = append(words, result.AtMost(behind, 0.5))
		}
		parts = append(parts, fmt.Sprintf("%d at once: %s", n, strings.Join(medians, ", ")))
	}
	return []result.Verdict{{
		Claim: "Redis is far ahead of PostgreSQL in writes", Source: "UNLOGGED and LOGGED tables against a Redis that keeps nothing",
		Ours: "Howdah to the better of go-redis and rueidis, keeping nothing, for async and everysec, for sync and always: " + strings.Join(parts, "; "),
		Bar:  "Howdah at most 0.5 times the better Redis client, in each of the six",
		Word: result.Agree(words...),
		Sentence: "By how much depends on the promise and on the callers: by most for a lone caller that does not wait for the disk," +
			" by less where many callers share statements and flushes.",
	}}
}
