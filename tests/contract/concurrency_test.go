package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/leaks"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// TestRaces lets two processes' worth of callers at one key, where exactly one
// may win, or no update may be lost.
func TestRaces(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	caches := []*howdah.Cache{dbtest.Open(t, url, nil).Cache("db0"), dbtest.Open(t, url, nil).Cache("db0")}
	cache := func(i int) *howdah.Cache { return caches[i%len(caches)] }

	t.Run("increments are all counted", func(t *testing.T) {
		dbtest.Together(40, func(i int) {
			for range 50 {
				_, err := cache(i).Increment(ctx, "n", 1, time.Hour)
				require.NoError(t, err)
			}
		})
		n, err := cache(0).Increment(ctx, "n", 0, 0)
		require.NoError(t, err)
		require.EqualValues(t, 2000, n)
	})
	t.Run("appends are all kept", func(t *testing.T) {
		dbtest.Together(20, func(i int) {
			for range 20 {
				require.NoError(t, dbtest.Do(ctx, cache(i), &verb.Call{Verb: statement.Append, Key: []byte("a"), Value: []byte("x")}))
			}
		})
		e, err := cache(0).Stat(ctx, "a")
		require.NoError(t, err)
		require.Equal(t, 400, e.Length)
	})
	for _, race := range []struct {
		name  string
		setUp func(key string)
		run   func(c *howdah.Cache, key string, i int) bool
	}{
		{"one adds", func(string) {}, func(c *howdah.Cache, key string, i int) bool {
			return dbtest.Won(t, c.Add(ctx, key, []byte(fmt.Sprint(i)), time.Minute))
		}},
		{"one takes", func(key string) { require.NoError(t, cache(0).Set(ctx, key, []byte("v"), 0)) }, func(c *howdah.Cache, key string, i int) bool {
			_, err := c.GetAndDelete(ctx, key)
			return dbtest.Won(t, err)
		}},
		{"one compares and sets", func(string) {}, func(c *howdah.Cache, key string, i int) bool {
			_, err := c.CompareAndSet(ctx, key, 0, nil, 0)
			return dbtest.Won(t, err)
		}},
		{"one exchanges absence", func(string) {}, func(c *howdah.Cache, key string, i int) bool {
			call := &verb.Call{Verb: statement.Set, Key: []byte(key), Value: []byte("v"), WantOld: true}
			require.NoError(t, dbtest.Do(ctx, c, call))
			return !call.Result.Found
		}},
		{"one adds all", func(string) {}, func(c *howdah.Cache, key string, i int) bool {
			call := &verb.Call{Verb: statement.SetManyIfAbsent, Values: [][]byte{{byte(i)}, {byte(i)}}}
			call.Keys = [][]byte{[]byte(key), []byte(key + "'")}
			if i%2 == 0 {
				call.Keys[0], call.Keys[1] = call.Keys[1], call.Keys[0]
			}
			require.NoError(t, dbtest.Do(ctx, c, call))
			return call.Status == verb.OK
		}},
	} {
		t.Run(race.name, func(t *testing.T) {
			for round := range 30 {
				key := fmt.Sprint(race.name, round)
				race.setUp(key)
				var winners atomic.Int32
				dbtest.Together(8, func(i int) {
					if race.run(cache(i), key, i) {
						winners.Add(1)
					}
				})
				require.EqualValues(t, 1, winners.Load())
			}
		})
	}
	t.Run("batches in opposite order do not deadlock", func(t *testing.T) {
		dbtest.Together(8, func(i int) {
			items := make([]howdah.Item, 100)
			keys := make([]string, 100)
			for range 20 {
				for j, p := range rand.Perm(100) {
					keys[j] = fmt.Sprint("key", p)
					items[j] = howdah.Item{Key: keys[j], Value: []byte{byte(i)}}
				}
				require.NoError(t, cache(i).SetMany(ctx, items, time.Minute))
				_, err := cache(i).DeleteMany(ctx, keys[:50])
				require.NoError(t, err)
			}
		})
	})
}

