package howdah_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// counted is a load that counts its calls.
type counted struct {
	calls atomic.Int32
	value []byte
	err   error
}

func (l *counted) load(context.Context) ([]byte, error) {
	l.calls.Add(1)
	return l.value, l.err
}

var noOptions howdah.FetchOptions

// statements returns how many statements of each verb a cache has sent.
func statements(db *howdah.DB, cache string) map[string]uint64 {
	sent := map[string]uint64{}
	for _, c := range db.Stats().Caches {
		if c.Name == cache {
			sent["batches"] = c.Batches
			for _, v := range c.Verbs {
				sent[v.Verb] = v.Calls
			}
		}
	}
	return sent
}

// A miss that loads is two statements, a hit is one, and many keys share theirs.
func TestFetchStatements(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	l := &counted{value: []byte("v")}
	for want := range 2 {
		got, err := cache.Fetch(t.Context(), "k", time.Hour, l.load, noOptions)
		require.NoError(t, err)
		require.Equal(t, "v", string(got))
		require.Equal(t, map[string]uint64{"batches": uint64(2 + want), "claim": uint64(1 + want), "fulfil": 1}, statements(db, "db0"))
	}
	require.EqualValues(t, 1, l.calls.Load())

	before := statements(db, "db0")["batches"]
	keys, loaded := []string{"k", "l", "m", "l"}, map[string][]byte{"l": []byte("L")}
	want := map[string][]byte{"k": []byte("v"), "l": []byte("L")}
	for i := range 100 {
		key := fmt.Sprintf("n%02d", i)
		keys, loaded[key], want[key] = append(keys, key), []byte(key), []byte(key)
	}
	found, err := cache.FetchMany(t.Context(), keys, time.Hour, func(_ context.Context, missing []string) (map[string][]byte, error) {
		require.Equal(t, append([]string{"l", "m"}, keys[4:]...), missing)
		return loaded, nil
	}, noOptions)
	require.NoError(t, err)
	require.Equal(t, want, found)
	sent := statements(db, "db0")
	require.EqualValues(t, 1, sent["release"], "of the key without a value")
	// Three, unless a statement leaves while the calls are still being made.
	require.Less(t, sent["batches"]-before, uint64(10))
	ttl, err := cache.TTL(t.Context(), "l")
	require.NoError(t, err)
	require.InDelta(t, time.Hour, ttl, float64(time.Minute))
}

// That there is no value is remembered only if that is asked for.
func TestFetchAbsent(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	l := &counted{err: howdah.ErrMiss}
	for want := range int32(2) {
		_, err := cache.Fetch(t.Context(), "k", time.Hour, l.load, noOptions)
		require.ErrorIs(t, err, howdah.ErrMiss)
		require.Equal(t, want+1, l.calls.Load())
	}
	for range 2 {
		_, err := cache.Fetch(t.Context(), "k", time.Hour, l.load, howdah.FetchOptions{Absent: time.Hour})
		require.ErrorIs(t, err, howdah.ErrMiss)
		require.EqualValues(t, 3, l.calls.Load())
	}
	_, err := cache.Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
	require.NoError(t, cache.Delete(t.Context(), "k"))
	l.value, l.err = []byte("v"), nil
	got, err := cache.Fetch(t.Context(), "k", time.Hour, l.load, noOptions)
	require.NoError(t, err)
	require.Equal(t, "v", string(got), "a delete ends what is known")
}

// That there is no value is made from what the tags name, as a value is.
func TestFetchAbsentWithTags(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	o := howdah.FetchOptions{Absent: time.Hour, Tags: []string{"articles"}}
	o.Lease, o.Timeout = time.Hour, time.Minute // the lease of a load that was voided is not waited for
	l := &counted{err: howdah.ErrMiss}
	for range 2 {
		_, err := cache.Fetch(t.Context(), "known", time.Hour, l.load, o)
		require.ErrorIs(t, err, howdah.ErrMiss)
	}
	require.EqualValues(t, 1, l.calls.Load())
	_, err := cache.Fetch(t.Context(), "loading", time.Hour, func(ctx context.Context) ([]byte, error) {
		_, err := cache.InvalidateTag(ctx, "articles") // after the load has looked
		require.NoError(t, err)
		return l.load(ctx)
	}, o)
	require.ErrorIs(t, err, howdah.ErrMiss)
	l.value, l.err = []byte("v"), nil
	for _, key := range []string{"known", "loading"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got, err := cache.Fetch(ctx, key, time.Hour, l.load, o)
		cancel()
		require.NoError(t, err, key)
		require.Equal(t, "v", string(got), key)
	}
}

