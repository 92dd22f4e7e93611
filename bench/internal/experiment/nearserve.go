package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
	"github.com/howdah/howdah/migrate"
)

// nearServe measures howdah serve with hot entries in its memory.
func nearServe() Experiment {
	return Experiment{
		Name:  "near-serve",
		Title: "howdah serve with hot entries in its memory, beside redis-server",
		Needs: []service.Program{service.Postgres, service.Redis, service.RedisBenchmark},
		Quick: 40 * time.Second, Full: 190 * time.Second,
		Run:   runNearServe,
		Judge: nearServeVerdicts,
	}
}

const (
	servedNear  = "howdah serve --near"
	nearClients = 50
	nearZipf    = 1.1
	// nearP99 is how much longer than Redis's the 99th percentile may be.
	nearP99 = 1.5
	// nearLeft is how much of PostgreSQL's CPU hits may leave: that of the polls.
	nearLeft = 0.1
	// nearMemory is the share of reads that memory must answer where all are of
	// keys that it holds.
	nearMemory = 99
)

// nearPipelines ask for keys that memory holds.
var nearPipelines = []pipeline{
	{name: "plain", depth: 1, targets: map[string]float64{"GET": 0.95}},
	{name: "-P 16", depth: 16, targets: map[string]float64{"GET": 0.85}},
}

// nearMixes are shares of reads, of keys of unequal popularity.
var nearMixes = []struct {
	name  string
	reads float64
	least float64 // of redis-server, not pipelined
}{
	{"95 % GET, Zipf 1.1", 0.95, 0.85},
	{"80 % GET, Zipf 1.1", 0.8, 0.7},
}

func runNearServe(ctx context.Context, b *Bench, r *result.Result) error {
	b.nearRounds()
	servers, err := b.nearServers(ctx)
	if err != nil {
		return err
	}
	r.Set("redis-benchmark", fmt.Sprintf("-c %d -d %d -r %d, every key loaded before and in the memory of %s", nearClients, b.Workload.ValueSize, b.Workload.Keys, servedNear))
	r.Set("mixes", fmt.Sprintf("a client in Go with %d connections that checks every answer, %v each after %v of warming up", nearClients, b.Duration, b.warmup()))
	r.Set(servedNear, fmt.Sprintf("bound %v, its other defaults; UNLOGGED cache with a change log, PostgreSQL by Unix socket", nearBound))
	r.Set(servedHowdah, "without memory, a cache without a change log in a database of its own")
	for _, p := range nearPipelines {
		p.requests = b.scale(map[int]int{1: 100_000, 16: 500_000}[p.depth], map[int]int{1: 20_000, 16: 100_000}[p.depth])
		err := b.turns(len(servers), func(i int) error {
			return b.countMemory(ctx, r, servers[i], "GET", p.name, func() error {
				return b.benchmark(ctx, r, servers[i], "GET", p)
			})
		})
		if err != nil {
			return err
		}
		r.Compare("GET", p.name, throughput, servedNear, servedRedis, p.targets["GET"], false)
		compareAs(r, "GET p99", "GET", p.name, p99, servedNear, servedRedis, nearP99)
		compareAs(r, "GET, PostgreSQL's CPU", "GET", p.name, databaseCPU, servedNear, servedHowdah, nearLeft)
	}
	for _, x := range nearMixes {
		for _, p := range nearPipelines {
			err := b.turns(len(servers), func(i int) error { return b.mixed(ctx, r, servers[i], x.name, x.reads, p) })
			if err != nil {
				return err
			}
			least := x.least
			if p.depth > 1 {
				least = 0 // no goal
			}
			r.Compare(x.name, p.name, throughput, servedNear, servedRedis, least, false)
		}
	}
	return nil
}

// nearServers starts the servers, stores every key, and reads them until they
// are in memory.
func (b *Bench) nearServers(ctx context.Context) ([]served, error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	if pg.SuperURL() == "" {
		return nil, errors.New("two databases are made beside each other, on a server whose CPU can be read: run near-serve without --database-url")
	}
	plainURL, err := b.newDatabase(ctx, pg.SocketURL, "near_off")
	if err != nil {
		return nil, err
	}
	if err := b.install(ctx, pg.SocketURL, `SELECT howdah.alter_cache('db0', near => true)`); err != nil {
		return nil, err
	}
	if err := b.install(ctx, plainURL); err != nil {
		return nil, err
	}
	nearServer, err := b.serve(ctx, service.StartHowdah, pg.SocketURL, "--near", nearBound.String())
	if err != nil {
		return nil, err
	}
	plainServer, err := b.serve(ctx, service.StartHowdah, plainURL, "--near", "off")
	if err != nil {
		return nil, err
	}
	redisServer, err := b.Redis(ctx)
	if err != nil {
		return nil, err
	}
	servers := []served{
		{servedNear, nearServer.Addr, []part{server(nearServer.Process), database(pg.Process)}},
		{servedHowdah, plainServer.Addr, []part{server(plainServer.Process), database(pg.Process)}},
		{servedRedis, redisServer.Addr, []part{server(redisServer.Process)}},
	}
	for _, s := range servers {
		b.Progress("loading %d keys: %s", b.Workload.Keys, s.name)
		if err := loadOver(ctx, s.addr, b.Workload); err != nil {
			return nil, fmt.Errorf("loading %s: %w", s.name, err)
		}
	}
	return servers, warmOver(ctx, nearServer.Addr, b.Workload)
}

// install brings the schema into a database, and calls functions of it.
func (b *Bench) install(ctx context.Context, url string, calls ...string) error {
	d, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer d.Close(ctx)
	if _, err := migrate.Up(ctx, d.Conn, migrate.Options{}); err != nil {
		return err
	}
	return d.run(ctx, calls...)
}

