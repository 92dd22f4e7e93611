package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// pgbenchWrite runs the source's inserts by the source's program.
func pgbenchWrite() Experiment {
	return Experiment{
		Name:  "pgbench-write",
		Title: "pgbench: writes to a cache table, UNLOGGED and LOGGED",
		Needs: []service.Program{service.Postgres, service.PgBench},
		Quick: 25 * time.Second, Full: 75 * time.Second,
		Run: runPgbenchWrite,
	}
}

const pgbenchWrites, meanLatency = "One INSERT a transaction, pgbench", "mean latency"

func runPgbenchWrite(ctx context.Context, b *Bench, r *result.Result) error {
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	const document = `{"user": "8c1f6c2e", "roles": ["reader", "editor"], "locale": "en-GB", "theme": "dark"}`
	insert := func(table string) string {
		return `\set n :n + 1
INSERT INTO ` + table + ` (key, value, inserted_at) VALUES ('key:' || :client_id || ':' || :n, '` + document + `', now());`
	}
	variants := []struct{ name, table, create, script, options string }{
		{"UNLOGGED", "bench_pgb_unlogged", "UNLOGGED", "", ""},
		{"LOGGED", "bench_pgb_logged", "", "", ""},
		{"LOGGED, synchronous_commit=off", "bench_pgb_async", "", "", "-c synchronous_commit=off"},
		{"UNLOGGED, without the second index", "bench_pgb_lean", "UNLOGGED", "", ""},
		{"Howdah's SQL function set_text", "", "", `\set n :n + 1
SELECT howdah.set_text('bench_pgb', 'key:' || :client_id || ':' || :n, '` + document + `');`, ""},
	}
	for i, v := range variants {
		if v.script != "" {
			if err = d.freshCache(ctx, "bench_pgb"); err == nil {
				variants[i].table, err = cacheTable(ctx, d, "bench_pgb")
			}
		} else {
			variants[i].script = insert(v.table)
			err = d.run(ctx, `DROP TABLE IF EXISTS `+v.table, fmt.Sprintf(sourceTable, v.create, v.table, ""))
			if err == nil && v.table != "bench_pgb_lean" {
				err = d.run(ctx, fmt.Sprintf(`CREATE INDEX ON %s (key)`, v.table))
			}
		}
		if err != nil {
			return err
		}
	}
	seconds := b.scale(2, 1)
	clients := []int{1, 10}
	for _, n := range clients {
		which := clientCount(n)
		err := b.turns(len(variants), func(i int) error {
			v := variants[i]
			// Rows of the last round are in the way of the keys of this one.
			if err := d.run(ctx, "TRUNCATE "+v.table, "CHECKPOINT"); err != nil {
				return err
			}
			a, err := b.pgbench(ctx, pgbenchRun{"write", v.script, n, seconds, v.options})
			if err != nil {
				return err
			}
			var rows int64
			if err := d.QueryRow(ctx, "SELECT count(*) FROM "+v.table).Scan(&rows); err != nil {
				return err
			}
			if rows != a.transactions {
				return fmt.Errorf("%s: %d transactions left %d rows", v.name, a.transactions, rows)
			}
			r.Add(pgbenchWrites, which, v.name, meanLatency, ms, a.latency)
			r.Add(pgbenchWrites, which, v.name, throughput, "TPS", a.tps)
			b.Progress("%-36s %2d clients  %.3f ms  %7.0f TPS", v.name, n, a.latency, a.tps)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := sameSettings(ctx, d); err != nil {
		return err
	}
	r.Set("pgbench", fmt.Sprintf("simple protocol, Unix socket, %d s a run; rows counted after each", seconds))
	v := func(clients, series int, metric string) float64 {
		return r.Value(pgbenchWrites, clientCount(clients), variants[series].name, metric)
	}
	ratio := func(clients, of, to int, metric string) []float64 {
		return r.RatioOf(pgbenchWrites, clientCount(clients), metric, variants[of].name, variants[to].name)
	}
	slower := ratio(1, 1, 0, meanLatency)
	r.Verdicts = append(r.Verdicts,
		result.Verdict{
			Claim: "A write to an UNLOGGED table takes a third of the time", Source: "UNLOGGED 2.059 ms, 485 TPS; LOGGED 5.949 ms, 168 TPS (one client)",
			Ours: fmt.Sprintf("one client: UNLOGGED %.3f ms, %.0f TPS; LOGGED %.3f ms, %.0f TPS (%.1f times); 10 clients: %.0f and %.0f TPS",
				v(1, 0, meanLatency), v(1, 0, throughput), v(1, 1, meanLatency), v(1, 1, throughput), result.Median(slower), v(10, 0, throughput), v(10, 1, throughput)),
			Bar:      "one client: LOGGED 2 to 4.5 times the time of UNLOGGED; 10 clients: at least 2 times",
			Word:     result.Agree(result.AtLeast(slower, 1.2), result.Within(slower, 2, 4.5), result.AtLeast(ratio(10, 1, 0, meanLatency), 2)),
			Sentence: "The difference is the flush of the log to this disk, which clients that commit together share and synchronous_commit=off does not wait for.",
		},
		result.Verdict{
			Claim: "The key is UNIQUE and has an index of its own besides, which costs nothing", Source: "SQL, no figure",
			Ours: fmt.Sprintf("10 clients: %.0f TPS with the second index, %.0f without",
				v(10, 0, throughput), v(10, 3, throughput)),
			Bar:      "with the second index at least 1 times the throughput",
			Word:     result.AtLeast(ratio(10, 0, 3, throughput), 1),
			Sentence: "UNIQUE is an index: the second one is never needed, and what it costs every write is what stands here.",
		})
	return nil
}

// sameSettings refuses a server that does not flush, where LOGGED and UNLOGGED
// are nearly the same.
func sameSettings(ctx context.Context, d *db) error {
	var fsync, commit string
	err := d.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit')`).Scan(&fsync, &commit)
	if err == nil && (fsync != "on" || commit == "off") {
		err = errors.New("this server has fsync=" + fsync + " and synchronous_commit=" + commit + ": a commit does not wait for the disk, so nothing can be compared")
	}
	return err
}
