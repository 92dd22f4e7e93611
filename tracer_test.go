package howdah_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// recorder is a Tracer that keeps what it is told. It follows the calls whose context
// has a name.
type recorder struct {
	mu     sync.Mutex
	calls  map[string]*recordedCall // by name
	shared []*recordedWork
}

type recordedCall struct {
	howdah.TraceCall
	howdah.TraceResult
	ended int
	works []*recordedWork
}

type recordedWork struct {
	howdah.TraceShared
	calls []string
	ended int
	err   error
}

type (
	nameKey struct{}
	callKey struct{}
	workKey struct{}
)

// named is a context whose calls are followed.
func named(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, name)
}

func (r *recorder) StartCall(ctx context.Context, call howdah.TraceCall) context.Context {
	name, ok := ctx.Value(nameKey{}).(string)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[string]*recordedCall{}
	}
	if r.calls[name] != nil {
		name += "/" + call.Operation
	}
	r.calls[name] = &recordedCall{TraceCall: call}
	return context.WithValue(ctx, callKey{}, name)
}

func (r *recorder) EndCall(ctx context.Context, call howdah.TraceCall, result howdah.TraceResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[ctx.Value(callKey{}).(string)]
	c.TraceResult = result
	c.ended++
}

func (r *recorder) StartShared(ctx context.Context, calls iter.Seq[context.Context], work howdah.TraceShared) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &recordedWork{TraceShared: work}
	for call := range calls {
		name, _ := call.Value(callKey{}).(string)
		w.calls = append(w.calls, name)
		if c := r.calls[name]; c != nil {
			c.works = append(c.works, w)
		}
	}
	r.shared = append(r.shared, w)
	return context.WithValue(ctx, workKey{}, w)
}

func (r *recorder) EndShared(ctx context.Context, work howdah.TraceShared, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := ctx.Value(workKey{}).(*recordedWork)
	w.ended++
	w.err = err
}

// call returns a call that has ended once.
func (r *recorder) call(t *testing.T, name string) recordedCall {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Contains(t, r.calls, name)
	require.Equal(t, 1, r.calls[name].ended, name)
	return *r.calls[name]
}

// allEnded awaits the end of all works: their callers are answered before it.
func (r *recorder) allEnded(t *testing.T) {
	t.Helper()
	dbtest.Eventually(t, "the shared works have ended", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return !slices.ContainsFunc(r.shared, func(w *recordedWork) bool { return w.ended != 1 })
	})
}

// traced opens a database with a tracer.
func traced(t *testing.T) (*howdah.DB, *recorder) {
	r := new(recorder)
	return dbtest.Open(t, pgtest.New(t), &howdah.Options{Timeout: dbtest.Timeout, Tracer: r}), r
}

