package experiment

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah/bench/internal/delay"
	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// network puts a distance between the callers and the servers.
func network() Experiment {
	return Experiment{
		Name:  "network",
		Title: "The same GETs over a network: delay injected before PostgreSQL and Redis",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 24 * time.Second, Full: 110 * time.Second,
		Run:   runNetwork,
		Judge: networkVerdicts,
	}
}

const (
	networkLone = "GET by one caller"
	networkMany = "GET by 64 callers"
	direct      = "no proxy"
)

// networkDelays are those of one direction: a machine, a rack, a building, two
// towns.
var networkDelays = []time.Duration{0, 100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond}

func runNetwork(ctx context.Context, b *Bench, r *result.Result) error {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	redis, err := b.Redis(ctx)
	if err != nil {
		return err
	}
	b.Workload.Keys = min(b.Workload.Keys, b.scale(b.Workload.Keys, 10_000))
	if err := loadNetwork(ctx, b, pg.URL, redis.Addr); err != nil {
		return err
	}
	r.Set("workload", b.Workload.String())
	r.Set("delay", "of every byte in each direction, by a proxy in this process: a round trip takes twice that. \""+direct+"\" and 0 ms differ by what the proxy itself costs")
	r.Set("pools", "go-redis 64 connections, pgx 64, Howdah its default 8, rueidis its own")
	if err := b.overNetwork(ctx, r, direct, 0, pg.URL, redis.Addr); err != nil {
		return err
	}
	for _, d := range networkDelays {
		if err := b.overProxies(ctx, r, d, pg.URL, redis.Addr); err != nil {
			return fmt.Errorf("at %s: %w", delayCase(d), err)
		}
	}
	for _, which := range r.Cases(networkMany) {
		for _, to := range []string{rival.GoRedisName, rival.RueidisName, rival.PgxName} {
			r.Compare(networkMany, which, throughput, rival.HowdahName, to, 0, false)
		}
	}
	return nil
}

func delayCase(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds()*1000, 'f', -1, 64) + " ms"
}

// loadNetwork stores every key, without a proxy.
func loadNetwork(ctx context.Context, b *Bench, databaseURL, redisAddr string) error {
	if err := rival.CreatePgxTable(ctx, databaseURL); err != nil {
		return err
	}
	all, err := networkRivals(ctx, databaseURL, redisAddr)
	if err != nil {
		return err
	}
	for _, c := range all {
		b.Progress("loading %d keys: %s", b.Workload.Keys, c.Name())
		if err == nil {
			err = rival.Load(ctx, c, b.Workload)
		}
		c.Close()
	}
	return err
}

// networkRivals are all contestants. Each is used as it is best over a
// distance: a pool has a connection for each caller, for one that has fewer
// makes them wait in line.
func networkRivals(ctx context.Context, databaseURL, redisAddr string) (all []namedRival, err error) {
	h, err := rival.NewHowdah(ctx, databaseURL, "db0")
	if err != nil {
		return nil, err
	}
	all = append(all, namedRival{rival.HowdahName, h}, namedRival{rival.GoRedisName, rival.NewGoRedis(redisAddr, 64)})
	ruedis, err := rival.NewRueidis(redisAddr)
	if err != nil {
		return all, err
	}
	all = append(all, namedRival{rival.RueidisName, ruedis})
	plain, err := rival.NewPgx(ctx, databaseURL, 64)
	if err != nil {
		return all, err
	}
	return append(all, namedRival{rival.PgxName, plain}), nil
}

// namedRival is called by a name without its settings.
type namedRival struct {
	series string
	rival.Rival
}

// overProxies measures all contestants behind proxies with one delay.
func (b *Bench) overProxies(ctx context.Context, r *result.Result, d time.Duration, databaseURL, redisAddr string) error {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return err
	}
	postgresNetwork, postgresAddr := "tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	if config.Host[0] == '/' {
		postgresNetwork, postgresAddr = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", config.Host, config.Port)
	}
	toPostgres, err := delay.Listen(postgresNetwork, postgresAddr, d)
	if err != nil {
		return err
	}
	defer toPostgres.Close()
	toRedis, err := delay.Listen("tcp", rival.RedisOptions(redisAddr).Addr, d)
	if err != nil {
		return err
	}
	defer toRedis.Close()
	proxied, err := throughProxy(databaseURL, toPostgres.Addr())
	if err != nil {
		return err
	}
	if err := b.overNetwork(ctx, r, delayCase(d), d, proxied, rival.RedisThrough(redisAddr, toRedis.Addr())); err != nil {
		return err
	}
	if toPostgres.Passed() == 0 || toRedis.Passed() == 0 {
		return fmt.Errorf("the proxies passed %d and %d bytes: the load went around them", toPostgres.Passed(), toRedis.Passed())
	}
	return nil
}

// throughProxy is a database URL with another address.
func throughProxy(databaseURL, addr string) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Del("host") // of a Unix socket
	q.Del("port")
	u.Host, u.RawQuery = addr, q.Encode()
	return u.String(), nil
}

