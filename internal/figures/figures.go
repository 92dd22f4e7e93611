package figures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/migrate"
)

// Options tune Figures. The zero value of every field but DB is its default.
type Options struct {
	// DB is the database that is looked at. Required.
	DB *core.DB

	// Interval is how long live figures serve all who ask before they are read again. Default 2 s.
	Interval time.Duration

	// Patience is how long viewers wait for newer figures before they are shown older ones,
	// or ErrCounting. Default 800 ms: a page is to be there within a second.
	Patience time.Duration

	// Minute is how often Record adds a point. Default one minute.
	Minute time.Duration

	// Process is the number of this process among those of "howdah serve". 0: it is none.
	Process int64

	// Clients counts the Redis connections of this process, for Day. nil: it has no listener for them.
	Clients func() int
}

// Intervals of what is not live.
const (
	doctorInterval = time.Hour // unless somebody asks for a new report
	costInterval   = time.Minute
	sampleInterval = 10 * time.Second

	readTimeout   = 10 * time.Second // of all but the doctor's report
	doctorTimeout = time.Minute

	maxSamples = 16 // caches whose samples are kept
)

// Figures are the figures of one database, shared by all viewers. It is safe for
// concurrent use. Close ends it.
type Figures struct {
	db       *core.DB
	patience time.Duration
	slots    chan struct{} // as many as connections may be used

	report  shared[stat.Report]
	doctor  shared[doctor.Report]
	cost    shared[Cost]
	servers shared[stat.Servers]

	mechanisms shared[stat.Mechanisms]

	observer observer
	day      day
	costs    costs // used by one reading of cost at a time

	mu      sync.Mutex
	samples map[string]*shared[stat.Sampling]

	explain func(error) error // turns the error of a reading into one of package fault

	closing sync.Mutex
	closed  context.Context
	close   context.CancelFunc
	work    sync.WaitGroup
}

// New makes the figures of a database. It asks nothing and starts nothing: figures are
// read when somebody asks for them.
func New(o Options) *Figures {
	f := &Figures{
		db:       o.DB,
		patience: cmp.Or(o.Patience, 800*time.Millisecond),
		slots:    make(chan struct{}, connections(int(o.DB.Pool().Config().MaxConns))),
		samples:  make(map[string]*shared[stat.Sampling]),
	}
	f.closed, f.close = context.WithCancel(context.Background())
	f.explain = f.failure
	f.observer = observer{db: o.DB}
	f.day.interval = cmp.Or(o.Minute, time.Minute)
	f.day.count = func() totals { return totalsOf(o.DB, o.Clients) }
	f.report = shared[stat.Report]{room: f, interval: cmp.Or(o.Interval, 2*time.Second), timeout: readTimeout, connect: f.acquire, read: f.observer.read, after: f.observer.note}
	f.doctor = shared[doctor.Report]{room: f, interval: doctorInterval, timeout: doctorTimeout, connect: f.dial, read: examine}
	f.cost = shared[Cost]{room: f, interval: costInterval, timeout: readTimeout, connect: f.acquire, read: f.readCost}
	f.servers = shared[stat.Servers]{room: f, interval: f.report.interval, timeout: readTimeout, connect: f.acquire,
		read: func(ctx context.Context, conn *pgx.Conn) (*stat.Servers, error) {
			return stat.ReadServers(ctx, conn, o.Process)
		}}
	f.mechanisms = shared[stat.Mechanisms]{room: f, interval: sampleInterval, timeout: readTimeout, connect: f.acquire, read: stat.ReadMechanisms}
	return f
}

// connections is how many connections of a pool may be used for figures.
func connections(pool int) int { return max(1, min(2, pool/2)) }

// Report returns the report of all caches, as "howdah stat" shows it. It is read at most
// once in Options.Interval. It has no rates at first, and after a minute without viewers. Hit ratios are those of this process, for the caches that it has read.
func (f *Figures) Report(ctx context.Context) Seen[stat.Report] { return f.report.look(ctx) }

// History returns what happened in the last five minutes while somebody looked at Report: the
// oldest point first, MaxHistory at most. It asks nothing. While PostgreSQL does not answer the
// points go on with what this process counts.
func (f *Figures) History() []Point { return f.observer.history(time.Now()) }

// Doctor returns the doctor's report, which is an hour old at most.
func (f *Figures) Doctor(ctx context.Context) Seen[doctor.Report] { return f.doctor.look(ctx) }

// Examine lets the doctor examine the database again, and returns the new report. While
// an examination is under way no other begins: all who ask wait for it.
func (f *Figures) Examine(ctx context.Context) Seen[doctor.Report] { return f.doctor.again(ctx) }

// LastDoctor returns the last report of the doctor without asking for one.
func (f *Figures) LastDoctor() Seen[doctor.Report] { return f.doctor.last() }

// RenewDoctor begins an examination if the last report is older than an hour, and does not
// wait for it.
func (f *Figures) RenewDoctor() { f.doctor.begin(false) }

// Cost returns what Howdah takes of the database beside the application. It is measured
// at most once a minute.
func (f *Figures) Cost(ctx context.Context) Seen[Cost] { return f.cost.look(ctx) }

// LastCost returns the last measurement without waiting for one, and begins another if that is
// older than a minute.
func (f *Figures) LastCost() Seen[Cost] {
	f.cost.begin(false)
	return f.cost.last()
}

// Servers returns the processes that use the database, as far as it knows them.
func (f *Figures) Servers(ctx context.Context) Seen[stat.Servers] { return f.servers.look(ctx) }

