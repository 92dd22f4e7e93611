package experiment

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/worker"
)

// processes compares the libraries where callers are spread over processes,
// as web servers that fork are: only those of one process can share.
func processes() Experiment {
	return Experiment{
		Name:  "processes",
		Title: "The libraries in 8 processes of 16 goroutines",
		Needs: []service.Program{service.Postgres, service.Redis, service.Memcached},
		Quick: 30 * time.Second, Full: 90 * time.Second,
		Run: runProcesses,
	}
}

const (
	processCount, processGoroutines = 8, 16
	processCase                     = "8 processes of 16"
)

// entrant is a client library in processes of its own.
type entrant struct {
	job    worker.Job
	server part
}

// name is what the report calls it.
func (e entrant) name() string { return e.job.Rival }

func runProcesses(ctx context.Context, b *Bench, r *result.Result) error {
	all, pools, err := b.entrants(ctx)
	if err != nil {
		return err
	}
	for _, mix := range mixes {
		plain, err := b.bestProcessPool(mix, pools)
		if err != nil {
			return err
		}
		field := append(all[:len(all):len(all)], plain)
		err = b.turns(len(field), func(i int) error { return b.race(r, field[i], mix) })
		if err != nil {
			return err
		}
		for _, e := range field[1:] {
			r.Compare(mix.name, processCase, throughput, rival.HowdahName, e.name(), 0, false)
		}
	}
	r.Set("workload", b.Workload.String())
	r.Set("measurement", fmt.Sprintf("%d rounds of %v each, in turns, closed loop, everybody by TCP on loopback", b.Rounds, b.Duration))
	r.Set("connections of each process", fmt.Sprintf("Howdah and go-redis as their defaults, gomemcache %d, plain pgx the best of %d and %d",
		processGoroutines, pools[0].job.Pool, pools[1].job.Pool))
	return nil
}

// entrants starts the servers and loads every key. pools are plain pgx, with
// pools that fit into PostgreSQL's stock 100 connections.
func (b *Bench) entrants(ctx context.Context) (all, pools []entrant, err error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, nil, err
	}
	redis, err := b.Redis(ctx)
	if err != nil {
		return nil, nil, err
	}
	memcached, err := b.Memcached(ctx)
	if err != nil {
		return nil, nil, err
	}
	const cache = "bench_unlogged"
	h, err := rival.NewHowdahClass(ctx, pg.URL, "unlogged")
	if err != nil {
		return nil, nil, err
	}
	h.Close()
	if err := rival.CreatePgxTable(ctx, pg.URL); err != nil {
		return nil, nil, err
	}
	all = []entrant{
		{worker.Job{Rival: rival.HowdahName, Target: pg.URL, Cache: cache}, database(pg.Process)},
		{worker.Job{Rival: rival.GoRedisName, Target: redis.Addr}, server(redis.Process)},
		{worker.Job{Rival: rival.RueidisName, Target: redis.Addr}, server(redis.Process)},
		{worker.Job{Rival: rival.MemcachedName, Target: memcached.Addr, Pool: processGoroutines}, server(memcached.Process)},
	}
	for _, size := range []int{4, 10} {
		pools = append(pools, entrant{worker.Job{Rival: rival.PgxName, Target: pg.URL, Pool: size}, database(pg.Process)})
	}
	for _, e := range append(all[:len(all):len(all)], pools[0]) {
		if e.job.Rival == rival.RueidisName {
			continue // shares go-redis's server
		}
		b.Progress("loading %d keys: %s", b.Workload.Keys, e.name())
		e.job.Pool = max(e.job.Pool, 64)
		if err := b.loadJob(ctx, e.job); err != nil {
			return nil, nil, err
		}
	}
	d, err := b.sql(ctx)
	if err != nil {
		return nil, nil, err
	}
	return all, pools, d.run(ctx, "VACUUM ANALYZE", "CHECKPOINT")
}

func (b *Bench) loadJob(ctx context.Context, job worker.Job) error {
	c, err := job.Open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return rival.Load(ctx, c, b.Workload)
}

// race lets one library run in all its processes.
func (b *Bench) race(r *result.Result, e entrant, mix mix) error {
	m := newMeter(e.server)
	s, sum, err := worker.Together(processCount, b.jobOf(e, mix), m.begin, m.finish)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", mix.name, e.name(), err)
	}
	addClosed(r, mix.name, processCase, e.name(), s)
	r.Add(mix.name, processCase, e.name(), "client CPU", "s per million", sum.CPUSeconds/float64(s.Requests)*1e6)
	for i, p := range m.parts {
		r.Add(mix.name, processCase, e.name(), p.name+" CPU", "s per million", (m.after[i]-m.before[i])/float64(s.Requests)*1e6)
	}
	if sum.Batches > 0 {
		r.Add(mix.name, processCase, e.name(), batchSize, "keys", sum.Keys/float64(sum.Batches))
	}
	b.Progress("%-20s %-28s %9.0f/s", mix.name, e.name(), s.Rate())
	return nil
}

func (b *Bench) jobOf(e entrant, mix mix) worker.Job {
	job := e.job
	job.Spec, job.Reads, job.Goroutines = b.Workload, mix.reads, processGoroutines
	job.Warmup, job.Duration = b.warmup(), b.Duration
	return job
}

// bestProcessPool tries plain pgx with each size of pool.
func (b *Bench) bestProcessPool(mix mix, pools []entrant) (best entrant, err error) {
	var most float64
	for _, e := range pools {
		s, _, err := worker.Together(processCount, b.jobOf(e, mix), func() {}, func() {})
		if err != nil {
			return best, fmt.Errorf("%s, pool of %d: %w", strings.ToLower(mix.name), e.job.Pool, err)
		}
		if s.Rate() > most {
			best, most = e, s.Rate()
		}
	}
	return best, nil
}
