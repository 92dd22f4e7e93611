package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// noeviction asks how far a cache that refuses writes goes beyond its budget
// while two servers write as fast as they can.
func noeviction() Experiment {
	return Experiment{
		Name:  "noeviction-budget",
		Title: "The budget of a cache with policy noeviction, while two servers write as fast as they can",
		Needs: []service.Program{service.Postgres},
		Quick: 25 * time.Second, Full: 60 * time.Second,
		Run:   runNoeviction,
		Judge: noevictionVerdict,
	}
}

const (
	noevictionGroup   = "Two servers, 32 callers each"
	noevictionCallers = 32
	noevictionServers = 2
	noevictionUsed    = "used at most"
	noevictionMost    = 103 // per cent: a batch of 256 entries for each server
)

// noevictionBudget is one of the budgets, and what counts against it.
type noevictionBudget struct {
	name   string
	config howdah.CacheConfig
	size   string // in SQL, of one row
}

var noevictionBudgets = []noevictionBudget{
	{"20,000 entries", howdah.CacheConfig{MaxEntries: 20_000}, `1`},
	{"8 MB", howdah.CacheConfig{MaxBytes: 8 << 20}, `octet_length(key) + octet_length(value) + 100`},
}

func (x noevictionBudget) limit() float64 { return float64(x.config.MaxEntries + x.config.MaxBytes) }

func runNoeviction(ctx context.Context, b *Bench, r *result.Result) error {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	r.Set("load", fmt.Sprintf("SETs of new keys, values of %d bytes, for %v at least; each server is a handle of the library with its upkeep", b.Workload.ValueSize, 4*b.Duration))
	return b.turns(len(noevictionBudgets), func(i int) error {
		return b.overfill(ctx, r, d, pg.URL, noevictionBudgets[i])
	})
}

// overfill writes new keys into an empty cache and watches its size.
func (b *Bench) overfill(ctx context.Context, r *result.Result, d *db, url string, x noevictionBudget) error {
	const name = "bench_noeviction"
	var servers []*howdah.DB
	for range noevictionServers {
		db, err := howdah.Open(ctx, url, &howdah.Options{Timeout: 10 * time.Second})
		if err != nil {
			return err
		}
		defer db.Close()
		servers = append(servers, db)
	}
	if err := servers[0].DropCache(ctx, name); err != nil && !errors.Is(err, howdah.ErrCacheNotFound) {
		return err
	}
	config := x.config
	config.Name, config.Eviction = name, "noeviction"
	if err := servers[0].CreateCache(ctx, config); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	writing, end := context.WithCancel(running)
	defer end()
	enough := time.Now().Add(4 * b.Duration)
	var writers errgroup.Group
	var upkeep sync.WaitGroup
	var next, refused atomic.Int64
	for _, db := range servers {
		upkeep.Go(func() { db.Run(running) })
		for _, src := range workload.NewSources(b.Workload, noevictionCallers) {
			writers.Go(func() error { return fill(running, writing.Done(), db.Cache(name), src, &next, &refused) })
		}
	}
	most := 0.0
	query := fmt.Sprintf(`SELECT coalesce(sum(%s), 0)::float8 FROM howdah.cache_%s`, x.size, name)
	for writing.Err() == nil {
		if time.Now().After(enough) && refused.Load() > 0 {
			end() // one look more
		}
		var used float64
		if err := d.QueryRow(ctx, query).Scan(&used); err != nil {
			return err
		}
		most = max(most, used)
		time.Sleep(20 * time.Millisecond)
	}
	err := writers.Wait()
	stop()
	upkeep.Wait()
	if err != nil {
		return err
	}
	r.Add(noevictionGroup, x.name, "Howdah", noevictionUsed, "% of the budget", 100*most/x.limit())
	b.Progress("%s: at most %.1f %%, %d writes refused", x.name, 100*most/x.limit(), refused.Load())
	return nil
}

// fill writes new keys until the end. Refusals are what the load is for, so
// they are counted.
func fill(ctx context.Context, end <-chan struct{}, cache *howdah.Cache, src *workload.Source, next, refused *atomic.Int64) error {
	for {
		select {
		case <-end:
			return nil
		default:
		}
		i := int(next.Add(1))
		err := cache.Set(ctx, workload.Key(i), src.Value(i), howdah.NoExpiry)
		switch {
		case errors.Is(err, howdah.ErrCacheFull):
			refused.Add(1)
		case err != nil && ctx.Err() == nil:
			return err
		}
	}
}

func noevictionVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	var ours, words []string
	for _, x := range noevictionBudgets {
		used, _ := r.Find(noevictionGroup, x.name, "Howdah", noevictionUsed)
		ours = append(ours, fmt.Sprintf("%s: %.1f %%", x.name, used.Median()))
		words = append(words, result.AtMost(used.Rounds, noevictionMost))
	}
	return []result.Verdict{{
		Claim: "A cache with policy noeviction keeps its budget, however many servers write", Source: "Howdah's own promise",
		Ours:     strings.Join(ours, "; ") + " of the budget at most",
		Bar:      "at most 103 % of the budget: a batch for each server",
		Word:     result.All(words...),
		Sentence: "Entries that several servers store at the same moment count against one budget.",
	}}
}
