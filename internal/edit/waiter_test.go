package edit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
)

// waiting is a waiter of a test.
type waiting struct {
	edit.Waiter
	got   *reply
	ended chan error
	dones atomic.Int32
}

// view gives a waiter those of its keys that it is to look at.
type view struct {
	*edit.View
	hidden map[string]bool
}

func (v view) Entry(key []byte) *values.Entry {
	if v.hidden[string(key)] {
		return new(values.Entry)
	}
	return v.View.Entry(key)
}

// wait begins a waiter for one command line.
func wait(c *core.Cache, timeout time.Duration, words ...string) *waiting {
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	cmd := commands[words[0]]
	what, err := cmd.Waits(args)
	if err != nil {
		panic(err)
	}
	w := &waiting{ended: make(chan error, 1)}
	w.Waiter = edit.Waiter{All: c.DB().Waiters(), Keys: what.Keys, Kind: what.Kind, Target: what.Target, Timeout: timeout}
	w.Run = func(v *edit.View, keys [][]byte) bool {
		hidden := map[string]bool{}
		for _, key := range what.Keys {
			hidden[string(key)] = true
		}
		for _, key := range keys {
			delete(hidden, string(key))
		}
		w.got = &reply{}
		call := values.Call{Args: args, Keys: view{v, hidden}, Now: v.Now, Reply: w.got}
		if err := cmd.Run(&call); err != nil {
			w.got.texts = []string{err.Error()}
			return true
		}
		return !call.Nothing
	}
	c.Wait(&w.Waiter, func(*edit.Waiter) {
		if w.dones.Add(1) > 1 {
			panic("a waiter has ended twice")
		}
		w.ended <- w.Err
	})
	return w
}

// inLine waits until n waiters are in line.
func inLine(t *testing.T, c *core.Cache, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return c.DB().Waiters().Count() == n }, time.Minute, time.Millisecond)
}

// texts returns what a waiter was given.
func (w *waiting) texts(t *testing.T) []string {
	t.Helper()
	select {
	case err := <-w.ended:
		require.NoError(t, err)
		return w.got.texts
	case <-time.After(30 * time.Second):
		t.Fatal("a waiter was not served")
		return nil
	}
}

// A push and the pops of those who wait for it are one flight, and one version of the
// row; the key so never has what was taken.
func TestAPushServesInItsFlight(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	var waiters []*waiting
	for i := range 3 {
		waiters = append(waiters, wait(cache, 0, "blpop", "l", "0"))
		inLine(t, cache, i+1)
	}
	before := batches(cache)
	require.Equal(t, []int64{4}, run(t, cache, "rpush", "l", "a", "b", "c", "d").ints, "the length before they took theirs")
	require.Equal(t, before+1, batches(cache))
	for i, want := range []string{"a", "b", "c"} {
		require.Equal(t, []string{"l", want}, waiters[i].texts(t))
	}
	require.Equal(t, []string{"d"}, run(t, cache, "lrange", "l", "0", "-1").texts)
	require.Zero(t, cache.DB().Waiters().Count())
}

// Waiters of another server are served by its announcement, without a look at the keys.
func TestWaitersOfAnotherServer(t *testing.T) {
	t.Parallel()
	first, url := newCache(t)
	second := open(t, url)
	var mu sync.Mutex
	var waits []bool
	first.DB().Waiters().Connect(edit.Others{
		Elsewhere: func() bool { return second.DB().Waiters().Count() > 0 },
		Announce:  func(cache string, hash int64) { go second.DB().Waiters().Ready(cache, hash) },
	})
	second.DB().Waiters().Connect(edit.Others{
		Elsewhere: func() bool { return false },
		Announce:  func(string, int64) { t.Error("the other server has no waiters") },
		Waits: func(any bool) {
			mu.Lock()
			waits = append(waits, any)
			mu.Unlock()
		},
	})
	list, set := wait(second, 0, "blpop", "l", "0"), wait(second, 0, "bzpopmin", "z", "0")
	moved := wait(second, 0, "blmove", "from", "to", "left", "left", "0")
	inLine(t, second, 3)
	run(t, first, "rpush", "l", "a")
	require.Equal(t, []string{"l", "a"}, list.texts(t))
	run(t, first, "zadd", "z", "1", "m")
	require.Equal(t, []string{"z", "m"}, set.texts(t))
	run(t, first, "rpush", "from", "x")
	require.Equal(t, []string{"x"}, moved.texts(t))
	require.Equal(t, []string{"x"}, run(t, first, "lrange", "to", "0", "-1").texts)
	run(t, second, "rpush", "other", "a")
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []bool{true, false}, waits)
}

