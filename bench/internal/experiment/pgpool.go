package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// pgPool asks what pgpool-II's query cache does for a table of key and value.
func pgPool() Experiment {
	return Experiment{
		Name:  "pgpool",
		Title: "pgpool-II's query cache in front of a table",
		Needs: []service.Program{service.Postgres, service.PgPool},
		Quick: 20 * time.Second, Full: 50 * time.Second,
		Run: runPgPool,
	}
}

const (
	throughDirect = "table, directly"
	throughPool   = "table through pgpool-II, no cache"
	throughCache  = "table through pgpool-II, query cache"

	poolCase, poolWorkers = "16 callers", 16
	staleGroup, staleRead = "Reads of a key that was just written", "stale"
	dropGroup, dropped    = "Cached results that one write of another key drops", "dropped"

	writePast     = "written past pgpool-II"
	writePrepared = "written through it, prepared statement"
	writeSimple   = "written through it, simple protocol"
)

// pooled is plain PostgreSQL with statements that a query cache can keep: one
// that compares with now() is not kept.
type pooled struct {
	name string
	pool *pgxpool.Pool
}

func (p *pooled) Name() string { return p.name }
func (p *pooled) Close() error { p.pool.Close(); return nil }

func (p *pooled) Get(ctx context.Context, key string) (value []byte, err error) {
	err = p.pool.QueryRow(ctx, `SELECT value FROM `+rival.PgxTable+` WHERE key = $1`, key).Scan(&value)
	return value, err
}

const pooledUpdate = `UPDATE ` + rival.PgxTable + ` SET value = $2 WHERE key = $1`

// Set uses the simple protocol: pgpool-II does not notice every prepared write.
func (p *pooled) Set(ctx context.Context, key string, value []byte) error {
	_, err := p.pool.Exec(ctx, pooledUpdate, pgx.QueryExecModeSimpleProtocol, key, value)
	return err
}

func (p *pooled) setPrepared(ctx context.Context, key string, value []byte) error {
	_, err := p.pool.Exec(ctx, pooledUpdate, key, value)
	return err
}

func newPooled(ctx context.Context, name, url string) (*pooled, error) {
	pool, err := pgxpool.New(ctx, withPool(url, poolWorkers))
	return &pooled{name, pool}, err
}

func runPgPool(ctx context.Context, b *Bench, r *result.Result) error {
	spec := b.Workload
	spec.Keys = min(spec.Keys, b.scale(10_000, 2000))
	all, cached, err := b.pooledStores(ctx, spec)
	if err != nil {
		return err
	}
	for _, mix := range []mix{mixes[0], mixes[2]} {
		err := b.turns(len(all), func(i int) error {
			sources := workload.NewSources(spec, poolWorkers)
			m := newMeter(all[i].parts...)
			s, err := measure.Closed(ctx, m.attach(measure.Load{Workers: poolWorkers, Warmup: b.warmup(), Duration: b.Duration,
				Do: func(ctx context.Context, w int) error { return rival.Do(ctx, all[i], spec, sources[w], mix.reads) }}))
			if err != nil {
				return fmt.Errorf("%s, %s: %w", all[i].Name(), mix.name, err)
			}
			addClosed(r, mix.name, poolCase, all[i].Name(), s)
			m.add(r, mix.name, poolCase, all[i].Name(), s.Requests)
			b.Progress("%-20s %-40s %8.0f/s", mix.name, all[i].Name(), s.Rate())
			return nil
		})
		if err != nil {
			return err
		}
		for _, to := range []string{throughDirect, throughPool, rival.HowdahName} {
			r.Compare(mix.name, poolCase, throughput, throughCache, to, 0, false)
		}
	}
	if err := coherence(ctx, r, cached, all[0].Rival, spec); err != nil {
		return err
	}
	r.Set("workload", spec.String()+"; every key read once through the cache before")
	r.Set("writes", "by the simple protocol, which pgpool-II always notices")
	r.Set("pgpool-II", fmt.Sprintf("%d children, memory_cache_enabled with memqcache_method = shmem, invalidation on", poolWorkers+4))
	ratio := func(group, to string) []float64 { return r.RatioOf(group, poolCase, throughput, throughCache, to) }
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "pgpool-II's query cache would make PostgreSQL a faster cache", Source: "open idea, no figure",
		Ours: fmt.Sprintf("against the table without pgpool-II: %.2f of the reads, %.2f of a mix with 20 %% writes; one write dropped %.0f %% of the results; stale after a write past it %.0f %%, after a prepared write through it %.0f %%",
			result.Median(ratio(mixes[0].name, throughDirect)), result.Median(ratio(mixes[2].name, throughDirect)),
			r.Value(dropGroup, writeSimple, throughCache, dropped), r.Value(staleGroup, writePast, throughCache, staleRead),
			r.Value(staleGroup, writePrepared, throughCache, staleRead)),
		Bar:      "the query cache at least 1.1 times the table without pgpool-II, in reads and in the mix",
		Word:     result.Agree(result.AtLeast(ratio(mixes[0].name, throughDirect), 1.1), result.AtLeast(ratio(mixes[2].name, throughDirect), 1.1)),
		Sentence: "A write that pgpool-II notices drops all cached results of the table, one that it does not notice none, and a statement that compares an expiry with now() is never cached.",
	})
	return nil
}

