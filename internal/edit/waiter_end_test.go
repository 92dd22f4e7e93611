package edit_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/values"
)

// Timeouts end waiters in their order, by one timer; Leave and Close end the others.
func TestHowWaitersEnd(t *testing.T) {
	t.Parallel()
	cache, url := newCache(t)
	run(t, cache, "llen", "l") // the connection and the settings are there
	var order []time.Duration
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, ms := range []time.Duration{2900, 2000, 2600, 3200, 2300} {
		work.Add(1)
		w := &edit.Waiter{All: cache.DB().Waiters(), Keys: [][]byte{[]byte("l")}, Kind: values.KindList, Timeout: ms * time.Millisecond,
			Run: func(*edit.View, [][]byte) bool { return false }}
		cache.Wait(w, func(w *edit.Waiter) {
			mu.Lock()
			if w.Err == edit.ErrNothingCame {
				order = append(order, ms)
			}
			mu.Unlock()
			work.Done()
		})
	}
	inLine(t, cache, 5) // before the first one ends: the one that came first had a flight of its own
	work.Wait()
	require.Equal(t, []time.Duration{2000, 2300, 2600, 2900, 3200}, order)

	why := errors.New("why")
	w := wait(cache, time.Hour, "blpop", "l", "0")
	inLine(t, cache, 1)
	require.Equal(t, 1, cache.DB().Waiters().Timed())
	require.True(t, w.Leave(why, edit.IfInLine))
	require.Equal(t, why, <-w.ended)
	require.False(t, w.Leave(why, edit.IfInLine))
	require.Zero(t, cache.DB().Waiters().Timed())

	db, err := core.Open(t.Context(), url, core.Options{Timeout: patience})
	require.NoError(t, err)
	w = wait(db.Cache("c"), time.Hour, "blpop", "l", "m", "0")
	inLine(t, db.Cache("c"), 1)
	require.NoError(t, db.Close())
	require.ErrorIs(t, <-w.ended, fault.ErrClosed)
}

// A waiter that leaves while others push is served, or it leaves; nothing is lost.
func TestLeavingBesidePushes(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	why := errors.New("left")
	taken := 0
	const rounds = 200
	for range rounds {
		w := wait(cache, 0, "blpop", "l", "0")
		var work sync.WaitGroup
		work.Go(func() { run(t, cache, "rpush", "l", "x") })
		work.Go(func() { w.Leave(why, edit.IfItWaits) })
		work.Wait()
		if err := <-w.ended; err == nil {
			taken++
		} else {
			require.Equal(t, why, err)
		}
	}
	require.Equal(t, int64(rounds-taken), run(t, cache, "llen", "l").ints[0])
	t.Logf("%d of %d were served", taken, rounds)
}

// Of many waiters that begin at once where there is too little time, each ends with an
// error or is in line, and never both.
func TestWaitersThatBeginTooLate(t *testing.T) {
	t.Parallel()
	first, url := newCache(t)
	const timeout = 300 * time.Millisecond
	db, err := core.Open(t.Context(), url, core.Options{Timeout: timeout, LockTimeout: timeout})
	require.NoError(t, err)
	defer db.Close()
	cache := db.Cache("c")
	var all []*waiting
	quiet := func() (ended int) {
		for _, w := range all {
			ended += int(w.dones.Load())
		}
		return ended
	}
	begin := func() {
		for range 500 {
			all = append(all, wait(cache, 0, "blpop", fmt.Sprint("l", len(all)%500), "0"))
		}
	}
	hold := "SET LOCAL lock_timeout = 0; LOCK TABLE " + pgtest.Table(t, first.DB().Pool(), "c")
	for range 5 {
		// The first ones are held up until they are late. Others begin meanwhile.
		before := quiet()
		require.NoError(t, pgx.BeginFunc(t.Context(), first.DB().Pool(), func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), hold)
			begin()
			require.Eventually(t, func() bool { return quiet() > before }, 2*time.Minute, time.Millisecond)
			begin()
			return err
		}))
		require.Eventually(t, func() bool { return quiet()+db.Waiters().Count() == len(all) }, 2*time.Minute, 10*time.Millisecond)
	}
	t.Logf("%d in line, %d were late", db.Waiters().Count(), quiet())
	for i := range 500 {
		run(t, first, append([]string{"rpush", fmt.Sprint("l", i)}, slices.Repeat([]string{"x"}, 10)...)...)
	}
	require.Eventually(t, func() bool { db.Waiters().Look(); return quiet() == len(all) }, 2*time.Minute, 50*time.Millisecond)
	served, unknown, left := 0, 0, int64(0)
	for _, w := range all {
		switch err := <-w.ended; {
		case err == nil:
			served++
		case errors.Is(err, fault.ErrUnknownOutcome): // it has too little time for the commit as well
			unknown++
		}
	}
	for i := range 500 {
		left += run(t, first, "llen", fmt.Sprint("l", i)).ints[0]
	}
	t.Logf("%d served, %d do not know it, %d elements left", served, unknown, left)
	require.LessOrEqual(t, served+int(left), 5000, "something was given out twice")
	require.GreaterOrEqual(t, served+unknown+int(left), 5000, "something was lost")
}

// A timeout beyond the range of the clock does not keep those of others from ending.
func TestTheLongestTimeout(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	long := wait(cache, math.MaxInt64, "blpop", "l", "0")
	inLine(t, cache, 1)
	require.ErrorIs(t, <-wait(cache, time.Millisecond, "blpop", "l", "0").ended, edit.ErrNothingCame)
	run(t, cache, "rpush", "l", "a")
	require.Equal(t, []string{"l", "a"}, long.texts(t))
}

// A waiter that is in line while the edits of its group go on can leave: what they bring is
// not for it.
func TestLeavingBeforeTheGroupHasEnded(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	var work sync.WaitGroup
	start := func(words ...string) (runs, goOn chan struct{}) {
		runs, goOn = make(chan struct{}), make(chan struct{})
		e, _ := command(words...)
		function := e.Run
		e.Slow = true
		e.Run = func(v *edit.View) {
			runs <- struct{}{}
			<-goOn
			function(v)
		}
		work.Add(1)
		cache.StartEdit(e, func(e *edit.Edit) {
			require.NoError(t, e.Err)
			work.Done()
		})
		return runs, goOn
	}
	runs, goOn := start("llen", "l") // has the key while the next two gather
	<-runs
	why := errors.New("why")
	w := wait(cache, 0, "blpop", "l", "0")
	pushes, push := start("rpush", "l", "x")
	close(goOn)
	<-pushes
	require.True(t, w.IsInLine())
	require.True(t, w.Leave(why, edit.IfInLine))
	require.False(t, w.Leave(errors.New("another"), edit.IfInLine))
	close(push)
	work.Wait()
	require.Equal(t, why, <-w.ended)
	require.Equal(t, []int64{1}, run(t, cache, "llen", "l").ints)
}
