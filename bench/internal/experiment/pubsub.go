package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// pubsub measures messages to subscribers of the same server and of another one.
func pubsub() Experiment {
	return Experiment{
		Name:  "pubsub",
		Title: "PUBLISH to subscribers of one howdah serve, beside redis-server, and of another one",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 30 * time.Second, Full: 210 * time.Second, Rounds: 5,
		Run:   runPubSub,
		Judge: pubSubVerdicts,
	}
}

const (
	acrossServers = "PUBLISH to a subscriber of another server"
	acrossFlood   = acrossServers + ", as many as can be"
	byNotify      = "LISTEN and NOTIFY"
	byPolling     = "polling"
	acrossRate    = 10_000 // messages/s
	// leastPublish is how much of redis-server's rate is to be reached with one
	// subscriber and the most clients, and the others how long a message to another
	// server may take at acrossRate, in ms.
	leastPublish   = 0.8
	acrossMedian   = 3
	pollingMedian  = 60
	acrossSenders  = 16
	mostPublishers = 200
)

var (
	publishers   = []int{1, 16, mostPublishers}
	subscribers  = []int{1, 50}
	acrossSeries = []string{byNotify, byPolling}
)

func subscriberGroup(n int) string {
	if n == 1 {
		return "PUBLISH to a subscriber"
	}
	return fmt.Sprintf("PUBLISH to %d subscribers", n)
}

func acrossCase(rate int) string { return fmt.Sprintf("%d messages/s", rate) }

func runPubSub(ctx context.Context, b *Bench, r *result.Result) error {
	servers, err := b.plainServers(ctx)
	if err != nil {
		return err
	}
	pairs, err := b.pairs(ctx)
	if err != nil {
		return err
	}
	r.Set("messages", fmt.Sprintf("%d bytes; every subscriber checks that none is lost and that those of each publisher come in order", messageSize))
	r.Set("delivery", "from before PUBLISH is sent until a subscriber has read the message")
	r.Set(servedHowdah, "its defaults, PostgreSQL by Unix socket; other servers are on databases of their own")
	b.describePairs(r)
	for _, n := range subscribers {
		for _, clients := range publishers {
			group, which := subscriberGroup(n), clientCount(clients)
			err := b.turns(len(servers), func(i int) error {
				l := messageLoad{to: servers[i].addr, from: servers[i].addr, publishers: clients, subscribers: n}
				return b.messages(ctx, r, l, group, which, servers[i].name, servers[i].parts)
			})
			if err != nil {
				return err
			}
			least := 0.0
			if n == 1 && clients == mostPublishers {
				least = leastPublish
			}
			r.Compare(group, which, throughput, servedHowdah, servedRedis, least, false)
		}
	}
	for _, clients := range publishers {
		which := clientCount(clients)
		err := b.turns(len(pairs), func(i int) error {
			l := messageLoad{to: pairs[i].first, from: pairs[i].second, publishers: clients, subscribers: 1}
			return b.messages(ctx, r, l, acrossFlood, which, pairs[i].name, pairs[i].parts)
		})
		if err != nil {
			return err
		}
	}
	rate := b.scale(acrossRate, acrossRate/5)
	return b.turns(len(pairs), func(i int) error {
		l := messageLoad{to: pairs[i].first, from: pairs[i].second, publishers: acrossSenders, subscribers: 1, rate: float64(rate)}
		return b.messages(ctx, r, l, acrossServers, acrossCase(rate), pairs[i].name, pairs[i].parts)
	})
}

// messages is one turn of a load.
func (b *Bench) messages(ctx context.Context, r *result.Result, l messageLoad, group, which, series string, parts []part) error {
	l.channel, l.warmup, l.duration = "bench", b.warmup(), b.Duration
	if l.rate > 0 {
		l.duration *= 3
	}
	m := newMeter(append([]part{client()}, parts...)...)
	d, err := l.run(ctx, m)
	if err != nil {
		return fmt.Errorf("%s, %s, %s: %w", group, which, series, err)
	}
	r.Add(group, which, series, throughput, perSecond, d.published.Rate())
	r.Add(group, which, series, p50, ms, inMilliseconds(d.delivery, 50))
	r.Add(group, which, series, p99, ms, inMilliseconds(d.delivery, 99))
	r.Add(group, which, series, "PUBLISH, p99", ms, d.published.Milliseconds(99))
	m.add(r, group, which, series, d.published.Requests)
	b.Progress("%-62s %-16s %-18s %9.0f/s  delivered in %.2f ms, p99 %.2f ms", group, which, series,
		d.published.Rate(), inMilliseconds(d.delivery, 50), inMilliseconds(d.delivery, 99))
	return nil
}