// TestOrder checks that the calls of one caller on one key keep their order,
// whatever they share statements with.
func TestOrder(t *testing.T) {
	t.Parallel()
	cache := dbtest.Open(t, pgtest.New(t), nil).Cache("db0")
	require.NoError(t, cache.Set(t.Context(), "warm", nil, 0))
	dbtest.Together(8, func(i int) {
		key := []byte(fmt.Sprint("own", i))
		shared := []byte("shared")
		var wg sync.WaitGroup
		for n := range 300 {
			want := fmt.Sprint(n)
			start := func(call *verb.Call, check func(*verb.Call)) {
				wg.Add(1)
				dbtest.Start(cache, call, func(call *verb.Call) {
					defer wg.Done()
					if call.Err != nil {
						t.Error(call.Err)
					} else if check != nil {
						check(call)
					}
				})
			}
			start(&verb.Call{Verb: statement.Set, Key: key, Value: []byte(want)}, nil)
			start(&verb.Call{Verb: statement.Increment, Key: shared, Delta: 1}, nil)
			start(&verb.Call{Verb: statement.Get, Key: key}, func(call *verb.Call) {
				if string(call.Result.Value) != want {
					t.Errorf("read %q after writing %s", call.Result.Value, want)
				}
			})
			if n%3 == 0 {
				start(&verb.Call{Verb: statement.Delete, Key: key}, nil)
				start(&verb.Call{Verb: statement.Get, Key: key}, func(call *verb.Call) {
					if call.Status != verb.Miss {
						t.Errorf("read %q after deleting", call.Result.Value)
					}
				})
			}
		}
		wg.Wait()
	})
	n, err := cache.Increment(t.Context(), "shared", 0, 0)
	require.NoError(t, err)
	require.EqualValues(t, 8*300, n)
}

// TestMerged asks for one key many times at once: every caller gets the answer,
// in memory of its own.
func TestMerged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(ctx, "k", []byte("value"), 0))
	dbtest.Together(64, func(i int) {
		for range 50 {
			one, err := cache.Get(ctx, "k")
			require.NoError(t, err)
			entry, err := cache.GetEntry(ctx, "k")
			require.NoError(t, err)
			many, err := cache.GetMany(ctx, []string{"k"})
			require.NoError(t, err)
			for _, value := range [][]byte{one, entry.Value, many["k"]} {
				require.Equal(t, "value", string(value))
				copy(value, "XXXXX") // it is the caller's
			}
		}
	})
	require.NotZero(t, db.Stats().Caches[0].Merged)
}

