package core

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

func openDB(t *testing.T, databaseURL string) *DB {
	t.Helper()
	db, err := Open(t.Context(), databaseURL, Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// eventually is require.Eventually on the goroutine of the test: the condition may end it.
func eventually(t testing.TB, holds func() bool, what ...any) {
	t.Helper()
	if !await.Until(context.Background(), holds) {
		require.Fail(t, "this never came", what...)
	}
}

// openRecalling opens a database with the cache "n" in memory, which polls seldom, and
// waits until an entry is served from there.
func openRecalling(t testing.TB) (db *DB, recalled func(key string) bool) {
	t.Helper()
	ctx := t.Context()
	db, err := Open(ctx, pgtest.New(t), Options{Timeout: 20 * time.Second, Near: NearOptions{Bound: 10 * time.Second}})
	require.NoError(t, err)
	require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: "n", Near: true}))
	run, stop := context.WithCancel(ctx)
	var upkeep sync.WaitGroup
	upkeep.Go(func() { _ = db.Run(run) })
	t.Cleanup(func() { stop(); upkeep.Wait(); require.NoError(t, db.Close()) })
	recalled = func(key string) bool {
		get := &verb.Call{Verb: statement.Get, Key: []byte(key)}
		require.NoError(t, db.Cache("n").Do(ctx, get))
		return get.Recalled
	}
	eventually(t, func() bool { return recalled("nothing") })
	return db, recalled
}

// The invalidation of a tag ends in memory what has the tag, and leaves the rest: at
// once in its own process, also what was evicted a moment ago.
func TestInvalidatedTagInMemory(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, recalled := openRecalling(t)
	cache := db.Cache("n")
	fill := func() {
		require.NoError(t, cache.Do(ctx,
			&verb.Call{Verb: statement.Set, Key: []byte("tagged"), Value: []byte("v"), Tags: []string{"x"}},
			&verb.Call{Verb: statement.Set, Key: []byte("evicted"), Value: []byte("v"), Tags: []string{"x"}},
			&verb.Call{Verb: statement.Set, Key: []byte("other"), Value: []byte("v")}))
		for _, key := range []string{"tagged", "evicted", "other"} {
			eventually(t, func() bool { return recalled(key) }, key)
		}
	}
	polls := func() uint64 { return db.follower.Stats().Polls }
	for here := false; !here; {
		fill()
		before := polls()
		_, err := db.Pool().Exec(ctx, "DO $$ DECLARE s howdah_internal.cache := howdah_internal._settings('n', ''); BEGIN "+
			"EXECUTE format('DELETE FROM howdah_internal.cache_%s WHERE hash = howdah.key_hash_text(''evicted'')', s.id); "+
			"EXECUTE format('DELETE FROM howdah_internal.tag_%s WHERE hash = howdah.key_hash_text(''evicted'')', s.id); "+
			"PERFORM howdah_internal._log(s, ARRAY[howdah.key_hash_text('evicted')]); END $$")
		require.NoError(t, err)
		here = recalled("evicted")
		require.True(t, here || polls() > before, "there was no poll")
	}
	removed, err := cache.InvalidateTags(ctx, []string{"x"})
	require.NoError(t, err)
	require.EqualValues(t, 1, removed)
	require.False(t, recalled("tagged"))
	require.False(t, recalled("evicted"))
	require.True(t, recalled("other"))

	for other := true; other; {
		fill()
		before := polls()
		require.NoError(t, pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
			_, err := cache.With(tx).InvalidateTags(ctx, []string{"x"})
			return err
		}))
		require.False(t, recalled("tagged"))
		other = recalled("other")
		require.True(t, !other || polls() > before, "until a poll has seen the commit")
	}
	removed, err = cache.InvalidateTags(ctx, nil) // polls
	require.NoError(t, err)
	require.Zero(t, removed)
	require.True(t, recalled("nothing"))
}

func number(t *testing.T, db *DB, sql string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, db.Pool().QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// A get whose answer is to be kept in memory learns all that the copy needs, also
// when the key is absent, together with gets of others.
func TestNearGets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openDB(t, pgtest.New(t))
	require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: "n", Near: true}))
	cache := db.Cache("n")
	get := func(key string, near bool) *verb.Call {
		return &verb.Call{Verb: statement.Get, Key: []byte(key), Near: near, AnyKind: near}
	}
	start := number(t, db, "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint")
	require.NoError(t, cache.One(ctx, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte("v"), Expiry: verb.Expiry{Kind: verb.In, Value: 3_600_000_000}}))
	require.NoError(t, cache.One(ctx, &verb.Call{Verb: statement.Set, Key: []byte("l"), Value: []byte("w")}))
	_, err := db.Pool().Exec(ctx, "UPDATE "+pgtest.Table(t, db.Pool(), "n")+" SET kind = 7 WHERE key = 'l'")
	require.NoError(t, err)

	for _, calls := range [][]*verb.Call{
		{get("k", true)},
		{get("absent", true)},
		{get("k", true), get("l", true), get("absent", true), get("k", true), get("k", false), get("absent", false)},
	} {
		require.NoError(t, cache.Do(ctx, calls...))
		for _, c := range calls {
			key := string(c.Key)
			require.Equal(t, key != "absent", c.Status == verb.OK, key)
			if !c.Near {
				require.Zero(t, c.ServerStart)
				continue
			}
			require.Equal(t, start, c.ServerStart, key)
			switch key {
			case "k":
				require.Equal(t, "v", string(c.Result.Value))
				require.Equal(t, number(t, db, "SELECT version FROM howdah.get_entry('n', 'k')"), c.Result.Version)
				require.InDelta(t, time.Hour, c.Result.TTL, float64(time.Minute))
				require.False(t, c.Result.ExpiresAt.IsZero())
				require.Zero(t, c.Result.Kind)
			case "l":
				require.Equal(t, "w", string(c.Result.Value))
				require.Equal(t, verb.NoExpiry, c.Result.TTL)
				require.EqualValues(t, 7, c.Result.Kind)
			}
		}
	}
}

