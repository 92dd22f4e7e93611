package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
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
		Quick: 25 * time.Second, Full: 70 * time.Second,
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
	rate := b.scale(acrossRate, acrossRate/5)
	r.Set("transactions", fmt.Sprintf("%d clients, each as fast as it can: an account is changed and read, a teller changed, a line of history added; LOGGED tables, fsync and synchronous_commit on", notifyClients))
	r.Set("messages", fmt.Sprintf("%d/s of %d bytes, or as many as the servers take, from %d clients of one server to a subscriber of the other", rate, messageSize, acrossSenders))
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

// commits is one turn: transactions, beside messages unless the pair is none.
func (b *Bench) commits(ctx context.Context, r *result.Result, pool *pgxpool.Pool, p pair, rate int) error {
	type messages struct {
		delivered
		err error
	}
	d, done := 5*b.Duration, make(chan messages, 1)
	which := clientCount(notifyClients)
	if p.first != "" {
		l := messageLoad{to: p.first, from: p.second, channel: "bench", publishers: acrossSenders, subscribers: 1, rate: float64(rate), mayLag: true,
			warmup: b.warmup(), duration: d + b.warmup()}
		go func() {
			m, err := l.run(ctx, newMeter())
			done <- messages{m, err}
		}()
	}
	m := newMeter(p.parts...)
	s, err := measure.Closed(ctx, m.attach(measure.Load{
		Workers: notifyClients, Warmup: b.warmup(), Duration: d,
		Do: func(ctx context.Context, _ int) error {
			return transact(ctx, pool, b.scale(notifyAccounts, notifyAccounts/10))
		},
	}))
	if p.first != "" {
		beside := <-done
		if err == nil && beside.err != nil {
			err = fmt.Errorf("the messages beside: %w", beside.err)
		}
		if err == nil {
			r.Add(notifyMessages, which, p.name, throughput, perSecond, beside.published.Rate())
			r.Add(notifyMessages, which, p.name, p50, ms, inMilliseconds(beside.delivery, 50))
			r.Add(notifyMessages, which, p.name, p99, ms, inMilliseconds(beside.delivery, 99))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
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
	return []result.Verdict{{
		Claim: "NOTIFY does not hold up the commits of others", Source: "a warning that it serializes commits, no figure",
		Ours: fmt.Sprintf("beside %.0f messages/s (with polling %.0f) the application commits %.2f of what it does where servers poll, and %.2f of what it does alone",
			r.Value(notifyMessages, which, byNotify, throughput), r.Value(notifyMessages, which, byPolling, throughput), result.Median(rounds), result.Median(alone)),
		Bar:      fmt.Sprintf("at least %g of the commits beside servers that poll", leastCommits),
		Word:     result.AtLeast(rounds, leastCommits),
		Sentence: "Messages that wait together share a notification, and its transaction does not wait for the disk.",
	}}
}