func (b *Bench) overNetwork(ctx context.Context, r *result.Result, which string, oneWay time.Duration, databaseURL, redisAddr string) error {
	all, err := networkRivals(ctx, databaseURL, redisAddr)
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := b.connectAll(ctx, c); err != nil {
			return err
		}
	}
	return b.turns(len(all), func(i int) error {
		c := all[i]
		var shown [2]measure.Sample
		for j, callers := range []int{1, 64} {
			group := []string{networkLone, networkMany}[j]
			sources := workload.NewSources(b.Workload, callers)
			h, isHowdah := c.Rival.(*rival.Howdah)
			var before rival.Counts
			if isHowdah {
				before = h.Counts()
			}
			s, err := measure.Closed(ctx, measure.Load{Workers: callers, Warmup: max(b.Duration/4, 50*time.Millisecond), Duration: b.Duration * time.Duration(b.scale(40, 67)) / 100,
				Do: func(ctx context.Context, w int) error { return rival.Do(ctx, c, b.Workload, sources[w], 1) }})
			if err != nil {
				return err
			}
			shown[j] = s
			if j == 0 {
				r.Add(group, which, c.series, p50, ms, s.Milliseconds(50))
				r.Add(group, which, c.series, p99, ms, s.Milliseconds(99))
			} else {
				addClosed(r, group, which, c.series, s)
			}
			if least := time.Duration(s.Latency.Min()); least < 2*oneWay-2*oneWay/100 { // the histogram is exact to 1 %
				return fmt.Errorf("%s answered in %v, sooner than a round trip of %v", c.series, least, 2*oneWay)
			}
			if isHowdah {
				n := h.Counts().Since(before)
				r.Add(group, which, c.series, batchSize, "keys", n.BatchSize())
				if err := n.CheckAllHits(); err != nil {
					return err
				}
			}
		}
		b.Progress("%-9s %-26s one caller %.3f ms, 64 callers %7.0f/s", which, c.series, shown[0].Milliseconds(50), shown[1].Rate())
		return nil
	})
}

// connectAll lets 64 callers read until the connections are made and know the
// statement, which takes longer than a warm-up: a pool of pgx is 64 processes,
// each with caches of its own to fill.
func (b *Bench) connectAll(ctx context.Context, c namedRival) error {
	long := 100 * time.Millisecond
	if c.series == rival.PgxName {
		long = 700 * time.Millisecond
	}
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for _, src := range workload.NewSources(b.Workload, 64) {
		group.Go(func() error {
			for {
				if err := rival.Do(ctx, c, b.Workload, src, 1); err != nil || time.Since(start) > long {
					return err
				}
			}
		})
	}
	return group.Wait()
}

func networkVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	lone := func(which string) []float64 {
		return r.RatioOf(networkLone, which, p50, rival.HowdahName, rival.GoRedisName)
	}
	many := func(which, of, to string) []float64 { return r.RatioOf(networkMany, which, throughput, of, to) }
	rack, building := delayCase(networkDelays[1]), delayCase(networkDelays[2])
	far := delayCase(networkDelays[len(networkDelays)-1])
	return []result.Verdict{
		{
			Claim: "The network drowns the difference between PostgreSQL and Redis", Source: "arithmetic: 0.1 ms in a rack, 5 ms between sites, 10 to 200 ms far away",
			Ours: fmt.Sprintf("a lone GET, Howdah to go-redis: %.2f times the time without a network, %.2f at %s each way, %.2f at %s, %.2f at %s",
				result.Median(lone(direct)), result.Median(lone(rack)), rack, result.Median(lone(building)), building, result.Median(lone(far)), far),
			Bar:      "Howdah at most 1.25 times the time of go-redis at 0.1 ms, 1.1 times at 1 ms, 1.05 times at 5 ms",
			Word:     result.Agree(result.AtMost(lone(rack), 1.25), result.AtMost(lone(building), 1.1), result.AtMost(lone(far), 1.05)),
			Sentence: "For one request after another it does from a millisecond on; how much of it a rack drowns is the second number.",
		},
		{
			Claim: "What then decides is how many requests are under way", Source: "not in the source",
			Ours: fmt.Sprintf("64 callers at %s each way: Howdah %.0f/s on 8 connections, rueidis %.0f/s, go-redis %.0f/s and pgx %.0f/s on 64",
				far, r.Value(networkMany, far, rival.HowdahName, throughput), r.Value(networkMany, far, rival.RueidisName, throughput),
				r.Value(networkMany, far, rival.GoRedisName, throughput), r.Value(networkMany, far, rival.PgxName, throughput)),
			Bar:  "Howdah and pgx 0.8 to 1.25 times go-redis at 5 ms",
			Word: result.Agree(result.Within(many(far, rival.HowdahName, rival.GoRedisName), 0.8, 1.25), result.Within(many(far, rival.PgxName, rival.GoRedisName), 0.8, 1.25)),
			Sentence: "Callers that share a statement need few connections for it; a pool needs one for each caller, and PostgreSQL pays for each of them." +
				" Batches are larger the longer a round trip takes, without being told.",
		},
	}
}
