package experiment

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// scripts measures the two scripts that locks and limiters send most.
func scripts() Experiment {
	return Experiment{
		Name:  "scripts",
		Title: "EVALSHA of a lock and of a sliding window: howdah serve beside redis-server",
		Needs: []service.Program{service.Postgres, service.Redis, service.RedisBenchmark},
		Quick: 20 * time.Second, Full: 60 * time.Second,
		Run:   runScripts,
		Judge: scriptVerdicts,
	}
}

const scriptClients = 200

// The holder of every lock, and the limit of every window.
const (
	scriptToken  = "0123456789abcdef0123456789abcdef"
	scriptMillis = "600000"
	windowMillis = "1000"
	windowLimit  = "100"
)

//go:embed scripts/expire.lua
var expireScript string

//go:embed scripts/window.lua
var windowScript string

// benchScript is one script, and how its keys are named.
type benchScript struct {
	name, source string
	words        []string // behind the SHA-1
	least        float64  // of redis-server
}

var benchScripts = []benchScript{
	{"compare and expire", expireScript, []string{"1", "key:__rand_int__", scriptToken, scriptMillis}, 0.35},
	{"sliding window", windowScript, []string{"1", "window:__rand_int__", windowMillis, windowLimit, "__rand_int__"}, 0.3},
}

func runScripts(ctx context.Context, b *Bench, r *result.Result) error {
	b.nearRounds()
	b.Workload.Keys, b.Workload.ValueSize = min(b.Workload.Keys, collectionKeys), len(scriptToken)
	servers, err := b.benchmarkServers(ctx)
	if err != nil {
		return err
	}
	for _, s := range servers {
		if err := loadTokens(ctx, s.addr, b.Workload.Keys); err != nil {
			return fmt.Errorf("loading %s: %w", s.name, err)
		}
	}
	r.Set("redis-benchmark", fmt.Sprintf("-c %d -r %d, for about a second a turn; scripts loaded before", scriptClients, b.Workload.Keys))
	r.Set("compare and expire", "every lock is there and held by the caller; its life becomes "+scriptMillis+" ms")
	r.Set("sliding window", "at most "+windowLimit+" calls in "+windowMillis+" ms for each key, on a sorted set")
	r.Set(servedHowdah, "its defaults, UNLOGGED cache, PostgreSQL by Unix socket")
	for _, script := range benchScripts {
		which := clientCount(scriptClients)
		err := b.turns(len(servers), func(i int) error {
			s := servers[i]
			sha, err := loadScript(ctx, s.addr, script.source)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			requests := map[string]int{servedHowdah: 20_000, servedRedis: 50_000}[s.name] / b.scale(1, 5)
			return b.ask(ctx, r, asking{
				group: script.name, which: which, series: s.name, server: s, clients: scriptClients, requests: requests, depth: 1,
				command: append([]string{"EVALSHA", sha}, script.words...), unknown: true, // an empty window is a miss
			})
		})
		if err != nil {
			return err
		}
		r.Compare(script.name, which, throughput, servedHowdah, servedRedis, script.least, false)
	}
	return nil
}

// loadTokens makes every plain value the token of the lock's holder.
func loadTokens(ctx context.Context, addr string, keys int) error {
	c := redis.NewClient(rival.RedisOptions(addr))
	defer c.Close()
	return inPipelines(ctx, c, keys, func(p redis.Pipeliner, i int) { p.Set(ctx, workload.Key(i), scriptToken, 0) })
}

// loadScript keeps a script on a server, and returns its SHA-1.
func loadScript(ctx context.Context, addr, source string) (string, error) {
	c := redis.NewClient(rival.RedisOptions(addr))
	defer c.Close()
	return c.ScriptLoad(ctx, source).Result()
}

func scriptVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	var ours, words, bars []string
	for _, script := range benchScripts {
		rounds := r.RatioOf(script.name, clientCount(scriptClients), throughput, servedHowdah, servedRedis)
		ours = append(ours, fmt.Sprintf("%s %.2f", script.name, result.Median(rounds)))
		bars = append(bars, fmt.Sprintf("%s at least %g", script.name, script.least))
		words = append(words, result.AtLeast(rounds, script.least))
	}
	return []result.Verdict{{
		Claim: "Scripts of locks and limiters reach a third of the rate of redis-server", Source: "Howdah's own promise",
		Ours:     "rate to redis-server's: " + strings.Join(ours, ", "),
		Bar:      strings.Join(bars, ", "),
		Word:     result.All(words...),
		Sentence: "A script costs a read and a guarded write, as HSET does, and Lua in Go.",
	}}
}
