package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// notify asks what the transactions of an application notice of messages that cross
// servers: NOTIFY takes a lock of the whole cluster until its transaction has committed.
func notify() Experiment {
	return Experiment{
		Name:  "notify",
		Title: "Transactions beside 10,000 messages a second: NOTIFY and polling",
		Needs: []service.Program{service.Postgres},
		Quick: 25 * time.Second, Full: 150 * time.Second, Rounds: 5,
		Run:   runNotify,
		Judge: notifyVerdicts,
	}
}

const (
	notifyGroup    = "Transactions of the application"
	notifyMessages = "Messages beside them"
	notifyAlone    = "no messages"
	notifyClients  = 16
	notifyAccounts = 100_000
	notifyTellers  = 100
	// notifySenders are so many that their rate does not hang on how long a PUBLISH takes.
	notifySenders = mostPublishers
	leastNotified = 100 // messages/s, and the step in which rates are sought
	// keptRate is how much of an offered rate has to be reached for it to count as sustained.
	// The rates beside NOTIFY and polling must not be further apart either.
	keptRate = 0.98
	// leastCommits is how much of the commits with polling is to be reached with NOTIFY.
	leastCommits = 0.9
)

func runNotify(ctx context.Context, b *Bench, r *result.Result) error {
	pairs, err := b.pairs(ctx)
	if err != nil {
		return err
	}
	url, err := b.sqlURL(ctx)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, withPool(url, notifyClients))
	if err != nil {
		return err
	}
	b.later(func() error { pool.Close(); return nil })
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	if err := d.run(ctx, notifyTables(b.scale(notifyAccounts, notifyAccounts/10))...); err != nil {
		return err
	}
	rate, err := b.sustained(ctx, pool, pairs, b.scale(acrossRate, acrossRate/5))
	if err != nil {
		return err
	}
	r.Set("transactions", fmt.Sprintf("%d clients, each as fast as it can: an account is changed and read, a teller changed, a line of history added; LOGGED tables, fsync and synchronous_commit on", notifyClients))
	r.Set("messages", fmt.Sprintf("%d/s of %d bytes in both arms, the highest rate up to %d/s that both sustained beside the transactions, from %d clients of one server to a subscriber of the other; none lost",
		rate, messageSize, b.scale(acrossRate, acrossRate/5), notifySenders))
	b.describePairs(r)
	turns := append([]pair{{name: notifyAlone}}, pairs...)
	err = b.turns(len(turns), func(i int) error { return b.commits(ctx, r, pool, turns[i], rate) })
	if err != nil {
		return err
	}
	which := clientCount(notifyClients)
	r.Compare(notifyGroup, which, throughput, byNotify, byPolling, leastCommits, false)
	r.Compare(notifyGroup, which, throughput, byNotify, notifyAlone, 0, false)
	return nil
}

func notifyTables(accounts int) []string {
	return []string{
		"CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL) WITH (fillfactor = 90)",
		"CREATE TABLE teller (id int PRIMARY KEY, balance int NOT NULL) WITH (fillfactor = 50)",
		"CREATE TABLE history (account int NOT NULL, teller int NOT NULL, delta int NOT NULL, at timestamptz NOT NULL DEFAULT now())",
		fmt.Sprintf("INSERT INTO account SELECT i, 0 FROM generate_series(1, %d) i", accounts),
		fmt.Sprintf("INSERT INTO teller SELECT i, 0 FROM generate_series(1, %d) i", notifyTellers),
		"VACUUM ANALYZE account, teller",
		"CHECKPOINT",
	}
}

// sustained is the highest rate up to most, in messages/s, that both pairs keep beside the
// transactions: the commits beside them are comparable only then.
func (b *Bench) sustained(ctx context.Context, pool *pgxpool.Pool, pairs []pair, most int) (int, error) {
	for rate := most; rate >= leastNotified; {
		reached := float64(rate)
		for _, p := range pairs {
			l := b.beside(p, rate, 2*b.Duration)
			l.mayLag = true
			d, _, err := b.together(ctx, pool, l, newMeter())
			if err != nil {
				return 0, fmt.Errorf("%s at %d messages/s: %w", p.name, rate, err)
			}
			reached = min(reached, d.published.Rate())
			b.Progress("%-24s %d messages/s: %.0f/s", p.name, rate, d.published.Rate())
		}
		if reached >= keptRate*float64(rate) {
			return rate, nil
		}
		rate = int(min(reached, 0.9*float64(rate))) / leastNotified * leastNotified
	}
	return 0, fmt.Errorf("not even %d messages/s are sustained beside the transactions", leastNotified)
}

