// Package engine takes calls on their way to PostgreSQL and back: an Engine for
// each cache, and a Set for what the caches of one pool of connections share.
// The coalescer decides what goes together, a flight turns it into statements.
package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/internal/tracking"
)

// ConnectTimeout bounds what is done once, not once a call: connecting,
// checking the schema, reading a cache's settings.
const ConnectTimeout = 5 * time.Second

// Options are those of a Set. Every field is set, but where nil says otherwise.
type Options struct {
	Timeout       time.Duration // of a call whose context has no earlier deadline
	LockTimeout   time.Duration // of a shared statement that meets a foreign lock
	MaxValueBytes int
	MaxBatchKeys  int
	MaxBatchBytes int
	MaxQueueBytes int // for each cache
	MaxConns      int // of the pool: so many flights at once

	Seed       []byte // of the database, for the hashes of keys
	Partitions int    // into which the keys of each cache are divided; 0: none

	OwnPool bool // the pool serves nobody else: its idle connections may be dropped
	OwnConn bool // its connections carry the settings that statements need
	Named   bool // statements may be prepared by name (no transaction pooler)

	Memory  *near.Memory // hot entries of caches with a change log; nil: none
	Exclude [][]byte     // prefixes of keys that are never in Memory

	Tracking *tracking.Table // is told of the writes of this process
	Tracer   trace.Tracer    // follows what followed calls share; nil: none

	Slow *observe.SlowLog // takes the calls that took long; nil: none does

	Logger *slog.Logger
	Called chan<- struct{} // gets a value when so much was written that upkeep should look
}

// Set is the engines of all caches that one pool of connections serves.
type Set struct {
	Pool *pgxpool.Pool
	Options

	closed  atomic.Bool
	origin  atomic.Int64 // see Wrote
	flushes flushes
	mu      sync.RWMutex
	engines map[string]*Engine

	removals      atomic.Pointer[observe.Removals] // nil: removals are not remembered
	prefixes      *observe.Prefixes                // guarded by mu; nil: reads are not counted by them
	namedPrefixes *observe.Named                   // guarded by mu; nil: likewise

	connections connections
	orphans     Orphans
	coalescer   *coalesce.Coalescer
	deadlines   pgwire.Deadlines // of all flights
	flights     atomic.Int32     // under way
	diskFull    atomic.Int64     // Unix nanoseconds; see DiskFull
	retries     atomic.Uint64    // see Retries
	binds       atomic.Bool      // see KeepBudgets
	clock       clock
	spins       [coalesce.Write + 1]*pgwire.Spin // by the kind of a lone flight

	companion     any // see Companion
	makeCompanion sync.Once
}

// Companion is Engine.Companion for what all caches share.
func (s *Set) Companion(create func() any) any {
	s.makeCompanion.Do(func() { s.companion = create() })
	return s.companion
}

// New makes a Set without engines. It starts nothing.
func New(pool *pgxpool.Pool, opts Options) *Set {
	s := &Set{Pool: pool, Options: opts, engines: make(map[string]*Engine), deadlines: pgwire.Deadlines{Timeout: opts.Timeout}}
	s.connections.pool = pool
	s.orphans.Logger = opts.Logger
	s.renewOrigin()
	for kind := range s.spins {
		s.spins[kind] = &pgwire.Spin{Flights: &s.flights}
	}
	s.coalescer = coalesce.New(coalesce.Options{
		MaxKeys:       opts.MaxBatchKeys,
		MaxBytes:      opts.MaxBatchBytes,
		MaxQueueBytes: 4 * opts.MaxQueueBytes,
		MaxFlights:    opts.MaxConns,
		Grace:         3 * opts.LockTimeout,
		Same:          sameKey,
		Unknown:       isUnknown,
		Acknowledged:  s.acknowledged,
		Run:           s.run,
	})
	return s
}

// Retries returns how often reads were sent again because their connection had
// died.
func (s *Set) Retries() uint64 { return s.retries.Load() }

