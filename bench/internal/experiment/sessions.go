package experiment

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// sessions sets Howdah's sessions beside those of Redis and of scs.
func sessions() Experiment {
	return Experiment{
		Name:  "sessions",
		Title: "Sessions: creating and reading them, beside Redis and the stores of scs",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 24 * time.Second, Full: 2 * time.Minute,
		Run:   runSessions,
		Judge: sessionVerdicts,
	}
}

const (
	sessionCreate = "Creating a session"
	sessionUse    = "Reading a session, its expiry slides"
	sessionFind   = "Reading a session, its expiry stays"

	redisOff      = "Redis, no log"
	redisEverysec = "Redis, log on disk every second"
	redisAlways   = "Redis, log on disk before the answer"
)

func runSessions(ctx context.Context, b *Bench, r *result.Result) error {
	payload := []byte(sessionDocument())
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	if err := b.ownSessions(ctx, d); err != nil {
		return err
	}
	stores, err := b.sessionStores(ctx, d, payload)
	for _, s := range stores {
		b.later(s.close)
	}
	if err != nil {
		return err
	}
	n := b.scale(5000, 1000)
	for _, s := range stores {
		b.Progress("making %d sessions: %s", n, s.name)
		if err := s.fill(ctx, n); err != nil {
			return err
		}
	}
	if err := d.run(ctx, "VACUUM ANALYZE", "CHECKPOINT"); err != nil {
		return err
	}
	goroutines := []int{1, 16, 64}
	var readOnly []*sessionStore
	for _, s := range stores {
		if s.find != nil && s.name != redisEverysec && s.name != redisAlways { // a read is not logged
			readOnly = append(readOnly, s)
		}
	}
	read := func(s *sessionStore, sources []*workload.Source, get func(context.Context, string) ([]byte, error)) func(context.Context, int) error {
		return func(ctx context.Context, w int) error {
			got, err := get(ctx, s.tokens[sources[w].Next()])
			if err == nil && !bytes.Equal(got, payload) {
				err = fmt.Errorf("the payload came back as %d bytes that are not what was stored", len(got))
			}
			if err != nil {
				return fmt.Errorf("%s, reading: %w", s.name, err)
			}
			return nil
		}
	}
	for _, g := range goroutines {
		for _, group := range []string{sessionCreate, sessionUse, sessionFind} {
			contestants := stores
			if group == sessionFind {
				contestants = readOnly
			}
			err := b.turns(len(contestants), func(i int) error {
				s := contestants[i]
				sources := workload.NewSources(workload.Spec{Keys: n, ValueSize: 8, Seed: 3}, g)
				do := read(s, sources, s.use)
				switch group {
				case sessionCreate:
					do = func(ctx context.Context, _ int) error { _, err := s.makeOne(ctx); return err }
				case sessionFind:
					do = read(s, sources, s.find)
				case sessionUse:
					if s.due != nil {
						if err := s.due(ctx); err != nil {
							return err
						}
					}
				}
				sample, err := measure.Closed(ctx, measure.Load{Workers: g, Warmup: b.warmup() / 2, Duration: max(b.Duration/2, 150*time.Millisecond), Do: do})
				if err != nil {
					return err
				}
				addClosed(r, group, callers(g), s.name, sample)
				b.Progress("%-38s %2d callers  %-38s %8.0f/s  p50 %.3f ms", group, g, s.name, sample.Rate(), sample.Milliseconds(50))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	for _, s := range stores {
		if err := s.check(ctx); err != nil {
			return err
		}
	}
	if err := sameSettings(ctx, d); err != nil {
		return err
	}
	describeSessions(r, n, len(payload))
	return nil
}

func callers(n int) string {
	if n == 1 {
		return "1 caller"
	}
	return fmt.Sprintf("%d callers", n)
}

// sessionStores are all contestants.
func (b *Bench) sessionStores(ctx context.Context, d *db, payload []byte) (all []*sessionStore, err error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	h, err := managerSessions(ctx, d, pg.URL, payload, b.Duration/4)
	if err != nil {
		return nil, err
	}
	all = append(all, h)
	var off string
	for _, log := range []struct{ name, fsync string }{{redisOff, ""}, {redisEverysec, "everysec"}, {redisAlways, "always"}} {
		var args []string
		if log.fsync != "" {
			args = []string{"--appendonly", "yes", "--appendfsync", log.fsync}
		}
		server, err := b.redisWith(ctx, "redis-sessions-"+log.fsync, args...)
		if err != nil {
			return all, err
		}
		if log.fsync == "" {
			off = server.Addr
		}
		s, err := redisSessions(ctx, log.name, server.Addr, log.fsync, payload)
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	plain, err := scsOnPostgres(ctx, d, pg.URL, payload)
	if err != nil {
		return all, err
	}
	all = append(all, plain, scsOnRedis(off, payload))
	adapted, err := scsOnHowdah(ctx, d, pg.URL, payload)
	if err != nil {
		return all, err
	}
	return append(all, adapted), nil
}

func describeSessions(r *result.Result, n, payload int) {
	r.Set("sessions", fmt.Sprintf("%d to read, payload of %d bytes, idle timeout %v; scs's stores without its gob encoding", n, payload, sessionIdle))
	r.Set("pools", fmt.Sprintf("PostgreSQL %d connections, go-redis its default of 10 a core", sessionConns))
	r.Set("durability", "in PostgreSQL a created session is on disk when the call returns (LOGGED, fsync and synchronous_commit on), which only \""+redisAlways+"\" promises too")
	r.Set("sliding", "Howdah: every session is due once in each measurement, the uses are written in batches, asynchronously; Redis: GET and EXPIRE in one round trip; scs: Find and Commit, as scs does with an idle timeout")
}

func sessionVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	most := callers(64)
	rate := func(group, series string) float64 { return r.Value(group, most, series, throughput) }
	ratio := func(group, of, to string) []float64 { return r.RatioOf(group, most, throughput, of, to) }
	const manager, scsPostgres, scsRedis = "Howdah", "scs on its PostgreSQL store", "scs on its Redis store, no log"
	return []result.Verdict{
		{
			Claim: "A cache database is the better session store", Source: "conclusion, no figure",
			Ours: fmt.Sprintf("64 callers, Howdah to Redis: creating %.2f (log on disk before the answer), %.2f (every second), %.2f (no log); reading %.2f, %.2f, %.2f",
				result.Median(ratio(sessionCreate, manager, redisAlways)), result.Median(ratio(sessionCreate, manager, redisEverysec)), result.Median(ratio(sessionCreate, manager, redisOff)),
				result.Median(ratio(sessionUse, manager, redisAlways)), result.Median(ratio(sessionUse, manager, redisEverysec)), result.Median(ratio(sessionUse, manager, redisOff))),
			Bar: "Howdah at most 0.9 times Redis, creating and reading, with the log on disk and without a log",
			Word: result.Agree(result.AtMost(ratio(sessionCreate, manager, redisAlways), 0.9), result.AtMost(ratio(sessionUse, manager, redisAlways), 0.9),
				result.AtMost(ratio(sessionCreate, manager, redisOff), 0.9), result.AtMost(ratio(sessionUse, manager, redisOff), 0.9)),
			Sentence: "For speed it depends on the promise: a session that must survive a crash waits for a disk in either, and so does the expiry that Redis slides with every read; one that may be lost waits for nothing in Redis.",
		},
		{
			Claim: "Sliding the expiry is what a session store in PostgreSQL pays for", Source: "SQL, no figure",
			Ours: fmt.Sprintf("64 callers: scs on its PostgreSQL store %.0f reads/s that slide, %.0f that do not; on its Redis store %.0f and %.0f; Howdah %.0f that slide",
				rate(sessionUse, scsPostgres), rate(sessionFind, scsPostgres), rate(sessionUse, scsRedis), rate(sessionFind, scsRedis), rate(sessionUse, manager)),
			Bar:      "scs on PostgreSQL at most 0.7 times Howdah in reads that slide",
			Word:     result.AtMost(ratio(sessionUse, scsPostgres, manager), 0.7),
			Sentence: "It does where each read commits; batches that skip what is covered leave one asynchronous write for a session and window.",
		},
	}
}
