package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// library compares client libraries in one Go process.
func library() Experiment {
	return Experiment{
		Name:  "library",
		Title: "Libraries in one Go process: Howdah, plain pgx, go-redis, rueidis, gomemcache",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 80 * time.Second, Full: 420 * time.Second,
		Run: runLibrary,
	}
}

// mix is a kind of load: a share of reads.
type mix struct {
	name  string
	reads float64
}

var mixes = []mix{{"GET", 1}, {"SET", 0}, {"80 % GET, 20 % SET", 0.8}}

// contestant is a rival with the processes that work for it.
type contestant struct {
	rival.Rival
	parts []part
}

// poolSizes are those of which plain pgx gets the best, for each load.
var poolSizes = []int{4, 16, 50}

// arena holds the contestants.
type arena struct {
	*Bench
	result *result.Result
	few    bool // only Howdah, go-redis and plain pgx
	howdah *rival.Howdah
	fixed  []contestant // Howdah, go-redis, rueidis, gomemcache
	pgx    []contestant // one for each of poolSizes
}

// contest is one load, and where the report shows it.
type contest struct {
	group, which string
	reads        float64
	goroutines   int
	spec         workload.Spec
}

func runLibrary(ctx context.Context, b *Bench, r *result.Result) error {
	a := &arena{Bench: b, result: r}
	if err := a.enter(ctx); err != nil {
		return err
	}
	if err := a.load(ctx, b.Workload); err != nil {
		return err
	}
	r.Set("workload", b.Workload.String())
	r.Set("measurement", fmt.Sprintf("%d rounds of %v each after %v of warming up, in turns, closed loop", b.Rounds, b.Duration, b.warmup()))
	for _, mix := range mixes {
		for _, g := range b.Goroutines {
			if err := a.compete(ctx, contest{mix.name, strconv.Itoa(g), mix.reads, g, b.Workload}); err != nil {
				return err
			}
		}
	}
	if err := a.latencies(ctx); err != nil {
		return err
	}
	r.Set("open loop", "each latency counts from when the request was due; \"begun late\" is how much of that had passed when the request was begun")
	a.memory()
	libraryRatios(r, b.Goroutines)
	return nil
}

// enter starts the servers and makes the clients.
func (a *arena) enter(ctx context.Context) error {
	pg, err := a.Postgres(ctx)
	if err != nil {
		return err
	}
	redis, err := a.Redis(ctx)
	if err != nil {
		return err
	}
	if a.howdah, err = rival.NewHowdahClass(ctx, pg.URL, "unlogged"); err != nil {
		return err
	}
	ofRedis, ofPostgres := []part{client(), server(redis.Process)}, []part{client(), database(pg.Process)}
	goRedis := rival.NewGoRedis(redis.Addr, 0)
	a.fixed = []contestant{{a.howdah, ofPostgres}, {goRedis, ofRedis}}
	if sized, ok := goRedis.(interface{ PoolSize() int }); ok {
		a.result.Set("go-redis", fmt.Sprintf("pool of %d connections (its default here)", sized.PoolSize()))
	}
	if !a.few {
		rueidis, err := rival.NewRueidis(redis.Addr)
		if err != nil {
			return err
		}
		a.fixed = append(a.fixed, contestant{rueidis, ofRedis})
		a.result.Set("rueidis", "auto-pipelining, client-side cache off")
		if err := a.enterMemcached(ctx); err != nil {
			return err
		}
	}
	if err := rival.CreatePgxTable(ctx, pg.URL); err != nil {
		return err
	}
	for _, size := range poolSizes {
		p, err := rival.NewPgx(ctx, pg.URL, size)
		if err != nil {
			return err
		}
		a.pgx = append(a.pgx, contestant{p, ofPostgres})
	}
	a.result.Set("pgx", fmt.Sprintf("the best of pools of %s connections for each load", strings.Trim(fmt.Sprint(poolSizes), "[]")))
	a.result.Set("Howdah", "the library's defaults, UNLOGGED cache")
	a.result.Set("connections", "everybody by TCP on loopback")
	for _, c := range append(a.fixed, a.pgx...) {
		a.later(c.Close)
	}
	return nil
}

// enterMemcached adds gomemcache, or notes why it is absent: the comparison is
// worth having without it.
func (a *arena) enterMemcached(ctx context.Context) error {
	if _, err := service.Memcached.Find(); err != nil {
		a.Progress("without gomemcache: %v", err)
		a.result.Notes = append(a.result.Notes, fmt.Sprintf("gomemcache was left out: %v.", err))
		return nil
	}
	memcached, err := a.Memcached(ctx)
	if err != nil {
		return err
	}
	idle := max(slices.Max(a.Goroutines), latencyWorkers)
	a.fixed = append(a.fixed, contestant{rival.NewMemcached(memcached.Addr, idle), []part{client(), server(memcached.Process)}})
	a.result.Set("gomemcache", fmt.Sprintf("a connection a caller; keeps %d idle ones", idle))
	return nil
}

// load stores every key with everybody.
func (a *arena) load(ctx context.Context, spec workload.Spec) error {
	for _, c := range append(a.fixed[:len(a.fixed):len(a.fixed)], a.pgx[1]) {
		if c.Name() == rival.RueidisName {
			continue // shares go-redis's server, as the pools share a table
		}
		a.Progress("loading %d keys of %d bytes: %s", spec.Keys, spec.ValueSize, c.Name())
		if err := rival.Load(ctx, c, spec); err != nil {
			return err
		}
	}
	return a.settle(ctx, a.postgres.URL)
}

