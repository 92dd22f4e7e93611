//go:build citus

package redisapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

// citusDivision is into how many partitions these tests divide keys.
const citusDivision = 8

// Commands with keys of several servers answer as on one, or say that they cannot.
func TestCommandsOnCitus(t *testing.T) {
	t.Parallel()
	cluster := pgtest.StartCitus(t, 2)
	cluster.Role("app")
	cluster.Divide(citusDivision)
	url := cluster.Coordinator().URL()
	c, other := dial(t, serveURL(t, url, Options{}).addr()), dial(t, serveURL(t, url, Options{}).addr())

	const number = 100
	mset, mget, want := []string{"MSET"}, []string{"MGET"}, fmt.Sprintf("*%d\r\n", number)
	var keys []string
	for i := range number {
		key := fmt.Sprint("key", i)
		keys, mset, mget, want = append(keys, key), append(mset, key, "v"+key), append(mget, key), want+bulk("v"+key)
	}
	c.want(resp.OK, mset...)
	other.want(want, mget...)
	for _, count := range []string{"1", "7", "1000"} {
		var found []string
		for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
			reply := elements(c.do("SCAN", cursor, "COUNT", count))
			cursor = unbulk(reply[0])
			for _, key := range elements(reply[1]) {
				found = append(found, unbulk(key))
			}
		}
		slices.Sort(found)
		if found = slices.Compact(found); len(found) != number {
			t.Errorf("SCAN COUNT %s found %d keys", count, len(found))
		}
	}
	c.want(fmt.Sprintf(":%d\r\n", number), "DBSIZE")
	c.want(fmt.Sprintf(":%d\r\n", number), append([]string{"EXISTS"}, keys...)...)

	for _, args := range [][]string{
		append([]string{"MSETNX"}, mset[1:]...),
		append([]string{"EVAL", "return 1", fmt.Sprint(number)}, keys...), append([]string{"WATCH"}, keys...),
	} {
		if reply := c.do(args...); !strings.HasPrefix(reply, "-CROSSSLOT") && args[0] != "WATCH" {
			t.Errorf("%s: %q", args[0], reply)
		}
	}
	c.want(resp.OK, "UNWATCH")
	c.want(fmt.Sprintf(":%d\r\n", number), append([]string{"DEL"}, keys...)...)
	other.want(":0\r\n", "DBSIZE")

	c.want(bulk("{a}1"), "EVAL", "redis.call('SET', KEYS[1], 'x') redis.call('SET', KEYS[2], 'y') return KEYS[1]", "2", "{a}1", "{a}2")
	other.want("*2\r\n"+bulk("x")+bulk("y"), "MGET", "{a}1", "{a}2")
	c.want(":3\r\n", "EVAL", "return 3", "0")

	// The owner of the schema makes databases by selecting them, on all servers.
	c.want(resp.OK, "SELECT", "3")
	c.want(resp.OK, "MSET", "a", "1", "b", "2", "c", "3")
	other.want(resp.OK, "SELECT", "3")
	other.want("*3\r\n"+bulk("1")+bulk("2")+bulk("3"), "MGET", "a", "b", "c")
	app := dial(t, serveURL(t, pgtest.AsRole(url, "app"), Options{}).addr())
	app.want(resp.OK, "SELECT", "3")
	app.want("-NOPERM database 4 does not exist, and the database role may not create it; run howdah caches create db4 as the owner of the schema\r\n", "SELECT", "4")
}

// serveOnCitus starts a server that follows the change logs of all servers of PostgreSQL.
func serveOnCitus(t *testing.T, cluster *pgtest.Citus) *testServer {
	t.Helper()
	s := serveURL(t, cluster.Coordinator().URL(), Options{})
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { _ = s.db.Run(ctx) })
	t.Cleanup(func() { stop(); run.Wait() })
	return s
}

