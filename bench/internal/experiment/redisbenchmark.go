package experiment

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// redisBenchmark runs Redis's own benchmark against both servers.
func redisBenchmark() Experiment {
	return Experiment{
		Name:  "redis-benchmark",
		Title: "redis-benchmark against howdah serve and redis-server",
		Needs: []service.Program{service.Postgres, service.Redis, service.RedisBenchmark},
		Quick: 25 * time.Second, Full: 100 * time.Second,
		Run:   runRedisBenchmark,
		Judge: redisBenchmarkVerdicts,
	}
}

// pipeline is a way in which redis-benchmark sends.
type pipeline struct {
	name     string
	depth    int
	requests int
	targets  map[string]float64
}

// target99 is how much longer than Redis's the 99th percentile may be where
// nothing is pipelined.
const target99 = 2.5

const servedHowdah, servedRedis = "howdah serve", "redis-server"

func runRedisBenchmark(ctx context.Context, b *Bench, r *result.Result) error {
	servers, err := b.benchmarkServers(ctx)
	if err != nil {
		return err
	}
	r.Set("redis-benchmark", fmt.Sprintf("-c 50 -d %d -r %d, every key loaded before", b.Workload.ValueSize, b.Workload.Keys))
	r.Set("howdah serve", "its defaults, UNLOGGED cache, PostgreSQL by Unix socket")
	for _, p := range []pipeline{
		{"plain", 1, b.scale(200_000, 20_000), map[string]float64{"GET": 0.6, "SET": 0.55}},
		{"-P 16", 16, b.scale(1_000_000, 100_000), map[string]float64{"GET": 0.35, "SET": 0.2}},
	} {
		for _, verb := range []string{"GET", "SET"} {
			err := b.turns(len(servers), func(i int) error { return b.benchmark(ctx, r, servers[i], verb, p) })
			if err != nil {
				return err
			}
			r.Compare(verb, p.name, throughput, servedHowdah, servedRedis, p.targets[verb], false)
			if p.depth == 1 {
				compareAs(r, verb+" p99", verb, p.name, p99, servedHowdah, servedRedis, target99)
			}
		}
	}
	return nil
}

func redisBenchmarkVerdicts(r *result.Result, others []*result.Result) []result.Verdict {
	gap := func(verb, which string) []float64 {
		return r.RatioOf(verb, which, throughput, servedRedis, servedHowdah)
	}
	times := func(verb, which string) float64 { return result.Median(gap(verb, which)) }
	// What the source divided: its single statements are those of pgbench-read.
	single := ""
	if tps := resultOf("pgbench-read", others).Value(pgbenchReads, clientCount(10), "UNLOGGED", throughput); tps > 0 {
		single = fmt.Sprintf("; pgbench's single SELECTs %.0f/s, so redis-server's pipelined GETs %.0f times them",
			tps, r.Value("GET", "-P 16", servedRedis, throughput)/tps)
	}
	return []result.Verdict{{
		Claim:  "Redis as a cache answers 56 times as many requests as PostgreSQL",
		Source: "892,857/s (pipelined) against 15,946/s",
		Ours: fmt.Sprintf("redis-server to howdah serve: GET %.1f times and SET %.1f times pipelined; GET %.1f times and SET %.1f times not",
			times("GET", "-P 16"), times("SET", "-P 16"), times("GET", "plain"), times("SET", "plain")) + single,
		Bar:      "redis-server at least 28 times howdah serve (half of 56), pipelined, in GET and in SET",
		Word:     result.Agree(result.AtLeast(gap("GET", "-P 16"), 28), result.AtLeast(gap("SET", "-P 16"), 28)),
		Sentence: "The source compared pipelined requests with single statements of pgbench; here the same program asks both servers alike. Redis is ahead in all four.",
	}}
}

// served is a server for Redis clients.
type served struct {
	name  string
	addr  string
	parts []part
}

// emptyServers starts a howdah serve and a redis-server.
func (b *Bench) emptyServers(ctx context.Context) ([]served, error) {
	redisServer, err := b.Redis(ctx)
	if err != nil {
		return nil, err
	}
	howdahServer, err := b.Serve(ctx)
	if err != nil {
		return nil, err
	}
	return []served{
		{servedHowdah, howdahServer.Addr, []part{server(howdahServer.Process), database(b.postgres.Process)}},
		{servedRedis, redisServer.Addr, []part{server(redisServer.Process)}},
	}, nil
}

