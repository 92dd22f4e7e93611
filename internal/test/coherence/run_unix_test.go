//go:build unix

package coherence

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

// experiment is one run: a PostgreSQL, processes that use it, and what goes
// wrong meanwhile.
type experiment struct {
	t       *testing.T
	bound   time.Duration
	keys    int
	url     string
	seed    uint64
	longest time.Duration // that the first reader is stopped
	memo    time.Duration // of the readers: a mutant
	slow    bool          // the network of the readers
	pace    time.Duration // of the readers, between bursts; default 2 ms

	processes []*process
	crashes   []Crash
	stops     atomic.Int64
}

// cachesOfRun are those that every run uses: one that a crash empties and one
// that it does not.
var cachesOfRun = []string{"db0", "db1"}

// keysOfRun is how many keys the caches of a run have together.
const keysOfRun = 60

// newExperiment installs the schema, the caches and the ledger. url is that of
// a database for this run alone.
func newExperiment(t *testing.T, url string) *experiment {
	t.Helper()
	e := &experiment{t: t, url: url, bound: 100 * time.Millisecond, keys: keysOfRun, seed: seed.Or(t, *seedFlag), longest: 900 * time.Millisecond}
	conn := e.connect(url)
	defer conn.Close(context.Background())
	require.NoError(t, InstallLedger(t.Context(), conn))
	_, err := conn.Exec(t.Context(), userTable)
	require.NoError(t, err)
	require.NoError(t, shortTicks(t.Context(), conn))
	_, err = conn.Exec(t.Context(), "SELECT howdah.drop_cache('db0', if_exists => true)")
	require.NoError(t, err)
	for number, name := range cachesOfRun {
		require.NoError(t, createCache(t.Context(), conn, name, true))
		require.NoError(t, Attach(t.Context(), conn, number, name))
	}
	return e
}

func (e *experiment) connect(url string) *pgx.Conn {
	e.t.Helper()
	conn, err := pgx.Connect(e.t.Context(), url)
	require.NoError(e.t, err)
	return conn
}

// start runs one more process.
func (e *experiment) start(o orders) *process {
	e.t.Helper()
	o.Process = len(e.processes) + 1
	if o.URL == "" {
		o.URL = e.url
	}
	o.Bound, o.Caches, o.Keys, o.Seed, o.Memo, o.Pace = e.bound, cachesOfRun, e.keys, e.seed, e.memo, e.pace
	if o.Pace == 0 {
		o.Pace = 2 * time.Millisecond
	}
	p := start(e.t, o)
	e.processes = append(e.processes, p)
	return p
}

// startAll runs two readers, which write too, two servers for Redis clients,
// and writers of every kind.
func (e *experiment) startAll() {
	e.t.Helper()
	e.start(orders{Slow: e.slow, Actors: []string{"reader", "library", "transaction"}})
	e.start(orders{Slow: e.slow, Actors: []string{"reader", "reader", "library"}})
	var servers []served
	for range 2 {
		p := e.start(orders{Serve: true, Keeps: true})
		servers = append(servers, served{Process: len(e.processes), Addr: p.addr})
	}
	e.start(orders{Servers: servers, Actors: []string{
		"library", "transaction", "prepared", "sql", "trigger", "admin", "trim", "idle", "redis", "redis"}})
}

// run lets the processes work for d, with the faults spread over it, stops the
// first process now and then, and judges what was read.
func (e *experiment) run(d time.Duration, faults ...func()) *Verdict {
	e.t.Helper()
	done := make(chan struct{})
	var work sync.WaitGroup
	rng := rand.New(rand.NewPCG(e.seed, 0))
	work.Go(func() { e.stops.Add(int64(e.processes[0].stopNowAndThen(rng, e.longest, done))) })
	part := d / time.Duration(len(faults)+1) // the length of a run is its size
	time.Sleep(part)
	for _, fault := range faults {
		fault()
		time.Sleep(part)
	}
	close(done)
	work.Wait()
	return e.judge()
}

// judge ends the processes and says which reads broke a rule.
func (e *experiment) judge() *Verdict {
	e.t.Helper()
	h, reads := e.end()
	v := h.Judge(reads, e.bound)
	e.t.Logf("%v", v)
	for _, text := range v.First {
		e.t.Log(text)
	}
	return v
}

// end ends the processes and returns what changed and what they read.
func (e *experiment) end() (*History, []Read) {
	e.t.Helper()
	var writes []Write
	var reads []Read
	var stats nearStats
	failed := map[string]int{}
	// Writers first: servers serve them until they have ended.
	for i := len(e.processes) - 1; i >= 0; i-- {
		r := e.processes[i].finish()
		writes, reads = append(writes, r.Writes...), append(reads, r.Reads...)
		stats.Hits, stats.Misses = stats.Hits+r.Near.Hits, stats.Misses+r.Near.Misses
		for actor, n := range r.Errors {
			failed[actor] += n
		}
		require.Empty(e.t, r.Broken)
	}
	ctx, cancel := context.WithTimeout(e.t.Context(), someTime)
	defer cancel()
	conn := e.connect(e.url)
	defer conn.Close(context.Background())
	e.endPrepared(ctx, conn)
	changes, err := ReadLedger(ctx, conn)
	require.NoError(e.t, err)
	h, err := Order(changes, writes, e.crashes)
	require.NoError(e.t, err)
	acked := 0
	for _, w := range writes {
		if w.Acked != 0 {
			acked++
		}
	}
	e.t.Logf("%d changes (%d deletions of unknown origin, %d versions that fell, %d keys lost in %d crashes); %d of %d writes acknowledged, refused by actor: %v; memory: %d hits, %d misses; %d stops",
		h.Changes, h.Unmatched, h.Falling, h.Resets, len(e.crashes), acked, len(writes), failed, stats.Hits, stats.Misses, e.stops.Load())
	return h, reads
}

// twoPhase starts a PostgreSQL of the run's own, with two-phase commits.
func twoPhase(t *testing.T) *pgtest.Server {
	t.Helper()
	return pgtest.Own(t, "fsync", "off", "max_prepared_transactions", "20")
}

// crash kills a backend, so that all others are ended and PostgreSQL recovers.
func (e *experiment) crash(s *pgtest.Server) {
	from := calendar()
	s.KillBackend()
	e.emptied(from)
}

// crashesOf are the crashes of a long run: one in a quarter of a minute.
func (e *experiment) crashesOf(s *pgtest.Server) (faults []func()) {
	for range max(1, int(*duration/(15*time.Second))) {
		faults = append(faults, func() { e.crash(s) })
	}
	return faults
}

// failOver ends the primary and makes one of its standby, which had all that
// was acknowledged, but for the UNLOGGED caches.
func (e *experiment) failOver(primary, standby *pgtest.Server) {
	from := calendar()
	primary.Kill()
	standby.Promote()
	e.emptied(from)
}

func (e *experiment) emptied(from int64) {
	crash := Crash{From: from, To: calendar()}
	for number, name := range cachesOfRun {
		if durability(name) == "unlogged" {
			crash.Caches = append(crash.Caches, number)
		}
	}
	e.crashes = append(e.crashes, crash)
}

// endPrepared ends transactions that were prepared and then left.
func (e *experiment) endPrepared(ctx context.Context, conn *pgx.Conn) {
	rows, err := conn.Query(ctx, "SELECT format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts WHERE database = current_database()")
	require.NoError(e.t, err)
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(e.t, err)
	for _, sql := range left {
		_, err := conn.Exec(ctx, sql)
		require.NoError(e.t, err)
	}
}
