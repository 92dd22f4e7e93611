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
		Quick: 30 * time.Second, Full: 260 * time.Second,
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

// observeLoad is what clients ask for.
type observeLoad struct {
	name    string
	reads   float64
	memory  bool // the server answers from its own
	deletes bool // what is stored is deleted again
}

// observeLoads end with the one that leaves no key behind.
var observeLoads = []observeLoad{{"GET", 1, false, false}, {"SET", 0, false, false}, {"GET from memory", 1, true, false}, {"SET and DEL", 0, false, true}}

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
		err := b.turns(2, func(i int) error { return b.observe(ctx, r, servers[l.memory][i], l) })
		if err != nil {
			return err
		}
		compareAs(r, l.name+", CPU of the server", l.name, "-P 16", serverCPU, observed, unobserved, observePrice)
	}
	return nil
}

// observe is one turn of a server.
func (b *Bench) observe(ctx context.Context, r *result.Result, s served, load observeLoad) error {
	m := newMeter(s.parts...)
	l := respLoad{addr: s.addr, spec: b.Workload, clients: nearClients, depth: 16, reads: load.reads, deletes: load.deletes, warmup: b.warmup(), duration: b.Duration}
	sample, err := l.run(ctx, m)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	sample.Requests *= int64(l.depth)
	if l.deletes {
		sample.Requests *= 2
	}
	b.noteClosed(r, m, load.name, "-P 16", s.name, sample)
	return nil
}

func observingVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	var verdicts []result.Verdict
	for _, l := range observeLoads {
		rounds := r.RatioOf(l.name, "-P 16", serverCPU, observed, unobserved)
		if len(rounds) == 0 {
			continue // published before the load was there
		}
		median := result.Median(rounds)
		verdicts = append(verdicts, result.Verdict{
			Claim: l.name + ": observing costs 2 % of the server's CPU at most", Source: "our goal",
			Ours:     fmt.Sprintf("%.3f of the CPU per command in the median of %d rounds, which lie between %.2f and %.2f", median, len(rounds), slices.Min(rounds), slices.Max(rounds)),
			Bar:      fmt.Sprintf("at most %g in every round", observePrice),
			Word:     result.AtMost(rounds, observePrice),
			Sentence: "The rounds differ by more than the goal is, so that they do not decide. All keys begin alike, and nobody reads /metrics meanwhile: of scrapes, and of many prefixes, this says nothing.",
		})
	}
	return verdicts
}
