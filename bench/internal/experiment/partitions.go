package experiment

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// partitions asks what partitions cost on one server, where they gain nothing.
func partitions() Experiment {
	return Experiment{
		Name:  "partitions",
		Title: "16 partitions and none, on one server",
		Needs: []service.Program{service.Postgres},
		Quick: 13 * time.Second, Full: 120 * time.Second,
		Run: runPartitions,
	}
}

const (
	partitionCount = 16
	undivided      = "no partitions"
	dividedCache   = "16 partitions"
	statementKeys  = 64 // what a statement is to hold where batches are compared
)

// dividing is a contestant of partitions: a database, and the keys of a batch.
type dividing struct {
	name    string
	divided bool
	keys    int // 0: the library's own
}

var dividings = []dividing{
	{undivided, false, 0},
	{undivided + ", 64 keys a batch", false, statementKeys},
	{dividedCache, true, 0},
	{dividedCache + ", 1,024 keys a batch", true, statementKeys * partitionCount},
}

// partitionLoads are how many callers there are, and who competes.
var partitionLoads = []struct {
	callers int
	of      []dividing
}{
	{50, []dividing{dividings[0], dividings[2]}},
	{1024, dividings},
	{4096, dividings},
}

func runPartitions(ctx context.Context, b *Bench, r *result.Result) error {
	all, pg, err := b.openDividings(ctx)
	if err != nil {
		return err
	}
	r.Set("workload", b.Workload.String())
	r.Set("Howdah", "the library in this process, one UNLOGGED cache in each of two databases of one server")
	for _, load := range partitionLoads {
		which := strconv.Itoa(load.callers)
		for _, mix := range mixes[:2] {
			err := b.turns(len(load.of), func(i int) error {
				d := load.of[i]
				return b.dividedTurn(ctx, r, all[d.name], mix, which, load.callers, d.name, database(pg.Process))
			})
			if err != nil {
				return err
			}
			dividedRatios(r, mix.name, which)
		}
	}
	return nil
}

// dividedRatios sets partitions beside none: with the library's batches, and where statements
// have as many keys.
func dividedRatios(r *result.Result, verb, which string) {
	r.Compare(verb, which, throughput, dividings[2].name, dividings[0].name, 0, false)
	r.Compare(verb, which, throughput, dividings[3].name, dividings[0].name, 0, false)
	target := 0.0
	if which == strconv.Itoa(partitionLoads[2].callers) { // enough of them to fill 64 keys of each partition
		target = 0.9
	}
	r.Compare(verb, which, throughput, dividings[3].name, dividings[1].name, target, false)
}

// openDividings makes the databases, loads both, and opens each contestant.
func (b *Bench) openDividings(ctx context.Context) (map[string]*rival.Howdah, *service.PostgresServer, error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, nil, err
	}
	url, err := pg.Divided(ctx, partitionCount)
	if err != nil {
		return nil, nil, err
	}
	all := map[string]*rival.Howdah{}
	for _, d := range dividings {
		target := pg.URL
		if d.divided {
			target = url
		}
		h, err := rival.NewHowdahBatches(ctx, target, "bench", d.keys)
		if err != nil {
			return nil, nil, err
		}
		b.later(h.Close)
		all[d.name] = h
		if d.keys > 0 {
			continue // shares its database with the one before
		}
		b.Progress("loading %d keys: %s", b.Workload.Keys, d.name)
		if err := h.CreateCache(ctx); err != nil {
			return nil, nil, err
		}
		if err := rival.Load(ctx, h, b.Workload); err != nil {
			return nil, nil, err
		}
		if err := b.settle(ctx, target); err != nil {
			return nil, nil, err
		}
	}
	return all, pg, nil
}

// dividedTurn measures one contestant once.
func (b *Bench) dividedTurn(ctx context.Context, r *result.Result, h *rival.Howdah, mix mix, which string, callers int, name string, pg part) error {
	sources := workload.NewSources(b.Workload, callers)
	m := newMeter(client(), pg)
	before := h.Counts()
	s, err := measure.Closed(ctx, m.attach(measure.Load{
		Workers: callers, Warmup: b.warmup(), Duration: b.Duration,
		Do: func(ctx context.Context, w int) error { return rival.Do(ctx, h, b.Workload, sources[w], mix.reads) },
	}))
	if err != nil {
		return err
	}
	b.noteClosed(r, m, mix.name, which, name, s)
	n := h.Counts().Since(before)
	if err := n.CheckAllHits(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.Add(mix.name, which, name, batchSize, "keys", n.BatchSize())
	b.Progress("%.1f keys a statement", n.BatchSize())
	return nil
}
