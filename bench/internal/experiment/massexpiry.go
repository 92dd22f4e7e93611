package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// massExpiry asks what readers notice when very much expires at one instant.
func massExpiry() Experiment {
	return Experiment{
		Name:  "mass-expiry",
		Title: "A million entries expire at one instant, while readers read",
		Needs: []service.Program{service.Postgres},
		Quick: 25 * time.Second, Full: 5 * time.Minute,
		Run:   runMassExpiry,
		Judge: massVerdicts,
	}
}

const (
	massGroup, massWork, massCase        = "Readers at a quarter of full load", "Removing what has expired", "all at one instant"
	massBefore, massMeanwhile, massAfter = "before", "until all rows are gone", "afterwards"
	massCache                            = "bench_mass"
	massReaders                          = 64
	massRound                            = 20.0 // ms, of Howdah's own promise: no row is locked for longer
)

// massExpiries is the experiment with what it keeps between its rounds.
type massExpiries struct {
	*Bench
	rows, live int
	lead       time.Duration // from the beginning of the load to the instant
	cache      *howdah.Cache
	url        string
	db         *db
	rounds     bool // pg_stat_statements tells how long rounds take
}

func runMassExpiry(ctx context.Context, b *Bench, r *result.Result) error {
	x := &massExpiries{Bench: b, rows: b.scale(1_000_000, 50_000), lead: time.Duration(b.scale(75, 8)) * time.Second}
	x.live = x.rows / 10
	url, err := x.server(ctx)
	if err != nil {
		return err
	}
	db, err := howdah.Open(ctx, url, &howdah.Options{Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	b.later(db.Close)
	if err := db.CreateCache(ctx, howdah.CacheConfig{Name: massCache}); err != nil && !errors.Is(err, howdah.ErrCacheExists) {
		return err
	}
	x.cache = db.Cache(massCache)
	if x.db, err = connect(ctx, x.url); err != nil {
		return err
	}
	b.later(func() error { return x.db.Close(context.WithoutCancel(ctx)) })
	_, err = x.db.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`)
	x.rounds = err == nil

	upkeep, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { db.Run(upkeep) })
	b.later(func() error { stop(); running.Wait(); return nil })

	if err := b.turns(1, func(int) error { return x.round(ctx, r) }); err != nil {
		return err
	}
	r.Set("cache", fmt.Sprintf("UNLOGGED, %d entries that expire at one instant among %d that stay, values of %d bytes", x.rows, x.live, b.Workload.ValueSize))
	r.Set("readers", fmt.Sprintf("the library; full load is a closed loop of %d goroutines; then an open loop at a quarter of its rate", massReaders))
	r.Compare(massGroup, massCase, p99, massMeanwhile, massBefore, 2, true)
	r.Compare(massGroup, massCase, p99, massAfter, massBefore, 0, true)
	return nil
}

func massVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	find := func(metric string) result.Metric { m, _ := r.Find(massWork, massCase, "Howdah", metric); return m }
	gone, longest := find("time"), find("longest round")
	slower := r.RatioOf(massGroup, massCase, p99, massMeanwhile, massBefore)
	verdicts := []result.Verdict{{
		Claim: "A million entries that expire at once are gone within a minute, and readers hardly notice", Source: "Howdah's own promise",
		Ours: fmt.Sprintf("gone after %.1f s; readers' 99th percentile %.2f ms before, %.2f ms meanwhile (%.2f times)", gone.Median(),
			r.Value(massGroup, massCase, massBefore, p99), r.Value(massGroup, massCase, massMeanwhile, p99), result.Median(slower)),
		Bar:  "gone within 60 s, readers' 99th percentile meanwhile at most 2 times that before",
		Word: result.All(result.AtMost(gone.Rounds, 60), result.AtMost(slower, 2)),
		Sentence: "Upkeep walks the table by ranges of blocks in rounds of about a millisecond, and rests 18 ms between them." +
			" A read that comes meanwhile waits for its share of the cores: at a quarter of full load one in a hundred waits about a millisecond more.",
	}}
	if len(longest.Rounds) > 0 {
		verdicts = append(verdicts, result.Verdict{
			Claim: "No round of upkeep keeps a row locked for longer than writers wait (20 ms)", Source: "Howdah's own promise",
			Ours: fmt.Sprintf("the longest of %.0f rounds: %s", find("rounds").Median(), milliseconds(longest.Rounds)),
			Bar:  "the longest takes at most 20 ms",
			Word: result.AtMost(longest.Rounds, massRound),
			Sentence: "A round begins nothing new after 12 ms, or 0.5 ms while it works off a backlog, and its statements take about a millisecond each." +
				" Nothing bounds a single statement that has to wait for a core or the disk; a writer that meets its lock waits 20 ms and goes again.",
		})
	}
	return verdicts
}

// milliseconds lists what each round of the measurement gave.
func milliseconds(rounds []float64) string {
	var each []string
	for _, v := range rounds {
		each = append(each, fmt.Sprintf("%.1f", v))
	}
	return strings.Join(each, ", ") + " ms"
}

// server starts a PostgreSQL that counts how long statements take.
func (x *massExpiries) server(ctx context.Context) (string, error) {
	if x.DatabaseURL == "" {
		pg, err := service.StartPostgres(ctx, filepath.Join(x.dir, "mass"), map[string]string{"shared_preload_libraries": "pg_stat_statements"})
		if err != nil {
			return "", err
		}
		x.postgres = pg
		x.versions["PostgreSQL"] = pg.Version
		x.later(pg.Stop)
	}
	pg, err := x.Postgres(ctx)
	if err != nil {
		return "", err
	}
	if x.url, err = x.sqlURL(ctx); err != nil {
		return "", err
	}
	return pg.URL, nil
}

// round fills the cache, finds out what full load is, and watches readers
// before, while and after the rows go.
func (x *massExpiries) round(ctx context.Context, r *result.Result) error {
	instant := time.Now().Add(x.lead)
	x.Progress("storing %d entries, of which %d expire in %v", x.rows+x.live, x.rows, x.lead)
	// Every eleventh stays. The first 8 bytes of a value name its key.
	table, err := cacheTable(ctx, x.db, massCache)
	if err != nil {
		return err
	}
	err = x.db.run(ctx, `TRUNCATE `+table, fmt.Sprintf(`
		INSERT INTO %s (hash, version, expires_at, key, value)
		SELECT howdah.key_hash(n.key), i, n.expires_at, n.key, substring(int8send(i / 11) || decode(repeat(md5(i::text), %d), 'hex') FOR %d)
		FROM generate_series(0, %d) AS i, LATERAL (
		    SELECT convert_to(CASE WHEN i %% 11 = 0 THEN 'key:' || lpad((i / 11)::text, 12, '0') ELSE 'gone:' || i END, 'UTF8') AS key,
		           CASE WHEN i %% 11 = 0 THEN 'infinity' ELSE timestamptz '%s' END AS expires_at) AS n`,
		table, x.Workload.ValueSize/16+1, x.Workload.ValueSize, 11*x.live-1, instant.UTC().Format("2006-01-02 15:04:05.000000+00")),
		`VACUUM ANALYZE `+table, `CHECKPOINT`)
	if err != nil {
		return err
	}
	s, err := measure.Closed(ctx, x.load(6*x.Duration, nil))
	if err != nil {
		return err
	}
	rate := s.Rate() / 4
	r.Add(massGroup, massCase, "full load", throughput, perSecond, s.Rate())
	least := 10 * x.Duration
	calm := time.Until(instant) - time.Second
	if calm < least {
		return fmt.Errorf("storing %d entries and measuring the full load left %v of %v: this machine is too slow for the experiment", x.rows+x.live, calm.Round(time.Second), x.lead)
	}
	before, err := x.expired(ctx)
	if err != nil {
		return err
	}
	if s, err = measure.Open(ctx, x.load(min(calm, 3*least), nil), rate); err != nil {
		return err
	}
	x.note(r, massBefore, s)
	if early, err := x.expired(ctx); err != nil || early != before {
		return errors.Join(err, fmt.Errorf("%d entries were removed before the instant", early-before))
	}
	if err := x.removal(ctx, r, instant, before, rate); err != nil {
		return err
	}
	if s, err = measure.Open(ctx, x.load(least, nil), rate); err != nil {
		return err
	}
	x.note(r, massAfter, s)
	return nil
}

// errGone ends the readers.
var errGone = errors.New("everything that expired is gone")

// removal is the time from the instant until the last row is gone.
func (x *massExpiries) removal(ctx context.Context, r *result.Result, instant time.Time, before int64, rate float64) error {
	if x.rounds {
		if _, err := x.db.Exec(ctx, `SELECT pg_stat_statements_reset()`); err != nil {
			return err
		}
	}
	time.Sleep(time.Until(instant))
	var gone atomic.Bool
	type removed struct {
		took time.Duration
		err  error
	}
	done := make(chan removed, 1)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for {
			n, err := x.expired(watching)
			if err != nil || n-before >= int64(x.rows) {
				done <- removed{time.Since(instant), err}
				gone.Store(true)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	s, err := measure.OpenUntil(ctx, x.load(2*time.Minute, &gone), rate, errGone)
	stop()
	d := <-done
	if err := errors.Join(err, d.err); err != nil {
		return fmt.Errorf("while rows were removed: %w", err)
	}
	table, err := cacheTable(ctx, x.db, massCache)
	if err != nil {
		return err
	}
	var left int64
	if err := x.db.QueryRow(ctx, `SELECT count(*) FROM `+table+` WHERE expires_at <= now()`).Scan(&left); err != nil || left > 0 {
		return errors.Join(err, fmt.Errorf("%d expired rows are left", left))
	}
	x.note(r, massMeanwhile, s)
	r.Add(massWork, massCase, "Howdah", "time", "s", d.took.Seconds())
	x.Progress("gone after %.1f s", d.took.Seconds())
	if !x.rounds {
		return nil
	}
	var rounds int64
	var longest, total float64
	err = x.db.QueryRow(ctx, `
		SELECT sum(calls)::bigint, max(max_exec_time), sum(total_exec_time)
		FROM pg_stat_statements WHERE query LIKE '%FROM howdah.maintain(%' AND query NOT LIKE '%pg_stat_statements%'`).Scan(&rounds, &longest, &total)
	if err != nil {
		return fmt.Errorf("no round of upkeep was seen: %w", err)
	}
	r.Add(massWork, massCase, "Howdah", "longest round", ms, longest)
	r.Add(massWork, massCase, "Howdah", "rounds", "rounds", float64(rounds))
	r.Add(massWork, massCase, "Howdah", "all rounds together", "s", total/1000)
	x.Progress("%d rounds, the longest of %.1f ms", rounds, longest)
	return nil
}

// expired is how many rows upkeep has removed from the cache so far.
func (x *massExpiries) expired(ctx context.Context) (n int64, err error) {
	err = x.db.QueryRow(ctx, `SELECT coalesce(sum(expired), 0)::bigint FROM howdah.upkeep WHERE cache = $1`, massCache).Scan(&n)
	return n, err
}

// load reads entries that stay; gone, if given, ends it.
func (x *massExpiries) load(d time.Duration, gone *atomic.Bool) measure.Load {
	spec := x.Workload
	spec.Keys = x.live
	sources := workload.NewSources(spec, massReaders)
	return measure.Load{Workers: massReaders, Duration: d, Do: func(ctx context.Context, w int) error {
		if gone != nil && gone.Load() {
			return errGone
		}
		i := sources[w].Next()
		value, err := x.cache.Get(ctx, sources[w].Key(i))
		if err != nil {
			return fmt.Errorf("reading %s: %w", sources[w].Key(i), err)
		}
		return spec.Check(i, value)
	}}
}

func (x *massExpiries) note(r *result.Result, series string, s measure.Sample) {
	addOpen(r, massGroup, massCase, series, s)
	x.Progress("%-26s %6.0f reads/s  p50 %.2f ms, p99 %.2f ms, max %.0f ms", series, s.Rate(), s.Milliseconds(50), s.Milliseconds(99), float64(s.Latency.Max())/1e6)
}
