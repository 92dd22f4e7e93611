package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// watch measures what the writers of a table pay for a watch.
func watch() Experiment {
	return Experiment{
		Name:  "watch",
		Title: "A watched table: what an UPDATE costs that also invalidates cache entries",
		Needs: []service.Program{service.Postgres, service.PgBench},
		Quick: 20 * time.Second, Full: 35 * time.Second,
		Run:   runWatch,
		Judge: watchVerdict,
	}
}

const (
	watchCost    = "UPDATE of a watched table, one client"
	watchWriters = "16 clients, each updates a row of its own"
	notWatched   = "no watch"
	watchOwnKeys = "watched, a key for each row"
	watchOneKey  = "watched, one key for all rows"
	watchCache   = "bench_watch"
	commitOff    = "synchronous_commit = off"
	commitOn     = "synchronous_commit = on"
)

// watchVariants are tables that are alike but for their watch.
var watchVariants = []struct{ name, table, key string }{
	{notWatched, "public.bench_unwatched", ""},
	{watchOwnKeys, "public.bench_watched", `'article:' || id`},
	{watchOneKey, "public.bench_watched_one", `'articles'::text`},
}

// watchRows are the rows of each table, and a statement on many updates 100.
const watchRows = 10_000

func runWatch(ctx context.Context, b *Bench, r *result.Result) error {
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	if err := sameSettings(ctx, d); err != nil {
		return err
	}
	if err := d.prepareWatches(ctx); err != nil {
		return err
	}
	const off, seconds = "-c synchronous_commit=off", 1
	loads := []struct {
		group, which, script, options string
		clients                       int
	}{
		{watchCost, "1 row", `UPDATE %s SET title = 'x' WHERE id = 1;`, off, 1},
		{watchCost, "100 rows", `UPDATE %s SET title = 'x' WHERE id BETWEEN 1 AND 100;`, off, 1},
		{watchWriters, commitOff, `UPDATE %s SET title = 'x' WHERE id = 1 + :client_id;`, off, 16},
		{watchWriters, commitOn, `UPDATE %s SET title = 'x' WHERE id = 1 + :client_id;`, "", 16},
	}
	for _, load := range loads {
		err := b.turns(len(watchVariants), func(i int) error {
			v := watchVariants[i]
			if err := d.run(ctx, "VACUUM "+v.table, "VACUUM howdah_internal.watch_note", "CHECKPOINT"); err != nil {
				return err
			}
			a, err := b.pgbench(ctx, pgbenchRun{"watch", fmt.Sprintf(load.script, v.table), load.clients, seconds, load.options})
			if err != nil {
				return err
			}
			r.Add(load.group, load.which, v.name, meanLatency, ms, a.latency)
			r.Add(load.group, load.which, v.name, throughput, "TPS", a.tps)
			b.Progress("%-28s %-32s %.3f ms  %7.0f TPS", load.which, v.name, a.latency, a.tps)
			return nil
		})
		if err != nil {
			return err
		}
	}
	r.Set("pgbench", fmt.Sprintf("simple protocol, Unix socket, %d s each; tables of %d rows, an UNLOGGED cache", seconds, watchRows))
	return nil
}

// prepareWatches makes the tables, and a cache that nothing reads.
func (d *db) prepareWatches(ctx context.Context) error {
	if err := d.freshCache(ctx, watchCache); err != nil {
		return err
	}
	for _, v := range watchVariants {
		err := d.run(ctx, "DROP TABLE IF EXISTS "+v.table,
			"CREATE TABLE "+v.table+" (id integer PRIMARY KEY, title text) WITH (fillfactor = 70)",
			fmt.Sprintf("INSERT INTO %s SELECT i, 'article ' || i FROM generate_series(1, %d) AS i", v.table, watchRows))
		if err == nil && v.key != "" {
			_, err = d.Exec(ctx, "SELECT howdah.watch_table($1::text::regclass, $2, $3)", v.table, watchCache, v.key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func watchVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	ratio := func(which, of, to string) []float64 { return r.RatioOf(watchWriters, which, throughput, of, to) }
	slower := func(which string) float64 {
		return result.Median(r.RatioOf(watchCost, which, meanLatency, watchOwnKeys, notWatched))
	}
	return []result.Verdict{
		{
			Claim: "Writers of a watched table do not wait for each other, even if all their rows map to one key", Source: "Howdah's own promise",
			Ours: fmt.Sprintf("16 writers, one key against a key for each: %.2f of the throughput with synchronous_commit = off, %.2f with it on",
				result.Median(ratio(commitOff, watchOneKey, watchOwnKeys)), result.Median(ratio(commitOn, watchOneKey, watchOwnKeys))),
			Bar:      "at least 0.8 times the throughput of writers with a key each, with synchronous_commit = off and on",
			Word:     result.All(result.AtLeast(ratio(commitOff, watchOneKey, watchOwnKeys), 0.8), result.AtLeast(ratio(commitOn, watchOneKey, watchOwnKeys), 0.8)),
			Sentence: "They share the lock of the tombstone that the first of them left; only a claim or a store wants it alone.",
		},
		{
			Claim: "A watch leaves writers four fifths of their throughput", Source: "Howdah's own target",
			Ours: fmt.Sprintf("16 writers on one key: %.2f of the throughput without a watch with synchronous_commit = off, %.2f with it on; one client: %.1f times the time for an UPDATE of 1 row, %.1f times for one of 100",
				result.Median(ratio(commitOff, watchOneKey, notWatched)), result.Median(ratio(commitOn, watchOneKey, notWatched)), slower("1 row"), slower("100 rows")),
			Bar:      "16 writers on one key: at least 0.8 times the throughput without a watch, with synchronous_commit = off",
			Word:     result.AtLeast(ratio(commitOff, watchOneKey, notWatched), 0.8),
			Sentence: "What a watch costs is processor time at every statement, and it is the larger part of a transaction that is nothing but an UPDATE of one row.",
		},
	}
}
