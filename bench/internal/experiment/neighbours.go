package experiment

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// neighbours asks what the application's own transactions notice of a cache in
// their database.
func neighbours() Experiment {
	return Experiment{
		Name:  "neighbours",
		Title: "A cache in the database of an application: what pgbench notices beside it",
		Needs: []service.Program{service.Postgres, service.PgBench},
		Quick: 30 * time.Second, Full: 320 * time.Second,
		Run: runNeighbours,
	}
}

const (
	nobBusy, nobCalm = "pgbench, as fast as it can", "pgbench at half of its rate"
	nobCost          = "What the cache alone costs"
	nobCase          = "4 clients"
	nobAlone         = "no cache"
	nobPlain         = "one statement a call"
	nobClients       = 4
	nobCallers       = 64
	nobPool          = 16
	nobReads         = 0.8
	plainApplication = "plain_cache"
)

// neighbourhood is the experiment with what it keeps between its turns.
type neighbourhood struct {
	*Bench
	result *result.Result
	db     *db
	caches map[string]rival.Rival // by series
	half   float64                // of what pgbench does alone, tps
}

func runNeighbours(ctx context.Context, b *Bench, r *result.Result) error {
	x := &neighbourhood{Bench: b, result: r}
	err := x.enter(ctx)
	if err != nil {
		return err
	}
	r.Set("pgbench", fmt.Sprintf("its own TPC-B-like transaction, scale %d, %d clients; LOGGED tables, synchronous commit", b.scale(10, 1), nobClients))
	r.Set("cache load", fmt.Sprintf("%g requests/s, %g %% reads, open loop, %d callers at most; %s; UNLOGGED", b.Rate, 100*nobReads, nobCallers, b.Workload))
	r.Set("Howdah", "the library's defaults, DB.Run in the same process")
	r.Set(nobPlain, fmt.Sprintf("pgx, a pool of %d, a plain table", nobPool))
	alone := []string{rival.HowdahName, nobPlain}
	err = b.turns(len(alone), func(i int) error {
		if err := x.costs(ctx, alone[i]); err != nil {
			return fmt.Errorf("%s: %w", alone[i], err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	upkeep, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { x.caches[rival.HowdahName].(*rival.Howdah).Run(upkeep) })
	b.later(func() error { stop(); running.Wait(); return nil })
	series := []string{nobAlone, rival.HowdahName, nobPlain}
	for _, group := range []string{nobBusy, nobCalm} {
		err := b.turns(len(series), func(i int) error { return x.beside(ctx, group, series[i]) })
		if err != nil {
			return err
		}
		x.half = r.Value(nobBusy, nobCase, nobAlone, throughput) / 2
	}
	x.conclude()
	return nil
}

// enter makes pgbench's tables and the two caches, and loads every key.
func (x *neighbourhood) enter(ctx context.Context) error {
	pg, err := x.Postgres(ctx)
	if err != nil {
		return err
	}
	url, err := x.sqlURL(ctx)
	if err != nil {
		return err
	}
	if x.db, err = x.sql(ctx); err != nil {
		return err
	}
	if err := pgbenchInit(ctx, url, x.scale(10, 1)); err != nil {
		return err
	}
	howdah, err := rival.NewHowdahClass(ctx, pg.URL, "unlogged")
	if err != nil {
		return err
	}
	x.later(howdah.Close)
	if err := rival.CreatePgxTable(ctx, pg.URL); err != nil {
		return err
	}
	plain, err := rival.NewPgx(ctx, withParameter(pg.URL, "application_name", plainApplication), nobPool)
	if err != nil {
		return err
	}
	x.later(plain.Close)
	x.caches = map[string]rival.Rival{rival.HowdahName: howdah, nobPlain: plain}
	for _, c := range x.caches {
		x.Progress("loading %d keys: %s", x.Workload.Keys, c.Name())
		if err := rival.Load(ctx, c, x.Workload); err != nil {
			return err
		}
	}
	return x.db.run(ctx, "VACUUM ANALYZE", "CHECKPOINT")
}

// costs measures, with nothing else on the server, what reads and writes use
// of what the whole database shares.
func (x *neighbourhood) costs(ctx context.Context, name string) error {
	for which, reads := range map[string]float64{"reads": 1, "writes": 0} {
		ids, err := x.transactionID(ctx)
		if err != nil {
			return err
		}
		wal, err := x.db.wal(ctx)
		if err != nil {
			return err
		}
		s, err := measure.Open(ctx, x.load(x.caches[name], reads, 4*x.Duration), x.Rate)
		if err != nil {
			return err
		}
		idsAfter, err := x.transactionID(ctx)
		if err != nil {
			return err
		}
		walAfter, err := x.db.wal(ctx)
		if err != nil {
			return err
		}
		per := 1000 / float64(s.Requests)
		x.result.Add(nobCost, which, name, "transaction ids", perThousandRequests, float64(idsAfter-ids)*per)
		x.result.Add(nobCost, which, name, "WAL", "kB "+perThousandRequests, float64(walAfter-wal)/1000*per)
		connections, err := x.connections(ctx, name)
		if err != nil {
			return err
		}
		x.result.Add(nobCost, which, name, "connections", "open", float64(connections))
		x.Progress("%-22s %-6s %6.1f transaction ids, %6.1f kB of WAL a thousand; %d connections", name, which,
			float64(idsAfter-ids)*per, float64(walAfter-wal)/1000*per, connections)
		// Another writer on the server would be counted as the cache's.
		if name == nobPlain && reads == 0 && idsAfter-ids < s.Requests {
			return fmt.Errorf("%d writes of one statement each used %d transaction ids", s.Requests, idsAfter-ids)
		}
	}
	return nil
}

const perThousandRequests = "per 1,000 requests"

// transactionID is the next one; looking uses none.
func (x *neighbourhood) transactionID(ctx context.Context) (id int64, err error) {
	err = x.db.QueryRow(ctx, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint`).Scan(&id)
	return id, err
}

func (x *neighbourhood) connections(ctx context.Context, name string) (n int, err error) {
	application := map[string]string{rival.HowdahName: "howdah", nobPlain: plainApplication}[name]
	err = x.db.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, application).Scan(&n)
	return n, err
}

func (x *neighbourhood) load(c rival.Rival, reads float64, d time.Duration) measure.Load {
	sources := workload.NewSources(x.Workload, nobCallers)
	return measure.Load{Workers: nobCallers, Duration: d, Do: func(ctx context.Context, w int) error {
		return rival.Do(ctx, c, x.Workload, sources[w], reads)
	}}
}

// beside runs pgbench next to a cache under load, or alone.
func (x *neighbourhood) beside(ctx context.Context, group, series string) error {
	seconds := max(1, int(15*x.Duration.Seconds())) // pgbench counts whole ones
	type loaded struct {
		sample measure.Sample
		err    error
	}
	done := make(chan loaded, 1)
	c := x.caches[series]
	if c != nil {
		go func() {
			s, err := measure.Open(ctx, x.load(c, nobReads, time.Duration(seconds+1)*time.Second), x.Rate)
			done <- loaded{s, err}
		}()
		time.Sleep(500 * time.Millisecond) // pgbench meets a load that is there already
	}
	rate := 0.0
	if group == nobCalm {
		rate = x.half
	}
	s, err := x.pgbenchLatencies(ctx, seconds, nobClients, rate)
	if c != nil {
		l := <-done
		if err == nil && l.err != nil {
			err = fmt.Errorf("the load of %s: %w", series, l.err)
		}
		if err == nil {
			addOpen(x.result, "The cache, beside "+group, nobCase, series, l.sample)
		}
	}
	if err != nil {
		return err
	}
	if group == nobBusy {
		addClosed(x.result, group, nobCase, series, s)
	} else {
		addOpen(x.result, group, nobCase, series, s)
	}
	x.Progress("%-28s %-22s %6.0f tps  p50 %.2f ms, p99 %.2f ms", group, series, s.Rate(), s.Milliseconds(50), s.Milliseconds(99))
	return nil
}

func (x *neighbourhood) conclude() {
	r := x.result
	r.Compare(nobBusy, nobCase, throughput, rival.HowdahName, nobAlone, 0, false)
	r.Compare(nobBusy, nobCase, throughput, rival.HowdahName, nobPlain, 0, false)
	r.Compare(nobCalm, nobCase, p99, rival.HowdahName, nobAlone, 0, true)
	r.Compare(nobCalm, nobCase, p99, rival.HowdahName, nobPlain, 0, true)
	kept := func(series string) []float64 { return r.RatioOf(nobBusy, nobCase, throughput, series, nobAlone) }
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "The load of a cache lands on the primary", Source: "a warning, no figure",
		Ours: fmt.Sprintf("beside %g requests/s pgbench keeps %.0f %% of its throughput with Howdah and %.0f %% with one statement a call", x.Rate,
			100*result.Median(kept(rival.HowdahName)), 100*result.Median(kept(nobPlain))),
		Bar:      "beside one statement a call pgbench keeps at most 95 %",
		Word:     result.AtMost(kept(nobPlain), 0.95),
		Sentence: "It does; shared statements make it smaller, and what is left is a matter of cores.",
	})
	ids := func(series, which string) []float64 {
		m, _ := r.Find(nobCost, which, series, "transaction ids")
		return m.Rounds
	}
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "Reads use no transaction ids, and writes that come together share one", Source: "Howdah's own promise",
		Ours: fmt.Sprintf("per 1,000 requests: reads %.0f; writes %.0f, with one statement a call %.0f",
			result.Median(ids(rival.HowdahName, "reads")), result.Median(ids(rival.HowdahName, "writes")), result.Median(ids(nobPlain, "writes"))),
		Bar:      "per 1,000 requests: reads at most 0.5 (an autovacuum may use one), writes at most 800",
		Word:     result.All(result.AtMost(ids(rival.HowdahName, "reads"), 0.5), result.AtMost(ids(rival.HowdahName, "writes"), 800)),
		Sentence: fmt.Sprintf("At %g writes/s; more callers at once share more.", x.Rate),
	})
}
