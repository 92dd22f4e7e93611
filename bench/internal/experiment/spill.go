package experiment

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// spill lets a cache outgrow the memory that its server was given.
func spill() Experiment {
	return Experiment{
		Name:  "spill",
		Title: "A cache larger than its server's memory: shared_buffers, and Redis's maxmemory",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 25 * time.Second, Full: 100 * time.Second,
		Run:   runSpill,
		Judge: spillVerdict,
	}
}

const (
	spillLone    = "GET by one caller, as the cache grows"
	spillMany    = "GET by 64 callers, as the cache grows"
	spillCache   = "bench_spill"
	roomyRedis   = "Redis, memory for all of it"
	boundedRedis = "Redis, maxmemory as large as shared_buffers"
	hits         = "hits"
	fromBuffers  = "pages found in shared_buffers"
)

// spillSizes are those of the cache's table, in shared_buffers.
func spillSizes(quick bool) []float64 {
	if quick {
		return []float64{0.5, 2, 4}
	}
	return []float64{0.5, 2, 4, 8}
}

func runSpill(ctx context.Context, b *Bench, r *result.Result) error {
	if b.DatabaseURL != "" || b.RedisURL != "" {
		return errors.New("this experiment sets the memory of its servers: run it without --database-url and --redis-url")
	}
	// The stock 128 MB, or less for a quick run.
	memory := b.scale(128, 32)
	pg, err := b.postgresWith(ctx, map[string]string{"shared_buffers": fmt.Sprintf("%dMB", memory)})
	if err != nil {
		return err
	}
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	if err := d.freshCache(ctx, spillCache); err != nil {
		return err
	}
	roomy, err := b.redisWith(ctx, "redis-roomy")
	if err != nil {
		return err
	}
	bounded, err := b.redisWith(ctx, "redis-bounded", "--maxmemory", fmt.Sprintf("%dmb", memory), "--maxmemory-policy", "allkeys-lru")
	if err != nil {
		return err
	}
	rivals := []spillRival{{name: rival.HowdahName}, {name: roomyRedis, redis: roomy}, {name: boundedRedis, redis: bounded}}
	spec := workload.Spec{Keys: 0, ValueSize: 1000, Seed: 17}
	for _, size := range spillSizes(b.Quick) {
		which := fmt.Sprintf("%g times", size)
		from := spec.Keys
		spec.Keys = int(size * float64(memory<<20) / spillRow)
		b.Progress("loading keys %d to %d", from, spec.Keys)
		if err := growTable(ctx, d, from, spec.Keys); err != nil {
			return err
		}
		for _, c := range rivals[1:] {
			if err := growRedis(ctx, c.redis.Addr, spec, from); err != nil {
				return err
			}
		}
		if err := b.spillAt(ctx, d, r, pg.URL, which, size, memory, spec, rivals); err != nil {
			return fmt.Errorf("at %s: %w", which, err)
		}
	}
	r.Set("cache", fmt.Sprintf("values of 1,000 bytes, uniform: every page is as likely as any other, which is the worst there is for a cache of pages; sizes are those of table and index, in shared_buffers of %d MB", memory))
	r.Notes = append(r.Notes, "A page that is not in shared_buffers was in the system's page cache here, whose memory no experiment may take away: a cache larger than all memory waits for the disk besides, and is not shown.")
	return nil
}

// spillRow is about what an entry of 1,000 bytes takes in table and index.
const spillRow = 1240

// spillRival is a contestant; redis is nil for Howdah.
type spillRival struct {
	name  string
	redis *service.Server
}

// growTable stores more keys as the library would, but in one statement: what
// is measured is reading.
func growTable(ctx context.Context, d *db, from, to int) error {
	table, err := cacheTable(ctx, d, spillCache)
	if err != nil {
		return err
	}
	return d.run(ctx, fmt.Sprintf(`
		INSERT INTO %s (hash, version, expires_at, key, value)
		SELECT howdah.key_hash(k.key), 1, 'infinity', k.key,
		       int8send(i) || substr(decode(repeat(md5(i::text), 62), 'hex'), 1, 992)
		FROM generate_series(%d, %d) AS i, LATERAL (SELECT convert_to('key:' || lpad(i::text, 12, '0'), 'UTF8')) AS k (key)`,
		table, from, to-1), `VACUUM ANALYZE `+table, `CHECKPOINT`)
}