// DiskFull returns when PostgreSQL last refused a write because its disk is
// full; the zero time if it never did.
func (s *Set) DiskFull() time.Time {
	if at := s.diskFull.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// KeepBudgets says that this process makes the rounds of upkeep that its writers call for.
// From then on those of a cache that may evict nothing are bound from their first row.
func (s *Set) KeepBudgets() { s.binds.Store(true) }

// Release lets all writers go on: there are no rounds to wait for.
func (s *Set) Release() {
	s.binds.Store(false)
	for _, e := range s.All() {
		e.Pressure.release()
	}
}

// Detach says that no upkeep runs in this process: reads are not counted, and writers wait
// for nothing.
func (s *Set) Detach() {
	s.binds.Store(false)
	for _, e := range s.All() {
		e.detach()
	}
}

// Closed reports whether Close was called.
func (s *Set) Closed() bool { return s.closed.Load() }

// Close refuses new calls and waits for those in flight until ctx ends. Calls
// that still wait then fail with ErrClosed. It returns false if it was called
// before.
func (s *Set) Close(ctx context.Context) (first bool, err error) {
	if s.closed.Swap(true) {
		return false, nil
	}
	s.mu.Lock()
	s.engines = nil
	s.mu.Unlock()
	return true, s.coalescer.Close(ctx)
}

// Engine returns the engine of a cache, making it if the cache exists. q asks
// about it, so that a transaction can use a cache that it has just created.
// Errors: ErrClosed, ErrInvalidName, ErrCacheNotFound, or one of PostgreSQL.
func (s *Set) Engine(ctx context.Context, cache string, q statement.Querier) (*Engine, error) {
	if s.closed.Load() {
		return nil, fault.ErrClosed
	}
	if e := s.Known(cache); e != nil && e.Table().Known() {
		return e, nil
	}
	if err := s.checkName(cache); err != nil {
		return nil, err
	}
	ctx, cancel := Bounded(ctx, ConnectTimeout)
	defer cancel()
	t, err := statement.LoadOne(ctx, q, s.origin.Load(), cache)
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	e, err := s.engineOf(t)
	if err == nil && !e.Table().Known() {
		e.use(t)
	}
	return e, err
}

// checkName refuses what is no name of a cache, or, where there are partitions, of one of
// these.
func (s *Set) checkName(name string) error {
	if s.Partitions > 0 {
		return statement.CheckPartitionName(name)
	}
	return statement.CheckName(name)
}

// Unasked is Engine without asking whether the cache exists: the first flight
// finds out. Errors: ErrClosed, ErrInvalidName.
func (s *Set) Unasked(cache string) (*Engine, error) {
	if err := s.checkName(cache); err != nil {
		return nil, err
	}
	return s.engineOf(statement.Unknown(cache))
}

// Known returns the engine of a cache that was used before, or nil.
func (s *Set) Known(cache string) *Engine {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.engines[cache]
}

// All returns the engines of all caches that were used.
func (s *Set) All() []*Engine {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*Engine, 0, len(s.engines))
	for _, e := range s.engines {
		all = append(all, e)
	}
	return all
}

// engineOf returns the engine of a table, making it if there is none.
func (s *Set) engineOf(t *statement.Table) (*Engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engines == nil {
		return nil, fault.ErrClosed
	}
	e := s.engines[t.Cache]
	if e == nil {
		e = newEngine(s, t)
		s.engines[t.Cache] = e
	}
	return e, nil
}

func newEngine(s *Set, t *statement.Table) *Engine {
	e := &Engine{set: s, name: t.Cache, cache: statement.CacheOf(t.Cache), partition: partitionOf(t.Cache), counters: newCounters()}
	e.readsBy.Store(s.prefixes.Cache(e.cache))
	e.named.Store(s.namedPrefixes.Cache(e.cache))
	e.use(t)
	e.Pressure.called = s.Called
	e.Pressure.every.Store(firstRound)
	e.keys = s.coalescer.NewTable(coalesce.TableOptions{MaxQueueBytes: s.MaxQueueBytes, Owner: e})
	return e
}

// Hash is the identity of a key in its table: the first 63 bits of SHA-256 over
// the database's seed and the key. howdah.key_hash computes the same in SQL. The
// seed keeps anybody from constructing keys that collide.
func (s *Set) Hash(key []byte) int64 {
	var short [128]byte
	buf := append(append(short[:0], s.Seed...), key...)
	sum := sha256.Sum256(buf)
	return int64(binary.BigEndian.Uint64(sum[:8]) & math.MaxInt64)
}

// Bounded gives a context without a deadline one.
func Bounded(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// Drop gives up the idle connections, if they are not the application's: their
// server is lost, or is the primary no more, and the primary is looked for again.
func (s *Set) Drop() {
	if s.OwnPool {
		s.Pool.Reset()
	}
}

// localSettings is the statement that brings along, for one transaction, what
// a shared statement needs and its connection does not have: "" if nothing.
// set_config with is_local holds until the end of the transaction, and the
// statements up to a Sync are one, so this costs no round trip.
func (s *Set) localSettings(t *statement.Table, write bool, lockTimeout time.Duration) string {
	async := write && t.Durability == "async"
	bounds := lockTimeout != s.LockTimeout || write && !s.OwnConn
	if !async && !bounds && (s.OwnConn || !s.Named) {
		return ""
	}
	var settings []string
	set := func(name, value string) {
		settings = append(settings, fmt.Sprintf("set_config('%s', '%s', true)", name, value))
	}
	if async {
		set("synchronous_commit", "off")
	}
	if bounds {
		set("lock_timeout", fmt.Sprintf("%dms", lockTimeout.Milliseconds()))
	}
	if write && !s.Named { // see leftBehindPooler
		set("statement_timeout", fmt.Sprintf("%dms", pooledLimit.Milliseconds()))
	}
	if !s.OwnConn && s.Named {
		set("enable_seqscan", "off") // a generic plan made while a cache was still small would scan it for ever
	}
	return "SELECT " + strings.Join(settings, ", ")
}