// benchmarkServers starts both and stores every key.
func (b *Bench) benchmarkServers(ctx context.Context) ([]served, error) {
	servers, err := b.emptyServers(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range servers {
		if err := loadOver(ctx, s.addr, b.Workload); err != nil {
			return nil, fmt.Errorf("loading %s: %w", s.name, err)
		}
	}
	return servers, nil
}

// benchmark is one run of a test of redis-benchmark.
func (b *Bench) benchmark(ctx context.Context, r *result.Result, s served, verb string, p pipeline) error {
	return b.ask(ctx, r, asking{
		group: verb, which: p.name, series: s.name, server: s, clients: 50, requests: p.requests, depth: p.depth,
		row: verb, flags: []string{"-t", strings.ToLower(verb), "-d", strconv.Itoa(b.Workload.ValueSize)},
	})
}

// asking is what redis-benchmark is told to do, and where the result shows it.
type asking struct {
	group, which, series     string
	server                   served
	clients, requests, depth int
	row                      string   // what redis-benchmark calls the test; "": it has only one
	flags                    []string // which test
	command                  []string // a command of ours, instead of a test
	unknown                  bool     // the server does not count its misses
	keys                     int      // that are asked for; 0: all of the workload
}

// ask is one run of redis-benchmark. A command that answers with an error ends it.
func (b *Bench) ask(ctx context.Context, r *result.Result, a asking) error {
	addr := a.server.addr
	program, err := service.RedisBenchmark.Find()
	if err != nil {
		return err
	}
	before, err := a.misses(ctx)
	if err != nil {
		return err
	}
	limit := 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append(append(reach(addr), a.flags...), "-c", strconv.Itoa(a.clients), "-r", strconv.Itoa(cmp.Or(a.keys, b.Workload.Keys)),
		"-n", strconv.Itoa(a.requests), "-P", strconv.Itoa(a.depth), "--csv")
	cmd := exec.CommandContext(ctx, program, append(args, a.command...)...)
	m := newMeter(a.server.parts...)
	m.begin()
	out, err := output(cmd)
	m.finish()
	if err != nil {
		return fmt.Errorf("%s: %w", a.series, err)
	}
	row, err := parseBenchmark(string(out), a.row)
	if err != nil {
		return err
	}
	b.Progress("%-8s %-12s %-20s %9.0f/s  p99 %.2f ms", a.group, a.which, a.series, row.rate, row.p99)
	r.Add(a.group, a.which, a.series, throughput, perSecond, row.rate)
	r.Add(a.group, a.which, a.series, p50, ms, row.p50)
	r.Add(a.group, a.which, a.series, p99, ms, row.p99)
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.Add(a.group, a.which, a.series, "client CPU", "s per million", used.Seconds()/float64(a.requests)*1e6)
	for i, part := range m.parts {
		r.Add(a.group, a.which, a.series, part.name+" CPU", "s per million", (m.after[i]-m.before[i])/float64(a.requests)*1e6)
	}
	after, err := a.misses(ctx)
	if err == nil && after != before {
		err = fmt.Errorf("%s counted %d misses: the keys were not all there", a.series, after-before)
	}
	return err
}

// misses reads keyspace_misses of INFO, where the server has it.
func (a asking) misses(ctx context.Context) (int64, error) {
	if a.unknown {
		return 0, nil
	}
	n, err := infoNumber(ctx, a.server.addr, "stats", "keyspace_misses")
	return int64(n), err
}

// reach are the flags with which redis-benchmark finds a server.
func reach(target string) []string {
	o := rival.RedisOptions(target)
	host, port, _ := net.SplitHostPort(o.Addr)
	flags := []string{"-h", host, "-p", port, "--dbnum", strconv.Itoa(o.DB)}
	if o.Username != "" {
		flags = append(flags, "--user", o.Username)
	}
	if o.Password != "" {
		flags = append(flags, "-a", o.Password)
	}
	if o.TLSConfig != nil {
		flags = append(flags, "--tls")
	}
	return flags
}

// benchmarkRow is a line of redis-benchmark --csv; times in milliseconds.
type benchmarkRow struct{ rate, p50, p99 float64 }

// parseBenchmark reads the line of a test; verb "" is the first one.
func parseBenchmark(out, verb string) (row benchmarkRow, err error) {
	lines := csv.NewReader(strings.NewReader(out))
	lines.FieldsPerRecord = -1
	records, err := lines.ReadAll()
	if err != nil || len(records) == 0 {
		return row, fmt.Errorf("redis-benchmark did not print CSV: %q", out)
	}
	column := map[string]int{}
	for i, name := range records[0] {
		column[name] = i
	}
	for _, record := range records[1:] {
		if verb != "" && record[0] != verb {
			continue
		}
		for name, field := range map[string]*float64{
			"rps": &row.rate, "p50_latency_ms": &row.p50, "p99_latency_ms": &row.p99,
		} {
			i, ok := column[name]
			if !ok || i >= len(record) {
				return row, fmt.Errorf("redis-benchmark printed no %s: version 7.0 or newer is needed", name)
			}
			if *field, err = strconv.ParseFloat(record[i], 64); err != nil {
				return row, fmt.Errorf("redis-benchmark, %s: %w", name, err)
			}
		}
		return row, nil
	}
	return row, fmt.Errorf("redis-benchmark printed no line for %s: %q", verb, out)
}

// loadOver stores every key that redis-benchmark will ask for.
func loadOver(ctx context.Context, addr string, spec workload.Spec) error {
	r := rival.NewGoRedis(addr, 64)
	defer r.Close()
	if err := rival.Load(ctx, r, spec); err != nil {
		return err
	}
	c := redis.NewClient(rival.RedisOptions(addr))
	defer c.Close()
	// Keys of the workload are named as redis-benchmark names its own.
	n, err := c.DBSize(ctx).Result()
	if err == nil && n < int64(spec.Keys) {
		err = fmt.Errorf("%d keys were loaded, %d are there", spec.Keys, n)
	}
	return err
}

// infoNumber reads a field of a section of INFO.
func infoNumber(ctx context.Context, addr, section, field string) (float64, error) {
	o := rival.RedisOptions(addr)
	o.ReadTimeout = 30 * time.Second // a server under load may take its time
	c := redis.NewClient(o)
	defer c.Close()
	info, err := c.Info(ctx, section).Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("%s does not tell %s", addr, field)
}