// growRedis stores the same keys, in pipelines.
func growRedis(ctx context.Context, addr string, spec workload.Spec, from int) error {
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	src := workload.NewSources(spec, 1)[0]
	pipe := c.Pipeline()
	for i := from; i < spec.Keys; i++ {
		pipe.Set(ctx, src.Key(i), string(src.Value(i)), 0)
		if pipe.Len() == 1000 || i == spec.Keys-1 {
			if _, err := pipe.Exec(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// spillAt measures all contestants at one size of the cache.
func (b *Bench) spillAt(ctx context.Context, d *db, r *result.Result, url, which string, size float64, memory int, spec workload.Spec, rivals []spillRival) error {
	table, err := cacheTable(ctx, d, spillCache)
	if err != nil {
		return err
	}
	mb, err := d.megabytes(ctx, table)
	if err != nil {
		return err
	}
	if got := mb / float64(memory); got < size*0.85 || got > size*1.15 {
		return fmt.Errorf("the table has %.0f MB, which is %.2f times shared_buffers, not %g: the rows have another size than was thought", mb, got, size)
	}
	return b.turns(len(rivals), func(i int) error {
		for j, callers := range []int{1, 64} {
			group := []string{spillLone, spillMany}[j]
			m, err := b.readSpilled(ctx, d, url, rivals[i], spec, callers)
			if err != nil {
				return err
			}
			if j == 0 {
				r.Add(group, which, rivals[i].name, p50, ms, m.sample.Milliseconds(50))
				r.Add(group, which, rivals[i].name, p99, ms, m.sample.Milliseconds(99))
			} else {
				addClosed(r, group, which, rivals[i].name, m.sample)
			}
			r.Add(group, which, rivals[i].name, hits, "% of the GETs", m.hits)
			if rivals[i].redis == nil {
				r.Add(group, which, rivals[i].name, fromBuffers, "%", m.buffered)
			}
			b.Progress("%-9s %-44s %2d callers  %8.0f/s  p50 %.3f ms  %5.1f %% hits", which, rivals[i].name, callers, m.sample.Rate(), m.sample.Milliseconds(50), m.hits)
		}
		return nil
	})
}

type spilled struct {
	sample         measure.Sample
	hits, buffered float64 // percent
}

// readSpilled reads keys of one contestant, on connections of its own: when
// they end PostgreSQL has counted all of their pages.
func (b *Bench) readSpilled(ctx context.Context, d *db, url string, c spillRival, spec workload.Spec, callers int) (m spilled, err error) {
	var client rival.Rival
	missing := func(err error) bool { return errors.Is(err, howdah.ErrMiss) }
	if c.redis == nil {
		client, err = rival.NewHowdah(ctx, url, spillCache)
	} else {
		client, missing = rival.NewGoRedis(c.redis.Addr, 64), func(err error) bool { return errors.Is(err, redis.Nil) }
	}
	if err != nil {
		return m, err
	}
	defer client.Close()
	read, found, err := d.pages(ctx)
	if err != nil {
		return m, err
	}
	sources := workload.NewSources(spec, callers)
	var got, missed atomic.Int64
	m.sample, err = measure.Closed(ctx, measure.Load{Workers: callers, Warmup: b.warmup(), Duration: max(b.Duration/2, 300*time.Millisecond),
		Do: func(ctx context.Context, w int) error {
			i := sources[w].Next()
			value, err := client.Get(ctx, sources[w].Key(i))
			if missing(err) {
				missed.Add(1)
				return nil
			}
			got.Add(1)
			if err != nil {
				return err
			}
			return spec.Check(i, value)
		}})
	if err != nil {
		return m, fmt.Errorf("%s: %w", c.name, err)
	}
	m.hits = 100 * float64(got.Load()) / float64(got.Load()+missed.Load())
	if c.name != boundedRedis && missed.Load() > 0 {
		return m, fmt.Errorf("%s missed %d of %d keys that were stored", c.name, missed.Load(), got.Load()+missed.Load())
	}
	if c.redis != nil {
		return m, nil
	}
	client.Close()
	// The counters are complete when they stand still. Neighbours that are read
	// together share a look at their page, so there may be fewer than rows.
	last := int64(-1)
	for range 100 {
		readNow, foundNow, err := d.pages(ctx)
		if err != nil {
			return m, err
		}
		all := readNow - read + foundNow - found
		if all == last && all >= got.Load()/2 {
			m.buffered = 100 * float64(foundNow-found) / float64(all)
			return m, nil
		}
		last = all
		time.Sleep(50 * time.Millisecond)
	}
	return m, fmt.Errorf("PostgreSQL counted looks at %d pages for %d rows that were read", last, got.Load())
}

// pages counts the looks at pages of the cache's table: those that had to be
// read into shared_buffers, and those that were found there.
func (d *db) pages(ctx context.Context) (read, found int64, err error) {
	table, err := cacheTable(ctx, d, spillCache)
	if err != nil {
		return 0, 0, err
	}
	err = d.QueryRow(ctx, `
		SELECT heap_blks_read, heap_blks_hit FROM pg_statio_user_tables
		WHERE relid = $1::text::regclass`, table).Scan(&read, &found)
	return read, found, err
}

func spillVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	sizes := r.Cases(spillMany)
	first, last := sizes[0], sizes[len(sizes)-1]
	v := func(group, which, series, metric string) float64 { return r.Value(group, which, series, metric) }
	// The sizes are not measured in the same rounds.
	small := v(spillMany, first, rival.HowdahName, throughput)
	large, _ := r.Find(spillMany, last, rival.HowdahName, throughput)
	var slower []float64
	for _, rate := range large.Rounds {
		slower = append(slower, small/rate)
	}
	return []result.Verdict{{
		Claim: "A cache larger than shared_buffers slows down", Source: "a warning, no figure",
		Ours: fmt.Sprintf("from %s to %s shared_buffers: %.0f to %.0f GETs/s with 64 callers, a lone GET %.3f to %.3f ms, %.0f %% to %.0f %% of the pages found there; Redis with that much memory answers %.0f %% of the GETs",
			first, last, v(spillMany, first, rival.HowdahName, throughput), v(spillMany, last, rival.HowdahName, throughput),
			v(spillLone, first, rival.HowdahName, p50), v(spillLone, last, rival.HowdahName, p50),
			v(spillMany, first, rival.HowdahName, fromBuffers), v(spillMany, last, rival.HowdahName, fromBuffers), v(spillMany, last, boundedRedis, hits)),
		Bar:  "64 callers: at least 1.2 times the rate at the smallest size as at the largest",
		Word: result.AtLeast(slower, 1.2),
		Sentence: "What it costs is a copy from the system's page cache, as long as that has room; the cache still answers for every key, where Redis without room forgets." +
			" With unequally popular keys it costs less.",
	}}
}
