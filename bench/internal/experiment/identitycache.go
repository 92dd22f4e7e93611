package experiment

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// identityCache asks what the source of a row's id costs many clients.
func identityCache() Experiment {
	return Experiment{
		Name:  "identity-cache",
		Title: "Where ids come from: identity with CACHE 1 and CACHE 100, and ids that clients make",
		Needs: []service.Program{service.Postgres},
		Quick: 25 * time.Second, Full: 90 * time.Second,
		Run: runIdentityCache,
	}
}

const (
	identityInserts = "One INSERT a transaction"
	identityNextval = "nextval alone, 1,000 a statement"
	// pageLock is what sessions wait for that want the one page of a sequence,
	// or the last page of an index, at the same time.
	pageLock = "LWLock:BufferContent"
	pageWait = "waiting for a page"
)

// idSource is one way to name a row.
type idSource struct {
	name    string
	columns string // of the table, before the payload
	insert  string // $1 is the payload; $2 and more what args makes
	args    func(payload string) []any
}

func idSources() []idSource {
	payloadOnly := func(payload string) []any { return []any{payload} }
	return []idSource{
		{"identity CACHE 1", `id bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY`,
			`INSERT INTO %s (payload) VALUES ($1)`, payloadOnly},
		{"identity CACHE 100", `id bigint GENERATED ALWAYS AS IDENTITY (CACHE 100) PRIMARY KEY`,
			`INSERT INTO %s (payload) VALUES ($1)`, payloadOnly},
		{"uuid v7 made by the client", `id uuid PRIMARY KEY`,
			`INSERT INTO %s (payload, id) VALUES ($1, $2)`,
			func(payload string) []any { return []any{payload, uuidV7()} }},
		// What session.Manager sends: the public half, and the hash of the
		// secret half, both made anew for each session.
		{"Howdah's session id: uuid v7 and the hash of a secret", `id uuid PRIMARY KEY, secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32)`,
			`INSERT INTO %s (payload, id, secret_hash) VALUES ($1, $2, $3)`,
			func(payload string) []any {
				var secret [32]byte
				rand.Read(secret[:])
				hash := sha256.Sum256(secret[:])
				return []any{payload, uuidV7(), hash[:]}
			}},
	}
}

