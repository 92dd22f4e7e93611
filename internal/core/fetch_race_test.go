package core

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/verb"
)

// The race that breaks cache-aside: a reader loads the old row, a writer changes
// the row and invalidates its key, and the reader stores the old row.

// races is how often each combination of a way to read and ways to write is run:
// "go test ./internal/core -run TestFetchRace -fetch.races 10000".
var races = flag.Int("fetch.races", 10, "keys of each combination of TestFetchRace, each with a race of its own")

// raceSeed repeats the random choices, though not their timing.
var raceSeed = flag.Uint64("fetch.seed", 0, "seed of TestFetchRace; 0: as HOWDAH_SEED says")

// race is one key, its row, and those who read and change it.
type race struct {
	racing
	rng    *rand.Rand
	key    string
	tags   []string      // of its entry
	read   chan struct{} // forced: the first load has read the row
	wrote  chan struct{} // forced: the change is acknowledged
	once   sync.Once
	all    sync.WaitGroup // of all who run
	forced bool           // the first load returns after a change, and after another Fetch waits for it

	mu     sync.Mutex
	acks   []time.Time // of the changes to 1, 2 and so on
	broken []string
	story  []string // what happened, for who looks into a failure
	began  time.Time
}

// note adds to the story.
func (r *race) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.story = append(r.story, fmt.Sprintf("%.3f ms ", float64(time.Since(r.began).Microseconds())/1000)+fmt.Sprintf(format, args...))
}

func (r *race) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = append(r.broken, r.key+": "+fmt.Sprintf(format, args...))
}

func (r *race) process(db *DB) int { return slices.Index(r.dbs, db) }

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
	err = db.Pool().QueryRow(ctx, "SELECT n FROM "+r.source+" WHERE key = $1", r.key).Scan(&n)
	return n, err
}

func (r *race) load(db *DB) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		r.pause()
		n, err := r.row(ctx, db)
		r.note("process %d loaded %d (%v)", r.process(db), n, err)
		if r.forced {
			r.once.Do(func() {
				close(r.read)
				<-r.wrote
				if !r.reading.alone {
					r.join(context.WithoutCancel(ctx), db)
				}
			})
		}
		r.pause()
		return fmt.Append(nil, n), err
	}
}

// join lets another Fetch wait for the load that is under way, unless memory has an answer
// by now: what the writer has set.
func (r *race) join(ctx context.Context, db *DB) {
	before := db.Stats().Fetch[r.cache].Shared
	var ended atomic.Bool
	r.all.Go(func() { r.fetch(ctx, db, r.floor()); ended.Store(true) })
	await.Until(ctx, func() bool { return db.Stats().Fetch[r.cache].Shared != before || ended.Load() })
}

// fetch judges what a reader gets.
func (r *race) fetch(ctx context.Context, db *DB, floor int) {
	r.note("process %d fetches", r.process(db))
	value, err := r.reading.fetch(r, ctx, db)
	r.note("process %d fetched %q (%v)", r.process(db), value, err)
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
			return r.update(ctx, tx, n)
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
func (r *race) writer(ctx context.Context, db *DB) {
	for n := 1; n <= r.reading.changes(); n++ {
		if n == 1 && r.forced {
			<-r.read
		}
		r.pause()
		w := r.writings[r.choose(len(r.writings))]
		r.note("process %d writes %d by %s", r.process(db), n, w.name)
		if err := w.change(r, ctx, db, n); err != nil {
			r.say("%s: %v", w.name, err)
		}
		r.mu.Lock()
		r.acks = append(r.acks, time.Now())
		r.mu.Unlock()
		r.note("acknowledged")
		if n == 1 && r.forced {
			close(r.wrote)
		}
		if r.bound == 0 || !w.past {
			r.fetch(ctx, db, n) // memory has the bound for changes past the library only
		}
	}
}

// run lets all of them run, and looks what the cache holds when all is quiet.
func (r *race) run(ctx context.Context) {
	for i := range 4 {
		r.all.Go(func() { r.reader(ctx, r.dbs[i%len(r.dbs)]) })
	}
	r.all.Go(func() { r.writer(ctx, r.dbs[r.choose(len(r.dbs))]) })
	r.all.Wait()
	want, err := r.row(ctx, r.dbs[0])
	if err != nil {
		r.say("%v", err)
	}
	await.Until(ctx, func() bool {
		claim := &verb.Call{Verb: statement.Claim, Key: []byte(r.key), Lease: time.Millisecond, Fresh: true}
		err := r.dbs[0].Cache(r.cache).Do(ctx, claim)
		if err == nil && !claim.Claim.Won && claim.Claim.Left > 0 {
			return false // a load in the background
		}
		found := claim.Claim.State == verb.Hit || claim.Claim.State == verb.Stale
		switch {
		case err != nil:
			r.say("Claim: %v", err)
		case found && string(claim.Result.Value) != fmt.Sprint(want):
			r.say("the cache holds %s, and the row %d", claim.Result.Value, want)
		}
		return true
	})
}

// racing is what to run.
type racing struct {
	reading  reading
	writings []writing // of which each change takes one
	dbs      []*DB     // each of a process of its own
	cache    string
	source   string        // the table of the rows
	watch    string        // arguments of howdah.watch_table; "": it is not watched
	tagged   bool          // the entry has a tag; otherwise at random
	bound    time.Duration // of the processes' memory; 0: none
}

// run races for so many keys, some at a time, and returns what was wrong. At most so
// many of them are forced.
func (o racing) run(t *testing.T, keys, forced int) (broken []string) {
	t.Helper()
	seed := seed.Or(t, *raceSeed)
	pool := o.dbs[0].Pool()
	for _, sql := range []string{
		"CREATE TABLE " + o.source + " (key text PRIMARY KEY, n integer)",
		fmt.Sprintf("INSERT INTO %s SELECT '%[1]s:' || i, 0 FROM generate_series(0, %d) AS i", o.source, keys-1),
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	if o.watch != "" {
		_, err := pool.Exec(t.Context(), fmt.Sprintf("SELECT howdah.watch_table('%s', cache => '%s', %s)", o.source, o.cache, o.watch))
		require.NoError(t, err)
	}
	var story []string
	var mu sync.Mutex
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(keys); i = next.Add(1) - 1 {
				r := &race{
					began: time.Now(), racing: o, rng: rand.New(rand.NewPCG(seed, uint64(i))), key: fmt.Sprintf("%s:%d", o.source, i),
					forced: i < int64(forced), read: make(chan struct{}), wrote: make(chan struct{}),
				}
				if o.tagged || r.choose(2) == 0 {
					r.tags = []string{"tag of " + r.key}
				}
				r.run(t.Context())
				mu.Lock()
				if len(r.broken) > 0 && len(broken) == 0 {
					story = r.story
				}
				broken = append(broken, r.broken...)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if len(broken) > 0 {
		t.Logf("the first that went wrong:\n%s", strings.Join(story, "\n"))
	}
	return broken
}

// openRacing opens a database as two processes, with memory if there is a bound.
func openRacing(t *testing.T, url string, bound time.Duration) (dbs []*DB) {
	t.Helper()
	for range 2 {
		db, err := Open(t.Context(), url, Options{Timeout: 20 * time.Second, Near: NearOptions{Bound: bound}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		dbs = append(dbs, db)
		if bound > 0 {
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); _ = db.Run(ctx) }()
			t.Cleanup(func() { stop(); <-ended })
		}
	}
	return dbs
}
