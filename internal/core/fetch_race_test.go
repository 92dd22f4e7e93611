package core

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/fetch"
	"github.com/howdah/howdah/internal/pgtest"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// The race that breaks cache-aside: a reader loads the old row, a writer changes
// the row and invalidates its key, and the reader stores the old row.

// races is how often it is run: "go test ./internal/core -run TestFetchRace
// -fetch.races 10000".
var races = flag.Int("fetch.races", 200, "keys of TestFetchRace, each with a race of its own")

// raceSeed repeats the random choices, though not their timing.
var raceSeed = flag.Uint64("fetch.seed", 0, "seed of TestFetchRace; 0: a new one")

// race is one key, its row, and those who read and change it.
type race struct {
	rng    *rand.Rand
	dbs    []*DB // each of a process of its own
	cache  string
	key    string
	forced bool          // the first load returns after a change, and after another Fetch waits for it
	read   chan struct{} // forced: it has
	wrote  chan struct{} // forced: the change is acknowledged
	once   sync.Once
	all    sync.WaitGroup // of all who run

	bound time.Duration // of the processes' memory; 0: none

	mu     sync.Mutex
	acks   []time.Time // of the changes to 1, 2 and so on
	broken []string
}

func (r *race) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = append(r.broken, r.key+": "+fmt.Sprintf(format, args...))
}

func (r *race) pause() {
	r.mu.Lock()
	d := time.Duration(r.rng.IntN(2000)) * time.Microsecond
	r.mu.Unlock()
	time.Sleep(d)
}

func (r *race) choose(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.IntN(n)
}

// row reads the row at this moment.
func (r *race) row(ctx context.Context, db *DB) (n int, err error) {
	err = db.Pool().QueryRow(ctx, "SELECT n FROM source WHERE key = $1", r.key).Scan(&n)
	return n, err
}

func (r *race) load(db *DB) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		r.pause()
		n, err := r.row(ctx, db)
		if r.forced {
			r.once.Do(func() {
				close(r.read)
				<-r.wrote
				before := db.Stats().Fetch[r.cache].Shared
				r.all.Go(func() { r.fetch(context.WithoutCancel(ctx), db, r.floor()) })
				for db.Stats().Fetch[r.cache].Shared == before {
					time.Sleep(100 * time.Microsecond)
				}
			})
		}
		r.pause()
		return fmt.Append(nil, n), err
	}
}

// fetch judges what a Fetch returns.
func (r *race) fetch(ctx context.Context, db *DB, floor int) {
	value, err := db.Cache(r.cache).Fetch(ctx, r.key, time.Hour, r.load(db), FetchOptions{})
	var got int
	fmt.Sscan(string(value), &got)
	switch {
	case err != nil:
		r.say("Fetch: %v", err)
	case got < floor:
		r.say("a Fetch got %d, and %d was acknowledged before it began", got, floor)
	}
}

// floor is the row as of the last change that a Fetch must see which begins now.
func (r *race) floor() (n int) {
	then := time.Now().Add(-r.bound)
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(r.acks) && !r.acks[n].After(then) {
		n++
	}
	return n
}

func (r *race) reader(ctx context.Context, db *DB) {
	for range 3 {
		r.pause()
		r.fetch(ctx, db, r.floor())
	}
}

