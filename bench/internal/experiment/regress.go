package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
)

// regressShare is how much of a published ratio must be reached. Rounds on a
// busy machine differ by a third; what has become half as fast falls below.
const regressShare = 0.55

// regressTries is how often a ratio may be measured; the best one counts.
const regressTries = 3

// Check is one ratio that must not fall.
type Check struct {
	Experiment            string // whose published result holds the ratio
	Group, Case, Of, To   string
	Published, Limit, Got float64 // Got is the best so far
}

// Passed tells whether the best is good enough.
func (c Check) Passed() bool { return c.Got >= c.Limit }

func (c Check) String() string {
	verdict := map[bool]string{true: "ok", false: "TOO LOW"}[c.Passed()]
	return fmt.Sprintf("%-4s %-6s %-12s / %-26s %5.2f  published %.2f, limit %.2f  %s",
		c.Group, c.Case, c.Of, c.To, c.Got, c.Published, c.Limit, verdict)
}

// Checks are the ratios of the published results that are looked after.
func Checks(published []*result.Result) ([]Check, error) {
	var out []Check
	for _, verb := range []string{"GET", "SET"} {
		out = append(out,
			Check{Experiment: "library", Group: verb, Case: "64", Of: rival.HowdahName, To: rival.PgxName},
			Check{Experiment: "library", Group: verb, Case: "64", Of: rival.HowdahName, To: rival.GoRedisName},
			Check{Experiment: "redis-benchmark", Group: verb, Case: "plain", Of: servedHowdah, To: servedRedis},
			Check{Experiment: "redis-benchmark", Group: verb, Case: "-P 16", Of: servedHowdah, To: servedRedis})
	}
	for i := range out {
		c := &out[i]
		for _, r := range published {
			if r.Experiment == c.Experiment {
				c.Published = result.Median(r.RatioOf(c.Group, c.Case, throughput, c.Of, c.To))
			}
		}
		if c.Published == 0 {
			return nil, fmt.Errorf("the published results hold no ratio of %s to %s for %s, %s: run %s", c.Of, c.To, c.Group, c.Case, c.Experiment)
		}
		c.Limit = regressShare * c.Published
	}
	return out, nil
}

// update notes a measured ratio if it is the best so far.
func update(checks []Check, r *result.Result) {
	for i := range checks {
		c := &checks[i]
		c.Got = max(c.Got, result.Median(r.RatioOf(c.Group, c.Case, throughput, c.Of, c.To)))
	}
}

func allPassed(checks []Check) bool {
	for _, c := range checks {
		if !c.Passed() {
			return false
		}
	}
	return true
}

// Regress measures every ratio up to three times, on servers of its own, and
// returns the checks with the best of each. It ends with the first try after
// which all have passed.
func Regress(ctx context.Context, o Options, checks []Check) ([]Check, error) {
	for _, p := range []service.Program{service.Postgres, service.Redis, service.RedisBenchmark} {
		if _, err := p.Find(); err != nil {
			return nil, err
		}
	}
	o.Rounds, o.counted, o.Goroutines = 1, true, []int{64}
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	a := &arena{Bench: b, result: &result.Result{}, few: true}
	if err := a.enter(ctx); err != nil {
		return nil, err
	}
	if err := a.load(ctx, b.Workload); err != nil {
		return nil, err
	}
	servers, err := b.benchmarkServers(ctx)
	if err != nil {
		return nil, err
	}
	for try := range regressTries {
		r := &result.Result{}
		a.result = r
		for _, mix := range mixes[:2] {
			if err := a.compete(ctx, contest{mix.name, "64", mix.reads, 64, b.Workload}); err != nil {
				return nil, err
			}
		}
		for _, p := range []pipeline{{name: "plain", depth: 1, requests: 50_000}, {name: "-P 16", depth: 16, requests: 300_000}} {
			for _, verb := range []string{"GET", "SET"} {
				err := b.turns(len(servers), func(i int) error { return b.benchmark(ctx, r, servers[i], verb, p) })
				if err != nil {
					return nil, err
				}
			}
		}
		update(checks, r)
		if allPassed(checks) || try == regressTries-1 {
			break
		}
		b.Progress("try %d of %d: some ratios are below their limits", try+1, regressTries)
		time.Sleep(time.Second) // let a short disturbance pass
	}
	return checks, nil
}
