package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// pgbenchRead runs the source's reads by the source's program.
func pgbenchRead() Experiment {
	return Experiment{
		Name:  "pgbench-read",
		Title: "pgbench: reads of a cache table, UNLOGGED and LOGGED",
		Needs: []service.Program{service.Postgres, service.PgBench},
		Quick: 25 * time.Second, Full: 60 * time.Second,
		Run: runPgbenchRead,
	}
}

const pgbenchReads = "One SELECT a transaction, pgbench"

func runPgbenchRead(ctx context.Context, b *Bench, r *result.Result) error {
	rows := b.scale(300_000, 50_000)
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	variants := []struct{ name, script string }{
		{"UNLOGGED", readScript("bench_pgb_unlogged", rows)},
		{"LOGGED", readScript("bench_pgb_logged", rows)},
		{"Howdah's SQL function get_text", fmt.Sprintf(`\set id random(1, %d)
SELECT howdah.get_text('bench_pgb', 'key:' || :id) IS NULL AS missing \gset
\if :missing
SELECT 1 / 0;
\endif
`, rows)},
	}
	b.Progress("loading %d rows, three times", rows)
	if err := fillSourceTable(ctx, d, "UNLOGGED", "bench_pgb_unlogged", "", rows); err != nil {
		return err
	}
	if err := fillSourceTable(ctx, d, "", "bench_pgb_logged", "", rows); err != nil {
		return err
	}
	if err := d.freshCache(ctx, "bench_pgb"); err != nil {
		return err
	}
	table, err := cacheTable(ctx, d, "bench_pgb")
	if err != nil {
		return err
	}
	err = d.run(ctx,
		`INSERT INTO `+table+` (hash, version, expires_at, key, value)
		 SELECT howdah.key_hash(convert_to(s.key, 'UTF8')), 1, 'infinity', convert_to(s.key, 'UTF8'), convert_to(s.value::text, 'UTF8')
		 FROM bench_pgb_unlogged AS s`, `VACUUM ANALYZE `+table, `CHECKPOINT`)
	if err != nil {
		return err
	}
	seconds := b.scale(2, 1)
	for _, n := range []int{1, 10} {
		which := clientCount(n)
		err := b.turns(len(variants), func(i int) error {
			a, err := b.pgbench(ctx, pgbenchRun{"read", variants[i].script, n, seconds, ""})
			if err != nil {
				return err
			}
			r.Add(pgbenchReads, which, variants[i].name, meanLatency, ms, a.latency)
			r.Add(pgbenchReads, which, variants[i].name, throughput, "TPS", a.tps)
			b.Progress("%-32s %2d clients  %.3f ms  %7.0f TPS", variants[i].name, n, a.latency, a.tps)
			return nil
		})
		if err != nil {
			return err
		}
	}
	r.Set("pgbench", fmt.Sprintf("simple protocol, Unix socket, %d rows, %d s a run; every read must find its row", rows, seconds))
	v := func(series int, metric string) float64 {
		return r.Value(pgbenchReads, clientCount(10), variants[series].name, metric)
	}
	ratio := r.RatioOf(pgbenchReads, clientCount(10), throughput, variants[0].name, variants[1].name)
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "Reads of an UNLOGGED table are no faster than of a LOGGED one", Source: "UNLOGGED 0.679 ms, 14,724 TPS; LOGGED 0.627 ms, 15,946 TPS (10 clients)",
		Ours: fmt.Sprintf("10 clients: UNLOGGED %.3f ms, %.0f TPS; LOGGED %.3f ms, %.0f TPS",
			v(0, meanLatency), v(0, throughput), v(1, meanLatency), v(1, throughput)),
		Bar:      "UNLOGGED 0.85 to 1.15 times LOGGED",
		Word:     result.Within(ratio, 0.85, 1.15),
		Sentence: "A read touches no log. What bounds these numbers is one round trip and one parsed statement a key, not PostgreSQL's tables: see the experiment library.",
	})
	return sourceEviction(ctx, d, r)
}

// readScript reads a key that is there; \gset fails where there is no row.
func readScript(table string, rows int) string {
	return fmt.Sprintf("\\set id random(1, %d)\nSELECT value FROM %s WHERE key = 'key:' || :id \\gset\n", rows, table)
}

// fillSourceTable makes the source's table with keys key:1 to key:rows.
func fillSourceTable(ctx context.Context, d *db, kind, table, where string, rows int) error {
	return d.run(ctx, `DROP TABLE IF EXISTS `+table, fmt.Sprintf(sourceTable, kind, table, where),
		fmt.Sprintf(`INSERT INTO %s (key, value, inserted_at)
			SELECT 'key:' || i, jsonb_build_object('user', md5(i::text), 'locale', 'en-GB', 'theme', 'dark'), now()
			FROM generate_series(1, %d) AS i`, table, rows),
		`VACUUM ANALYZE `+table, `CHECKPOINT`)
}

// sourceEviction asks the source's LRU procedure which rows it removes.
func sourceEviction(ctx context.Context, d *db, r *result.Result) error {
	const evict = 100
	err := d.run(ctx, `CREATE TEMP TABLE lru (id serial PRIMARY KEY, last_read_timestamp timestamp)`,
		// Half of the rows have never been read, the others a second ago.
		`INSERT INTO lru (last_read_timestamp) SELECT CASE WHEN i % 2 = 0 THEN now() - interval '1 s' END FROM generate_series(1, 1000) AS i`)
	if err != nil {
		return err
	}
	var neverRead, read int
	err = d.QueryRow(ctx, `
		WITH gone AS (
			DELETE FROM lru WHERE id IN (SELECT id FROM lru ORDER BY last_read_timestamp ASC LIMIT $1)
			RETURNING last_read_timestamp
		)
		SELECT count(*) FILTER (WHERE last_read_timestamp IS NULL), count(last_read_timestamp) FROM gone`, evict).Scan(&neverRead, &read)
	if err != nil {
		return err
	}
	if neverRead+read != evict {
		return errors.New("the source's eviction removed another number of rows than it was asked for")
	}
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "ORDER BY last_read_timestamp ASC evicts what was read least recently", Source: "SQL, no figure",
		Ours:     fmt.Sprintf("of %d rows that it removed, %d had never been read and %d a second ago", evict, neverRead, read),
		Bar:      "all rows that it removed had never been read; looked at once, for nothing varies",
		Word:     map[bool]string{true: result.Confirmed, false: result.Refuted}[neverRead == evict],
		Sentence: "NULL sorts last: what was never read is never evicted. And each read has to be written for the others.",
	})
	return nil
}