// What nobody announces is found by the look of each second.
func TestWhatNobodyAnnounces(t *testing.T) {
	t.Parallel()
	first, url := newCache(t)
	second := open(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { _ = second.DB().Run(ctx) })
	defer work.Wait()
	defer cancel()
	var waiters []*waiting
	for i := range 600 { // more than one statement asks for
		waiters = append(waiters, wait(second, 0, "blpop", fmt.Sprint("l", i), "0"))
	}
	inLine(t, second, len(waiters))
	for i := range waiters {
		run(t, first, "rpush", fmt.Sprint("l", i), "a")
	}
	for i, w := range waiters {
		require.Equal(t, []string{fmt.Sprint("l", i), "a"}, w.texts(t))
	}
}

// A waiter for several keys takes from one of them, whatever comes at once.
func TestAWaiterForSeveralKeys(t *testing.T) {
	t.Parallel()
	cache, url := newCache(t)
	other := open(t, url)
	for round := range 100 {
		w := wait(cache, 0, "blpop", "a", "b", "c", "0")
		inLine(t, cache, 1)
		var work sync.WaitGroup
		for i, key := range []string{"a", "b", "c"} {
			work.Go(func() {
				run(t, []*core.Cache{cache, cache, other}[i], "rpush", key, "x")
				cache.DB().Waiters().Look()
			})
		}
		work.Wait()
		taken := w.texts(t)[0]
		for _, key := range []string{"a", "b", "c"} {
			want := int64(1)
			if key == taken {
				want = 0
			}
			require.Equal(t, []int64{want}, run(t, cache, "llen", key).ints, "round %d: %s, taken from %s", round, key, taken)
			run(t, cache, "lpop", key)
		}
	}
}

// Who was served by a run that was not stored is served again, by the run that is.
func TestServedByTheRunThatIsStored(t *testing.T) {
	t.Parallel()
	cache, url := newCache(t)
	other := open(t, url)
	w := wait(cache, 0, "blpop", "l", "0")
	inLine(t, cache, 1)
	e, _ := command("rpush", "l", "mine", "more")
	runs, function := 0, e.Run
	e.Slow = true
	e.Run = func(v *edit.View) {
		if runs++; runs == 1 {
			run(t, other, "rpush", "l", "theirs") // after the load, so that the commit fails
		}
		function(v)
	}
	require.NoError(t, cache.Edit(t.Context(), e))
	require.Equal(t, 2, runs)
	require.Equal(t, []string{"l", "theirs"}, w.texts(t))
	require.Equal(t, []string{"mine", "more"}, run(t, cache, "lrange", "l", "0", "-1").texts)
}

// A waiter keeps its place if what served it fails: nothing is lost.
func TestServedByAnEditThatFails(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	first := wait(cache, 0, "blpop", "l", "0")
	inLine(t, cache, 1)
	second := wait(cache, 0, "brpop", "l", "0")
	inLine(t, cache, 2)
	e, _ := command("rpush", "l", "a", strings.Repeat("x", fault.MaxCollectionBytes), "b", "c")
	require.ErrorIs(t, cache.Edit(t.Context(), e), fault.ErrLargeCollection)
	e, _ = command("rpush", "l", "lost")
	function := e.Run
	e.Run = func(v *edit.View) {
		function(v)
		v.Undo(errors.New("undone"))
	}
	require.EqualError(t, cache.Edit(t.Context(), e), "undone")
	require.Equal(t, 2, cache.DB().Waiters().Count())
	run(t, cache, "rpush", "l", "d", "e")
	require.Equal(t, []string{"l", "d"}, first.texts(t))
	require.Equal(t, []string{"l", "e"}, second.texts(t))
}

// If what a waiter moves does not fit into its target, it fails, and not the push.
func TestATargetThatIsFull(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	run(t, cache, "rpush", "to", strings.Repeat("x", fault.MaxCollectionBytes-100))
	moves := wait(cache, 0, "blmove", "from", "to", "left", "left", "0")
	inLine(t, cache, 1)
	pops := wait(cache, 0, "brpop", "from", "0")
	inLine(t, cache, 2)
	run(t, cache, "rpush", "from", strings.Repeat("y", 200), "z")
	require.ErrorIs(t, <-moves.ended, fault.ErrLargeCollection)
	require.Equal(t, []string{"from", "z"}, pops.texts(t))
	require.Equal(t, []int64{1}, run(t, cache, "llen", "from").ints)
	require.Equal(t, []int64{1}, run(t, cache, "llen", "to").ints)
}

// In a transaction of the caller's who waits is served by ServeIn, and answered, or not,
// when that has ended.
func TestServedInATransaction(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	w := wait(cache, 0, "blpop", "l", "0")
	inLine(t, cache, 1)
	failure := errors.New("rolled back")
	for _, result := range []error{failure, nil} {
		var served *edit.Served
		err := cache.DB().Transact(t.Context(), core.TxOptions{}, func(ctx context.Context, tx core.Tx) (err error) {
			served.Settle(failure)
			e, _ := command("rpush", "l", "a", "b")
			if err := cache.With(tx).Edit(ctx, e); err != nil {
				return err
			}
			if served, err = cache.With(tx).ServeIn(ctx, [][]byte{[]byte("l")}); err != nil {
				return err
			}
			return result
		})
		require.ErrorIs(t, err, result)
		require.NotNil(t, served)
		require.Equal(t, 1, cache.DB().Waiters().Count())
		served.Settle(err)
	}
	require.Equal(t, []string{"l", "a"}, w.texts(t))
	require.Equal(t, []string{"b"}, run(t, cache, "lrange", "l", "0", "-1").texts)
}