func TestTracerFollowsCalls(t *testing.T) {
	t.Parallel()
	db, r := traced(t)
	c := db.Cache("db0")
	in := func(name string) context.Context { return named(t.Context(), name) }

	_, err := c.Get(in("miss"), "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
	require.NoError(t, c.Set(in("set"), "k", []byte("v"), 0))
	_, err = c.Get(in("hit"), "k")
	require.NoError(t, err)
	_, err = c.GetMany(in("many"), []string{"k", "absent", "none"})
	require.NoError(t, err)
	require.ErrorIs(t, c.Add(in("add"), "k", nil, 0), howdah.ErrNotStored)
	_, err = c.Increment(in("increment"), "k", 1, 0)
	require.ErrorIs(t, err, howdah.ErrNotInteger)
	_, err = c.SAdd(in("edit"), "s", []string{"a"}, 0)
	require.NoError(t, err)
	_, err = c.Get(in("missing"), "k")
	require.NoError(t, err)
	_, err = db.Cache("missing").Get(in("no cache"), "k")
	require.ErrorIs(t, err, howdah.ErrCacheNotFound)
	require.NoError(t, c.Flush(in("flush")))
	_, err = c.DeletePrefix(in("prefix"), "x")
	require.NoError(t, err)

	for name, want := range map[string]struct {
		call         howdah.TraceCall
		hits, misses int
		err          error
		alone        bool // it shares no statement
	}{
		"miss":      {howdah.TraceCall{Operation: "get", Cache: "db0", Keys: 1}, 0, 1, nil, false},
		"set":       {howdah.TraceCall{Operation: "set", Cache: "db0", Keys: 1, Writes: true}, 1, 0, nil, false},
		"hit":       {howdah.TraceCall{Operation: "get", Cache: "db0", Keys: 1}, 1, 0, nil, false},
		"many":      {howdah.TraceCall{Operation: "get_many", Cache: "db0", Keys: 3}, 1, 2, nil, false},
		"add":       {howdah.TraceCall{Operation: "set", Cache: "db0", Keys: 1, Writes: true}, 0, 1, nil, false},
		"increment": {howdah.TraceCall{Operation: "increment", Cache: "db0", Keys: 1, Writes: true}, 0, 1, howdah.ErrNotInteger, false},
		"edit":      {howdah.TraceCall{Operation: "edit", Cache: "db0", Keys: 1, Writes: true}, 0, 0, nil, false},
		"no cache":  {howdah.TraceCall{Operation: "get", Cache: "missing", Keys: 1}, 0, 0, howdah.ErrCacheNotFound, true},
		"flush":     {howdah.TraceCall{Operation: "flush", Cache: "db0", Writes: true}, 0, 0, nil, true},
		"prefix":    {howdah.TraceCall{Operation: "delete_prefix", Cache: "db0", Writes: true}, 0, 0, nil, true},
	} {
		got := r.call(t, name)
		require.Equal(t, want.call, got.TraceCall, name)
		require.Equal(t, [2]int{want.hits, want.misses}, [2]int{got.Hits, got.Misses}, name)
		require.ErrorIs(t, got.Err, want.err, name)
		require.Positive(t, got.Duration, name)
		if want.alone {
			require.Empty(t, got.works, name)
			continue
		}
		require.Len(t, got.works, 1, name)
		require.Equal(t, 1, got.works[0].Calls, name)
		require.Equal(t, []string{"db0"}, got.works[0].Caches, name)
		require.Equal(t, []string{name}, got.works[0].calls, name)
	}
	r.allEnded(t)
}

// A call in a transaction of the application is followed, and shares nothing.
func TestTracerFollowsTransactions(t *testing.T) {
	t.Parallel()
	db, r := traced(t)
	refused := errors.New("refused")
	err := db.Transact(named(t.Context(), "tx"), howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		require.NoError(t, db.Cache("db0").With(tx).Set(ctx, "k", nil, 0))
		return refused
	})
	require.ErrorIs(t, err, refused)
	require.ErrorIs(t, r.call(t, "tx").Err, refused)
	require.NoError(t, r.call(t, "tx/set").Err)
	require.Empty(t, r.shared)
}

// Every call that is followed is named by the statement that it shares; those that are
// not followed are counted.
func TestTracerNamesCallsThatShare(t *testing.T) {
	t.Parallel()
	db, r := traced(t)
	c := db.Cache("db0")
	const callers = 200
	dbtest.Together(callers, func(i int) {
		ctx := t.Context()
		if i%4 > 0 {
			ctx = named(ctx, fmt.Sprint(i))
		}
		if _, err := c.Get(ctx, fmt.Sprint(i/2)); !errors.Is(err, howdah.ErrMiss) {
			t.Error(err)
		}
	})
	r.allEnded(t)
	require.Less(t, len(r.shared), callers*3/4, "no statement was shared")
	require.Len(t, r.calls, callers*3/4)
	for name := range r.calls {
		require.Len(t, r.call(t, name).works, 1, name)
	}
	for _, w := range r.shared {
		require.Equal(t, "get", w.Operation)
		require.NotEmpty(t, w.calls)
		require.LessOrEqual(t, len(w.calls), w.Calls)
		require.LessOrEqual(t, w.Keys, w.Calls)
		require.NoError(t, w.err)
	}
}

