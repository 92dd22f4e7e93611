package experiment

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// autovacuum compares settings of a table whose rows come and go.
func autovacuum() Experiment {
	return Experiment{
		Name:  "autovacuum",
		Title: "A table whose rows come and go: settings of autovacuum",
		Needs: []service.Program{service.Postgres},
		Quick: 15 * time.Second, Full: 110 * time.Second,
		Run: runAutovacuum,
	}
}

const (
	vacuumGroup = "Rows replaced at a fixed rate"
	vacuumTrend = "Dead rows over time"
	vacuumCase  = "readers at 1,000/s"
	highestDead = "dead rows, highest"
)

func runAutovacuum(ctx context.Context, b *Bench, r *result.Result) error {
	// Autovacuum looks at a database once a naptime; at the stock minute a run
	// would see one look or none.
	pg, err := b.postgresWith(ctx, map[string]string{"autovacuum_naptime": "1s"})
	if err != nil {
		return err
	}
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	var naptime string
	if err := d.QueryRow(ctx, `SELECT current_setting('autovacuum_naptime')`).Scan(&naptime); err != nil {
		return err
	}
	if naptime != "1s" {
		return fmt.Errorf("this server has autovacuum_naptime=%s, which is too long to be watched: set it to 1s, or run without --database-url", naptime)
	}
	howdah, err := cacheOptions(ctx, d)
	if err != nil {
		return err
	}
	variants := []struct{ name, options string }{
		{"stock settings", "fillfactor = 100"},
		{"the source's settings", "autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 2"},
		{"Howdah's settings", howdah},
		{"no autovacuum", "autovacuum_enabled = off"},
	}
	c := churn{
		rows: b.scale(100_000, 40_000), batch: 100, every: 20 * time.Millisecond,
		duration: time.Duration(b.scale(8, 3)) * time.Second,
	}
	err = b.turns(len(variants), func(i int) error {
		return c.measure(ctx, b, d, r, pg.URL, variants[i].name, variants[i].options)
	})
	if err != nil {
		return err
	}
	r.Set("churn", fmt.Sprintf("%d rows of 256 bytes, LOGGED; every %v a batch of %d is deleted and as many are inserted, for %v; synchronous_commit=off for these",
		c.rows, c.every, c.batch, c.duration))
	r.Set("Howdah's settings", howdah)
	v := func(i int, metric string) float64 { return r.Value(vacuumGroup, vacuumCase, variants[i].name, metric) }
	ratio := func(metric string, of, to int) []float64 {
		return r.RatioOf(vacuumGroup, vacuumCase, metric, variants[of].name, variants[to].name)
	}
	four := func(metric, format string) string {
		return fmt.Sprintf(format+"/"+format+"/"+format+"/"+format, v(0, metric), v(1, metric), v(2, metric), v(3, metric))
	}
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "Set autovacuum for the table: threshold 2000, scale factor 0.01, cost delay 2 ms", Source: "SQL, no figure",
		Ours: fmt.Sprintf("stock/source/Howdah/off: at most %s dead rows, %s vacuums, %s MB afterwards, readers' p99 %s ms",
			four(highestDead, "%.0f"), four("vacuums", "%.0f"), four("size", "%.1f"), four(p99, "%.2f")),
		Bar:  "the source's settings: dead rows at most 0.8 times stock, size at most 1.05 times",
		Word: result.All(result.AtMost(ratio(highestDead, 1, 0), 0.8), result.AtMost(ratio("size", 1, 0), 1.05)),
		Sentence: "A fixed small threshold keeps the dead rows few at any size of the table, where the stock fifth grows with it; 2 ms is the stock delay, so that part changes nothing." +
			" How soon a vacuum comes is also the naptime's: at the stock minute a batch of dead rows waits up to a minute for any settings.",
	})
	return nil
}

// cacheOptions are the storage options of a table that Howdah made, but for
// those of its TOAST table and its fillfactor, which is another experiment.
func cacheOptions(ctx context.Context, d *db) (options string, err error) {
	if err := d.freshCache(ctx, "bench_autovacuum"); err != nil {
		return "", err
	}
	table, err := cacheTable(ctx, d, "bench_autovacuum")
	if err != nil {
		return "", err
	}
	err = d.QueryRow(ctx, `
		SELECT string_agg(o.option_name || ' = ' || o.option_value, ', ' ORDER BY o.option_name)
		FROM pg_class AS c, pg_options_to_table(c.reloptions) AS o
		WHERE c.oid = $1::text::regclass AND o.option_name <> 'fillfactor'`, table).Scan(&options)
	return options, err
}

// churn replaces rows at a fixed rate while readers read.
type churn struct {
	rows, batch     int
	every, duration time.Duration
}