// If nobody knows whether a transaction was committed, who it served ends.
func TestAnUnknownOutcomeEndsWhoWasServed(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	w, stays := wait(cache, 0, "blpop", "l", "0"), wait(cache, 0, "blpop", "other", "0")
	inLine(t, cache, 2)
	var served *edit.Served
	err := cache.DB().Transact(t.Context(), core.TxOptions{}, func(ctx context.Context, tx core.Tx) (err error) {
		e, _ := command("rpush", "l", "a")
		if err := cache.With(tx).Edit(ctx, e); err != nil {
			return err
		}
		served, err = cache.With(tx).ServeIn(ctx, [][]byte{[]byte("l"), []byte("other")})
		return err
	})
	require.NoError(t, err)
	served.Settle(fault.ErrUnknownOutcome)
	require.ErrorIs(t, <-w.ended, fault.ErrUnknownOutcome)
	require.Equal(t, 1, cache.DB().Waiters().Count())
	run(t, cache, "rpush", "other", "b")
	require.Equal(t, []string{"other", "b"}, stays.texts(t))
}

// Ten thousand waiters cost no goroutine, no connection and, between the looks of each
// second, no statement.
func TestTenThousandWaiters(t *testing.T) {
	cache, _ := newCache(t)
	run(t, cache, "rpush", "warm", "a")
	before := runtime.NumGoroutine()
	const n = 10_000
	waiters := make([]*waiting, n)
	for i := range waiters {
		waiters[i] = wait(cache, time.Hour, "blpop", fmt.Sprint("l", i%1000), "0")
		if i%1000 == 999 {
			inLine(t, cache, i+1)
		}
	}
	require.Eventually(t, func() bool {
		return runtime.NumGoroutine() <= before+5 && cache.DB().Pool().Stat().AcquiredConns() == 0
	}, time.Minute, 10*time.Millisecond)
	started := batches(cache)
	run(t, cache, "rpush", "other", "a")
	require.Equal(t, started+1, batches(cache))
	started = batches(cache)
	cache.DB().Waiters().Look()
	require.Eventually(t, func() bool { return batches(cache) > started }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, batches(cache)-started, uint64(4), "256 keys for each statement")
	for i := range 1000 {
		elements := []string{"rpush", fmt.Sprint("l", i)}
		for range n / 1000 {
			elements = append(elements, "x")
		}
		run(t, cache, elements...)
	}
	for _, w := range waiters {
		require.Equal(t, "x", w.texts(t)[1])
	}
}

// A look does not load what the waiters for a key do not take.
func TestALookAtAnotherKind(t *testing.T) {
	t.Parallel()
	cache, url := newCache(t)
	wait(cache, 0, "blpop", "k", "0")
	inLine(t, cache, 1)
	w := wait(cache, 0, "bzpopmin", "z", "0")
	inLine(t, cache, 2)
	other := open(t, url)
	run(t, other, "zadd", "k", "1", "m")
	run(t, other, "zadd", "z", "1", "m")
	before := batches(cache)
	cache.DB().Waiters().Look()
	require.Equal(t, []string{"z", "m"}, w.texts(t))
	require.Equal(t, before+2, batches(cache), "one statement asks for the kinds, and one serves from z")
	require.Equal(t, 1, cache.DB().Waiters().Count())
}

// A transaction says under which keys it has left something, and a waiter that begins
// before its commit is served after it.
func TestWhatATransactionLeaves(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	var w *waiting
	var left [][]byte
	err := cache.DB().Transact(t.Context(), core.TxOptions{}, func(ctx context.Context, tx core.Tx) error {
		e := &edit.Edit{Keys: [][]byte{[]byte("a"), []byte("b"), []byte("s")}, Run: func(v *edit.View) {
			for _, line := range [][]string{{"rpush", "gone", "x"}, {"rpush", "b", "x"}, {"rpush", "a", "x"}, {"set", "s", "x"}, {"lpop", "gone"}} {
				args := [][]byte{[]byte(line[0]), []byte(line[1]), []byte(strings.Join(line[2:], ""))}[:len(line)]
				call := values.Call{Args: args, Keys: v, Now: v.Now, Reply: &reply{}, MaxString: v.MaxString}
				require.NoError(t, commands[line[0]].Run(&call))
				v.Wrote(args[1])
			}
		}}
		if err := cache.With(tx).Edit(ctx, e); err != nil {
			return err
		}
		if left = e.Left; w == nil {
			w = wait(cache, 0, "blpop", "a", "0")
			inLine(t, cache, 1)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("b"), []byte("a")}, left)
	cache.DB().Waiters().Came("c", []byte("a"))
	require.Equal(t, []string{"a", "x"}, w.texts(t))
}