// A call that meets a lock shares one statement after another. One whose caller leaves
// ends before them.
func TestTracerFollowsCallsThatWaitForALock(t *testing.T) {
	t.Parallel()
	db, r := traced(t)
	c := db.Cache("db0")
	require.NoError(t, c.Set(t.Context(), "k", nil, 0))
	tx, err := db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	require.NoError(t, c.With(tx).Set(t.Context(), "k", nil, 0))

	ctx, cancel := context.WithCancel(named(t.Context(), "left"))
	var leaves, waits sync.WaitGroup
	leaves.Go(func() {
		if err := c.Set(ctx, "k", nil, 0); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	waits.Go(func() {
		if _, err := c.Increment(named(t.Context(), "waits"), "k", 1, 0); !errors.Is(err, howdah.ErrNotInteger) {
			t.Error(err)
		}
	})
	works := func(name string) int {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.calls[name] == nil {
			return 0
		}
		return len(r.calls[name].works)
	}
	dbtest.Eventually(t, "one is sent again", func() bool { return max(works("left"), works("waits")) > 1 })
	cancel()
	leaves.Wait()
	require.NoError(t, tx.Commit(t.Context()))
	waits.Wait()
	r.allEnded(t)
	require.ErrorIs(t, r.call(t, "left").Err, context.Canceled)
	require.ErrorIs(t, r.call(t, "waits").Err, howdah.ErrNotInteger)
}

// All who wait for a load learn which one it was, whether they came before or while it
// ran, and it runs under a context of the tracer.
func TestTracerFollowsLoads(t *testing.T) {
	t.Parallel()
	db, r := traced(t)
	c := db.Cache("db0")
	const callers = 20
	begun, proceed := make(chan context.Context, 1), make(chan struct{})
	load := func(ctx context.Context) ([]byte, error) {
		begun <- ctx
		<-proceed
		return []byte("v"), nil
	}
	var all sync.WaitGroup
	fetch := func(name string) {
		_, err := c.Fetch(named(t.Context(), name), "k", 0, load, howdah.FetchOptions{})
		if err != nil {
			t.Error(err)
		}
	}
	all.Go(func() { fetch("first") })
	loading := <-begun
	for i := range callers {
		all.Go(func() { fetch(fmt.Sprint(i)) })
	}
	dbtest.Eventually(t, "all have joined", func() bool {
		stats := db.Stats().Caches
		return len(stats) == 1 && stats[0].Fetch.Shared == callers
	})
	close(proceed)
	all.Wait()
	fetch("hit")

	work, ok := loading.Value(workKey{}).(*recordedWork)
	require.True(t, ok, "the load has no context of the tracer")
	require.Equal(t, "first", loading.Value(nameKey{}), "the load has no values of its caller")
	require.Equal(t, []string{"first"}, work.calls)
	require.Equal(t, howdah.TraceShared{Operation: "load", Caches: []string{"db0"}, Calls: 1, Keys: 1}, work.TraceShared)
	r.allEnded(t)
	for _, name := range []string{"first", "0", "1", fmt.Sprint(callers - 1)} {
		call := r.call(t, name)
		require.Equal(t, "fetch", call.Operation)
		require.Equal(t, 1, call.Misses)
		require.NotNil(t, call.Shared, name)
		require.Same(t, work, call.Shared.Value(workKey{}))
	}
	require.Equal(t, 1, r.call(t, "hit").Hits)
	require.Nil(t, r.call(t, "hit").Shared)
}

// Reads that memory answers are not followed.
func TestTracerIsNotToldOfMemory(t *testing.T) {
	t.Parallel()
	r := new(recorder)
	db := dbtest.Open(t, pgtest.New(t), &howdah.Options{Timeout: dbtest.Timeout, Near: howdah.NearOptions{Bound: dbtest.NearBound}, Tracer: r})
	require.NoError(t, db.EnsureCache(t.Context(), howdah.CacheConfig{Name: "near", Near: true}))
	dbtest.Run(t, db)
	c := db.Cache("near")
	require.NoError(t, c.Set(t.Context(), "k", []byte("v"), 0))
	dbtest.Warm(t, c, "k")
	dbtest.Eventually(t, "memory answers", func() bool {
		hits := dbtest.Memory(db).Hits
		r.calls = nil
		_, err := c.Get(named(t.Context(), "hit"), "k")
		require.NoError(t, err)
		return dbtest.Memory(db).Hits == hits+1 && r.calls == nil
	})
}

// A read that fails open is a miss for its caller; the tracer gets the reason.
func TestTracerGetsTheReasonOfFailingOpen(t *testing.T) {
	t.Parallel()
	db, r := traced(t)
	c := db.Cache("db0")
	require.NoError(t, c.Set(t.Context(), "k", nil, 0))
	ctx, cancel := context.WithTimeout(named(t.Context(), "late"), 0)
	defer cancel()
	_, err := c.FailOpen().Get(ctx, "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
	require.ErrorIs(t, r.call(t, "late").Err, howdah.ErrTimeout)
}