// settle vacuums what was loaded, so that no autovacuum begins while we
// measure.
func (b *Bench) settle(ctx context.Context, url string) error {
	db, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	return db.run(ctx, "VACUUM ANALYZE", "CHECKPOINT")
}

// compete measures all contestants under one load.
func (a *arena) compete(ctx context.Context, x contest) error {
	plain, err := a.bestPool(ctx, x)
	if err != nil {
		return err
	}
	all := append(a.fixed[:len(a.fixed):len(a.fixed)], plain)
	return a.turns(len(all), func(i int) error {
		c := all[i]
		name, _, _ := strings.Cut(c.Name(), ", pool")
		m := newMeter(c.parts...)
		before := a.howdah.Counts()
		s, err := measure.Closed(ctx, m.attach(a.loadOf(c, x)))
		if err != nil {
			return err
		}
		a.noteClosed(a.result, m, x.group, x.which, name, s)
		if c.Rival != rival.Rival(a.howdah) {
			return nil
		}
		return a.checkHowdah(x, a.howdah.Counts().Since(before))
	})
}

// checkHowdah holds the library's own counters against what is claimed: that
// reads were hits, and that callers shared statements.
func (a *arena) checkHowdah(x contest, n rival.Counts) error {
	a.result.Add(x.group, x.which, rival.HowdahName, batchSize, "keys", n.BatchSize())
	if err := n.CheckAllHits(); err != nil {
		return err
	}
	if x.goroutines >= 64 && n.BatchSize() < 2 {
		return fmt.Errorf("%d goroutines made statements of %.1f keys: they did not share", x.goroutines, n.BatchSize())
	}
	return nil
}

func (a *arena) loadOf(r rival.Rival, x contest) measure.Load {
	sources := workload.NewSources(x.spec, x.goroutines)
	return measure.Load{
		Workers: x.goroutines, Warmup: a.warmup(), Duration: a.Duration,
		Do: func(ctx context.Context, w int) error {
			return rival.Do(ctx, r, x.spec, sources[w], x.reads)
		},
	}
}

// bestPool tries plain pgx with each size of pool and returns the fastest.
func (a *arena) bestPool(ctx context.Context, x contest) (best contestant, err error) {
	var most float64
	for i, c := range a.pgx {
		if i > 0 && x.goroutines <= poolSizes[i-1] {
			break // a larger pool would not be filled
		}
		l := a.loadOf(c, x)
		l.Duration /= 2
		s, err := measure.Closed(ctx, l)
		if err != nil {
			return best, err
		}
		if s.Rate() > most {
			best, most = c, s.Rate()
		}
	}
	return best, nil
}

// calmestPool tries plain pgx with each size of pool at the rate of the open
// loop and returns the one with the lowest 99th percentile.
func (a *arena) calmestPool(ctx context.Context, x contest) (best contestant, err error) {
	least := math.Inf(1)
	for _, c := range a.pgx {
		l := a.loadOf(c, x)
		l.Duration /= 2
		s, err := measure.Open(ctx, l, a.Rate)
		if err != nil {
			return best, fmt.Errorf("%s: %w (choose a lower --rate)", c.Name(), err)
		}
		if p := s.Milliseconds(99); p < least {
			best, least = c, p
		}
	}
	return best, nil
}

// latencyWorkers bounds how many requests of the open loop wait at once.
const latencyWorkers = 256

// latencies offers everybody the same modest rate, which no closed loop does.
func (a *arena) latencies(ctx context.Context) error {
	which := strconv.FormatFloat(a.Rate, 'f', -1, 64) + "/s"
	for _, mix := range mixes[:2] {
		group := mix.name + " latency, open loop"
		x := contest{group, which, mix.reads, latencyWorkers, a.Workload}
		plain, err := a.calmestPool(ctx, x)
		if err != nil {
			return err
		}
		a.result.Set("pgx, "+group, fmt.Sprintf("%s, which had the lowest 99th percentile", plain.Name()))
		all := append(a.fixed[:len(a.fixed):len(a.fixed)], plain)
		err = a.turns(len(all), func(i int) error {
			name, _, _ := strings.Cut(all[i].Name(), ", pool")
			m := newMeter(all[i].parts...)
			s, err := measure.Open(ctx, m.attach(a.loadOf(all[i], x)), a.Rate)
			if err != nil {
				return fmt.Errorf("%s: %w (choose a lower --rate)", all[i].Name(), err)
			}
			addOpen(a.result, group, which, name, s)
			m.add(a.result, group, which, name, s.Requests)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// memory notes what the servers hold for the same keys.
func (a *arena) memory() {
	which := fmt.Sprintf("%d keys", a.Workload.Keys)
	for _, c := range a.fixed[:2] {
		p := c.parts[1]
		if !p.known() {
			continue
		}
		name := map[string]string{rival.HowdahName: "PostgreSQL, both tables", rival.GoRedisName: "Redis"}[c.Name()]
		a.result.Add("Memory of the server", which, name, "memory", "MB", p.process.MemoryMB())
	}
}
