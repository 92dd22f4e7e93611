package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/workload"
)

// Parts whose CPU is reported apart.
const httpPart, storePart = "HTTP server", "store"

func httpParts(server, store machine.Process) []part {
	return []part{client(), {httpPart, server}, {storePart, store}}
}

// What the seeded entries take.
const seededGroup, seededSize = "Size of the seeded entries", "size"

// fresh numbers keys that were never written before, in all runs.
var fresh atomic.Int64

// httpCaller is one connection that makes requests of a mix.
type httpCaller struct {
	client    *rival.HTTPClient
	rng       *rand.Rand
	documents *workload.Documents
	entries   int
	reads     int64
	hits      int64
}

// do makes one request and checks its answer.
func (c *httpCaller) do(mix httpMix, run int64) error {
	i := c.rng.IntN(c.entries)
	if c.rng.Float64() >= mix.reads {
		key := workload.Key(i)
		if c.rng.Float64() >= mix.known {
			key = "new:" + strconv.FormatInt(run, 10) + ":" + strconv.FormatUint(c.rng.Uint64(), 36)
		}
		return c.client.Set(key, c.documents.Of(i))
	}
	key, there := workload.Key(i), c.rng.Float64() < mix.hits
	if !there {
		key = "none:" + strconv.Itoa(i)
	}
	document, found, err := c.client.Get(key)
	c.reads++
	switch {
	case err != nil:
		return err
	case found != there:
		return fmt.Errorf("GET %s: found is %t, must be %t", key, found, there)
	case found:
		c.hits++
		return workload.CheckDocument(i, document)
	}
	return nil
}

// httpLoad measures one server under one mix.
func (b *Bench) httpLoad(ctx context.Context, r *result.Result, s httpServer, mix httpMix, entries int) error {
	run := fresh.Add(1)
	callers := make([]*httpCaller, httpCallers)
	for w := range callers {
		c, err := rival.NewHTTPClient(s.addr)
		if err != nil {
			return err
		}
		defer c.Close()
		seed := uint64(run)<<16 | uint64(w)
		callers[w] = &httpCaller{client: c, rng: rand.New(rand.NewPCG(seed, 1)), documents: workload.NewDocuments(seed), entries: entries}
	}
	m := newMeter(s.parts...)
	sample, err := measure.Closed(ctx, m.attach(measure.Load{Workers: httpCallers, Warmup: b.warmup(), Duration: b.httpDuration(),
		Do: func(_ context.Context, w int) error { return callers[w].do(mix, run) }}))
	if err != nil {
		return fmt.Errorf("%s, %s: %w", s.name, mix.name, err)
	}
	addClosed(r, mix.name, httpCase, s.name, sample)
	m.add(r, mix.name, httpCase, s.name, sample.Requests)
	var reads, hits int64
	for _, c := range callers {
		reads, hits = reads+c.reads, hits+c.hits
	}
	if reads > 0 {
		r.Add(mix.name, httpCase, s.name, "hits", "% of the reads", 100*float64(hits)/float64(reads))
	}
	b.Progress("%-28s %-30s %8.0f/s  p99 %.2f ms", mix.name, s.name, sample.Rate(), sample.Milliseconds(99))
	return nil
}

// seedHTTP stores the documents with everybody, each by its fastest way, and
// notes what they take.
func (b *Bench) seedHTTP(ctx context.Context, r *result.Result, entries int) error {
	pg, redis := b.postgres, b.redis
	before := redis.Process.MemoryMB()
	overWire, err := rival.NewRueidis(redis.Addr)
	if err != nil {
		return err
	}
	defer overWire.Close()
	library, err := rival.NewHowdah(ctx, pg.URL, "db0")
	if err != nil {
		return err
	}
	defer library.Close()
	for name, store := range map[string]rival.Rival{overRedis: overWire, overHowdah: library} {
		b.Progress("storing %d documents: %s", entries, name)
		if err := storeDocuments(ctx, store, entries); err != nil {
			return err
		}
	}
	if redis.Process.PID > 0 {
		r.Add(seededGroup, httpCase, overRedis, seededSize, "MB", redis.Process.MemoryMB()-before)
	}
	d, err := connect(ctx, pg.SocketURL) // as the owner of the tables
	if err != nil {
		return err
	}
	defer d.Close(ctx)
	if err := rival.CreatePgxTable(ctx, pg.URL); err != nil {
		return err
	}
	if err := rival.CreateDurablePgxTable(ctx, pg.URL); err != nil {
		return err
	}
	for name, table := range map[string]string{overPgx: rival.PgxTable, overPgxLogged: rival.PgxDurableTable} {
		b.Progress("storing %d documents: %s", entries, name)
		documents, i := workload.NewDocuments(1), -1
		_, err := d.CopyFrom(ctx, pgx.Identifier{table}, []string{"key", "value"}, pgx.CopyFromFunc(func() ([]any, error) {
			if i++; i == entries {
				return nil, nil
			}
			return []any{workload.Key(i), documents.Of(i)}, nil
		}))
		if err != nil {
			return err
		}
	}
	if err := d.run(ctx, "VACUUM ANALYZE", "CHECKPOINT"); err != nil {
		return err
	}
	relation, err := cacheTable(ctx, d, "db0")
	if err != nil {
		return err
	}
	for name, table := range map[string]string{overPgx: rival.PgxTable, overPgxLogged: rival.PgxDurableTable, overHowdah: relation} {
		size, err := d.megabytes(ctx, table)
		if err != nil {
			return err
		}
		r.Add(seededGroup, httpCase, name, seededSize, "MB", size)
	}
	return nil
}

// storeDocuments stores many at a time.
func storeDocuments(ctx context.Context, store rival.Rival, entries int) error {
	const callers = 256
	group, ctx := errgroup.WithContext(ctx)
	for w := range callers {
		group.Go(func() error {
			documents := workload.NewDocuments(uint64(w))
			for i := w; i < entries; i += callers {
				if err := store.Set(ctx, workload.Key(i), documents.Of(i)); err != nil {
					return fmt.Errorf("storing documents in %s: %w", store.Name(), err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}