// pooledStores starts the servers; cached is the one with the query cache,
// which holds every key afterwards.
func (b *Bench) pooledStores(ctx context.Context, spec workload.Spec) (all []contestant, cached *pooled, err error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := rival.CreatePgxTable(ctx, pg.URL); err != nil {
		return nil, nil, err
	}
	loader, err := rival.NewPgx(ctx, pg.URL, 4)
	if err != nil {
		return nil, nil, err
	}
	defer loader.Close()
	howdah, err := rival.NewHowdahClass(ctx, pg.URL, "unlogged")
	if err != nil {
		return nil, nil, err
	}
	b.later(howdah.Close)
	for _, s := range []rival.Rival{loader, howdah} {
		if err := rival.Load(ctx, s, spec); err != nil {
			return nil, nil, err
		}
	}
	direct, err := newPooled(ctx, throughDirect, pg.URL)
	if err != nil {
		return nil, nil, err
	}
	b.later(direct.Close)
	all = []contestant{{direct, []part{client(), database(pg.Process)}}}
	for _, name := range []string{throughPool, throughCache} {
		dir := filepath.Join(b.dir, "pgpool-"+strconv.Itoa(len(all)))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, nil, err
		}
		s, err := service.StartPgPool(ctx, dir, pg, poolWorkers+4, name == throughCache, rival.PgxTable)
		if err != nil {
			return nil, nil, err
		}
		b.later(s.Stop)
		b.versions["pgpool-II"] = s.Version
		p, err := newPooled(ctx, name, pg.Through(s.Addr))
		if err != nil {
			return nil, nil, err
		}
		b.later(p.Close)
		all = append(all, contestant{p, []part{client(), server(s.Process), database(pg.Process)}})
		cached = p
	}
	all = append(all, contestant{howdah, []part{client(), database(pg.Process)}})
	_, err = readEvery(ctx, cached, spec)
	return all, cached, err
}

// readEvery reads every key twice, and is an error unless the second time is
// answered by the query cache. It returns how many hits that counts as:
// pgpool-II may count a read more than once.
func readEvery(ctx context.Context, cached *pooled, spec workload.Spec) (full int, err error) {
	for range 2 {
		if full, err = cached.readAll(ctx, spec); err != nil {
			return 0, err
		}
	}
	if full < spec.Keys*9/10 {
		return 0, fmt.Errorf("pgpool-II answered %d of %d reads from its query cache: it does not work here", full, spec.Keys)
	}
	return full, nil
}

// readAll reads every key once and returns how many hits of the query cache
// were counted meanwhile.
func (p *pooled) readAll(ctx context.Context, spec workload.Spec) (int, error) {
	before, err := p.hits(ctx)
	if err != nil {
		return 0, err
	}
	for i := range spec.Keys {
		if _, err := p.Get(ctx, workload.Key(i)); err != nil {
			return 0, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	after, err := p.hits(ctx)
	return after - before, err
}

// hits is pgpool-II's own count.
func (p *pooled) hits(ctx context.Context) (int, error) {
	rows, err := p.pool.Query(ctx, "SHOW pool_cache", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return 0, err
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToMap)
	if err != nil {
		return 0, err
	}
	text, ok := row["num_cache_hits"].(string)
	if !ok {
		return 0, errors.New("SHOW pool_cache tells no num_cache_hits: pgpool-II 4.0 or newer is needed")
	}
	return strconv.Atoi(text)
}

// coherence counts what stays in the query cache that should not, and what
// does not stay although it could.
func coherence(ctx context.Context, r *result.Result, cached *pooled, direct rival.Rival, spec workload.Spec) error {
	const writes = 20
	src := workload.NewSources(spec, 1)[0]
	for _, way := range []struct {
		name string
		set  func(ctx context.Context, key string, value []byte) error
	}{{writePast, direct.Set}, {writePrepared, cached.setPrepared}, {writeSimple, cached.Set}} {
		if _, err := readEvery(ctx, cached, spec); err != nil {
			return err
		}
		stale := 0
		for i := range writes {
			written := append([]byte(nil), src.Value(i)...)
			if err := way.set(ctx, src.Key(i), written); err != nil {
				return err
			}
			read, err := cached.Get(ctx, src.Key(i))
			if err != nil {
				return err
			}
			if string(read) != string(written) {
				stale++
			}
		}
		r.Add(staleGroup, way.name, throughCache, staleRead, "% of the reads", 100*float64(stale)/writes)
		full, err := readEvery(ctx, cached, spec)
		if err != nil {
			return err
		}
		if err := way.set(ctx, src.Key(0), src.Value(0)); err != nil {
			return err
		}
		hits, err := cached.readAll(ctx, spec)
		if err != nil {
			return err
		}
		r.Add(dropGroup, way.name, throughCache, dropped, "%", max(0, 100-100*float64(hits)/float64(full)))
	}
	return nil
}