// Mechanisms returns the watches of tables and the scripts of the database. They are read at most
// once in 10 s.
func (f *Figures) Mechanisms(ctx context.Context) Seen[stat.Mechanisms] {
	return f.mechanisms.look(ctx)
}

// Sample returns a sample of the entries of a cache, from which stat.Sampling tells their
// distribution and their prefixes. It is read at most once in 10 s. Err is or wraps
// fault.ErrInvalidName, ErrCacheNotFound, ErrPermission or what else keeps it from being
// read.
func (f *Figures) Sample(ctx context.Context, cache string) Seen[stat.Sampling] {
	if err := statement.CheckName(cache); err != nil {
		return Seen[stat.Sampling]{Err: err}
	}
	return f.sample(cache).look(ctx)
}

// sample finds the sample of a cache. The one that was looked at longest ago makes room
// for a new one.
func (f *Figures) sample(cache string) *shared[stat.Sampling] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.samples[cache]; s != nil {
		return s
	}
	if len(f.samples) >= maxSamples {
		oldest := ""
		for name, s := range f.samples {
			if oldest == "" || s.lookedAt().Before(f.samples[oldest].lookedAt()) {
				oldest = name
			}
		}
		delete(f.samples, oldest)
	}
	s := &shared[stat.Sampling]{room: f, interval: sampleInterval, timeout: readTimeout, connect: f.acquire,
		read: func(ctx context.Context, conn *pgx.Conn) (*stat.Sampling, error) {
			return stat.SampleCache(ctx, conn, cache, stat.MaxSampled, serversOf(f.db)...)
		}}
	f.samples[cache] = s
	return s
}

// Close ends the readings that are under way. What was read stays; nothing new is read.
func (f *Figures) Close() {
	f.closing.Lock()
	f.close()
	f.closing.Unlock()
	f.work.Wait()
}

// start runs fn in a goroutine that Close waits for.
func (f *Figures) start(fn func(context.Context)) error {
	f.closing.Lock()
	defer f.closing.Unlock()
	if f.closed.Err() != nil {
		return fault.ErrClosed
	}
	f.work.Go(func() { fn(f.closed) })
	return nil
}

// slot takes one of the connections that may be used.
func (f *Figures) slot(ctx context.Context) (release func(), err error) {
	select {
	case f.slots <- struct{}{}:
		return func() { <-f.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// acquire takes a connection of the pool.
func (f *Figures) acquire(ctx context.Context) (*pgx.Conn, func(), error) {
	release, err := f.slot(ctx)
	if err != nil {
		return nil, nil, err
	}
	conn, err := f.db.Acquire(ctx)
	if err != nil {
		release()
		return nil, nil, err
	}
	return conn.Conn(), func() { conn.Release(); release() }, nil
}

// dial makes a connection as the application would, without the settings of the pool's:
// the doctor judges settings.
func (f *Figures) dial(ctx context.Context) (*pgx.Conn, func(), error) {
	release, err := f.slot(ctx)
	if err != nil {
		return nil, nil, err
	}
	config := f.db.Pool().Config().ConnConfig
	maps.DeleteFunc(config.RuntimeParams, func(name, _ string) bool { return name != "application_name" })
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		release()
		return nil, nil, err
	}
	return conn, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
		release()
	}, nil
}

// serversOf are the servers of a database on several, by the map that was read last.
func serversOf(db *core.DB) (servers []stat.Server) {
	for _, of := range db.Servers() {
		server := stat.Server{Number: of.Number, Address: of.Address, Partitions: of.Partitions}
		if of.DB != db {
			server.Connect = func(ctx context.Context) (*pgx.Conn, func(), error) {
				conn, err := of.DB.Acquire(ctx)
				if err != nil {
					return nil, nil, err
				}
				return conn.Conn(), conn.Release, nil
			}
		}
		servers = append(servers, server)
	}
	return servers
}

// readCost is a reading of the cost.
func (f *Figures) readCost(ctx context.Context, conn *pgx.Conn) (*Cost, error) {
	now, err := stat.ReadCost(ctx, conn, serversOf(f.db)...)
	if err != nil {
		return nil, err
	}
	return f.costs.add(now), nil
}

// examine is a reading of the doctor.
func examine(ctx context.Context, conn *pgx.Conn) (*doctor.Report, error) {
	return doctor.Examine(ctx, conn, doctor.Options{
		CheckSchema: func(ctx context.Context, tx pgx.Tx) error { return migrate.Check(ctx, tx) },
		Servers:     CitusServers(conn.Config()),
	})
}

// CitusServers lists the servers that Citus spreads a database over, for the doctor. The
// others are reached as the one of config is.
func CitusServers(config *pgx.ConnConfig) func(context.Context) ([]doctor.Server, error) {
	return func(ctx context.Context) (found []doctor.Server, err error) {
		states, err := cluster.List(ctx, config)
		for _, s := range states {
			found = append(found, doctor.Server{Address: s.Address(), Problem: s.Problem, Lacking: s.Lacking})
		}
		return found, err
	}
}

// failure turns the error of a reading into one of package fault.
func (f *Figures) failure(err error) error {
	switch state := fault.State(err); {
	case errors.Is(err, stat.ErrNoAccess):
		return fmt.Errorf("%w: %w", fault.ErrPermission, err)
	case state == "57014" || state == "55P03":
		return fault.Timeout("the figures took too long to read", err)
	}
	return f.db.Failure(err, false)
}
