package redisapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/observe"
)

// observed is a server that remembers removals.
func observed(t testing.TB) (*testServer, *observe.Removals) {
	t.Helper()
	s, removals := serve(t, Options{}), observe.NewRemovals(1000)
	(*core.DB)(s.db).Observe(engine.Observed{Removals: removals})
	return s, removals
}

// inShort is a removal in short: its cache, reason, key and command.
func inShort(r observe.Removal) string {
	key := string(r.Key)
	if r.Whole {
		key = fmt.Sprint("*", r.Count)
	}
	return strings.TrimSpace(fmt.Sprint(r.Cache, " ", r.Reason, " ", key, " by ", r.Command, " ", r.Detail))
}

// Every command that ends entries is remembered, and none that ends none.
func TestCommandsThatRemove(t *testing.T) {
	t.Parallel()
	s, removals := observed(t)
	c := dial(t, s.addr())
	for _, step := range []struct{ commands, want string }{
		{"SET k v|GET k|EXPIRE k 100|APPEND k x|PERSIST k|SET k w|GETSET k v|EXISTS k|TOUCH k", ""},
		{"DEL k", "db0 deleted k by del"},
		{"DEL k", ""},
		{"MSET a 1 b 2 c 3|UNLINK a nosuch b", "db0 deleted a by unlink|db0 deleted b by unlink"},
		{"DEL c c", "db0 deleted c by del"},
		{"SET k v|GETDEL k", "db0 deleted k by getdel"},
		{"GETDEL k", ""},
		{"SET k v|EXPIRE k -1", "db0 deleted k by expire"},
		{"EXPIRE k -1", ""},
		{"SET k v|PEXPIREAT k 1000", "db0 deleted k by pexpireat"},
		{"SET k v|GETEX k EXAT 1", "db0 deleted k by getex"},
		{"HSET h a 1 b 2|HDEL h a", ""},
		{"HDEL h b", "db0 deleted h by hdel"},
		{"RPUSH l a b|LPOP l", ""},
		{"RPOP l", "db0 deleted l by rpop"},
		{"SADD s a|SPOP s", "db0 deleted s by spop"},
		{"ZADD z 1 a|ZREMRANGEBYRANK z 0 -1", "db0 deleted z by zremrangebyrank"},
		{"RPUSH l a|BLPOP l 0", "db0 deleted l by blpop"},
		{"SADD s a|SMOVE s s2 a", "db0 deleted s by smove"},
		{"SINTERSTORE s2 nosuch s2", "db0 deleted s2 by sinterstore"},
		{"SET k v|RENAME k k2", "db0 renamed k by rename"},
		{"RENAME k2 k2", ""},
		{"SELECT 1|SELECT 0|MOVE k2 1", "db0 renamed k2 by move"},
		{"SET k v|MULTI|DEL k|DISCARD", ""},
		{"MULTI|DEL k|SET k2 v|GETDEL k2|EXEC", "db0 deleted k by del|db0 deleted k2 by getdel"},
		{"HSET h a 1|MULTI|HDEL h a|EXEC", "db0 deleted h by hdel"},
		{"SET k v|MULTI|RENAME k k3|FLUSHDB|EXEC", "db0 renamed k by rename|db0 flushed *-1 by flushdb"},
		{"SET k v|EVAL return(redis.call('del',KEYS[1])) 1 k", "db0 deleted k by eval"},
		{"SWAPDB 0 1", "db0 swapped *-1 by swap db1|db1 swapped *-1 by swap db0"},
		{"FLUSHDB", "db0 flushed *-1 by flushdb"},
		{"FLUSHALL", "db0 flushed *-1 by flushall|db1 flushed *-1 by flushall"},
		{"HOWDAH.SET k v TAGS 1 red|HOWDAH.INVALIDATE red blue", "db0 invalidated *1 by howdah.invalidate red, blue"},
	} {
		before := len(removals.Recent(observe.Filter{}))
		for command := range strings.SplitSeq(step.commands, "|") {
			if reply := c.do(strings.Fields(command)...); strings.HasPrefix(reply, "-") {
				t.Fatalf("%s: %s", command, reply)
			}
		}
		var got []string
		all := removals.Recent(observe.Filter{})
		for i := len(all) - before - 1; i >= 0; i-- {
			got = append(got, inShort(all[i]))
		}
		require.Equal(t, step.want, strings.Join(got, "|"), step.commands)
	}
}