// plainServers is emptyServers for loads that only take host and port.
func (b *Bench) plainServers(ctx context.Context) ([]served, error) {
	if strings.Contains(b.RedisURL, "://") {
		return nil, errors.New("the load of this experiment takes plain addresses: run it without --redis-url")
	}
	return b.emptyServers(ctx)
}

// pair is two howdah serve on one database.
type pair struct {
	name          string // byNotify or byPolling
	first, second string // addresses
	parts         []part
}

// pairs starts one that is notified of what the other publishes, and one that polls. Both
// are told that a pooler is in between, so that notifications are all the difference.
func (b *Bench) pairs(ctx context.Context) ([]pair, error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	if pg.SuperURL() == "" {
		return nil, errors.New("databases are made beside each other: run this experiment without --database-url")
	}
	var pairs []pair
	for _, name := range acrossSeries {
		database := map[string]string{byNotify: "messages_notified", byPolling: "messages_polled"}[name]
		url, err := b.newDatabase(ctx, pg.SocketURL, database)
		if err == nil {
			err = b.install(ctx, url)
		}
		if err != nil {
			return nil, err
		}
		args := []string{"--pooler", "transaction"}
		if name == byNotify {
			args = append(args, "--listen-url", url)
		}
		p, err := b.pair(ctx, name, url, args...)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func (b *Bench) pair(ctx context.Context, name, url string, args ...string) (pair, error) {
	first, err := b.serve(ctx, service.StartHowdah, url, args...)
	if err != nil {
		return pair{}, err
	}
	second, err := b.serve(ctx, service.StartHowdah, url, args...)
	if err != nil {
		return pair{}, err
	}
	return pair{name, first.Addr, second.Addr, []part{
		{"first server", first.Process}, {"second server", second.Process}, database(b.postgres.Process),
	}}, nil
}

// describePairs notes how the pairs differ.
func (b *Bench) describePairs(r *result.Result) {
	r.Set("two servers", "on one database, both with --pooler transaction; "+byNotify+": with --listen-url, "+byPolling+": without")
}

func pubSubVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	which := clientCount(mostPublishers)
	local := r.RatioOf(subscriberGroup(1), which, throughput, servedHowdah, servedRedis)
	median := func(series string) []float64 {
		return roundsOf(r, acrossServers, series, p50)
	}
	return []result.Verdict{{
		Claim: "Messages to subscribers of the same server flow at nearly the rate of redis-server", Source: "Howdah's own promise",
		Ours:     fmt.Sprintf("PUBLISH with %s and one subscriber: %.2f of redis-server's rate", which, result.Median(local)),
		Bar:      fmt.Sprintf("at least %g; none lost", leastPublish),
		Word:     result.AtLeast(local, leastPublish),
		Sentence: "They do not touch PostgreSQL.",
	}, {
		Claim: "Messages reach other servers through PostgreSQL within milliseconds", Source: "Howdah's own promise",
		Ours: fmt.Sprintf("at %s half of them within %.2g ms, where servers poll within %.2g ms",
			strings.Join(r.Cases(acrossServers), ", "), result.Median(median(byNotify)), result.Median(median(byPolling))),
		Bar:      fmt.Sprintf("at most %d ms, where servers poll %d ms; none lost", acrossMedian, pollingMedian),
		Word:     result.All(result.AtMost(median(byNotify), acrossMedian), result.AtMost(median(byPolling), pollingMedian)),
		Sentence: "Messages that wait together are one row each, one statement and one notification.",
	}}
}

// roundsOf are the rounds of a metric in the only case of a group, which a quick run has
// smaller.
func roundsOf(r *result.Result, group, series, metric string) []float64 {
	cases := r.Cases(group)
	if len(cases) != 1 {
		return nil
	}
	m, _ := r.Find(group, cases[0], series, metric)
	return m.Rounds
}
