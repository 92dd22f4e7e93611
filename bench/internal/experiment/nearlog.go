package experiment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
	"github.com/howdah/howdah/schema"
)

// nearLog measures what writers pay for the change log of a cache.
func nearLog() Experiment {
	return Experiment{
		Name:  "near-log",
		Title: "What the change log of a cache costs its writers: PostgreSQL's CPU per statement",
		Needs: []service.Program{service.Postgres},
		Quick: 20 * time.Second, Full: 60 * time.Second,
		Run:   runNearLog,
		Judge: nearLogVerdict,
	}
}

const (
	logGroup     = "SET, one statement"
	withLog      = "with the change log"
	withKeys     = "with keys in it"
	withoutLog   = "without"
	leastCPU     = "CPU, least"
	medianCPU    = "CPU, median"
	microseconds = "us"
)

// logSizes are numbers of keys of a statement, with how often each is timed:
// short rounds of the one and the other kind in turns, of which the least is the
// time without disturbance.
var logSizes = []struct {
	keys, rounds, each int
	most               float64
}{
	{1, 300, 20, 1.25},
	{16, 40, 12, 1.1},
	{64, 40, 12, 1.1},
	{256, 40, 12, 1.1},
}

// logKinds are the caches that are compared.
var logKinds = []string{withLog, withoutLog, withKeys}

// logKeys are the entries of each cache, all of which are there before.
const logKeys = 10_000

// logWriter writes by one connection, whose backend's CPU is read.
type logWriter struct {
	*db
	backend machine.Process
	value   []byte
	random  *rand.Rand
}

func runNearLog(ctx context.Context, b *Bench, r *result.Result) error {
	b.nearRounds()
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	if pg.SuperURL() == "" {
		return errors.New("the CPU of a server that --database-url names cannot be read: run near-log without it")
	}
	conn, err := connect(ctx, pg.SocketURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	w := &logWriter{db: conn, value: make([]byte, b.Workload.ValueSize), random: rand.New(rand.NewPCG(b.Workload.Seed, 1))}
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&w.backend.PID); err != nil {
		return err
	}
	tables, err := w.prepare(ctx)
	if err != nil {
		return err
	}
	r.Set("method", "schedstat of one backend, short rounds of both kinds in turns, Unix socket, prepared statements that replace entries; us per statement")
	r.Set("entries", fmt.Sprintf("%d in each UNLOGGED cache, values of %d bytes", logKeys, b.Workload.ValueSize))
	for _, x := range logSizes {
		which := keysOf(x.keys)
		rounds := max(b.scale(x.rounds, x.rounds/10), 4)
		err := b.turns(1, func(int) error {
			if err := w.tidy(ctx, b, tables); err != nil {
				return err
			}
			return w.alternate(ctx, r, which, x.keys, rounds, x.each)
		})
		if err != nil {
			return err
		}
		compareAs(r, logGroup, logGroup, which, leastCPU, withLog, withoutLog, x.most)
		for _, kind := range []string{withLog, withKeys} {
			b.Progress("%-8s %s %.3f of the CPU without a log, by the least; %.3f by the medians", which, kind,
				result.Median(r.RatioOf(logGroup, which, leastCPU, kind, withoutLog)), result.Median(r.RatioOf(logGroup, which, medianCPU, kind, withoutLog)))
		}
	}
	return nil
}

func keysOf(n int) string {
	if n == 1 {
		return "1 key"
	}
	return strconv.Itoa(n) + " keys"
}

// prepare makes both caches with their entries, and the statements of each.
func (w *logWriter) prepare(ctx context.Context) (tables []string, err error) {
	for i, name := range logKinds {
		log, keys := name != withoutLog, name == withKeys
		cache := fmt.Sprintf("bench_log_%d", i)
		var id int32
		err := w.run(ctx, fmt.Sprintf(`SELECT howdah.create_cache('%s', near => %t, log_keys => %t)`, cache, log, keys))
		if err == nil {
			err = w.QueryRow(ctx, `SELECT id FROM howdah_internal.cache WHERE name = $1::text`, cache).Scan(&id)
		}
		if err != nil {
			return nil, err
		}
		table := schema.Table{Name: schema.TableName(id)}
		if log {
			table.Log, table.LogKeys = id, keys
			if keys {
				table.Origin = 1 << 62 // as long as those of programs
			}
		}
		for _, statement := range []string{"set", "set_one"} {
			if _, err := w.Prepare(ctx, name+statement, schema.Statement(statement, table)); err != nil {
				return nil, err
			}
		}
		all := make([]int, logKeys)
		for i := range all {
			all[i] = i
		}
		if err := w.set(ctx, name, all); err != nil {
			return nil, err
		}
		tables = append(tables, table.Name)
	}
	return tables, nil
}

