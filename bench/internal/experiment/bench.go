package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// Options are what the command line gives to every experiment.
type Options struct {
	Quick   bool // short: shows that everything works, not how fast it is
	Force   bool // the machine is not quiet, and we were told to go on
	Command string

	DatabaseURL string // "": start a PostgreSQL
	RedisURL    string // "": start a Redis
	Howdah      string // path of the program; "": build it

	Rounds     int           // 0: 3 or what the experiment has, quick 2
	Duration   time.Duration // of one measurement; 0: 1 s, quick 300 ms
	Goroutines []int         // nil: 1, 16, 64, 256, 1024
	Workload   workload.Spec // zero fields have defaults
	Rate       float64       // of open loops, requests/s; 0: 5000
	Entries    int           // of experiments about scale; 0: their own default

	// Progress hears a line now and then.
	Progress func(format string, args ...any)

	counted bool // Rounds were asked for
}

// Complete fills in the defaults and says what is wrong.
func (o *Options) Complete() error {
	pick := func(quick, full int) int {
		if o.Quick {
			return quick
		}
		return full
	}
	o.counted = o.Rounds != 0
	defaultTo(&o.Rounds, pick(2, 3))
	defaultTo(&o.Duration, time.Duration(pick(300, 1000))*time.Millisecond)
	defaultTo(&o.Workload.Keys, 100_000)
	defaultTo(&o.Workload.ValueSize, 250)
	defaultTo(&o.Rate, 5000)
	if o.Goroutines == nil {
		o.Goroutines = []int{1, 16, 64, 256, 1024}
	}
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	switch {
	case o.Rounds < 1:
		return fmt.Errorf("--rounds %d: there must be at least one", o.Rounds)
	case o.Duration < minDuration:
		return fmt.Errorf("--duration %v: it must be at least %v", o.Duration, minDuration)
	case !(o.Rate >= 1 && o.Rate <= maxRate): // NaN too
		return fmt.Errorf("--rate %g: it must be between 1 and %d requests a second", o.Rate, maxRate)
	case o.Entries != 0 && o.Entries < minEntries:
		return fmt.Errorf("--entries %d: it must be at least %d", o.Entries, minEntries)
	}
	for _, g := range o.Goroutines {
		if g < 1 {
			return fmt.Errorf("--goroutines %d: there must be at least one", g)
		}
	}
	if o.DatabaseURL != "" {
		if err := service.CheckDatabaseURL(o.DatabaseURL); err != nil {
			return fmt.Errorf("--database-url: %w", err)
		}
	}
	if o.RedisURL != "" {
		if err := service.CheckRedisURL(o.RedisURL); err != nil {
			return fmt.Errorf("--redis-url: %w", err)
		}
	}
	return o.Workload.Validate()
}

const (
	minDuration = 10 * time.Millisecond
	minEntries  = 1000 // the smallest N of kv-scale
	maxRate     = 1_000_000
)

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// warmup precedes every measurement.
func (o Options) warmup() time.Duration { return o.Duration / 4 }

// scale is how much of a full experiment a quick one does.
func (o Options) scale(full, quick int) int {
	if o.Quick {
		return quick
	}
	return full
}

// Bench is what an experiment runs on. Servers are started when they are
// first asked for, and stopped with the experiment.
type Bench struct {
	Options
	dir      string
	postgres *service.PostgresServer
	redis    *service.Server
	stops    []func() error
	versions map[string]string
	watch    machine.Watch
	others   []float64 // what others used in each turn, a share of the machine
	deadline time.Time // no round begins after it; zero: none
	short    int       // loads that had fewer rounds because of it
}

func newBench(o Options) (*Bench, error) {
	dir, err := os.MkdirTemp("", "howdah-bench-")
	if err != nil {
		return nil, err
	}
	// PostgreSQL runs as another user if we are root, and must pass through.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	return &Bench{Options: o, dir: dir, versions: machine.Build(), watch: machine.NewWatch()}, nil
}

func (b *Bench) close() {
	for i := len(b.stops) - 1; i >= 0; i-- {
		if err := b.stops[i](); err != nil {
			b.Progress("stopping: %v", err)
		}
	}
	os.RemoveAll(b.dir)
}

// later runs at the end of the experiment, last first.
func (b *Bench) later(stop func() error) { b.stops = append(b.stops, stop) }

// Postgres is the server of this experiment.
func (b *Bench) Postgres(ctx context.Context) (*service.PostgresServer, error) {
	if b.postgres != nil {
		return b.postgres, nil
	}
	return b.postgresWith(ctx, nil)
}