// changes are the ways to change the row and to invalidate or replace its entry.
var changes = map[string]func(r *race, ctx context.Context, db *DB, n int) error{
	"With(tx).Delete": func(r *race, ctx context.Context, db *DB, n int) error {
		return r.inTransaction(ctx, db, n, func(tx pgx.Tx) error {
			return db.Cache(r.cache).With(tx).Do(ctx, &verb.Call{Verb: statement.Delete, Key: []byte(r.key)})
		})
	},
	"SQL delete": func(r *race, ctx context.Context, db *DB, n int) error {
		return r.inTransaction(ctx, db, n, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT howdah.delete_text($1, $2)", r.cache, r.key)
			return err
		})
	},
	"Transact": func(r *race, ctx context.Context, db *DB, n int) error {
		return db.Transact(ctx, TxOptions{}, func(ctx context.Context, tx Tx) error {
			if _, err := tx.Exec(ctx, "UPDATE source SET n = $2 WHERE key = $1", r.key, n); err != nil {
				return err
			}
			return db.Cache(r.cache).With(tx).Do(ctx, &verb.Call{Verb: statement.GetDelete, Key: []byte(r.key)})
		})
	},
	"Delete": func(r *race, ctx context.Context, db *DB, n int) error {
		if _, err := db.Pool().Exec(ctx, "UPDATE source SET n = $2 WHERE key = $1", r.key, n); err != nil {
			return err
		}
		r.pause()
		return db.Cache(r.cache).Do(ctx, &verb.Call{Verb: statement.Delete, Key: []byte(r.key)})
	},
	"Set": func(r *race, ctx context.Context, db *DB, n int) error {
		if _, err := db.Pool().Exec(ctx, "UPDATE source SET n = $2 WHERE key = $1", r.key, n); err != nil {
			return err
		}
		r.pause()
		return db.Cache(r.cache).One(ctx, &verb.Call{Verb: statement.Set, Key: []byte(r.key), Value: fmt.Append(nil, n)})
	},
}

// errRolledBack ends a transaction that shall not be committed.
var errRolledBack = errors.New("rolled back")

// inTransaction changes the row and its entry together, in either order; now and
// then after an attempt that is rolled back.
func (r *race) inTransaction(ctx context.Context, db *DB, n int, entry func(pgx.Tx) error) error {
	if r.choose(4) == 0 {
		err := r.attempt(ctx, db, -1, func(tx pgx.Tx) error { return cmp.Or(entry(tx), errRolledBack) })
		if !errors.Is(err, errRolledBack) {
			return fmt.Errorf("the transaction was not rolled back: %w", err)
		}
	}
	return r.attempt(ctx, db, n, entry)
}

func (r *race) attempt(ctx context.Context, db *DB, n int, entry func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = 0"); err != nil { // that of the pool is short
			return err
		}
		row := func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE source SET n = $2 WHERE key = $1", r.key, n)
			return err
		}
		steps := []func(pgx.Tx) error{row, entry}
		if r.choose(2) == 0 {
			steps[0], steps[1] = steps[1], steps[0]
		}
		for _, step := range steps {
			if err := step(tx); err != nil {
				return err
			}
			r.pause()
		}
		return nil
	})
}

// writer changes the row a few times. There is one, so that plain sets of several
// writers do not undo each other.
func (r *race) writer(ctx context.Context, db *DB, names []string) {
	for n := 1; n <= 2; n++ {
		if n == 1 && r.forced {
			<-r.read
		}
		r.pause()
		name := names[r.choose(len(names))]
		if err := changes[name](r, ctx, db, n); err != nil {
			r.say("%s: %v", name, err)
		}
		r.mu.Lock()
		r.acks = append(r.acks, time.Now())
		r.mu.Unlock()
		if n == 1 && r.forced {
			close(r.wrote)
		}
		if r.bound == 0 || name != "SQL delete" {
			r.fetch(ctx, db, n) // memory has the bound for changes past the library only
		}
	}
}

// run lets all of them run, and looks what the cache holds when all is quiet.
func (r *race) run(ctx context.Context, names []string) {
	for i := range 4 {
		r.all.Go(func() { r.reader(ctx, r.dbs[i%len(r.dbs)]) })
	}
	r.all.Go(func() { r.writer(ctx, r.dbs[r.choose(len(r.dbs))], names) })
	r.all.Wait()
	want, err := r.row(ctx, r.dbs[0])
	if err != nil {
		r.say("%v", err)
	}
	get := &verb.Call{Verb: statement.Get, Key: []byte(r.key), Fresh: true}
	switch err := r.dbs[0].Cache(r.cache).One(ctx, get); {
	case errors.Is(err, fault.ErrMiss):
	case err != nil:
		r.say("Get: %v", err)
	case string(get.Result.Value) != fmt.Sprint(want):
		r.say("the cache holds %s, and the row %d", get.Result.Value, want)
	}
}

// racing is what to run.
type racing struct {
	keys   int // several at a time
	forced bool
	names  []string              // of changes
	store  func(*DB) fetch.Store // nil: the right one
	bound  time.Duration
}

