package experiment

import (
	"context"
	"fmt"
	"strconv"

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
		Run:   runDurabilityParity,
	}
}

func runDurabilityParity(ctx context.Context, b *Bench, r *result.Result) error {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	promises := []struct{ name, durability, fsync string }{
		{"nothing kept: unlogged, no log", "unlogged", ""},
		{"the last moments may be lost: async, everysec", "async", "everysec"},
		{"nothing may be lost: sync, always", "sync", "always"},
	}
	goroutines := []int{1, 64}
	for _, p := range promises {
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
		for _, n := range goroutines {
			group, which := fmt.Sprintf("SET, %d goroutines", n), p.name
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
	for _, n := range goroutines {
		group := "SET, " + strconv.Itoa(n) + " goroutines"
		r.Charts = append(r.Charts, result.Chart{Kind: result.Bars, Title: group + ", SETs/s", Group: group, Metric: throughput})
	}
	ratio := func(i int) float64 {
		group := "SET, 64 goroutines"
		return r.Value(group, promises[i].name, rival.HowdahName, throughput) / r.Value(group, promises[i].name, rival.GoRedisName, throughput)
	}
	rounds := func(i int) []float64 {
		return r.RatioOf("SET, 64 goroutines", promises[i].name, throughput, rival.HowdahName, rival.GoRedisName)
	}
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "Redis is far ahead of PostgreSQL in writes", Source: "UNLOGGED and LOGGED tables against a Redis that keeps nothing",
		Ours:     fmt.Sprintf("Howdah to go-redis at 64 callers: %.2f keeping nothing, %.2f for async and everysec, %.2f for sync and always", ratio(0), ratio(1), ratio(2)),
		Word:     result.Agree(result.AtMost(rounds(0), 0.5), result.AtMost(rounds(1), 0.5), result.AtMost(rounds(2), 0.5)),
		Sentence: "It depends on comparing equal promises, and on whether callers share the flush to disk, which a batch does.",
	})
	return nil
}