// warmOver reads every key until the server answers nearly all from memory.
func warmOver(ctx context.Context, addr string, spec workload.Spec) error {
	c, err := dialRESP(ctx, addr, spec, workload.NewSources(spec, 1)[0])
	if err != nil {
		return err
	}
	defer c.conn.Close()
	for begun := time.Now(); time.Since(begun) < time.Minute; {
		before, err := memoryOf(ctx, addr)
		if err != nil {
			return err
		}
		for i := range spec.Keys {
			if c.add(i, true); len(c.sent) == 64 || i == spec.Keys-1 {
				if err := c.exchange(); err != nil {
					return err
				}
			}
		}
		after, err := memoryOf(ctx, addr)
		if err != nil {
			return err
		}
		if after.hits-before.hits >= 0.99*float64(spec.Keys) {
			return nil
		}
	}
	return errors.New("memory does not answer the keys after a minute of reading them")
}

// memoryCounts are reads that memory answered, and those that it could not.
type memoryCounts struct{ hits, misses float64 }

func memoryOf(ctx context.Context, addr string) (n memoryCounts, err error) {
	if n.hits, err = infoNumber(ctx, addr, "near", "near_hits"); err != nil {
		return n, err
	}
	n.misses, err = infoNumber(ctx, addr, "near", "near_misses")
	return n, err
}

// countMemory notes how many of the reads of a turn memory answered.
func (b *Bench) countMemory(ctx context.Context, r *result.Result, s served, group, which string, turn func() error) error {
	if s.name != servedNear {
		return turn()
	}
	before, err := memoryOf(ctx, s.addr)
	if err != nil {
		return err
	}
	if err := turn(); err != nil {
		return err
	}
	after, err := memoryOf(ctx, s.addr)
	if err != nil {
		return err
	}
	hits, misses := after.hits-before.hits, after.misses-before.misses
	if hits == 0 {
		return fmt.Errorf("memory answered none of %.0f reads", misses)
	}
	r.Add(group, which, s.name, fromMemory, "%", 100*hits/(hits+misses))
	return nil
}

// mixed is one turn of a mix.
func (b *Bench) mixed(ctx context.Context, r *result.Result, s served, group string, share float64, p pipeline) error {
	spec := b.Workload
	spec.Zipf = nearZipf
	m := newMeter(append([]part{client()}, s.parts...)...)
	l := respLoad{addr: s.addr, spec: spec, clients: nearClients, depth: p.depth, reads: share, warmup: b.warmup(), duration: b.Duration}
	return b.countMemory(ctx, r, s, group, p.name, func() error {
		sample, err := l.run(ctx, m)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		sample.Requests *= int64(p.depth)
		b.noteClosed(r, m, group, p.name, s.name, sample)
		return nil
	})
}

func nearServeVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	return []result.Verdict{nearServeHits(r), nearServeMixes(r)}
}

func nearServeHits(r *result.Result) result.Verdict {
	var ours, words []string
	for _, p := range nearPipelines {
		rate := r.RatioOf("GET", p.name, throughput, servedNear, servedRedis)
		slow := r.RatioOf("GET", p.name, p99, servedNear, servedRedis)
		left := r.RatioOf("GET", p.name, databaseCPU, servedNear, servedHowdah)
		memory, _ := r.Find("GET", p.name, servedNear, fromMemory)
		ours = append(ours, fmt.Sprintf("%s: %.2f of its rate, %.2f times its 99th percentile, %.1f %% from memory, %.3f of PostgreSQL's CPU left",
			p.name, result.Median(rate), result.Median(slow), memory.Median(), result.Median(left)))
		words = append(words, result.AtLeast(rate, p.targets["GET"]), result.AtMost(slow, nearP99),
			result.AtLeast(memory.Rounds, nearMemory), result.AtMost(left, nearLeft))
	}
	return result.Verdict{
		Claim: "With hot entries in memory howdah serve answers GETs about as fast as redis-server", Source: "Howdah's own promise",
		Ours:     strings.Join(ours, "; "),
		Bar:      "at least 0.95 times redis-server's rate plain and 0.85 times with -P 16, its 99th percentile at most 1.5 times; 99 % from memory, and at most a tenth of PostgreSQL's CPU left",
		Word:     result.All(words...),
		Sentence: "A hit asks nothing of PostgreSQL; what is left of its CPU are the polls of the change log.",
	}
}

func nearServeMixes(r *result.Result) result.Verdict {
	var ours, words []string
	for _, x := range nearMixes {
		plain := r.RatioOf(x.name, "plain", throughput, servedNear, servedRedis)
		pipelined := r.RatioOf(x.name, "-P 16", throughput, servedNear, servedRedis)
		ours = append(ours, fmt.Sprintf("%s: %.2f, with -P 16 %.2f (%.0f %% of the reads from memory)",
			x.name, result.Median(plain), result.Median(pipelined), r.Value(x.name, "plain", servedNear, fromMemory)))
		words = append(words, result.AtLeast(plain, x.least))
	}
	return result.Verdict{
		Claim: "With hot entries in memory howdah serve keeps up with redis-server where most commands are reads of popular keys", Source: "Howdah's own promise",
		Ours:     "rate to redis-server's, " + strings.Join(ours, "; "),
		Bar:      "plain, at least 0.85 times with 95 % GET, 0.7 times with 80 %",
		Word:     result.All(words...),
		Sentence: "A write goes to PostgreSQL, and so does the next read of its key.",
	}
}
