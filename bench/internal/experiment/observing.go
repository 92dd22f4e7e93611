package experiment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// observing asks what a server pays for seeing its own work: slow calls, removals, and
// reads by prefix. Its counters, and so the metrics, are always on.
func observing() Experiment {
	return Experiment{
		Name:  "observing",
		Title: "What slow calls, removals and prefixes cost howdah serve",
		Needs: []service.Program{service.Postgres},
		Quick: 30 * time.Second, Full: 200 * time.Second,
		Run:   runObserving,
		Judge: observingVerdicts,
	}
}

const (
	observed     = "observing"
	unobserved   = "not observing"
	observeTurns = 20
	serverCPU    = "server CPU"
	// observePrice is how much CPU a server that observes may use, beside one that does not.
	observePrice = 1.02
)

// observeLoads are what clients ask for; memory says that the server answers from its own.
var observeLoads = []struct {
	name   string
	reads  float64
	memory bool
}{{"GET", 1, false}, {"SET", 0, false}, {"GET from memory", 1, true}}

func runObserving(ctx context.Context, b *Bench, r *result.Result) error {
	b.Rounds = max(b.Rounds, b.scale(observeTurns, 1))
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	if err := b.install(ctx, pg.SocketURL, `SELECT howdah.alter_cache('db0', near => true)`); err != nil {
		return err
	}
	servers := map[bool][]served{}
	for _, memory := range []bool{false, true} {
		near := "off"
		if memory {
			near = nearBound.String()
		}
		for _, s := range []struct {
			name string
			args []string
		}{{observed, nil}, {unobserved, []string{"--slow-call", "0", "--removals", "0", "--prefix-sample", "0"}}} {
			started, err := b.serve(ctx, service.StartHowdah, pg.SocketURL, append([]string{"--near", near}, s.args...)...)
			if err != nil {
				return err
			}
			servers[memory] = append(servers[memory], served{s.name, started.Addr, []part{server(started.Process)}})
		}
	}
	if err := loadOver(ctx, servers[false][0].addr, b.Workload); err != nil {
		return err
	}
	for _, s := range servers[true] {
		if err := warmOver(ctx, s.addr, b.Workload); err != nil {
			return err
		}
	}
	r.Set("load", fmt.Sprintf("%d connections, pipelines of 16, a client in Go that checks every answer; %v each in turns after %v of warming up", nearClients, b.Duration, b.warmup()))
	r.Set(observed, "the defaults: --slow-call 100ms, --removals 4096, --prefix-sample 64")
	r.Set("one database", "an UNLOGGED cache with a change log; two servers with --near off, and two with it for the GETs from memory")
	for _, l := range observeLoads {
		err := b.turns(2, func(i int) error { return b.observe(ctx, r, servers[l.memory][i], l.name, l.reads) })
		if err != nil {
			return err
		}
		compareAs(r, l.name+", CPU of the server", l.name, "-P 16", serverCPU, observed, unobserved, observePrice)
	}
	return nil
}

// observe is one turn of a server.
func (b *Bench) observe(ctx context.Context, r *result.Result, s served, group string, reads float64) error {
	m := newMeter(s.parts...)
	l := respLoad{addr: s.addr, spec: b.Workload, clients: nearClients, depth: 16, reads: reads, warmup: b.warmup(), duration: b.Duration}
	sample, err := l.run(ctx, m)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	sample.Requests *= int64(l.depth)
	b.noteClosed(r, m, group, "-P 16", s.name, sample)
	return nil
}

func observingVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	var verdicts []result.Verdict
	for _, l := range observeLoads {
		rounds := r.RatioOf(l.name, "-P 16", serverCPU, observed, unobserved)
		median := result.Median(rounds)
		verdicts = append(verdicts, result.Verdict{
			Claim: l.name + ": observing costs 2 % of the server's CPU at most", Source: "our goal",
			Ours:     fmt.Sprintf("%.3f of the CPU per command in the median of %d rounds, spread %.0f %%", median, len(rounds), 100*result.Spread(rounds)),
			Bar:      fmt.Sprintf("at most %g in the median", observePrice),
			Word:     result.AtMost(slices.Repeat([]float64{median}, len(rounds)), observePrice),
			Sentence: "Slow calls take one comparison, prefixes one read in 64, removals a row of memory.",
		})
	}
	return verdicts
}