// run returns what was wrong.
func (o racing) run(t *testing.T) (broken []string) {
	t.Helper()
	seed := *raceSeed
	if seed == 0 {
		seed = rand.Uint64() >> 16
	}
	t.Logf("-fetch.seed %d", seed)
	url := pgtest.New(t)
	dbs := []*DB{openRacing(t, url, o.bound), openRacing(t, url, o.bound)}
	_, err := dbs[0].Pool().Exec(t.Context(), "CREATE TABLE source (key text PRIMARY KEY, n integer)")
	require.NoError(t, err)
	_, err = dbs[0].Pool().Exec(t.Context(), "INSERT INTO source SELECT 'key:' || i, 0 FROM generate_series(0, $1::integer - 1) AS i", o.keys)
	require.NoError(t, err)
	if o.store != nil {
		for _, db := range dbs {
			db.fetches.groups = map[string]*fetch.Group{"db0": fetch.New(o.store(db), nil)}
		}
	}
	var mu sync.Mutex
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(o.keys); i = next.Add(1) - 1 {
				r := &race{
					rng: rand.New(rand.NewPCG(seed, uint64(i))), dbs: dbs, cache: "db0", key: fmt.Sprintf("key:%d", i),
					forced: o.forced, bound: o.bound, read: make(chan struct{}), wrote: make(chan struct{}),
				}
				r.run(t.Context(), o.names)
				mu.Lock()
				broken = append(broken, r.broken...)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	for i, db := range dbs {
		t.Logf("process %d: %+v", i, db.Stats().Fetch["db0"])
	}
	return broken
}

// openRacing opens a database as one process, with memory if there is a bound.
func openRacing(t *testing.T, url string, bound time.Duration) *DB {
	t.Helper()
	if bound == 0 {
		return openPatient(t, url)
	}
	db, err := Open(t.Context(), url, Options{Timeout: 20 * time.Second, Near: NearOptions{Bound: bound}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.AlterCache(t.Context(), CacheConfig{Name: "db0", Near: true}, AlterOptions{Only: []string{"near"}}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = db.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return db
}

func openPatient(t *testing.T, url string) *DB {
	t.Helper()
	db, err := Open(t.Context(), url, Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// With Fetch no stale value is stored, nor returned to a Fetch that began after
// the change, however the writer invalidates.
func TestFetchRace(t *testing.T) {
	var all []string
	for name := range changes {
		all = append(all, name)
		t.Run(name, func(t *testing.T) {
			require.Empty(t, racing{keys: max(10, *races/20), forced: true, names: []string{name}}.run(t))
		})
	}
	t.Run("random", func(t *testing.T) {
		require.Empty(t, racing{keys: *races, names: all}.run(t))
	})
	t.Run("memory", func(t *testing.T) {
		require.Empty(t, racing{keys: *races, names: all, bound: 50 * time.Millisecond}.run(t))
	})
}

// mutantStore is a cache that forgets what makes Fetch safe.
type mutantStore struct {
	fetchStore
	lying bool // it calls a void token good; otherwise it stores without comparing
}

func (s mutantStore) Fulfil(ctx context.Context, values []fetch.Value) []error {
	if s.lying {
		errs := s.fetchStore.Fulfil(ctx, values)
		for i, err := range errs {
			if errors.Is(err, fetch.ErrVoided) {
				errs[i] = nil
			}
		}
		return errs
	}
	errs := make([]error, len(values))
	for i, v := range values {
		errs[i] = s.c.One(ctx, &verb.Call{Verb: statement.Set, Key: []byte(v.Key), Value: v.Value, Expiry: verb.ExpireIn(v.TTL)})
	}
	return errs
}

// The judge finds both.
func TestFetchRaceMutants(t *testing.T) {
	for name, lying := range map[string]bool{"stores without comparing": false, "joiners take void values": true} {
		t.Run(name, func(t *testing.T) {
			store := func(db *DB) fetch.Store { return mutantStore{fetchStore{db.Cache("db0")}, lying} }
			broken := racing{keys: 20, forced: true, names: []string{"With(tx).Delete", "Delete"}, store: store}.run(t)
			t.Logf("%d, such as %v", len(broken), broken[:min(1, len(broken))])
			require.NotEmpty(t, broken)
		})
	}
}