// A removal is that of the client which it had when the command came.
func TestRemovalsAreOfTheirClients(t *testing.T) {
	t.Parallel()
	s, removals := observed(t)
	c := dial(t, s.addr())
	c.want("+OK\r\n", "MSET", "a", "1", "b", "2", "c", "3")
	last := func() observe.Client { return removals.Recent(observe.Filter{Limit: 1})[0].Client }
	c.do("DEL", "a")
	address := c.conn.LocalAddr().String()
	require.Equal(t, observe.Client{Door: observe.DoorRedis, Address: address}, last())
	c.want("+OK\r\n", "CLIENT", "SETINFO", "LIB-NAME", "redis-py")
	c.want("+OK\r\n", "CLIENT", "SETINFO", "LIB-VER", "5.0.1")
	c.want("+OK\r\n", "CLIENT", "SETNAME", "worker")
	c.do("DEL", "b")
	worker := observe.Client{Door: observe.DoorRedis, Name: "worker", Library: "redis-py", Version: "5.0.1", Address: address}
	require.Equal(t, worker, last())
	c.do("FLUSHDB")
	require.Equal(t, worker, last())
	c.do("SWAPDB", "0", "1")
	require.Equal(t, worker, last())
	c.want("+RESET\r\n", "RESET")
	c.do("SET", "k", "v")
	c.do("DEL", "k")
	require.Equal(t, observe.Client{Door: observe.DoorRedis, Address: address}, last())
	require.Equal(t, "worker", removals.Recent(observe.Filter{Key: []byte("b"), Limit: 4})[3].Name, "what was remembered stays")

	// What the program does itself comes through the library.
	_, err := s.db.Cache("db0").DeletePrefix(t.Context(), "us")
	require.NoError(t, err)
	require.Equal(t, observe.Client{Door: observe.DoorGo}, last())
	require.NoError(t, s.db.Cache("db0").Set(t.Context(), "k", []byte("v"), 0))
	require.NoError(t, s.db.Cache("db0").Delete(t.Context(), "k"))
	got := removals.Recent(observe.Filter{Limit: 1})[0]
	require.Equal(t, "db0 deleted k by delete", inShort(got))
	require.Equal(t, observe.Client{Door: observe.DoorGo}, got.Client)
}

// What a transaction removes is remembered when it has been committed, if this program sees
// that.
func TestRemovalsInTransactions(t *testing.T) {
	t.Parallel()
	s, removals := observed(t)
	cache := s.db.Cache("db0")
	for _, key := range []string{"a", "b", "c"} {
		require.NoError(t, cache.Set(t.Context(), key, []byte("v"), 0))
	}
	undone := errors.New("undone")
	require.ErrorIs(t, s.db.Transact(t.Context(), howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		require.NoError(t, cache.With(tx).Delete(ctx, "a"))
		require.NoError(t, cache.With(tx).Flush(ctx))
		return undone
	}), undone)
	require.Empty(t, removals.Recent(observe.Filter{}))
	require.NoError(t, s.db.Transact(t.Context(), howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		require.NoError(t, cache.With(tx).Delete(ctx, "a"))
		require.Empty(t, removals.Recent(observe.Filter{}))
		return cache.With(tx).Rename(ctx, "b", "b2", howdah.RenameOptions{})
	}))
	require.Equal(t, []string{"db0 renamed b by rename", "db0 deleted a by delete"}, inShorts(removals))

	tx, err := s.db.Pool().Begin(t.Context()) // the application's own, whose end nobody tells
	require.NoError(t, err)
	require.NoError(t, cache.With(tx).Delete(t.Context(), "c"))
	require.NoError(t, tx.Commit(t.Context()))
	require.Len(t, inShorts(removals), 2)
}

func inShorts(removals *observe.Removals) (list []string) {
	for _, r := range removals.Recent(observe.Filter{}) {
		list = append(list, inShort(r))
	}
	return list
}

// Edits of many clients on one key share a commit. The entry was ended by the one whose
// command found the last element.
func TestTheOneWhoTookTheLastElement(t *testing.T) {
	t.Parallel()
	s, removals := observed(t)
	first := dial(t, s.addr())
	const clients, rounds = 8, 10
	var others []*testClient
	for n := range clients {
		c := dial(t, s.addr())
		c.want("+OK\r\n", "CLIENT", "SETNAME", fmt.Sprint("c", n))
		others = append(others, c)
	}
	for range rounds {
		push := []string{"RPUSH", "l"}
		for n := range clients {
			push = append(push, fmt.Sprint(n))
		}
		first.do(push...)
		var last string
		var mu sync.Mutex
		var work sync.WaitGroup
		for n, c := range others {
			work.Go(func() {
				if c.do("LPOP", "l") == bulk(fmt.Sprint(clients-1)) {
					mu.Lock()
					defer mu.Unlock()
					last = fmt.Sprint("c", n)
				}
			})
		}
		work.Wait()
		got := removals.Recent(observe.Filter{Limit: 1})[0]
		require.Equal(t, "db0 deleted l by lpop", inShort(got))
		require.Equal(t, last, got.Name)
	}
	require.Len(t, removals.Recent(observe.Filter{}), rounds)
}