// What clients of two servers of Howdah do with keys of all servers of PostgreSQL.
func TestFamiliesOnCitus(t *testing.T) {
	t.Parallel()
	const number = 12 // keys: each server of PostgreSQL has some
	cluster := pgtest.StartCitus(t, 2)
	cluster.Divide(citusDivision)
	a, b := serveOnCitus(t, cluster), serveOnCitus(t, cluster)
	if err := a.db.AlterCache(t.Context(), howdah.CacheConfig{Name: "db0", Near: true}, howdah.AlterOptions{}); err != nil {
		t.Fatal(err)
	}
	eachKey := func(t *testing.T, test func(t *testing.T, key string, one, other *testClient)) {
		one, other := dial(t, a.addr()), dial(t, b.addr())
		for i := range number {
			test(t, fmt.Sprintf("{%s %d}", t.Name(), i), one, other)
		}
	}
	t.Run("collections", func(t *testing.T) { eachKey(t, collectionsOnCitus) })
	t.Run("scripts", func(t *testing.T) { eachKey(t, scriptsOnCitus) })
	t.Run("transactions", func(t *testing.T) { eachKey(t, transactionsOnCitus) })
	t.Run("blocked", func(t *testing.T) {
		eachKey(t, func(t *testing.T, key string, one, other *testClient) {
			for _, of := range []*testClient{one, other} { // handed over within a server, and between two
				waits := dial(t, a.addr())
				waits.send(resp.AppendCommand(nil, "BLPOP", key, key+"2", "0"))
				await.True(t, "the client is blocked", func() bool {
					return strings.Contains(one.do("INFO", "clients"), "blocked_clients:1\r\n")
				})
				of.want(":1\r\n", "RPUSH", key+"2", "v")
				if reply := waits.reply(); reply != "*2\r\n"+bulk(key+"2")+bulk("v") {
					t.Errorf("BLPOP: %q", reply)
				}
				of.want(":0\r\n", "LLEN", key+"2")
			}
			one.want("-CROSSSLOT Keys in request don't hash to the same slot\r\n", append([]string{"BLPOP"}, append(otherKeys(), "0")...)...)
		})
	})
	t.Run("messages", func(t *testing.T) {
		subscribed, other := dial(t, a.addr()), dial(t, b.addr())
		for i := range number {
			channel := fmt.Sprint("channel", i)
			subscribed.do("SUBSCRIBE", channel)
			other.do("PUBLISH", channel, "m")
			if reply := subscribed.reply(); reply != "*3\r\n"+bulk("message")+bulk(channel)+bulk("m") {
				t.Errorf("the message is %q", reply)
			}
		}
	})
	t.Run("tracking", func(t *testing.T) {
		c, other := dialTracking(t, a.addr(), "3"), dial(t, b.addr())
		if reply := c.run("CLIENT", "TRACKING", "ON"); reply != resp.OK {
			t.Fatal(reply)
		}
		for i := range number {
			key := fmt.Sprint("tracked", i)
			other.want(resp.OK, "SET", key, "1")
			if reply := c.run("GET", key); reply != bulk("1") {
				t.Fatalf("GET: %q", reply)
			}
			other.want(resp.OK, "SET", key, "2")
			// The logs of the servers may tell of both sets after the GET, and of the second later still.
			for message := c.await(); message != invalidation(key); message = c.await() {
				if !strings.Contains(message, "\r\ntracked") {
					t.Fatalf("the message is %q, and not the invalidation of %q", message, key)
				}
			}
			if reply := c.run("GET", key); reply != bulk("2") {
				t.Errorf("GET after the invalidation: %q", reply)
			}
		}
	})
}

// otherKeys are keys of several partitions.
func otherKeys() (keys []string) {
	for i := range 20 {
		keys = append(keys, fmt.Sprint("other", i))
	}
	return keys
}

// collectionsOnCitus fills collections beyond what is packed small, and reads them elsewhere.
func collectionsOnCitus(t *testing.T, key string, one, other *testClient) {
	const members = 1000
	hash, set, list := []string{"HSET", key + "h"}, []string{"ZADD", key + "z"}, []string{"LPUSH", key + "l"}
	for i := range members {
		hash, set, list = append(hash, fmt.Sprint("f", i), fmt.Sprint(i)), append(set, fmt.Sprint(i), fmt.Sprint("m", i)), append(list, fmt.Sprint(i))
	}
	for _, args := range [][]string{hash, set, list} {
		one.want(fmt.Sprintf(":%d\r\n", members), args...)
	}
	other.want(bulk("777"), "HGET", key+"h", "f777")
	other.want(bulk("777"), "ZSCORE", key+"z", "m777")
	other.want(bulk("222"), "LINDEX", key+"l", "777")
	other.want(":2\r\n", "HDEL", key+"h", "f1", "f2", "nosuch")
	one.want(fmt.Sprintf(":%d\r\n", members-2), "HLEN", key+"h")
	other.want("*2\r\n"+bulk("m0")+bulk("0"), "ZPOPMIN", key+"z")
	one.want(fmt.Sprintf(":%d\r\n", members-1), "ZCARD", key+"z")
	other.want(bulk("0"), "RPOPLPUSH", key+"l", key+"l2")
	one.want("*1\r\n"+bulk("0"), "LRANGE", key+"l2", "0", "-1")
}