// postgresWith makes the server of this experiment one with settings of its
// own, which must be asked for before anything else asks for a PostgreSQL. A
// server that was given by a URL keeps its settings.
func (b *Bench) postgresWith(ctx context.Context, settings map[string]string) (*service.PostgresServer, error) {
	var err error
	if b.DatabaseURL != "" {
		b.postgres, err = service.UsePostgres(ctx, b.DatabaseURL)
	} else {
		b.Progress("starting PostgreSQL")
		b.postgres, err = service.StartPostgres(ctx, b.dir, settings)
	}
	if err != nil {
		return nil, err
	}
	b.versions["PostgreSQL"] = b.postgres.Version
	b.later(b.postgres.Stop)
	return b.postgres, nil
}

// Redis is the server of this experiment, without persistence.
func (b *Bench) Redis(ctx context.Context) (*service.Server, error) {
	if b.redis != nil {
		return b.redis, nil
	}
	var err error
	if b.RedisURL != "" {
		b.redis, err = service.UseRedis(ctx, b.RedisURL)
	} else {
		b.redis, err = b.redisWith(ctx, "redis")
	}
	if err != nil {
		return nil, err
	}
	b.versions["Redis"] = b.redis.Version
	return b.redis, nil
}

// redisWith starts a Redis with settings of its own.
func (b *Bench) redisWith(ctx context.Context, name string, args ...string) (*service.Server, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	s, err := service.StartRedis(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	b.later(s.Stop)
	b.versions["Redis"] = s.Version
	return s, nil
}

// Memcached is a server of this experiment.
func (b *Bench) Memcached(ctx context.Context) (*service.Server, error) {
	s, err := service.StartMemcached(ctx)
	if err != nil {
		return nil, err
	}
	b.later(s.Stop)
	b.versions["Memcached"] = s.Version
	return s, nil
}

// Serve runs "howdah serve" for Redis clients on the PostgreSQL of this
// experiment, which it reaches by the Unix socket, as it does its private one.
func (b *Bench) Serve(ctx context.Context) (*service.Server, error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	return b.serve(ctx, service.StartHowdah, pg.SocketURL)
}

// ServeHTTP runs "howdah serve" for HTTP.
func (b *Bench) ServeHTTP(ctx context.Context) (*service.Server, error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	return b.serve(ctx, service.StartHowdahHTTP, pg.SocketURL)
}

// starter is service.StartHowdah or service.StartHowdahHTTP.
type starter func(ctx context.Context, program, databaseURL string, args ...string) (*service.Server, error)

func (b *Bench) serve(ctx context.Context, start starter, url string, args ...string) (*service.Server, error) {
	if b.Howdah == "" {
		b.Progress("building howdah")
		program, err := service.BuildHowdah(ctx, b.dir)
		if err != nil {
			return nil, err
		}
		b.Howdah = program
	}
	s, err := start(ctx, b.Howdah, url, args...)
	if err != nil {
		return nil, err
	}
	b.versions["howdah"] = s.Version
	b.later(s.Stop)
	return s, nil
}

// describe notes what was used.
func (b *Bench) describe(r *result.Result) {
	for name, version := range b.versions {
		r.Versions[name] = version
	}
	if b.postgres != nil {
		r.Set("PostgreSQL settings", b.postgres.Settings)
	}
	b.describeOthers(r, b.watch.Others())
}

// shortest is the shortest turn of which the ticks of /proc tell what others
// used.
const shortest = 500 * time.Millisecond

// describeOthers notes what others used of the machine: in the whole
// experiment, and in its turns.
func (b *Bench) describeOthers(r *result.Result, whole float64) {
	share := fmt.Sprintf("%.0f %% of the machine", 100*whole)
	text, turns := share+", servers' starts and loading included", ""
	disturbed := 0
	for _, share := range b.others {
		if share > machine.MaxBusy {
			disturbed++
		}
	}
	if len(b.others) > 0 {
		text += fmt.Sprintf("; in its %d turns %.0f %% (median), at most %.0f %%", len(b.others), 100*result.Median(b.others), 100*slices.Max(b.others))
	}
	r.Set("others' CPU", text)
	if disturbed > 0 {
		turns = fmt.Sprintf(", and more than %.0f %% in %d of %d turns", 100*machine.MaxBusy, disturbed, len(b.others))
	}
	if whole > machine.MaxBusy || disturbed > 0 {
		r.Notes = append(r.Notes, "Other programs disturbed this run: they used "+share+turns+".")
	}
}

// turns lets contestants 0 to n-1 each have a turn in every round. Who begins
// changes from round to round, so that nobody always follows the same one.
// Once the experiment has used its time no further round begins, but everybody
// has the same number of rounds, and at least one.
func (b *Bench) turns(n int, turn func(contestant int) error) error {
	for round := range b.Rounds {
		if round > 0 && !b.deadline.IsZero() && time.Now().After(b.deadline) {
			b.short++
			return nil
		}
		for i := range n {
			watch, start := machine.NewWatch(), time.Now()
			if err := turn((i + round) % n); err != nil {
				return err
			}
			if time.Since(start) >= shortest {
				b.others = append(b.others, watch.Others())
			}
		}
	}
	return nil
}