// beside is the load of messages between the servers of a pair.
func (b *Bench) beside(p pair, rate int, d time.Duration) messageLoad {
	return messageLoad{to: p.first, from: p.second, channel: "bench", publishers: notifySenders, subscribers: 1, rate: float64(rate),
		warmup: b.warmup(), duration: d}
}

// together measures transactions while a load of messages goes on.
func (b *Bench) together(ctx context.Context, pool *pgxpool.Pool, l messageLoad, m *meter) (d delivered, s measure.Sample, err error) {
	var failed error
	begun, done := make(chan struct{}), make(chan struct{})
	measured := l.duration
	l.begun, l.duration = sync.OnceFunc(func() { close(begun) }), l.duration+2*b.warmup()
	go func() {
		defer close(done)
		d, failed = l.run(ctx, newMeter())
	}()
	select {
	case <-begun:
		s, err = b.transactions(ctx, pool, measured, m)
	case <-done:
	}
	<-done
	if failed != nil {
		err = fmt.Errorf("the messages beside: %w", failed)
	}
	return d, s, err
}

func (b *Bench) transactions(ctx context.Context, pool *pgxpool.Pool, d time.Duration, m *meter) (measure.Sample, error) {
	accounts := b.scale(notifyAccounts, notifyAccounts/10)
	return measure.Closed(ctx, m.attach(measure.Load{
		Workers: notifyClients, Warmup: b.warmup(), Duration: d,
		Do: func(ctx context.Context, _ int) error { return transact(ctx, pool, accounts) },
	}))
}

// commits is one turn: transactions, beside messages unless the pair is none.
func (b *Bench) commits(ctx context.Context, r *result.Result, pool *pgxpool.Pool, p pair, rate int) error {
	var d delivered
	var s measure.Sample
	var err error
	which, m, duration := clientCount(notifyClients), newMeter(p.parts...), 5*b.Duration
	if p.name == notifyAlone {
		s, err = b.transactions(ctx, pool, duration, m)
	} else {
		d, s, err = b.together(ctx, pool, b.beside(p, rate, duration), m)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if p.name != notifyAlone {
		r.Add(notifyMessages, which, p.name, throughput, perSecond, d.published.Rate())
		r.Add(notifyMessages, which, p.name, p50, ms, inMilliseconds(d.delivery, 50))
		r.Add(notifyMessages, which, p.name, p99, ms, inMilliseconds(d.delivery, 99))
		r.Add(notifyMessages, which, p.name, "offered", perSecond, float64(rate))
	}
	b.noteClosed(r, m, notifyGroup, which, p.name, s)
	return nil
}

// transact is one transaction, like pgbench's without its table of one row.
func transact(ctx context.Context, pool *pgxpool.Pool, accounts int) error {
	account, teller, delta := 1+rand.IntN(accounts), 1+rand.IntN(notifyTellers), rand.IntN(10_000)-5000
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE account SET balance = balance + $1 WHERE id = $2", delta, account); err != nil {
			return err
		}
		var balance int
		if err := tx.QueryRow(ctx, "SELECT balance FROM account WHERE id = $1", account).Scan(&balance); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE teller SET balance = balance + $1 WHERE id = $2", delta, teller); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO history (account, teller, delta) VALUES ($1, $2, $3)", account, teller, delta)
		return err
	})
}

func notifyVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	which := clientCount(notifyClients)
	rounds := r.RatioOf(notifyGroup, which, throughput, byNotify, byPolling)
	alone := r.RatioOf(notifyGroup, which, throughput, byNotify, notifyAlone)
	word := result.AtLeast(rounds, leastCommits)
	if result.Within(r.RatioOf(notifyMessages, which, throughput, byNotify, byPolling), keptRate, 1/keptRate) != result.Confirmed {
		word = result.Depends // on the messages, of which there were more in one arm
	}
	return []result.Verdict{{
		Claim: "NOTIFY does not hold up the commits of others", Source: "a warning that it serializes commits, no figure",
		Ours: fmt.Sprintf("beside %.0f messages/s (with polling %.0f) the application commits %.2f of what it does where servers poll, and %.2f of what it does alone",
			r.Value(notifyMessages, which, byNotify, throughput), r.Value(notifyMessages, which, byPolling, throughput), result.Median(rounds), result.Median(alone)),
		Bar:      fmt.Sprintf("at least %g of the commits beside servers that poll, at the same rate of messages", leastCommits),
		Word:     word,
		Sentence: "Messages that wait together share a notification, and its transaction does not wait for the disk.",
	}}
}
