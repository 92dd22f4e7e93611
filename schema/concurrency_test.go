package schema_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/schema"
)

// together runs n copies of fn at once and fails the test on the first error.
func together(t *testing.T, n int, fn func(ctx context.Context, i int) error) {
	t.Helper()
	c := ctx(t)
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			<-start
			errs <- fn(c, i)
		})
	}
	close(start)
	wg.Wait()
	for range n {
		require.NoError(t, <-errs)
	}
}

// No increment is lost, from an absent key on, expired rows and other keys in
// the slot included.
func TestConcurrentIncrements(t *testing.T) {
	t.Parallel()
	db := open(t)
	const callers, each = 16, 40
	for name, prepare := range map[string]func(){
		"absent":    func() {},
		"expired":   func() { run(t, db, "SELECT howdah.set('c', 'k', '1000')"); expireNow(t, db, "c", "k") },
		"collision": func() { plant(t, db, "c", "k", "other", "1000") },
	} {
		run(t, db, "SELECT howdah.flush('c')")
		prepare()
		together(t, callers, func(ctx context.Context, _ int) error {
			for range each {
				if _, err := db.Exec(ctx, "SELECT howdah.increment('c', 'k')"); err != nil {
					return err
				}
			}
			return nil
		})
		require.Equal(t, fmt.Sprint(callers*each), one[string](t, db, "SELECT howdah.get_text('c', 'k')"), name)
	}
}

// The counter counts what was counted even while others delete it: what the
// deletes took and what is left is the sum.
func TestIncrementsAgainstDeletes(t *testing.T) {
	t.Parallel()
	db := open(t)
	const callers, each = 8, 100
	var taken atomic.Int64
	together(t, callers+2, func(ctx context.Context, i int) error {
		for range each {
			if i < callers {
				if _, err := db.Exec(ctx, "SELECT howdah.increment('c', 'k')"); err != nil {
					return err
				}
				continue
			}
			var n int64
			if err := db.QueryRow(ctx, "SELECT coalesce(howdah.get_and_delete_text('c', 'k'), '0')::bigint").Scan(&n); err != nil {
				return err
			}
			taken.Add(n)
		}
		return nil
	})
	left := one[int64](t, db, "SELECT coalesce(howdah.get_text('c', 'k'), '0')::bigint")
	require.EqualValues(t, callers*each, taken.Load()+left)
}

func TestOneOfManyWins(t *testing.T) {
	t.Parallel()
	db := open(t)
	const callers = 50
	version := "0"
	for name, call := range map[string]string{
		"add":             "howdah.add('c', 'k', '1')",
		"compare_and_set": "howdah.compare_and_set('c', 'k', %v, '1') IS NOT NULL",
		"get_and_delete":  "howdah.get_and_delete('c', 'k') IS NOT NULL",
		"delete":          "howdah.delete('c', 'k')",
	} {
		for round := range 4 {
			run(t, db, "SELECT howdah.flush('c')")
			version = "0"
			switch {
			case name == "get_and_delete" || name == "delete":
				run(t, db, "SELECT howdah.set('c', 'k', '0')")
			case round == 1:
				run(t, db, "SELECT howdah.set('c', 'k', '0')")
				expireNow(t, db, "c", "k")
			case round == 2:
				plant(t, db, "c", "k", "other", "0")
			case round == 3 && name == "compare_and_set":
				version = one[string](t, db, "SELECT howdah.set('c', 'k', '0')::text")
			}
			var winners atomic.Int64
			together(t, callers, func(ctx context.Context, _ int) error {
				var won bool
				err := db.QueryRow(ctx, "SELECT "+replaceAll(call, "%v", version)).Scan(&won)
				if won {
					winners.Add(1)
				}
				return err
			})
			require.EqualValues(t, 1, winners.Load(), "%s, round %d", name, round)
		}
	}
}

