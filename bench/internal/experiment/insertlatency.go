package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// insertLatency times single inserts in every class of durability.
func insertLatency() Experiment {
	return Experiment{
		Name:  "insert-latency",
		Title: "One insert at a time: what durability costs",
		Needs: []service.Program{service.Postgres},
		Run:   runInsertLatency,
		Judge: insertVerdicts,
	}
}

const insertGroup, insertCase, perInsert = "One insert, 250 characters, one connection", "time", "time"

func runInsertLatency(ctx context.Context, b *Bench, r *result.Result) error {
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	n := b.scale(20_000, 1500)
	err = d.run(ctx,
		`CREATE UNLOGGED TABLE insert_unlogged (id bigint GENERATED ALWAYS AS IDENTITY, payload text, expires_at timestamptz)`,
		`CREATE TABLE insert_logged (id bigint GENERATED ALWAYS AS IDENTITY, payload text, expires_at timestamptz)`,
		// set_config(.., true) lasts until the end of the transaction, and so
		// reaches the commit.
		`CREATE FUNCTION insert_async(payload text) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM set_config('synchronous_commit', 'off', true);
			INSERT INTO insert_logged (payload, expires_at) VALUES (payload, now() + interval '30 min');
		END $$`,
		// A setting of the function itself is gone when it returns, before the
		// commit: this one waits for the disk all the same.
		`CREATE FUNCTION insert_async_in_vain(payload text) RETURNS void LANGUAGE sql SET synchronous_commit = off AS $$
			INSERT INTO insert_logged (payload, expires_at) VALUES (payload, now() + interval '30 min') $$`)
	if err != nil {
		return err
	}
	const insert = `INSERT INTO %s (payload, expires_at) VALUES ($1, now() + interval '30 min')`
	one := func(sql string) func(string) error {
		return func(payload string) error { _, err := d.Exec(ctx, sql, payload); return err }
	}
	logged := fmt.Sprintf(insert, "insert_logged")
	variants := []struct {
		name string
		do   func(payload string) error
	}{
		{insertUnlogged, one(fmt.Sprintf(insert, "insert_unlogged"))},
		{insertLogged, one(logged)},
		{insertFour, func(payload string) error {
			for _, s := range []string{"BEGIN", "SET LOCAL synchronous_commit = off"} {
				if _, err := d.Exec(ctx, s); err != nil {
					return err
				}
			}
			if _, err := d.Exec(ctx, logged, payload); err != nil {
				return err
			}
			_, err := d.Exec(ctx, "COMMIT")
			return err
		}},
		{insertTogether, func(payload string) error {
			batch := &pgx.Batch{} // pgx makes one transaction of it
			batch.Queue("SELECT set_config('synchronous_commit', 'off', true)")
			batch.Queue(logged, payload)
			return d.SendBatch(ctx, batch).Close()
		}},
		{insertFunction, one("SELECT insert_async($1)")},
		{insertInVain, one("SELECT insert_async_in_vain($1)")},
	}
	src := workload.NewSources(workload.Spec{Keys: 1, ValueSize: 125}, 1)[0]
	err = b.turns(len(variants), func(i int) error {
		v := variants[i]
		if err := d.run(ctx, "CHECKPOINT"); err != nil {
			return err
		}
		before, err := d.wal(ctx)
		if err != nil {
			return err
		}
		start := time.Now()
		for range n {
			if err := v.do(fmt.Sprintf("%x", src.Value(0))); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
		}
		took := time.Since(start)
		after, err := d.wal(ctx)
		if err != nil {
			return err
		}
		r.Add(insertGroup, insertCase, v.name, perInsert, ms, took.Seconds()*1000/float64(n))
		r.Add(insertGroup, insertCase, v.name, "WAL", "bytes an insert", float64(after-before)/float64(n))
		b.Progress("%-50s %.3f ms", v.name, took.Seconds()*1000/float64(n))
		return nil
	})
	if err != nil {
		return err
	}
	r.Set("inserts", fmt.Sprintf("%d a round, %d rounds, Unix socket", n, b.Rounds))
	return nil
}

// The ways to insert.
const (
	insertUnlogged = "UNLOGGED"
	insertLogged   = "LOGGED"
	insertFour     = "LOGGED, synchronous_commit=off, four statements"
	insertTogether = "LOGGED, synchronous_commit=off, sent together"
	insertFunction = "LOGGED, synchronous_commit=off, in a function"
	insertInVain   = "LOGGED, function with SET synchronous_commit=off"
)

func insertVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	at := func(name string) float64 { return r.Value(insertGroup, insertCase, name, perInsert) }
	slower := r.RatioOf(insertGroup, insertCase, perInsert, insertLogged, insertUnlogged)
	four, function := insertRecovered(r, insertFour), insertRecovered(r, insertFunction)
	return []result.Verdict{
		{
			Claim: "An UNLOGGED table takes an eighth of the time of a LOGGED one", Source: "0.03 ms against 0.24 ms",
			Ours:     fmt.Sprintf("%.3f ms against %.3f ms", at(insertUnlogged), at(insertLogged)),
			Bar:      "LOGGED takes 4 to 16 times the time of UNLOGGED; refuted below 1.5 times",
			Word:     result.Agree(result.AtLeast(slower, 1.5), result.Within(slower, 4, 16)),
			Sentence: "The gap is the time of one flush to this machine's disk and nothing else; batches share that flush.",
		},
		{
			Claim: "synchronous_commit=off for one transaction gets most of it back, more so in a function", Source: "0.097 ms, in a function 0.037 ms",
			Ours: fmt.Sprintf("UNLOGGED %.3f ms, LOGGED %.3f ms; with synchronous_commit=off %.3f ms, in a function %.3f ms: %.0f %% and %.0f %% of the difference",
				at(insertUnlogged), at(insertLogged), at(insertFour), at(insertFunction), 100*result.Median(four), 100*result.Median(function)),
			Bar:  "at least half of the difference between LOGGED and UNLOGGED, by itself and in a function",
			Word: result.Agree(result.AtLeast(four, 0.5), result.AtLeast(function, 0.5)),
			Sentence: "Four statements pay with three more round trips for the flush that they do not wait for. A function does not, nor do the same statements sent together." +
				" A SET clause on the function itself has no effect on the commit.",
		},
	}
}

// insertRecovered is how much of the difference between LOGGED and UNLOGGED a
// way to insert gets back, round by round.
func insertRecovered(r *result.Result, name string) (out []float64) {
	rounds := func(name string) []float64 { m, _ := r.Find(insertGroup, insertCase, name, perInsert); return m.Rounds }
	unlogged, logged, off := rounds(insertUnlogged), rounds(insertLogged), rounds(name)
	for i := range min(len(unlogged), len(logged), len(off)) {
		out = append(out, (logged[i]-off[i])/(logged[i]-unlogged[i]))
	}
	return out
}