// A load that panics, one that fails and one that is late are errors, and leave no
// lease behind.
func TestFetchFails(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	broken := errors.New("broken")
	release := make(chan struct{})
	defer close(release)
	for what, c := range map[string]struct {
		load    func(context.Context) ([]byte, error)
		timeout time.Duration
		want    error
	}{
		"panic": {func(context.Context) ([]byte, error) { panic(broken) }, 0, broken},
		"error": {func(context.Context) ([]byte, error) { return nil, broken }, 0, broken},
		"late":  {func(context.Context) ([]byte, error) { <-release; return []byte("late"), nil }, 20 * time.Millisecond, howdah.ErrTimeout},
	} {
		_, err := cache.Fetch(t.Context(), "k", time.Hour, c.load, howdah.FetchOptions{Timeout: c.timeout})
		require.ErrorIs(t, err, c.want, what)
		if what == "panic" {
			require.ErrorContains(t, err, "fetch_test.go", "the stack")
		}
		_, err = cache.Get(t.Context(), "k")
		require.ErrorIs(t, err, howdah.ErrMiss, what)
		got, err := cache.Fetch(t.Context(), "k", time.Hour, (&counted{value: []byte(what)}).load, howdah.FetchOptions{Lease: time.Hour})
		require.NoError(t, err, "no lease is left")
		require.Equal(t, what, string(got))
		require.NoError(t, cache.Delete(t.Context(), "k"))
	}
}

// The largest value is stored, one that is larger is only returned.
func TestFetchLargeValue(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	for _, c := range []struct {
		bytes, loads int
	}{{howdah.DefaultMaxValueBytes, 1}, {howdah.DefaultMaxValueBytes + 1, 2}} {
		l := &counted{value: bytes.Repeat([]byte("x"), c.bytes)}
		for range 2 {
			got, err := cache.Fetch(t.Context(), "k", time.Hour, l.load, noOptions)
			require.NoError(t, err)
			require.True(t, bytes.Equal(l.value, got))
		}
		require.EqualValues(t, c.loads, l.calls.Load())
		require.NoError(t, cache.Delete(t.Context(), "k"))
	}
	require.EqualValues(t, 2, fetchStats(db, "db0").Unstored)
}

func fetchStats(db *howdah.DB, cache string) howdah.FetchStats {
	for _, c := range db.Stats().Caches {
		if c.Name == cache {
			return c.Fetch
		}
	}
	return howdah.FetchStats{}
}

// A full cache returns what is loaded, and stores nothing.
func TestFetchFullCache(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: "small", MaxEntries: 10, Eviction: howdah.NoEviction}))
	cache := db.Cache("small")
	for i := range 20 {
		_ = cache.Set(t.Context(), string(rune('a'+i)), []byte("v"), 0)
	}
	dbtest.Eventually(t, "the cache is full", func() bool {
		_, err := db.Maintain(t.Context(), howdah.MaintainOptions{}) // a round ends when its time is up
		require.NoError(t, err)
		return errors.Is(cache.Set(t.Context(), "another", nil, 0), howdah.ErrCacheFull)
	})
	l := &counted{value: []byte("v")}
	for range 2 {
		got, err := cache.Fetch(t.Context(), "new", time.Hour, l.load, noOptions)
		require.NoError(t, err)
		require.Equal(t, "v", string(got))
	}
	require.EqualValues(t, 2, l.calls.Load())
}