// Upkeep knows how many it removes, not which.
func TestUpkeepIsRemembered(t *testing.T) {
	t.Parallel()
	s, removals := observed(t)
	c := dial(t, s.addr())
	c.want("+OK\r\n", "SET", "k", "v", "PX", "1")
	require.Eventually(t, func() bool { return c.do("GET", "k") == "$-1\r\n" }, patience, time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := s.db.Maintain(t.Context(), howdah.MaintainOptions{})
		require.NoError(t, err)
		return len(removals.Recent(observe.Filter{})) > 0
	}, patience, time.Millisecond)
	got := removals.Recent(observe.Filter{Cache: "db0", Key: []byte("k")})
	require.Len(t, got, 1, "it may have been any key")
	require.Equal(t, "db0 expired *1 by maintain", inShort(got[0]))
	require.Equal(t, observe.DoorUpkeep, got[0].Door)
}

// The reads of clients are counted by prefix, those that memory answers too.
func TestReadsAreCountedByPrefix(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]*Engine{
		"from PostgreSQL": serve(t, Options{}).engine,
		"from memory":     withMemory(t, Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			cache := e.caches[0].Name()
			c := newTestConn(e)
			defer c.Close()
			c.do("MSET user:1 a user:2 b page/1 c plain d")
			if e.memory {
				c.warm(t, "user:1", "user:2", "user:3")
			}
			prefixes := observe.NewPrefixes(1)
			e.options.DB.Observe(engine.Observed{Prefixes: prefixes})
			c.do("HSET hash:1 f v")
			require.Empty(t, prefixes.Top(cache).Prefixes, "writes are no reads")
			hits := e.hits
			if !e.memory {
				hits = func() uint64 { return 0 }
			}
			before := hits()
			for range 10 {
				c.do("GET user:1")
				c.do("GET user:3")
				c.do("GET user:2", "GET user:2")
				c.do("MGET user:1 page/1 page/2 plain")
				c.do("HGET hash:1 f")
				c.do("EXISTS user:1") // asks for no value
			}
			c.do("GETEX page/1 EX 100")
			if e.memory {
				require.GreaterOrEqual(t, hits()-before, uint64(40))
			}
			top := prefixes.Top(cache)
			require.EqualValues(t, 91, top.Reads)
			require.Equal(t, []observe.Prefix{
				{Prefix: "user:", Hits: 40, Misses: 10},
				{Prefix: "page/", Hits: 11, Misses: 10},
				{Prefix: "", Hits: 10},
				{Prefix: "hash:", Hits: 10},
			}, top.Prefixes)
		})
	}
}

func TestUnknownCommandsByLibrary(t *testing.T) {
	t.Parallel()
	e := serve(t, Options{}).engine
	named, plain := newTestConn(e), newTestConn(e)
	defer named.Close()
	defer plain.Close()
	named.do("CLIENT SETINFO LIB-NAME Lettuce")
	named.do("XADD s * f v", "xadd s * f v", "GEOADD k 1 2 m")
	plain.do("XADD s * f v", "CLIENT NOSUCH", "CLIENT NOSUCH", "CLIENT NOSUCH", "CLIENT NOSUCH")
	require.Equal(t, []observe.UnknownCommand{
		{Name: "client|nosuch", Count: 4, Libraries: []observe.LibraryCount{{Count: 4}}},
		{Name: "xadd", Count: 3, Libraries: []observe.LibraryCount{{Library: "Lettuce", Count: 2}, {Count: 1}}},
		{Name: "geoadd", Count: 1, Libraries: []observe.LibraryCount{{Library: "Lettuce", Count: 1}}},
	}, e.UnknownCommands())

	// Clients cannot make it large.
	for i := range 2 * maxUnknownPairs {
		named.do(fmt.Sprint("CLIENT SETINFO LIB-NAME lib", i))
		named.do("XADD s * f v")
	}
	require.LessOrEqual(t, len(e.stats.unknownBy.list()), maxUnknownPairs+1)
	named.do("CLIENT SETINFO LIB-NAME " + strings.Repeat("x", 1000))
	require.Len(t, e.Clients()[0].Library, 128)
	plain.do("CONFIG RESETSTAT")
	require.Empty(t, e.UnknownCommands())
}

func TestLibrariesAreKnownByName(t *testing.T) {
	t.Parallel()
	require.True(t, slices.IsSorted(knownLibraries))
	require.Len(t, knownLibraries, 16)
	for library, want := range map[string]string{
		"redis-py": "redis-py", "redis-py(django-redis_v5)": "redis-py", "Lettuce": "lettuce", "go-redis(,go1.26)": "go-redis",
		"GlidePy": "glide", "SE.Redis": "se.redis", "": "other", "redis": "other", "a\"b": "other",
	} {
		require.Equal(t, want, knownLibrary(library), library)
	}
}
