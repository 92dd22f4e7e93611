package edit_test

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// patience is how long a call may take on a busy machine.
const patience = time.Minute

// open connects to a database with a cache c.
func open(t *testing.T, url string) *core.Cache {
	t.Helper()
	db, err := core.Open(t.Context(), url, core.Options{Timeout: patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db.Cache("c")
}

func newCache(t *testing.T) (*core.Cache, string) {
	t.Helper()
	url := pgtest.New(t)
	cache := open(t, url)
	require.NoError(t, cache.DB().CreateCache(t.Context(), core.CacheConfig{Name: "c"}))
	return cache, url
}

// commands are the functions by name.
var commands = func() map[string]*values.Command {
	byName := map[string]*values.Command{}
	for _, cmd := range values.Commands() {
		byName[cmd.Name] = cmd
	}
	return byName
}()

// reply keeps the integers and the strings of a reply.
type reply struct {
	ints  []int64
	texts []string
}

func (r *reply) RESP3() bool    { return false }
func (r *reply) Status(string)  {}
func (r *reply) Int(n int64)    { r.ints = append(r.ints, n) }
func (r *reply) Bulk(s string)  { r.texts = append(r.texts, s) }
func (r *reply) Double(float64) {}
func (r *reply) Null()          { r.texts = append(r.texts, "-") }
func (r *reply) NullArray()     {}
func (r *reply) Array(int)      {}
func (r *reply) Map(int)        {}
func (r *reply) Set(int)        {}

// command makes an edit of one command line of words; get returns its reply.
func command(words ...string) (e *edit.Edit, get func() *reply) {
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	cmd := commands[words[0]]
	var last *reply
	e = &edit.Edit{Keys: cmd.Keys(nil, args), Room: true}
	e.Run = func(v *edit.View) {
		last = &reply{}
		if err := cmd.Run(&values.Call{Args: args, Keys: v, Now: v.Now, Reply: last}); err != nil {
			last.texts = []string{err.Error()}
		}
	}
	return e, func() *reply { return last }
}

func run(t *testing.T, c *core.Cache, words ...string) *reply {
	t.Helper()
	e, get := command(words...)
	require.NoError(t, c.Edit(t.Context(), e), words)
	return get()
}

// Edits of one key from several processes at once: none is lost, and each has a
// result of its own.
func TestEditsOfOneKey(t *testing.T) {
	t.Parallel()
	first, url := newCache(t)
	caches := []*core.Cache{first, open(t, url)}
	const callers, each = 16, 50
	var mu sync.Mutex
	seen := map[int64]bool{}
	var work sync.WaitGroup
	for i := range callers {
		work.Go(func() {
			for range each {
				e, get := command("hincrby", "h", "f", "1")
				if err := caches[i%2].Edit(context.Background(), e); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				n := get().ints[0]
				if seen[n] {
					t.Errorf("%d was answered twice", n)
				}
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	work.Wait()
	require.Equal(t, strconv.Itoa(callers*each), run(t, first, "hget", "h", "f").texts[0])
	require.Len(t, seen, callers*each)
}

// Edits that wait for one key share a load and a commit, in their order, unless
// another call came for the key between them.
func TestEditsJoin(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	const n = 100
	var left sync.WaitGroup
	lengths := make([]func() *reply, n)
	start := func(words ...string) func() *reply {
		e, get := command(words...)
		left.Add(1)
		cache.StartEdit(e, func(e *edit.Edit) {
			if e.Err != nil {
				t.Error(e.Err)
			}
			left.Done()
		})
		return get
	}
	for i := range lengths {
		lengths[i] = start("rpush", "l", strconv.Itoa(i))
	}
	left.Wait()
	for i, get := range lengths {
		require.Equal(t, int64(i+1), get().ints[0])
	}
	require.Less(t, cache.DB().Stats().Caches[0].Batches, uint64(n), "edits that wait together share statements")

	start("rpush", "l", "lost")
	deleted := &verb.Call{Verb: statement.Delete, Key: []byte("l")}
	left.Add(1)
	cache.Start(deleted, func(*verb.Call) { left.Done() })
	last := start("rpush", "l", "kept")
	left.Wait()
	require.Equal(t, int64(1), last().ints[0])
	require.Equal(t, []string{"kept"}, run(t, cache, "lrange", "l", "0", "-1").texts)
}

// A function may ask for keys that its edit has not named.
func TestEditAsksForKeys(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	run(t, cache, "set", "pointer", "target")
	runs := 0
	e := &edit.Edit{Run: func(v *edit.View) {
		runs++
		if !v.Has([]byte("pointer")) {
			return
		}
		target := []byte(v.Entry([]byte("pointer")).Value.(values.String))
		if !v.Has(target) {
			return
		}
		cmd := commands["sadd"]
		_ = cmd.Run(&values.Call{Args: [][]byte{[]byte("sadd"), target, []byte("m")}, Keys: v, Now: v.Now, Reply: &reply{}})
	}}
	require.NoError(t, cache.Edit(t.Context(), e))
	require.Equal(t, 3, runs)
	require.Equal(t, []string{"m"}, run(t, cache, "smembers", "target").texts)
}

// An edit that makes a collection too large fails alone.
func TestLargeCollection(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	var left sync.WaitGroup
	errs := make([]error, 3)
	large := string(bytes.Repeat([]byte("x"), fault.MaxCollectionBytes))
	for i, value := range []string{"a", large, "b"} {
		e, _ := command("rpush", "l", value)
		left.Add(1)
		cache.StartEdit(e, func(e *edit.Edit) { errs[i] = e.Err; left.Done() })
	}
	left.Wait()
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], fault.ErrLargeCollection)
	require.ErrorIs(t, errs[1], fault.ErrValueTooLarge)
	require.NoError(t, errs[2])
	require.Equal(t, []string{"a", "b"}, run(t, cache, "lrange", "l", "0", "-1").texts)
}

// A function that panics fails alone, and its key is free afterwards.
func TestPanic(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	var left sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		e, _ := command("rpush", "l", strconv.Itoa(i))
		if i == 1 {
			e.Run = func(v *edit.View) { v.Entry(e.Keys[0]).Value.(*values.Hash).Len() }
		}
		left.Add(1)
		cache.StartEdit(e, func(e *edit.Edit) { errs[i] = e.Err; left.Done() })
	}
	left.Wait()
	require.NoError(t, errs[0])
	require.ErrorContains(t, errs[1], "internal error")
	require.NoError(t, errs[2])
	require.Equal(t, []string{"0", "2"}, run(t, cache, "lrange", "l", "0", "-1").texts)
}

// An edit in a transaction is a part of it.
func TestEditInTransaction(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	ctx := t.Context()
	tx, err := cache.DB().Pool().Begin(ctx)
	require.NoError(t, err)
	run(t, cache.With(tx), "hset", "h", "f", "1")
	require.Equal(t, "1", run(t, cache.With(tx), "hget", "h", "f").texts[0])
	require.Equal(t, "-", run(t, cache, "hget", "h", "f").texts[0])
	require.NoError(t, tx.Rollback(ctx))
	require.Equal(t, "-", run(t, cache, "hget", "h", "f").texts[0])
}

// A caller that leaves before its edit runs has changed nothing.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	cache, _ := newCache(t)
	runs, ends := make(chan struct{}), make(chan struct{})
	first, _ := command("sadd", "s", "first")
	add := first.Run
	first.Slow = true
	first.Run = func(v *edit.View) { close(runs); <-ends; add(v) }
	done := make(chan error, 1)
	cache.StartEdit(first, func(e *edit.Edit) { done <- e.Err })
	<-runs // no other edit joins it any more

	ctx, cancel := context.WithCancel(t.Context())
	second, _ := command("sadd", "s", "second")
	left := make(chan error, 1)
	go func() { left <- cache.Edit(ctx, second) }()
	cancel()
	err := <-left
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, fault.ErrUnknownOutcome)
	close(ends)
	require.NoError(t, <-done)
	require.Equal(t, []string{"first"}, run(t, cache, "smembers", "s").texts)
}

// The time that a function takes is not that of its edit: one that runs for longer than
// the timeout, and again because an entry has changed or a key was missing, is stored.
func TestSlowFunctionIsStored(t *testing.T) {
	t.Parallel()
	const timeout = 5 * time.Second // what is not the function's must be within it
	other, url := newCache(t)
	db, err := core.Open(t.Context(), url, core.Options{Timeout: timeout})
	require.NoError(t, err)
	defer db.Close()
	run(t, db.Cache("c"), "llen", "k") // the connection and the settings are there
	runs := 0
	e := &edit.Edit{Keys: [][]byte{[]byte("k")}, Slow: true, Room: true}
	e.Run = func(v *edit.View) {
		if runs++; runs < 3 {
			time.Sleep(timeout + 50*time.Millisecond) // what the function does
			run(t, other, "rpush", "k", "other")
		}
		entry, second := v.Entry([]byte("k")), v.Entry([]byte("second")) // which is missing at first
		list, _ := entry.Value.(*values.List)
		if list == nil {
			list = new(values.List)
		}
		list.Push("mine", false)
		entry.Put(list)
		second.Put(list)
	}
	require.NoError(t, db.Cache("c").Edit(t.Context(), e))
	require.Equal(t, 3, runs)
	require.Equal(t, []string{"other", "other", "mine"}, run(t, other, "lrange", "k", "0", "-1").texts)
}

// Edits that wait count towards the bound of the queue with their bytes, together with
// writes.
func TestEditsInAFullQueue(t *testing.T) {
	t.Parallel()
	first, url := newCache(t)
	db, err := core.Open(t.Context(), url, core.Options{MaxQueueBytes: 64 << 10, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	cache, large := db.Cache("c"), bytes.Repeat([]byte("x"), 40<<10)
	_, err = cache.RPush(t.Context(), []byte("l"), [][]byte{large}, 0)
	require.NoError(t, err)

	runs, ends := make(chan struct{}), make(chan struct{})
	blocker := &edit.Edit{Keys: [][]byte{[]byte("l")}, Slow: true, Run: func(*edit.View) { close(runs); <-ends }}
	done := make(chan error, 2)
	cache.StartEdit(blocker, func(e *edit.Edit) { done <- e.Err })
	<-runs
	waits, _ := command("rpush", "l", string(large))
	waits.Bytes = len(large)
	cache.StartEdit(waits, func(e *edit.Edit) { done <- e.Err })
	_, err = cache.RPush(t.Context(), []byte("l"), [][]byte{large}, 0)
	require.ErrorIs(t, err, fault.ErrOverloaded)
	_, err = cache.HEdit(t.Context(), []byte("h"), core.HChange{Set: map[string][]byte{"f": large}})
	require.ErrorIs(t, err, fault.ErrOverloaded)
	set := &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: large}
	require.ErrorIs(t, cache.Do(t.Context(), set), fault.ErrOverloaded)
	_, err = cache.SEdit(t.Context(), []byte("small"), core.SChange{Add: []string{"x"}})
	require.NoError(t, err)
	close(ends)
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	_, err = cache.RPush(t.Context(), []byte("l"), [][]byte{large}, 0)
	require.NoError(t, err, "all bytes are given back")
	require.EqualValues(t, 3, run(t, first, "llen", "l").ints[0])
}