// TestLockedRow holds one key in a foreign transaction: only its own callers
// wait.
func TestLockedRow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	// That a row is locked is known two LockTimeouts after a caller's deadline at most.
	db := dbtest.Open(t, pgtest.New(t), &howdah.Options{Timeout: dbtest.Timeout, LockTimeout: 200 * time.Millisecond})
	cache := db.Cache("db0")
	var items []howdah.Item
	for i := range 64 {
		items = append(items, howdah.Item{Key: fmt.Sprint("k", i), Value: []byte("old")})
	}
	require.NoError(t, cache.SetMany(ctx, items, 0))

	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, cache.With(tx).Set(ctx, "k7", []byte("foreign"), 0))

	var late sync.WaitGroup
	late.Go(func() {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err := cache.Set(short, "k7", []byte("too late"), 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	dbtest.Together(64, func(i int) {
		if i == 7 {
			return
		}
		for range 10 {
			require.NoError(t, cache.Set(ctx, fmt.Sprint("k", i), []byte("new"), 0))
		}
	})
	late.Wait()
	got, err := cache.Get(ctx, "k7") // a reader never waits
	require.NoError(t, err)
	require.Equal(t, "old", string(got))

	waits := make(chan error, 1)
	go func() { waits <- cache.Set(ctx, "k7", []byte("after"), 0) }()
	require.Eventually(t, func() bool { return db.Stats().Caches[0].Blocked > 2 }, time.Minute, time.Millisecond)
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-waits)
	got, err = cache.Get(ctx, "k7")
	require.NoError(t, err)
	require.Equal(t, "after", string(got))
}

// TestLockedTable holds the whole table, as ALTER TABLE does: everybody waits,
// and nobody fails.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, &howdah.Options{Timeout: 20 * time.Second})
	watcher, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer watcher.Close(ctx)
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(ctx, "k", []byte("old"), 0))

	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx)
	_, err = tx.Exec(ctx, `LOCK TABLE `+pgtest.Table(t, tx, "db0")+` IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			require.NoError(t, cache.Set(ctx, fmt.Sprint("k", i), []byte("new"), 0))
		})
		callers.Go(func() {
			got, err := cache.Get(ctx, "k")
			require.NoError(t, err)
			require.Equal(t, "old", string(got))
		})
	}
	tries := map[time.Time]bool{}
	require.Eventually(t, func() bool {
		rows, err := watcher.Query(ctx, `
			SELECT query_start FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database() AND query_start IS NOT NULL`)
		require.NoError(t, err)
		starts, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
		require.NoError(t, err)
		for _, start := range starts {
			tries[start] = true
		}
		return len(tries) > 12
	}, time.Minute, time.Millisecond)
	require.NoError(t, tx.Commit(ctx))
	callers.Wait()
	got, err := cache.Get(ctx, "k63")
	require.NoError(t, err)
	require.Equal(t, "new", string(got))
}

// TestBadNeighbour lets PostgreSQL refuse one row of a shared statement.
func TestBadNeighbour(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	_, err := db.Pool().Exec(ctx, `ALTER TABLE `+pgtest.Table(t, db.Pool(), "db0")+` ADD CHECK (key <> 'bad')`)
	require.NoError(t, err)
	var refused, stored atomic.Int32
	dbtest.Together(64, func(i int) {
		for range 20 {
			key := fmt.Sprint("good", i)
			if i == 13 {
				key = "bad"
			}
			if err := cache.Set(ctx, key, nil, 0); err != nil {
				require.Equal(t, 13, i, "%v", err)
				refused.Add(1)
			} else {
				stored.Add(1)
			}
		}
	})
	require.EqualValues(t, 20, refused.Load())
	require.EqualValues(t, 63*20, stored.Load())
}

// TestCancelled lets callers leave at any moment; the others do not notice.
func TestCancelled(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(t.Context(), "k", []byte("v"), 0))
	dbtest.Together(32, func(i int) {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			leaves := i%2 == 0
			if leaves {
				time.AfterFunc(time.Duration(r.IntN(500))*time.Microsecond, cancel)
			}
			key := fmt.Sprint("k", r.IntN(50))
			err := cache.Set(ctx, key, []byte(key), 0)
			if err == nil {
				_, err = cache.Get(ctx, key)
			}
			if leaves && err != nil {
				require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, howdah.ErrUnknownOutcome) || errors.Is(err, howdah.ErrUnavailable), "%v", err)
			} else {
				require.NoError(t, err)
			}
			cancel()
		}
	})
}

// TestClose leaves nothing behind.
func TestClose(t *testing.T) {
	url := pgtest.New(t)
	before := goleak.IgnoreCurrent()
	db, err := howdah.Open(t.Context(), url, dbtest.Patient())
	require.NoError(t, err)
	cache := db.Cache("db0")
	dbtest.Together(50, func(i int) { require.NoError(t, cache.Set(t.Context(), fmt.Sprint(i), nil, 0)) })
	require.NoError(t, db.Close())
	require.NoError(t, db.Close())
	require.ErrorIs(t, cache.Set(t.Context(), "k", nil, 0), howdah.ErrClosed)
	_, err = db.Cache("db0").Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrClosed)
	leaks.Await(t, before)
}

// TestTransactions shows that a bound cache is part of its transaction.
func TestTransactions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	for _, commit := range []bool{false, true} {
		tx, err := db.Pool().Begin(ctx)
		require.NoError(t, err)
		require.NoError(t, cache.With(tx).Set(ctx, "k", []byte("in tx"), 0))
		got, err := cache.With(tx).Get(ctx, "k")
		require.NoError(t, err)
		require.Equal(t, "in tx", string(got))
		_, err = cache.Get(ctx, "k")
		require.ErrorIs(t, err, howdah.ErrMiss)
		if commit {
			require.NoError(t, tx.Commit(ctx))
		} else {
			require.NoError(t, tx.Rollback(ctx))
			_, err = cache.Get(ctx, "k")
			require.ErrorIs(t, err, howdah.ErrMiss)
		}
	}
	got, err := cache.Get(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, "in tx", string(got))

	t.Run("a status does not abort it", func(t *testing.T) {
		require.NoError(t, pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
			c := cache.With(tx)
			_, err := c.Increment(ctx, "k", 1, 0)
			require.ErrorIs(t, err, howdah.ErrNotInteger)
			require.ErrorIs(t, c.Add(ctx, "k", nil, 0), howdah.ErrNotStored)
			calls := []*verb.Call{
				{Verb: statement.Set, Key: []byte("p"), Value: []byte("10")},
				{Verb: statement.Increment, Key: []byte("p"), Delta: 5},
				{Verb: statement.Increment, Key: []byte("k"), Delta: 5},
				{Verb: statement.Get, Key: []byte("p")},
			}
			require.NoError(t, dbtest.Do(ctx, c, calls...))
			require.EqualValues(t, 15, calls[1].Int)
			require.Equal(t, verb.NotInteger, calls[2].Status)
			require.Equal(t, "15", string(calls[3].Result.Value))
			return nil
		}))
	})
}

// TestTransact counts by read and write in transactions, which is only right
// if conflicts are found and repeated.
func TestTransact(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	dbs := []*howdah.DB{dbtest.Open(t, url, nil), dbtest.Open(t, url, nil)}
	for _, reserve := range []bool{false, true} {
		key := fmt.Sprint("n", reserve)
		dbtest.Together(8, func(i int) {
			db := dbs[i%2]
			for range 10 {
				opts := howdah.TxOptions{}
				if reserve {
					opts = howdah.TxOptions{Cache: "db0", Keys: []string{key}}
				}
				require.NoError(t, db.Transact(ctx, opts, func(ctx context.Context, tx pgx.Tx) error {
					c := db.Cache("db0").With(tx)
					n := byte(0)
					if v, err := c.Get(ctx, key); err == nil {
						n = v[0]
					} else if !errors.Is(err, howdah.ErrMiss) {
						return err
					}
					return c.Set(ctx, key, []byte{n + 1}, 0)
				}))
			}
		})
		v, err := dbs[0].Cache("db0").Get(ctx, key)
		require.NoError(t, err)
		require.EqualValues(t, 80, v[0])
	}
}

// TestWatch lets two transactions watch what the other one writes: at most one
// may happen, whether the keys exist or not.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	// Half of the rounds end when PostgreSQL looks for a deadlock.
	dbtest.ExecURL(t, pgtest.SuperURL(url), fmt.Sprintf("ALTER DATABASE %s SET deadlock_timeout = '50ms'", dbtest.ParseURL(t, url).Path[1:]))
	dbs := []*howdah.DB{dbtest.Open(t, url, nil), dbtest.Open(t, url, nil)}
	cache := dbs[0].Cache("db0")
	for round := range 20 {
		a, b := fmt.Sprint("a", round), fmt.Sprint("b", round)
		var versions [2]int64
		if round%2 == 0 {
			for i, k := range []string{a, b} {
				require.NoError(t, cache.Set(ctx, k, nil, 0))
				e, err := cache.Stat(ctx, k)
				require.NoError(t, err)
				versions[i] = e.Version
			}
		}
		var happened atomic.Int32
		dbtest.Together(2, func(i int) {
			watched, written, version := a, b, versions[0]
			if i == 1 {
				watched, written, version = b, a, versions[1]
			}
			err := dbs[i].Transact(ctx, howdah.TxOptions{Watch: []howdah.Watch{{Cache: "db0", Key: watched, Version: version}}},
				func(ctx context.Context, tx pgx.Tx) error {
					return dbs[i].Cache("db0").With(tx).Set(ctx, written, []byte("x"), 0)
				})
			if err == nil {
				happened.Add(1)
			} else {
				require.ErrorIs(t, err, howdah.ErrWatch)
			}
		})
		require.EqualValues(t, 1, happened.Load(), "round %d", round)
	}
	require.NoError(t, cache.Set(ctx, "w", nil, 0))
	err := dbs[0].Transact(ctx, howdah.TxOptions{Watch: []howdah.Watch{{Cache: "db0", Key: "w", Version: 0}}},
		func(context.Context, pgx.Tx) error { t.Error("ran in spite of a change"); return nil })
	require.ErrorIs(t, err, howdah.ErrWatch)
}
