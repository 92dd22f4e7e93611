package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/worker"
)

// httpCache repeats a load test of an HTTP server in front of a cache.
func httpCache() Experiment {
	return Experiment{
		Name:  "http-cache",
		Title: "An HTTP server that caches session documents: in Howdah, Redis, and plain PostgreSQL",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 45 * time.Second, Full: 120 * time.Second,
		Run:   runHTTPCache,
		Judge: httpVerdicts,
	}
}

// The contestants by name.
const (
	overHowdah    = "howdah serve"
	overRedis     = "Go server over go-redis"
	overPgx       = "Go server over pgx, UNLOGGED"
	overPgxLogged = "Go server over pgx, LOGGED"
)

// httpServer is a contestant.
type httpServer struct {
	name  string
	addr  string
	parts []part // client, HTTP server, store
}

// httpMix is one of the source's three loads.
type httpMix struct {
	name  string
	reads float64 // share of all requests
	hits  float64 // share of the reads whose key is there
	known float64 // share of the writes whose key is there
}

var httpMixes = []httpMix{
	{name: "GET, 80 % hits", reads: 1, hits: 0.8},
	{name: "SET, 10 % of existing keys", known: 0.1},
	{name: "80 % GET, 20 % SET", reads: 0.8, hits: 0.8, known: 0.1},
}

const httpCallers, httpCase, httpMemory = 50, "50 connections", "Memory after the runs"

func runHTTPCache(ctx context.Context, b *Bench, r *result.Result) error {
	entries := b.Entries
	if entries == 0 {
		entries = b.scale(1_000_000, 50_000)
	}
	servers, err := b.httpServers(ctx, r, entries)
	if err != nil {
		return err
	}
	for _, mix := range httpMixes {
		err := b.turns(len(servers), func(i int) error { return b.httpLoad(ctx, r, servers[i], mix, entries) })
		if err != nil {
			return err
		}
		for _, s := range servers[1:] {
			r.Compare(mix.name, httpCase, throughput, overHowdah, s.name, 0, false)
		}
	}
	for _, s := range servers {
		for _, p := range s.parts[1:] {
			if p.known() {
				r.Add(httpMemory, httpCase, s.name, p.name, "MB", p.process.MemoryMB())
			}
		}
	}
	r.Set("seed", fmt.Sprintf("%d session documents of about 250 bytes", entries))
	r.Set("load", fmt.Sprintf("closed loop, %d kept connections, %d rounds of %v", httpCallers, b.Rounds, b.httpDuration()))
	r.Set("Go servers", "net/http, one call of the client library a request; go-redis with its default pool, pgx with a pool of 50")
	r.Set("howdah serve", "its defaults; PostgreSQL by Unix socket, as for the Go servers over pgx")
	return nil
}

// httpDuration is longer than elsewhere: tables grow while keys are added.
func (b *Bench) httpDuration() time.Duration { return 2 * b.Duration }