func (c churn) measure(ctx context.Context, b *Bench, d *db, r *result.Result, url, name, options string) error {
	const table, readers, rate = "bench_churned", 16, 1000
	err := d.run(ctx, `DROP TABLE IF EXISTS `+table,
		`CREATE TABLE `+table+` (id bigint PRIMARY KEY, expires_at timestamptz NOT NULL, value bytea NOT NULL) WITH (`+options+`)`,
		`GRANT SELECT ON `+table+` TO PUBLIC`,
		fmt.Sprintf(`INSERT INTO %s SELECT i, 'infinity', decode(repeat(md5(i::text), 16), 'hex') FROM generate_series(0, %d) AS i`, table, c.rows-1),
		`VACUUM ANALYZE `+table, `CHECKPOINT`)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, withPool(url, readers))
	if err != nil {
		return err
	}
	defer pool.Close()
	var before int64
	const vacuums = `SELECT autovacuum_count FROM pg_stat_user_tables WHERE relid = '` + table + `'::regclass`
	if err := d.QueryRow(ctx, vacuums).Scan(&before); err != nil {
		return err
	}
	churning, cancel := context.WithCancel(ctx)
	defer cancel()
	churned := make(chan error, 1)
	var replaced int64
	go func() {
		var err error
		replaced, err = c.churn(churning, b, table)
		churned <- err
	}()
	trend := make(chan error, 1)
	var highest int64
	go func() {
		var err error
		highest, err = c.watch(churning, b, r, table, name)
		trend <- err
	}()
	// Rows in the second half of the ids are never replaced: readers find them.
	sources := workload.NewSources(workload.Spec{Keys: c.rows / 2, ValueSize: 8, Seed: 5}, readers)
	s, err := measure.Open(ctx, measure.Load{Workers: readers, Duration: c.duration, Do: func(ctx context.Context, w int) error {
		var value []byte
		return pool.QueryRow(ctx, `SELECT value FROM `+table+` WHERE id = $1 AND expires_at > now()`, c.rows/2+sources[w].Next()).Scan(&value)
	}}, rate)
	cancel()
	churnErr, trendErr := <-churned, <-trend
	for _, err := range []error{err, churnErr, trendErr} {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var after int64
	if err := d.QueryRow(ctx, vacuums).Scan(&after); err != nil {
		return err
	}
	size, err := d.megabytes(ctx, table)
	if err != nil {
		return err
	}
	offered := int64(c.batch) * int64(c.duration/c.every)
	r.Add(vacuumGroup, vacuumCase, name, p99, ms, s.Milliseconds(99))
	r.Add(vacuumGroup, vacuumCase, name, highestDead, "rows", float64(highest))
	r.Add(vacuumGroup, vacuumCase, name, "vacuums", "runs", float64(after-before))
	r.Add(vacuumGroup, vacuumCase, name, "size", "MB after it", size)
	r.Add(vacuumGroup, vacuumCase, name, "replaced", "% of what was offered", 100*float64(replaced)/float64(offered))
	b.Progress("%-22s at most %6d dead rows, %d vacuums, %5.1f MB, p99 %.2f ms, %d rows replaced", name, highest, after-before, size, s.Milliseconds(99), replaced)
	if options == "autovacuum_enabled = off" && (after > before || highest == 0) {
		return fmt.Errorf("without autovacuum %d rows were replaced, %d dead ones were seen and %d vacuums ran: this measured something else", replaced, highest, after-before)
	}
	return nil
}

// churn deletes the oldest rows of the first half and inserts as many new
// ones behind the last, until its context ends. It returns how many.
func (c churn) churn(ctx context.Context, b *Bench, table string) (replaced int64, err error) {
	url, err := b.sqlURL(ctx)
	if err != nil {
		return 0, err
	}
	d, err := connect(ctx, withParameter(url, "synchronous_commit", "off"))
	if err != nil {
		return 0, err
	}
	whole := context.WithoutCancel(ctx)
	defer d.Close(whole)
	oldest := make([]int64, c.rows/2) // a ring of the ids that may go, in their order
	for i := range oldest {
		oldest[i] = int64(i)
	}
	next := int64(c.rows)
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	for place := 0; ; place = (place + c.batch) % len(oldest) {
		select {
		case <-ctx.Done():
			return replaced, nil
		case <-tick.C:
		}
		gone := oldest[place:min(place+c.batch, len(oldest))]
		fresh := make([]int64, len(gone))
		for i := range fresh {
			fresh[i] = next
			next++
		}
		tag, err := d.Exec(whole, `
			WITH gone AS (DELETE FROM `+table+` WHERE id = ANY ($1::bigint[]))
			INSERT INTO `+table+` SELECT i, 'infinity', decode(repeat(md5(i::text), 16), 'hex') FROM unnest($2::bigint[]) AS i`, gone, fresh)
		if err != nil {
			return replaced, err
		}
		copy(gone, fresh)
		replaced += tag.RowsAffected()
	}
}

// watch notes how many dead rows there are, each second.
func (c churn) watch(ctx context.Context, b *Bench, r *result.Result, table, name string) (highest int64, err error) {
	url, err := b.sqlURL(ctx)
	if err != nil {
		return 0, err
	}
	d, err := connect(ctx, url)
	if err != nil {
		return 0, err
	}
	whole := context.WithoutCancel(ctx)
	defer d.Close(whole)
	const looks = 5 // a second
	tick := time.NewTicker(time.Second / looks)
	defer tick.Stop()
	for look := 1; ; look++ {
		select {
		case <-ctx.Done():
			return highest, nil
		case <-tick.C:
		}
		var dead int64
		err := d.QueryRow(whole, `SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = $1::text::regclass`, table).Scan(&dead)
		if err != nil {
			return highest, err
		}
		highest = max(highest, dead)
		if second := look / looks; look%looks == 0 && second <= int(c.duration/time.Second) {
			r.Add(vacuumTrend, strconv.Itoa(second)+" s", name, "dead rows", "rows", float64(dead))
		}
	}
}