// While the database is away, values are loaded and not stored. One load at a time
// is enough for all who wait.
func TestFetchWithoutDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	db := dbtest.Open(t, server.NewURL(), &howdah.Options{Timeout: 200 * time.Millisecond})
	cache := db.Cache("db0")
	l := &counted{value: []byte("v")}
	_, err := cache.Fetch(t.Context(), "before", time.Hour, l.load, noOptions)
	require.NoError(t, err)
	server.Stop("immediate")
	const callers = 20
	shared := func(ctx context.Context) ([]byte, error) {
		await.Until(ctx, func() bool { return fetchStats(db, "db0").Shared >= callers-1 })
		return l.load(ctx)
	}
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			got, err := cache.Fetch(t.Context(), "k", time.Hour, shared, noOptions)
			if err != nil || string(got) != "v" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, l.calls.Load(), int32(1+2), "those who came while one ran share the next")
	server.Start()
	dbtest.Eventually(t, "values are stored again", func() bool {
		_, err := cache.Fetch(t.Context(), "k", time.Hour, l.load, noOptions)
		require.NoError(t, err)
		_, err = cache.Get(t.Context(), "k")
		return err == nil
	})
}

// Wrong arguments are errors of one sentence.
func TestFetchBadInput(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	l := &counted{value: []byte("v")}
	fetch := func(c *howdah.Cache, key string, ttl time.Duration, o howdah.FetchOptions) error {
		_, err := c.Fetch(t.Context(), key, ttl, l.load, o)
		return err
	}
	for _, o := range []howdah.FetchOptions{{Stale: -1}, {StaleIfError: -1}, {Lease: -1}, {Timeout: -1}, {Absent: -1}} {
		require.ErrorIs(t, fetch(cache, "k", 0, o), howdah.ErrInvalidTTL)
	}
	require.ErrorIs(t, fetch(cache, "k", -1, noOptions), howdah.ErrInvalidTTL)
	require.ErrorIs(t, fetch(cache, string(make([]byte, howdah.MaxKeyBytes+1)), 0, noOptions), howdah.ErrKeyTooLong)
	require.ErrorIs(t, fetch(db.Cache("nowhere"), "k", 0, noOptions), howdah.ErrCacheNotFound)
	require.ErrorIs(t, fetch(db.Cache("No Name"), "k", 0, noOptions), howdah.ErrInvalidName)
	require.NoError(t, pgx.BeginFunc(t.Context(), db.Pool(), func(tx pgx.Tx) error {
		require.ErrorContains(t, fetch(cache.With(tx), "k", 0, noOptions), "transaction")
		return nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cache.Fetch(ctx, "k", 0, l.load, noOptions)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, db.Close())
	require.ErrorIs(t, fetch(cache, "k", 0, noOptions), howdah.ErrClosed)
	require.ErrorIs(t, fetch(db.Cache("db0"), "k", 0, noOptions), howdah.ErrClosed)
}

// The upkeep removes neither a lease nor a value that may still be served.
func TestFetchStaleBesideUpkeep(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	o := howdah.FetchOptions{StaleIfError: time.Hour, Early: -1}
	_, err := cache.Fetch(t.Context(), "k", time.Millisecond, (&counted{value: []byte("v")}).load, o)
	require.NoError(t, err)
	dbtest.Eventually(t, "the value has expired", func() bool {
		_, err := cache.Get(t.Context(), "k")
		return errors.Is(err, howdah.ErrMiss)
	})
	broken := &counted{err: errors.New("broken")}
	for range 3 {
		_, err = db.Maintain(t.Context(), howdah.MaintainOptions{})
		require.NoError(t, err)
		got, err := cache.Fetch(t.Context(), "k", time.Hour, broken.load, o)
		require.NoError(t, err)
		require.Equal(t, "v", string(got))
	}
	require.EqualValues(t, 3, broken.calls.Load())
	_, err = cache.Fetch(t.Context(), "k", time.Hour, broken.load, noOptions)
	require.Equal(t, broken.err, err)
	_, err = cache.Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrMiss, "others do not see it")
}

// While the origin is down, an expired value is served for as long as asked, by the
// database's clock; then come errors.
func TestFetchOriginDown(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	now := func() (at time.Time) {
		require.NoError(t, db.Pool().QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&at))
		return at
	}
	const ttl, stale = 200 * time.Millisecond, 3 * time.Second
	o := howdah.FetchOptions{StaleIfError: stale, Early: -1}
	before := now()
	_, err := cache.Fetch(t.Context(), "k", ttl, (&counted{value: []byte("v")}).load, o)
	require.NoError(t, err)
	after := now()
	down := &counted{err: errors.New("the origin is down")}
	for err == nil {
		began := now()
		var got []byte
		if got, err = cache.Fetch(t.Context(), "k", ttl, down.load, o); err == nil {
			require.Equal(t, "v", string(got))
			require.Less(t, began.Sub(after), ttl+stale, "it was served for too long")
		}
	}
	require.Equal(t, down.err, err)
	require.GreaterOrEqual(t, now().Sub(before), ttl+stale, "it was not served for long enough")
	require.NotZero(t, fetchStats(db, "db0").Stale)
	require.NotZero(t, fetchStats(db, "db0").LoadErrors)
}