// tidy removes dead rows and the rows of the log, so that no round pays for
// those before it.
func (w *logWriter) tidy(ctx context.Context, b *Bench, tables []string) error {
	super, err := b.sql(ctx)
	if err != nil {
		return err
	}
	return super.run(ctx, "TRUNCATE howdah_internal.change", "VACUUM ANALYZE howdah_internal.change, "+strings.Join(tables, ", "), "CHECKPOINT")
}

// alternate times rounds of both kinds, and notes the least and the median.
func (w *logWriter) alternate(ctx context.Context, r *result.Result, which string, keys, rounds, each int) error {
	names := logKinds
	took := map[string][]float64{}
	for round := range rounds + 1 {
		for i := range names {
			name := names[(i+round)%len(names)]
			us, err := w.time(ctx, name, keys, each)
			if err != nil {
				return err
			}
			if round > 0 { // the first one warms up
				took[name] = append(took[name], us)
			}
		}
	}
	for _, name := range names {
		r.Add(logGroup, which, name, leastCPU, microseconds, slices.Min(took[name]))
		r.Add(logGroup, which, name, medianCPU, microseconds, result.Median(took[name]))
	}
	return nil
}

// time is the CPU of one statement, the mean of a few.
func (w *logWriter) time(ctx context.Context, name string, keys, each int) (us float64, err error) {
	before, err := w.backend.RunNanoseconds()
	if err != nil {
		return 0, err
	}
	for range each {
		if err := w.set(ctx, name, w.choose(keys)); err != nil {
			return 0, err
		}
	}
	after, err := w.backend.RunNanoseconds()
	return float64(after-before) / float64(each) / 1000, err
}

// choose picks different numbers of keys: the step has no divisor in common with
// how many there are.
func (w *logWriter) choose(n int) []int {
	const step = 37
	numbers, first := make([]int, n), w.random.IntN(logKeys)
	for i := range numbers {
		numbers[i] = (first + i*step) % logKeys
	}
	return numbers
}

// set writes the keys with these numbers, in the order of their hashes, as the
// library does.
func (w *logWriter) set(ctx context.Context, name string, numbers []int) error {
	slices.Sort(numbers)
	hash := func(i int) int64 { return int64(i) << 40 } // spread, and in the order of the numbers
	if len(numbers) == 1 {
		_, err := w.Exec(ctx, name+"set_one", hash(numbers[0]), []byte(workload.Key(numbers[0])), w.value, nil)
		return err
	}
	var hashes []int64
	var keys, values [][]byte
	for _, i := range numbers {
		hashes, keys, values = append(hashes, hash(i)), append(keys, []byte(workload.Key(i))), append(values, w.value)
	}
	_, err := w.Exec(ctx, name+"set", hashes, keys, values, make([]*int64, len(numbers)))
	return err
}

func nearLogVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	var ours, words []string
	for _, x := range logSizes {
		ratio := r.RatioOf(logGroup, keysOf(x.keys), leastCPU, withLog, withoutLog)
		ours = append(ours, fmt.Sprintf("%s %+.0f %%", keysOf(x.keys), 100*(result.Median(ratio)-1)))
		words = append(words, result.AtMost(ratio, x.most))
	}
	return []result.Verdict{{
		Claim: "The change log of a cache costs a lone write a quarter more of PostgreSQL's CPU at most, and writes that share a statement a tenth", Source: "Howdah's own promise",
		Ours:     strings.Join(ours, ", ") + ", by the least of many short rounds",
		Bar:      "CPU of a statement at most 1.25 times that without a log for 1 key, 1.1 times for 16, 64 and 256 keys",
		Word:     result.All(words...),
		Sentence: "A statement writes one row to the log, whatever the number of its keys. Caches without a log pay nothing: their statements do not name it.",
	}}
}
