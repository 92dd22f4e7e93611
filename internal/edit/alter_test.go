package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// batches is how many flights the calls of the cache have taken so far.
func batches(c *core.Cache) (n uint64) {
	for _, stats := range c.DB().Stats().Caches {
		n += stats.Batches
	}
	return n
}

// A quick edit of one key takes one flight, and runs once, whether it makes an entry,
// changes or removes one, or finds nothing to do.
func TestAQuickEditIsOneFlight(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	run(t, cache, "sadd", "s", "first")
	for _, words := range [][]string{
		{"hset", "h", "f", "1"}, {"hset", "h", "f", "2"}, {"hsetnx", "h", "f", "3"}, {"hincrby", "h", "f", "5"},
		{"hdel", "h", "f"}, {"hset", "s", "f", "wrong type"}, {"sadd", "s", "first"}, {"sadd", "s", "second"},
	} {
		e, _ := command(words...)
		runs, function := 0, e.Run
		e.Run = func(v *edit.View) { runs++; function(v) }
		before := batches(cache)
		require.NoError(t, cache.Edit(t.Context(), e))
		require.Equal(t, before+1, batches(cache), words)
		require.Equal(t, 1, runs, words)
	}
	require.Equal(t, []string{"first", "second"}, run(t, cache, "smembers", "s").texts)
	require.Equal(t, []string{"-"}, run(t, cache, "hget", "h", "f").texts)
}

// What is large, or slow, is loaded and stored by flights of its own.
func TestALargeEditIsTwoFlights(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	large := strings.Repeat("x", 5000)
	before := batches(cache)
	run(t, cache, "hset", "h", "f", large) // its value is large
	require.Equal(t, before+2, batches(cache))
	run(t, cache, "hset", "h", "f", "small") // what it loads is
	require.Equal(t, before+4, batches(cache))
	e, _ := command("hset", "h", "f", "slow")
	e.Slow = true
	require.NoError(t, cache.Edit(t.Context(), e))
	require.Equal(t, before+6, batches(cache))
	run(t, cache, "hset", "h", "f", "quick")
	require.Equal(t, before+7, batches(cache))
	require.Equal(t, []string{"quick"}, run(t, cache, "hget", "h", "f").texts)
}

// A function that takes too long for the flight of its load runs again on a goroutine of
// its own, also where an edit before it in its group has failed.
func TestASlowFunctionLeavesTheFlight(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	runs, ends := make(chan struct{}), make(chan struct{})
	blocker, _ := command("hset", "h", "f", "0")
	set := blocker.Run
	blocker.Slow = true
	blocker.Run = func(v *edit.View) { close(runs); <-ends; set(v) }
	done := make(chan *edit.Edit, 3)
	start := func(e *edit.Edit) { cache.StartEdit(e, func(e *edit.Edit) { done <- e }) }
	start(blocker)
	<-runs // the others wait for it, and are one group

	refused := errors.New("refused")
	fails, _ := command("hset", "h", "f", "never")
	fails.Run = func(v *edit.View) { v.Undo(refused) }
	slow, _ := command("hincrby", "h", "f", "5")
	add, quick := slow.Run, 0
	slow.Run = func(v *edit.View) {
		if v.Quick {
			quick++
			v.Undo(edit.ErrSlow)
			return
		}
		add(v)
	}
	start(fails)
	start(slow)
	close(ends)
	for range 3 {
		switch e := <-done; e {
		case fails:
			require.Equal(t, refused, e.Err)
		default:
			require.NoError(t, e.Err)
		}
	}
	require.Equal(t, 1, quick)
	require.Equal(t, []string{"5"}, run(t, cache, "hget", "h", "f").texts)
}

// An edit that meets a connection that has died asks another: it has not stored anything.
func TestAnEditOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	cache, url := newCache(t)
	run(t, cache, "hset", "h", "f", "1")
	super, err := pgx.Connect(t.Context(), pgtest.SuperURL(url))
	require.NoError(t, err)
	defer super.Close(t.Context())
	var ended int
	require.NoError(t, super.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid, 10000))
		FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&ended))
	require.NotZero(t, ended)
	require.Equal(t, []int64{6}, run(t, cache, "hincrby", "h", "f", "5").ints)
}