// A program that knows the settings of before writes nothing past the log: its
// statements fail, and it makes those of the new state.
func TestProgramsFollowTheChangeLog(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db, other := openDB(t, url), openDB(t, url)
	require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: "n"}))
	set := func(db *DB, key string) {
		t.Helper()
		require.NoError(t, db.Cache("n").One(ctx, &verb.Call{Verb: statement.Set, Key: []byte(key), Value: []byte("v")}))
	}
	noted := func() int64 {
		t.Helper()
		return number(t, db, "SELECT count(*) FROM howdah_internal.change WHERE cache = (SELECT id FROM howdah_internal.cache WHERE name = 'n')")
	}
	set(db, "k")
	set(other, "k")
	require.Zero(t, noted())
	for range 3 {
		require.NoError(t, db.AlterCache(ctx, CacheConfig{Name: "n", Near: true}, AlterOptions{Only: []string{"near"}}))
		set(other, "k")
		require.EqualValues(t, 1, noted())
		set(db, "k")
		require.EqualValues(t, 2, noted())
		require.NoError(t, other.Cache("n").Rename(ctx, "k", "l", false))
		require.EqualValues(t, 4, noted(), "both keys")
		n, err := other.Cache("n").DeletePrefix(ctx, []byte("l"))
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.EqualValues(t, 5, noted())
		require.NoError(t, other.Cache("n").Flush(ctx))
		require.EqualValues(t, 6, noted())

		configs, err := db.Caches(ctx)
		require.NoError(t, err)
		require.True(t, configs[1].Near)
		require.NoError(t, db.AlterCache(ctx, configs[1], AlterOptions{}), "what is the same stays")
		set(other, "k")
		require.EqualValues(t, 7, noted())

		configs[1].Near = false
		require.NoError(t, db.AlterCache(ctx, configs[1], AlterOptions{}))
		set(other, "k")
		set(db, "k")
		require.Zero(t, noted())
	}
	require.Empty(t, schema.Unknown([]string{schema.Near}))
}

// While the change log is turned on and off under load, by programs that hear of it
// late: each write that began after it was on, and ended before it was off, is in it.
func TestTurnTheChangeLogUnderLoad(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db := openDB(t, url)
	require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: "n"}))
	var turn atomic.Int64 // even: the log is off, or it is being turned
	type write struct{ turn, hash int64 }
	var mu sync.Mutex
	var written []write
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 6 {
		program := openDB(t, url)
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Appendf(nil, "%d:%d", w, i)
				before := turn.Load()
				call := &verb.Call{Verb: statement.Set, Key: key, Value: key}
				if i%3 == 1 {
					call.Condition = verb.IfAbsent
				}
				if !assert.NoError(t, program.Cache("n").One(ctx, call)) {
					return
				}
				if turn.Load() == before && before%2 == 1 {
					mu.Lock()
					written = append(written, write{before, program.engines.Hash(key)})
					mu.Unlock()
				}
			}
		})
	}
	ids := map[int64]int32{}
	await := func(n int) {
		require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(written) >= n }, time.Minute, time.Millisecond)
	}
	for round := range 5 {
		require.NoError(t, db.AlterCache(ctx, CacheConfig{Name: "n", Near: true}, AlterOptions{Only: []string{"near"}}))
		ids[turn.Add(1)] = int32(number(t, db, "SELECT id FROM howdah_internal.cache WHERE name = 'n'"))
		await(50 * (round + 1))
		turn.Add(1)
		require.NoError(t, db.AlterCache(ctx, CacheConfig{Name: "n"}, AlterOptions{Only: []string{"near"}}))
	}
	close(stop)
	writers.Wait()
	noted := map[int32]map[int64]bool{}
	rows, err := db.Pool().Query(ctx, "SELECT cache, unnest(hashes) FROM howdah_internal.change WHERE hashes IS NOT NULL")
	require.NoError(t, err)
	var id int32
	var hash int64
	_, err = pgx.ForEachRow(rows, []any{&id, &hash}, func() error {
		if noted[id] == nil {
			noted[id] = map[int64]bool{}
		}
		noted[id][hash] = true
		return nil
	})
	require.NoError(t, err)
	for _, w := range written {
		require.True(t, noted[ids[w.turn]][w.hash], "a write past the log")
	}
	t.Logf("%d writes", len(written))
}