// httpServers seeds the stores and starts a server over each.
func (b *Bench) httpServers(ctx context.Context, r *result.Result, entries int) ([]httpServer, error) {
	// Two servers with pools of 50 need more than the stock 100 connections.
	pg, err := b.postgresWith(ctx, map[string]string{"max_connections": "200"})
	if err != nil {
		return nil, err
	}
	redis, err := b.Redis(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.seedHTTP(ctx, r, entries); err != nil {
		return nil, err
	}
	howdah, err := b.ServeHTTP(ctx)
	if err != nil {
		return nil, err
	}
	servers := []httpServer{{overHowdah, howdah.Addr, httpParts(howdah.Process, pg.Process)}}
	for _, s := range []struct{ name, store, target string }{
		{overRedis, worker.StoreRedis, redis.Addr},
		{overPgx, worker.StorePgx, pg.SocketURL},
		{overPgxLogged, worker.StorePgxDurable, pg.SocketURL},
	} {
		h, err := worker.StartHTTP(s.store, s.target)
		if err != nil {
			return nil, err
		}
		b.later(h.Stop)
		store := pg.Process
		if s.store == worker.StoreRedis {
			store = redis.Process
		}
		servers = append(servers, httpServer{s.name, h.Addr, httpParts(h.Process, store)})
	}
	return servers, nil
}

// httpVerdicts sets the source's findings beside ours.
func httpVerdicts(r *result.Result, others []*result.Result) []result.Verdict {
	get, set, mixed := httpMixes[0].name, httpMixes[1].name, httpMixes[2].name
	ratio := func(group, of, to string) []float64 { return r.RatioOf(group, httpCase, throughput, of, to) }
	size := func(series string) float64 { return r.Value(seededGroup, httpCase, series, seededSize) }
	memory := func(series string) float64 { return r.Value(httpMemory, httpCase, series, storePart) }
	few := ""
	libraries := resultOf("library", others)
	for _, which := range libraries.Cases("Memory of the server") {
		of := func(series string) float64 { return libraries.Value("Memory of the server", which, series, "memory") }
		few = fmt.Sprintf("with %s (experiment library) PostgreSQL %.0f MB, Redis %.0f MB; ", which, of("PostgreSQL, both tables"), of("Redis"))
	}
	times := func(rounds []float64) string { return fmt.Sprintf("%.2f", result.Median(rounds)) }
	return []result.Verdict{
		{
			Claim: "Redis is ahead of PostgreSQL in every run", Source: "PostgreSQL 7,425 requests/s, Redis more in all three",
			Ours: fmt.Sprintf("GET, SET, mixed: plain PostgreSQL %s, %s, %s times Redis; howdah serve %s, %s, %s times",
				times(ratio(get, overPgx, overRedis)), times(ratio(set, overPgx, overRedis)), times(ratio(mixed, overPgx, overRedis)),
				times(ratio(get, overHowdah, overRedis)), times(ratio(set, overHowdah, overRedis)), times(ratio(mixed, overHowdah, overRedis))),
			Bar: "Redis at least 1 times plain PostgreSQL in all three",
			Word: result.Agree(result.AtLeast(ratio(get, overRedis, overPgx), 1), result.AtLeast(ratio(set, overRedis, overPgx), 1),
				result.AtLeast(ratio(mixed, overRedis, overPgx), 1)),
			Sentence: "The verdict is about a statement for every call, as in the source; requests that share statements change what PostgreSQL can do.",
		},
		{
			Claim: "UNLOGGED is far ahead of LOGGED in writes and equal in reads", Source: "a chart, no figure",
			Ours:     fmt.Sprintf("UNLOGGED is %s times LOGGED in writes, %s times in reads", times(ratio(set, overPgx, overPgxLogged)), times(ratio(get, overPgx, overPgxLogged))),
			Bar:      "at least 1.3 times in writes, 0.8 to 1.25 times in reads",
			Word:     result.Agree(result.AtLeast(ratio(set, overPgx, overPgxLogged), 1.3), result.Within(ratio(get, overPgx, overPgxLogged), 0.8, 1.25)),
			Sentence: "What LOGGED pays is the flush to this machine's disk; reads do not know the difference.",
		},
		{
			Claim: "In front of Redis the HTTP server is the bottleneck, not Redis", Source: "1,280 of 2,000 mCPU for the HTTP server",
			Ours: fmt.Sprintf("CPU seconds per million GETs: HTTP server %.0f, Redis %.0f; over plain PostgreSQL %.0f and %.0f",
				r.Value(get, httpCase, overRedis, httpPart+" CPU"), r.Value(get, httpCase, overRedis, storePart+" CPU"),
				r.Value(get, httpCase, overPgx, httpPart+" CPU"), r.Value(get, httpCase, overPgx, storePart+" CPU")),
			Bar:      "the HTTP server uses at least 1.5 times the CPU of Redis for a GET",
			Word:     result.AtLeast(partRatio(r, get, overRedis), 1.5),
			Sentence: "An application pays for its own HTTP and client code first; how fast the store could be matters less than in a test of the store alone.",
		},
		{
			Claim: "PostgreSQL needs more memory than Redis for the same entries", Source: "5 to 6 GiB against 3.8 to 4.3 GiB",
			Ours: few + fmt.Sprintf("memory of the servers after the runs here: PostgreSQL %.0f MB (plain tables and Howdah's together), Redis %.0f MB; on disk, with index: a plain table %.0f MB, Howdah's %.0f MB; in Redis's memory %.0f MB",
				memory(overPgx), memory(overRedis), size(overPgx), size(overHowdah), size(overRedis)),
			Bar:  "not judged: memory and disk are not the same, and neither figure alone answers",
			Word: result.Depends,
			Sentence: "PostgreSQL's memory is its shared_buffers (stock, 128 MB) and its processes, whatever the size of the table; the table is on disk and in the system's page cache, which is not counted here, as large as it is used." +
				" Redis holds every entry in memory. So few entries need more memory in PostgreSQL, and many need less.",
		},
	}
}

// partRatio is the CPU of the HTTP server by that of its store.
func partRatio(r *result.Result, group, series string) []float64 {
	of, _ := r.Find(group, httpCase, series, httpPart+" CPU")
	to, _ := r.Find(group, httpCase, series, storePart+" CPU")
	var out []float64
	for i := range min(len(of.Rounds), len(to.Rounds)) {
		if to.Rounds[i] > 0 {
			out = append(out, of.Rounds[i]/to.Rounds[i])
		}
	}
	return out
}