// Writers of the same keys in opposite orders never deadlock.
func TestOppositeOrdersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := open(t)
	seed := seed.Of(t)
	together(t, 8, func(ctx context.Context, i int) error {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		keys := make([][]byte, 100)
		for k := range keys {
			keys[k] = fmt.Appendf(nil, "key:%d", k)
		}
		for range 20 {
			random.Shuffle(len(keys), func(a, b int) { keys[a], keys[b] = keys[b], keys[a] })
			var err error
			switch random.IntN(6) {
			case 0:
				_, err = db.Exec(ctx, "SELECT howdah.delete_many('c', $1)", keys)
			case 1:
				_, err = db.Exec(ctx, "SELECT howdah.delete_prefix('c', 'key:', 50)")
			default:
				_, err = db.Exec(ctx, "SELECT howdah.set_many('c', $1, $1)", keys)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Replace, touch, expire and compare_and_set never bring a deleted key back.
func TestDeleteIsNotUndone(t *testing.T) {
	t.Parallel()
	db := open(t)
	for round := range 30 {
		version := one[int64](t, db, "SELECT howdah.set('c', 'k', 'old')")
		together(t, 6, func(ctx context.Context, i int) error {
			_, err := db.Exec(ctx, []string{
				"SELECT howdah.delete('c', 'k'), $1::bigint",
				"SELECT howdah.replace('c', 'k', 'new'), $1::bigint",
				"SELECT howdah.touch('c', 'k', '1 h'), $1::bigint",
				"SELECT howdah.expire('c', 'k', '1 h'), $1::bigint",
				"SELECT howdah.persist('c', 'k'), $1::bigint",
				"SELECT howdah.compare_and_set('c', 'k', $1, 'new')",
			}[i], version)
			return err
		})
		require.Nil(t, one[[]byte](t, db, "SELECT howdah.get('c', 'k')"), "round %d", round)
	}
}

// A write waits for another transaction's and then sees what that one left.
func TestWritesSeeWhatTheyWaitedFor(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, c := range []struct{ first, then, want, left string }{
		{"set('c', 'k', '5')", "increment('c', 'k')::text", "6", "6"},
		{"delete('c', 'k')", "increment('c', 'k')::text", "1", "1"},
		{"set('c', 'k', '5')", "add('c', 'k', '9')::text", "false", "5"},
		{"delete('c', 'k')", "add('c', 'k', '9')::text", "true", "9"},
		{"delete('c', 'k')", "replace('c', 'k', '9')::text", "false", ""},
		{"delete('c', 'k')", "touch('c', 'k')::text", "false", ""},
		{"set('c', 'k', '5')", "get_and_delete_text('c', 'k')", "5", ""},
		{"set('c', 'k', '5')", "delete_many('c', '{k}')::text", "1", ""},
		{"set('c', 'k', '5')", "delete_prefix('c', 'k')::text", "1", ""},
		{"delete('c', 'k')", "delete_many('c', '{k}')::text", "0", ""},
		{"set('c', 'k', '5', '1 microsecond')", "increment('c', 'k')::text", "1", "1"},
	} {
		run(t, db, "SELECT howdah.set('c', 'k', '3')")
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		run(t, tx, "SELECT howdah."+c.first)

		waiter, err := db.Acquire(ctx(t))
		require.NoError(t, err)
		answer := make(chan string, 1)
		go func() {
			var s string
			if err := waiter.QueryRow(context.Background(), "SELECT howdah."+c.then).Scan(&s); err != nil {
				s = err.Error()
			}
			answer <- s
		}()
		pid := waiter.Conn().PgConn().PID()
		require.Eventually(t, func() bool {
			return one[bool](t, db, "SELECT coalesce(wait_event_type, '') = 'Lock' FROM pg_stat_activity WHERE pid = $1", pid)
		}, time.Minute, time.Millisecond, "%s must wait for %s", c.then, c.first)
		require.NoError(t, tx.Commit(ctx(t)))
		require.Equal(t, c.want, <-answer, "%s, then %s", c.first, c.then)
		waiter.Release()
		require.Equal(t, c.left, one[string](t, db, "SELECT coalesce(howdah.get_text('c', 'k'), '')"), "%s, then %s", c.first, c.then)
	}
}

// A write of one version that waits for another transaction leaves alone what that one
// has changed, removed, or made to expire, and takes effect where it was undone.
func TestReplaceVersionBehindALock(t *testing.T) {
	t.Parallel()
	db := open(t)
	for first, want := range map[string]string{
		"set('c', 'k', '5')":                   "5",
		"delete('c', 'k')":                     "",
		"expire('c', 'k', '1 microsecond')":    "",
		"touch('c', 'k', '1 h')":               "9", // which changes nothing of the value
		"set('c', 'k', '5'), pg_backend_pid()": "9", // is rolled back
	} {
		version := one[int64](t, db, "SELECT howdah.set('c', 'k', '3')")
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		run(t, tx, "SELECT howdah."+first)
		answer := make(chan int64, 1)
		go func() {
			tag, err := db.Exec(context.Background(), schema.Statement("replace_version", schema.Table{Name: table(t, db, "c")}),
				[]int64{one[int64](t, db, "SELECT howdah.key_hash('k')")}, [][]byte{[]byte("k")}, [][]byte{[]byte("9")}, []int64{version}, []int32{0})
			if err != nil {
				t.Error(first, err)
			}
			answer <- tag.RowsAffected()
		}()
		awaitBlocked(t, db, one[int32](t, tx, "SELECT pg_backend_pid()"))
		if strings.Contains(first, "pid") {
			require.NoError(t, tx.Rollback(ctx(t)))
		} else {
			require.NoError(t, tx.Commit(ctx(t)))
		}
		stored := int64(0)
		if want == "9" {
			stored = 1
		}
		require.Equal(t, stored, <-answer, first)
		require.Equal(t, want, one[string](t, db, "SELECT coalesce(howdah.get_text('c', 'k'), '')"), first)
	}
}

// The same verbs inside a transaction: commit publishes, rollback undoes.
func TestTransactions(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.set('c', 'k', 'old')")
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "SELECT howdah.set('c', 'k', 'new'), howdah.delete('s', 'x'), howdah.increment('s', 'n')")
	require.Equal(t, "new", one[string](t, tx, "SELECT howdah.get_text('c', 'k')"))
	require.Equal(t, "old", one[string](t, db, "SELECT howdah.get_text('c', 'k')"))
	require.Equal(t, "on", one[string](t, tx, "SHOW synchronous_commit"), "the caller's own writes stay as durable as they were")
	require.NoError(t, tx.Rollback(ctx(t)))
	require.Equal(t, "old", one[string](t, db, "SELECT howdah.get_text('c', 'k')"))
	require.Nil(t, one[[]byte](t, db, "SELECT howdah.get('s', 'n')"))
}

// A round of upkeep holds the table of a cache and then writes its own row.
// Whoever drops the cache meanwhile waits for the round, not it for them.
func TestDropWhileMaintained(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.maintain('c')") // makes the row
	round, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer round.Rollback(ctx(t))
	run(t, round, "LOCK TABLE "+table(t, round, "c")+" IN ROW EXCLUSIVE MODE")

	dropper, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer dropper.Release()
	pid := dropper.Conn().PgConn().PID()
	dropped := make(chan error, 1)
	go func() {
		_, err := dropper.Exec(ctx(t), "SELECT howdah.drop_cache('c')")
		dropped <- err
	}()
	require.Eventually(t, func() bool {
		return one[bool](t, db, "SELECT coalesce(wait_event_type, '') = 'Lock' FROM pg_stat_activity WHERE pid = $1", pid)
	}, time.Minute, time.Millisecond)
	run(t, round, "SET LOCAL lock_timeout = '100ms'")
	run(t, round, "UPDATE howdah.upkeep SET last_round = clock_timestamp() WHERE cache = 'c'")
	require.NoError(t, round.Commit(ctx(t)))
	require.NoError(t, <-dropped)
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah.upkeep WHERE cache = 'c'"))
}
