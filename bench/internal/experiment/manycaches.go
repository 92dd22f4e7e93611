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

// manyCaches asks what sharing statements gains when callers are spread over
// more and more caches, each of which is a table.
func manyCaches() Experiment {
	return Experiment{
		Name:  "many-caches",
		Title: "256 callers of one process over 1, 10, 100 and 500 caches",
		Needs: []service.Program{service.Postgres},
		Quick: 90 * time.Second, Full: 180 * time.Second,
		Run:   runManyCaches,
		Judge: manyVerdict,
	}
}

const (
	manyCallers     = 256
	manyConnections = 8 // of either contestant
)

var (
	manyCounts = []int{1, 10, 100, 500}
	// manyTargets are what Howdah is to reach beside plain pgx, over 100 caches
	// and more. How fast one cache is, the experiment library looks after.
	manyTargets = map[string]float64{"GET": 2.5, "SET": 1.5}
)

func runManyCaches(ctx context.Context, b *Bench, r *result.Result) error {
	b.Workload.Keys = min(b.Workload.Keys, b.scale(b.Workload.Keys, 20_000))
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	most := manyCounts[len(manyCounts)-1]
	b.Progress("making %d caches and %d plain tables", most, most)
	howdah, err := rival.NewHowdahCaches(ctx, withPool(pg.URL, manyConnections), most)
	if err != nil {
		return err
	}
	b.later(howdah.Close)
	plain, err := rival.NewPgxTables(ctx, pg.URL, most, manyConnections)
	if err != nil {
		return err
	}
	b.later(plain.Close)
	r.Set("callers", fmt.Sprintf("%d goroutines, closed loop; each request chooses a cache and a key anew", manyCallers))
	r.Set("connections", fmt.Sprintf("%d for each contestant, by TCP on loopback", manyConnections))
	r.Set("Howdah", "the library's defaults, UNLOGGED caches")
	r.Set(rival.PgxName, "as many UNLOGGED tables with the same keys and values; every statement stays prepared on each connection")
	r.Set("workload", b.Workload.String()+", spread evenly over the caches")
	for _, n := range manyCounts {
		contestants := []contestant{
			{howdah.First(n), []part{client(), database(pg.Process)}},
			{plain.First(n), []part{client(), database(pg.Process)}},
		}
		if err := b.manyRounds(ctx, r, n, contestants); err != nil {
			return fmt.Errorf("%d caches: %w", n, err)
		}
	}
	return nil
}

// manyRounds loads every key into the first n caches and measures both.
func (b *Bench) manyRounds(ctx context.Context, r *result.Result, n int, all []contestant) error {
	which := strconv.Itoa(n)
	for _, c := range all {
		b.Progress("%d caches: loading %d keys: %s", n, b.Workload.Keys, c.Name())
		if err := rival.Load(ctx, c, b.Workload); err != nil {
			return err
		}
	}
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	if err := d.run(ctx, "VACUUM ANALYZE", "CHECKPOINT"); err != nil {
		return err
	}
	for _, mix := range mixes[:2] {
		for _, c := range all {
			if _, err := measure.Closed(ctx, b.manyLoad(c, mix, b.prepareFor(n))); err != nil {
				return err
			}
		}
		err := b.turns(len(all), func(i int) error {
			m := newMeter(all[i].parts...)
			s, err := measure.Closed(ctx, m.attach(b.manyLoad(all[i], mix, b.Duration)))
			if err != nil {
				return err
			}
			b.noteClosed(r, m, mix.name, which, all[i].Name(), s)
			return nil
		})
		if err != nil {
			return err
		}
		target := 0.0
		if n >= 100 {
			target = manyTargets[mix.name]
		}
		r.Compare(mix.name, which, throughput, rival.HowdahName, rival.PgxName, target, false)
	}
	return nil
}

// prepareFor is how long a contestant runs unmeasured first: each connection
// prepares a statement for each table.
func (b *Bench) prepareFor(caches int) time.Duration {
	return b.Duration/2 + time.Duration(caches)*time.Duration(b.scale(10, 4))*time.Millisecond
}

func (b *Bench) manyLoad(c contestant, mix mix, d time.Duration) measure.Load {
	sources := workload.NewSources(b.Workload, manyCallers)
	return measure.Load{
		Workers: manyCallers, Warmup: b.warmup(), Duration: d,
		Do: func(ctx context.Context, w int) error {
			return rival.Do(ctx, c, b.Workload, sources[w], mix.reads)
		},
	}
}

func manyVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	ratio := func(verb, which string) []float64 {
		return r.RatioOf(verb, which, throughput, rival.HowdahName, rival.PgxName)
	}
	var words []string
	ours := ""
	for _, mix := range mixes[:2] {
		ours += mix.name
		for _, n := range manyCounts {
			which := strconv.Itoa(n)
			ours += fmt.Sprintf(" %.2f", result.Median(ratio(mix.name, which)))
			if n >= 100 {
				words = append(words, result.AtLeast(ratio(mix.name, which), manyTargets[mix.name]))
			}
		}
		ours += ", "
	}
	return []result.Verdict{{
		Claim: "Callers of hundreds of caches share as well", Source: "Howdah's own promise",
		Ours:     ours + "times plain pgx over 1, 10, 100, 500 caches",
		Bar:      "over 100 and 500 caches, GET at least 2.5 times and SET at least 1.5 times plain pgx",
		Word:     result.All(words...),
		Sentence: "What callers can share is a round trip, whatever their tables; a statement they can share only on one table.",
	}}
}