// scriptsOnCitus runs a script on keys of one partition, also where it was not loaded.
func scriptsOnCitus(t *testing.T, key string, one, other *testClient) {
	sha := unbulk(one.do("SCRIPT", "LOAD", "redis.call('HINCRBY', KEYS[1], 'n', ARGV[1]) return redis.call('INCRBY', KEYS[2], ARGV[1])"))
	one.want(":5\r\n", "EVALSHA", sha, "2", key+"h", key+"n", "5")
	other.want(":10\r\n", "EVALSHA", sha, "2", key+"h", key+"n", "5")
	one.want(bulk("10"), "HGET", key+"h", "n")
	one.want("-CROSSSLOT Keys in request don't hash to the same slot\r\n", append([]string{"EVALSHA", sha, fmt.Sprint(len(otherKeys()))}, otherKeys()...)...)
}

// transactionsOnCitus runs EXEC on keys of one partition, with WATCH, and is refused others.
func transactionsOnCitus(t *testing.T, key string, one, other *testClient) {
	const queued = "+QUEUED\r\n"
	for _, interferes := range []bool{false, true} {
		one.want(resp.OK, "SET", key, "1")
		one.want(resp.OK, "WATCH", key)
		if interferes {
			other.want(resp.OK, "SET", key, "7")
		}
		one.want(resp.OK, "MULTI")
		one.want(queued, "INCR", key)
		one.want(queued, "RPUSH", key+"list", "v")
		one.want(queued, "RPOP", key+"list")
		if interferes {
			one.want("*-1\r\n", "EXEC")
			other.want(bulk("7"), "GET", key)
		} else {
			one.want("*3\r\n:2\r\n:1\r\n"+bulk("v"), "EXEC")
			other.want(bulk("2"), "GET", key)
		}
	}
	one.want(resp.OK, "MULTI")
	one.want(queued, "SET", key, "no")
	for _, other := range otherKeys() {
		one.want(queued, "SET", other, "no")
	}
	one.want("-CROSSSLOT Keys in request don't hash to the same slot\r\n", "EXEC")
	other.want(bulk("7"), "GET", key)
	other.want(":0\r\n", append([]string{"EXISTS"}, otherKeys()...)...)
	for _, whole := range [][]string{{"DBSIZE"}, {"KEYS", "*"}, {"SCAN", "0"}, {"RANDOMKEY"}, {"FLUSHDB"}} {
		one.want(resp.OK, "MULTI")
		one.want(queued, whole...)
		one.want("-CROSSSLOT Keys in request don't hash to the same slot\r\n", "EXEC")
	}
}

// Commands of one connection on one key keep their order while its partition moves.
func TestOrderOnCitus(t *testing.T) {
	t.Parallel()
	const moves = 10
	cluster := pgtest.StartCitus(t, 2)
	cluster.Divide(citusDivision)
	s := serveURL(t, cluster.Coordinator().URL(), Options{})
	choices := seed.Rand(t)
	const keys = 8
	stop := make(chan struct{})
	done := make(chan string, keys)
	for k := range keys {
		c, key := dial(t, s.addr()), fmt.Sprint("order", k)
		window := 20 + choices.IntN(100)
		go func() { done <- pipelineInOrder(c, key, window, stop) }()
	}
	nodes := cluster.Nodes()[1:]
	for range moves {
		partition := choices.IntN(citusDivision)
		at := slices.Index(nodes, cluster.Holder(partition))
		cluster.Move(partition, nodes[1-at])
	}
	close(stop)
	for range keys {
		if failure := <-done; failure != "" {
			t.Error(failure)
		}
	}
}

// pipelineInOrder sends windows of SET and GET of one key, and says which answer was not
// that of the SET before it.
func pipelineInOrder(c *testClient, key string, window int, stop chan struct{}) string {
	for n := 0; ; n += window {
		select {
		case <-stop:
			return ""
		default:
		}
		var data []byte
		for i := range window {
			data = resp.AppendCommand(data, "SET", key, fmt.Sprint(n+i))
			if i%5 == 4 {
				data = resp.AppendCommand(data, "GET", key)
			}
		}
		c.send(data)
		for i := range window {
			if reply := c.reply(); reply != resp.OK {
				return fmt.Sprintf("SET %s %d: %q", key, n+i, reply)
			}
			if i%5 == 4 {
				if reply := c.reply(); reply != bulk(fmt.Sprint(n+i)) {
					return fmt.Sprintf("GET %s after %d: %q", key, n+i, reply)
				}
			}
		}
		if reply := c.do("GET", key); reply != bulk(fmt.Sprint(n+window-1)) {
			return fmt.Sprintf("GET %s at last, after %d: %q", key, n+window-1, reply)
		}
	}
}