// A value of a type of the application's own comes back as it was, by each codec.
func TestTyped(t *testing.T) {
	t.Parallel()
	type article struct {
		Title string
		Tags  []string
	}
	db := dbtest.Open(t, pgtest.New(t), nil)
	want := article{"A title", []string{"a", "b"}}
	for name, codec := range map[string]howdah.Codec[article]{"json": howdah.JSON[article]{}, "gob": howdah.Gob[article]{}} {
		articles := howdah.NewTyped(db.Cache("db0"), codec)
		for range 2 {
			got, err := articles.Fetch(t.Context(), name, time.Hour, func(context.Context) (article, error) { return want, nil }, noOptions)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		found, err := articles.FetchMany(t.Context(), []string{name, name + "2", name + "3"}, time.Hour, func(_ context.Context, missing []string) (map[string]article, error) {
			require.Equal(t, []string{name + "2", name + "3"}, missing)
			return map[string]article{name + "2": want}, nil
		}, noOptions)
		require.NoError(t, err)
		require.Equal(t, map[string]article{name: want, name + "2": want}, found)
		require.NoError(t, articles.Set(t.Context(), name, article{}, 0))
		got, err := articles.Get(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, article{}, got)
		require.NoError(t, articles.Cache().Set(t.Context(), name, []byte("broken"), 0))
		_, err = articles.Get(t.Context(), name)
		require.ErrorContains(t, err, "cannot be decoded")
	}
	broken := howdah.NewTyped(db.Cache("db0"), howdah.JSON[func()]{})
	_, err := broken.Fetch(t.Context(), "f", 0, func(context.Context) (func(), error) { return func() {}, nil }, noOptions)
	require.ErrorContains(t, err, "cannot be encoded")
	_, err = articles(db).Fetch(t.Context(), "none", 0, func(context.Context) (string, error) { return "", howdah.ErrMiss }, noOptions)
	require.ErrorIs(t, err, howdah.ErrMiss)
}

func articles(db *howdah.DB) *howdah.Typed[string] {
	return howdah.NewTyped(db.Cache("db0"), howdah.JSON[string]{})
}

// A Fetch that finds its value in memory sends nothing, and sees this process's own
// changes.
func TestFetchFromMemory(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenNear(t, pgtest.New(t))
	cache := db.Cache("near")
	l := &counted{value: []byte("v")}
	_, err := cache.Fetch(t.Context(), "k", time.Hour, l.load, noOptions)
	require.NoError(t, err)
	dbtest.Eventually(t, "a claim is answered from memory", func() bool {
		hits, claims := dbtest.Memory(db).Hits, statements(db, "near")["claim"]
		got, err := cache.Fetch(t.Context(), "k", time.Hour, l.load, noOptions)
		require.NoError(t, err)
		require.Equal(t, "v", string(got))
		got[0] = 'X'
		return dbtest.Memory(db).Hits > hits && statements(db, "near")["claim"] == claims
	})
	require.EqualValues(t, 1, l.calls.Load())
	require.NoError(t, cache.Delete(t.Context(), "k"))
	l.value = []byte("w")
	got, err := cache.Fetch(t.Context(), "k", time.Hour, l.load, noOptions)
	require.NoError(t, err)
	require.Equal(t, "w", string(got))
}