// uuidV7 is an id as RFC 9562 describes it: milliseconds, then random bits.
func uuidV7() [16]byte {
	var id [16]byte
	rand.Read(id[6:])
	var now [8]byte
	binary.BigEndian.PutUint64(now[:], uint64(time.Now().UnixMilli()))
	copy(id[:6], now[2:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

func runIdentityCache(ctx context.Context, b *Bench, r *result.Result) error {
	const application = "bench_identity"
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	base, err := b.sqlURL(ctx)
	if err != nil {
		return err
	}
	clients := []int{1, 16, 64}
	document := sessionDocument()
	// The flush to disk would hide what we look for, so commits do not wait.
	pooled := func(n int) (*pgxpool.Pool, error) {
		return pgxpool.New(ctx, withParameter(withParameter(withPool(base, n), "synchronous_commit", "off"), "application_name", application))
	}
	run := func(group, series string, n int, statement string, args func() []any) (measure.Sample, error) {
		pool, err := pooled(n)
		if err != nil {
			return measure.Sample{}, err
		}
		defer pool.Close()
		var stop func() (waits, error)
		s, err := measure.Closed(ctx, measure.Load{Workers: n, Warmup: b.warmup(), Duration: b.Duration,
			Do:    func(ctx context.Context, _ int) error { _, err := pool.Exec(ctx, statement, args()...); return err },
			Begin: func() { stop = watchWaits(ctx, d, application) },
		})
		w, waitErr := stop()
		if err != nil {
			return s, err
		}
		if waitErr != nil {
			return s, waitErr
		}
		addClosed(r, group, clientCount(n), series, s)
		r.Add(group, clientCount(n), series, pageWait, "% of the looks", w.share(pageLock))
		b.Progress("%-34s %2d clients  %-54s %8.0f/s  p99 %.2f ms, %.1f %% wait for a page", group, n, series, s.Rate(), s.Milliseconds(99), w.share(pageLock))
		return s, nil
	}
	sources := idSources()
	for _, n := range clients {
		err := b.turns(len(sources), func(i int) error {
			v := sources[i]
			err := d.run(ctx, `DROP TABLE IF EXISTS bench_ids`, `CREATE TABLE bench_ids (`+v.columns+`, payload text, expires_at timestamptz DEFAULT now() + interval '30 min')`, `CHECKPOINT`)
			if err != nil {
				return err
			}
			s, err := run(identityInserts, v.name, n, fmt.Sprintf(v.insert, "bench_ids"), func() []any { return v.args(document) })
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			var rows int64
			if err := d.QueryRow(ctx, `SELECT count(*) FROM bench_ids`).Scan(&rows); err != nil {
				return err
			}
			if rows < s.Requests { // the warm-up wrote rows too
				return fmt.Errorf("%s: %d inserts left %d rows", v.name, s.Requests, rows)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := b.nextval(ctx, d, clients, run); err != nil {
		return err
	}
	r.Set("table", fmt.Sprintf("LOGGED, payload of %d bytes; synchronous_commit=off, Unix socket, prepared statements", len(document)))
	r.Set(pageWait, "sessions with work that pg_stat_activity shows at "+pageLock+", looked at every 5 ms")
	r.Verdicts = append(r.Verdicts, identityVerdicts(r, sources)...)
	return nil
}

// nextval takes numbers from a sequence and does nothing else: whatever waits
// for a page here waits for that of the sequence.
func (b *Bench) nextval(ctx context.Context, d *db, clients []int,
	run func(group, series string, n int, statement string, args func() []any) (measure.Sample, error)) error {
	caches := []int{1, 100}
	for _, c := range caches {
		name := fmt.Sprintf("bench_ids_%d", c)
		if err := d.run(ctx, `DROP SEQUENCE IF EXISTS `+name, fmt.Sprintf(`CREATE SEQUENCE %s CACHE %d`, name, c)); err != nil {
			return err
		}
		var size int64
		if err := d.QueryRow(ctx, `SELECT seqcache FROM pg_sequence WHERE seqrelid = $1::text::regclass`, name).Scan(&size); err != nil {
			return err
		}
		if size != int64(c) {
			return fmt.Errorf("the sequence with CACHE %d has a cache of %d", c, size)
		}
	}
	for _, n := range clients {
		err := b.turns(len(caches), func(i int) error {
			name := fmt.Sprintf("bench_ids_%d", caches[i])
			var before, after int64
			const last = `SELECT coalesce(pg_sequence_last_value($1::text::regclass), 0)`
			if err := d.QueryRow(ctx, last, name).Scan(&before); err != nil {
				return err
			}
			s, err := run(identityNextval, fmt.Sprintf("CACHE %d", caches[i]), n,
				`SELECT max(nextval('`+name+`')) FROM generate_series(1, 1000)`, func() []any { return nil })
			if err != nil {
				return err
			}
			if err := d.QueryRow(ctx, last, name).Scan(&after); err != nil {
				return err
			}
			if after-before < 1000*s.Requests {
				return fmt.Errorf("%s went on by %d in %d statements of 1,000", name, after-before, s.Requests)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func identityVerdicts(r *result.Result, sources []idSource) []result.Verdict {
	most := clientCount(64)
	rate := func(i int) float64 { return r.Value(identityInserts, most, sources[i].name, throughput) }
	ratio := func(of, to int) []float64 {
		return r.RatioOf(identityInserts, most, throughput, sources[of].name, sources[to].name)
	}
	alone := func(cache string, metric string) float64 { return r.Value(identityNextval, most, cache, metric) }
	return []result.Verdict{
		{
			Claim: "With CACHE 100 nearly all locking on the sequence goes", Source: "no figure",
			Ours: fmt.Sprintf("64 clients: nextval alone %.1f times as fast, sessions waiting for its page %.1f %% instead of %.1f %%; inserts %.2f times as fast",
				alone("CACHE 100", throughput)/alone("CACHE 1", throughput), alone("CACHE 100", pageWait), alone("CACHE 1", pageWait), result.Median(ratio(1, 0))),
			Bar: "waiting for the page of the sequence at most 0.1 times; inserts at least 1.1 times as fast",
			Word: result.Agree(result.AtMost(r.RatioOf(identityNextval, most, pageWait, "CACHE 100", "CACHE 1"), 0.1),
				result.AtLeast(ratio(1, 0), 1.1)),
			Sentence: "CACHE 100 takes the page of the sequence once for a hundred ids, but an insert in a transaction of its own has more to wait for than that page; what everybody notices are ids that jump by 100 with every connection.",
		},
		{
			Claim: "The id should be an integer from a sequence", Source: "no figure",
			Ours: fmt.Sprintf("64 clients: identity CACHE 100 %.0f inserts/s, uuid v7 from the client %.0f, Howdah's id with the hash of its secret %.0f",
				rate(1), rate(2), rate(3)),
			Bar:      "inserts with identity CACHE 100 at least 1.1 times as fast as with uuid v7",
			Word:     result.AtLeast(ratio(1, 2), 1.1),
			Sentence: "An id made by the client needs no sequence at all, and is known before the row is; an integer that a browser may show as its session id can be guessed, which no speed is worth.",
		},
	}
}
