package experiment

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// kvScale writes and reads N records, as a comparison of three systems did.
func kvScale() Experiment {
	return Experiment{
		Name:  "kv-scale",
		Title: "Writing and reading N records: Redis, Memcached, PostgreSQL, Howdah",
		Needs: []service.Program{service.Postgres, service.Redis, service.Memcached},
		Quick: 40 * time.Second, Full: 180 * time.Second,
		Run: runKVScale,
	}
}

const (
	kvWrites, kvReads = "Writes", "Reads"
	kvTime, kvEach    = "time", "one record"
	kvServer          = "server's time, one record"

	kvHowdahTogether = "Howdah, 64 callers"
	kvHowdahMany     = "Howdah, 1,000 a call"
	kvRedis          = "Redis, one at a time"
	kvMemcached      = "Memcached, one at a time"
	kvPostgres       = "PostgreSQL, one at a time"
	kvHowdah         = "Howdah, one at a time"

	// kvRounds is the largest N that is measured in every round.
	kvRounds = 10_000
)

func runKVScale(ctx context.Context, b *Bench, r *result.Result) error {
	most := b.Entries
	if most == 0 {
		most = b.scale(1_000_000, 10_000)
	}
	sample := b.scale(100_000, 10_000)
	stores, err := b.kvStores(ctx)
	if err != nil {
		return err
	}
	counted := b.statements(ctx)
	var cases []string
	for n := minEntries; n <= most; n *= 10 {
		which := strconv.Itoa(n)
		cases = append(cases, which)
		spec := workload.Spec{Keys: n, ValueSize: b.Workload.ValueSize}
		one := func(i int) error {
			x := kvRun{Bench: b, result: r, store: stores[i], spec: spec, timed: min(n, sample), counted: counted}
			if err := x.run(ctx); err != nil {
				return fmt.Errorf("%s, %d records: %w", stores[i].name, n, err)
			}
			return nil
		}
		if n <= kvRounds {
			err = b.turns(len(stores), one)
		} else {
			for i := range stores {
				if err = one(i); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
	}
	r.Set("records", fmt.Sprintf("values of %d bytes into an empty store; up to %d in %d rounds, above that once", b.Workload.ValueSize, kvRounds, b.Rounds))
	if most > sample {
		r.Set("sample", fmt.Sprintf("above %d records the first ones are stored in bulk and the last %d timed; the time is scaled to N", sample, sample))
	}
	r.Set("clients", "go-redis, gomemcache and pgx with one connection each; Howdah with the library's defaults; by TCP on loopback")
	if counted == nil {
		r.Notes = append(r.Notes, "The server's own time is missing: this PostgreSQL has no pg_stat_statements.")
	}
	kvVerdicts(r, cases)
	return nil
}

// kvRun is one store with one N.
type kvRun struct {
	*Bench
	result  *result.Result
	store   kvStore
	spec    workload.Spec
	timed   int         // of the records, the last ones
	counted *statements // nil: not available
}

func (x kvRun) run(ctx context.Context) error {
	if err := x.store.empty(ctx); err != nil {
		return err
	}
	n := x.spec.Keys
	source := workload.NewSources(x.spec, 1)[0]
	if err := x.store.bulk(ctx, source, 0, n-x.timed); err != nil {
		return err
	}
	if err := x.time(ctx, kvWrites, func() error { return x.store.write(ctx, source, n-x.timed, n) }); err != nil {
		return err
	}
	return x.time(ctx, kvReads, func() error { return x.store.read(ctx, x.spec, source, n-x.timed, n) })
}

// time notes what work on the timed records took, here and in the server.
func (x kvRun) time(ctx context.Context, group string, work func() error) error {
	which := strconv.Itoa(x.spec.Keys)
	if x.counted != nil && x.store.postgres {
		if err := x.counted.reset(ctx); err != nil {
			return err
		}
	}
	start := time.Now()
	if err := work(); err != nil {
		return err
	}
	took := time.Since(start)
	each := took.Seconds() * 1e6 / float64(x.timed)
	x.result.Add(group, which, x.store.name, kvTime, ms, each*float64(x.spec.Keys)/1000)
	x.result.Add(group, which, x.store.name, kvEach, "us", each)
	if x.counted != nil && x.store.postgres {
		inServer, err := x.counted.milliseconds(ctx)
		if err != nil {
			return err
		}
		x.result.Add(group, which, x.store.name, kvServer, "us", inServer*1000/float64(x.timed))
	}
	x.Progress("%-6s %8s  %-26s %9.1f us each", group, which, x.store.name, each)
	return nil
}

// kvVerdicts sets the source's table beside ours.
func kvVerdicts(r *result.Result, cases []string) {
	all := func(group, of, to string) (rounds []float64) {
		for _, which := range cases {
			rounds = append(rounds, r.RatioOf(group, which, kvEach, of, to)...)
		}
		return rounds
	}
	first, last := cases[0], cases[len(cases)-1]
	at := func(group, which, series, metric string) float64 { return r.Value(group, which, series, metric) }
	r.Verdicts = append(r.Verdicts,
		result.Verdict{
			Claim: "PostgreSQL takes about twice as long as Redis to write, and ten times as long as Memcached", Source: "1 M records: 31,230 ms, 14,638 ms, 2,813 ms",
			Ours: fmt.Sprintf("%s records: PostgreSQL %.0f ms, Redis %.0f ms, Memcached %.0f ms; Howdah %.0f ms one at a time, %.0f ms from 64 callers", last,
				at(kvWrites, last, kvPostgres, kvTime), at(kvWrites, last, kvRedis, kvTime), at(kvWrites, last, kvMemcached, kvTime),
				at(kvWrites, last, kvHowdah, kvTime), at(kvWrites, last, kvHowdahTogether, kvTime)),
			Word:     result.Agree(result.Within(all(kvWrites, kvPostgres, kvRedis), 1.3, 3), result.AtLeast(all(kvWrites, kvPostgres, kvMemcached), 5)),
			Sentence: "One at a time, the round trip is most of the time with all of them; its figures for Redis and Memcached came from another machine.",
		},
		result.Verdict{
			Claim: "PostgreSQL reads one record hundreds of times faster than Redis or Memcached", Source: "0.026 to 0.029 ms against 6 to 30 ms",
			Ours: fmt.Sprintf("%s records: PostgreSQL %.3f ms a read, Redis %.3f ms, Memcached %.3f ms", last,
				at(kvReads, last, kvPostgres, kvEach)/1000, at(kvReads, last, kvRedis, kvEach)/1000, at(kvReads, last, kvMemcached, kvEach)/1000),
			Word:     result.AtLeast(all(kvReads, kvRedis, kvPostgres), 100),
			Sentence: "Times of a statement in the server were set beside times of whole programs; seen from the client all three are a round trip.",
		})
	if first == last {
		return // nothing to compare it with
	}
	r.Verdicts = append(r.Verdicts,
		result.Verdict{
			Claim: "The time of a PostgreSQL read does not grow with the table", Source: "0.026 ms at 1,000, 0.029 ms at 1,000,000",
			Ours: fmt.Sprintf("%.3f ms at %s, %.3f ms at %s, of that in the server %.3f and %.3f ms",
				at(kvReads, first, kvPostgres, kvEach)/1000, first, at(kvReads, last, kvPostgres, kvEach)/1000, last,
				at(kvReads, first, kvPostgres, kvServer)/1000, at(kvReads, last, kvPostgres, kvServer)/1000),
			Word:     result.AtMost(growth(r, first, last), 1.5),
			Sentence: "An index of a million entries is one page higher than one of a thousand.",
		})
}

// growth is the time of a read at the largest N by that at the smallest.
func growth(r *result.Result, first, last string) (ratios []float64) {
	small, large := r.Value(kvReads, first, kvPostgres, kvEach), 0.0
	if m, ok := r.Find(kvReads, last, kvPostgres, kvEach); ok && small > 0 {
		for _, large = range m.Rounds {
			ratios = append(ratios, large/small)
		}
	}
	return ratios
}
