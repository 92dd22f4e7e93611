package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/worker"
)

// scaleOut asks what a second server gains, each with a core of its own that it shares with
// its clients.
func scaleOut() Experiment {
	return Experiment{
		Name:  "scale-out",
		Title: "Two servers of Citus on two cores, beside one server on one",
		Needs: []service.Program{service.Citus},
		Quick: 22 * time.Second, Full: 210 * time.Second,
		Run: runScaleOut,
	}
}

const (
	oneServer     = "one server, no partitions"
	oneDivided    = "one server, 16 partitions"
	twoServers    = "two servers, 16 partitions"
	spinGroup     = "A loop that only computes"
	scaleCache    = "db0"              // every database has it
	databaseUsage = "PostgreSQL's CPU" // of all servers, a million requests
)

// spread is a contestant of scaleOut.
type spread struct {
	name      string
	url       string
	cores     []int // a client on each
	processes []machine.Process
	batch     int // keys of a batch that hold statementKeys a statement
}

// scaleLoads are the callers of each client, and what bounds their batches.
var scaleLoads = []struct {
	name    string
	callers int
	full    bool // batches hold statementKeys a statement
}{
	{"1 key a statement", 1, false},
	{"1,024 callers a client", 1024, false},
	{"64 keys a statement", 4096, true},
}

func runScaleOut(ctx context.Context, b *Bench, r *result.Result) error {
	all, err := b.openSpread(ctx)
	if err != nil {
		return err
	}
	r.Set("workload", b.Workload.String())
	r.Set("cores", "a server and a client share each core: one server has one, two servers have two, and each client uses both servers")
	r.Set("Howdah", "the library in each client, the cache db0, UNLOGGED")
	if err := b.spinTurns(r); err != nil {
		return err
	}
	for i, load := range scaleLoads {
		if b.Quick && i == 1 {
			continue // what is between shows nothing that the others do not
		}
		for _, mix := range mixes[:2] {
			err := b.turns(len(all), func(who int) error {
				return b.spreadTurn(r, all[who], mix, load.name, load.callers, load.full)
			})
			if err != nil {
				return err
			}
			spreadRatios(r, mix.name, load.name, load.full)
		}
	}
	return nil
}

// settling is how long clients that have just begun run unmeasured: each of their
// connections reads the catalogue and prepares a statement for each partition.
func (b *Bench) settling() time.Duration { return time.Duration(b.scale(2000, 700)) * time.Millisecond }

// spreadRatios says what the second server gains, and what it costs.
func spreadRatios(r *result.Result, verb, which string, full bool) {
	r.Compare(verb, which, throughput, twoServers, oneServer, 0, false)
	r.Compare(verb, which, throughput, twoServers, oneDivided, 0, false)
	most := 0.0
	if full {
		most = 1.3
	}
	compareAs(r, verb+", PostgreSQL's CPU", verb, which, databaseUsage, twoServers, oneServer, most)
	compareAs(r, verb+", PostgreSQL's CPU", verb, which, databaseUsage, oneDivided, oneServer, 0)
}

// spinTurns measures what two cores do more than one.
func (b *Bench) spinTurns(r *result.Result) error {
	err := b.turns(2, func(i int) error {
		name := []string{"one core", "two cores"}[i]
		rate, err := machine.Spin([]int{0, 1}[:i+1], b.Duration/2)
		r.Add(spinGroup, "spin", name, throughput, perSecond, rate)
		return err
	})
	r.Compare(spinGroup, "spin", throughput, "two cores", "one core", 0, false)
	return err
}

// openSpread starts all servers, pins them and loads every key.
func (b *Bench) openSpread(ctx context.Context) ([]spread, error) {
	pg, err := service.StartPostgresBeside(ctx, b.dir)
	if err != nil {
		return nil, err
	}
	b.later(pg.Stop)
	divided, err := pg.Divided(ctx, partitionCount)
	if err != nil {
		return nil, err
	}
	b.Progress("starting two servers of Citus")
	citus, err := service.StartCitus(ctx, b.dir, 2, partitionCount)
	if err != nil {
		return nil, err
	}
	b.later(citus.Stop)
	b.versions["PostgreSQL"], b.versions["Citus"] = pg.Version, citus.Version
	plain := []machine.Process{pg.Process}
	all := []spread{
		{oneServer, pg.URL, []int{0}, plain, statementKeys},
		{oneDivided, divided, []int{0}, plain, statementKeys * partitionCount},
		{twoServers, citus.URL, []int{0, 1}, citus.Processes, statementKeys * partitionCount / 2},
	}
	for i, p := range citus.Processes {
		if err := p.Pin(i); err != nil {
			return nil, err
		}
	}
	if err := pg.Process.Pin(0); err != nil {
		return nil, err
	}
	for _, s := range all {
		if err := b.loadSpread(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return all, nil
}

func (b *Bench) loadSpread(ctx context.Context, s spread) error {
	b.Progress("loading %d keys: %s", b.Workload.Keys, s.name)
	h, err := rival.NewHowdah(ctx, s.url, scaleCache)
	if err != nil {
		return err
	}
	defer h.Close()
	return rival.Load(ctx, h, b.Workload)
}

// spreadTurn measures one contestant once.
func (b *Bench) spreadTurn(r *result.Result, s spread, mix mix, which string, callers int, full bool) error {
	job := worker.Job{
		Rival: rival.HowdahName, Target: s.url, Cache: scaleCache, Cores: s.cores,
		Spec: b.Workload, Reads: mix.reads, Goroutines: callers, Warmup: b.settling(), Duration: b.Duration,
	}
	if full {
		job.BatchKeys = s.batch
	}
	usage := func() (sum float64) {
		for _, p := range s.processes {
			sum += p.CPUSeconds()
		}
		return sum
	}
	var before, used float64
	sample, report, err := worker.Together(len(s.cores), job, func() { before = usage() }, func() { used = usage() - before })
	if err != nil {
		return fmt.Errorf("%s, %s, %s: %w", mix.name, which, s.name, err)
	}
	addClosed(r, mix.name, which, s.name, sample)
	r.Add(mix.name, which, s.name, databaseUsage, "s per million", used/float64(sample.Requests)*1e6)
	r.Add(mix.name, which, s.name, "client CPU", "s per million", report.CPUSeconds/float64(sample.Requests)*1e6)
	keys := report.Keys / float64(max(1, report.Batches))
	r.Add(mix.name, which, s.name, batchSize, "keys", keys)
	b.Progress("%-4s %-24s %-28s %9.0f/s  %5.1f s of PostgreSQL a million, %.1f keys a statement",
		mix.name, which, s.name, sample.Rate(), used/float64(sample.Requests)*1e6, keys)
	return nil
}
