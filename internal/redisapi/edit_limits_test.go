package redisapi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A full cache takes what makes it no larger, also where several keys are involved.
func TestFullCacheShrinks(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	c.want(resp.OK, "SELECT", "1")
	c.want(":3\r\n", "RPUSH", "la", "1", "2", "3")
	for _, key := range strings.Fields("a b c d e f g h i j k") {
		c.want(resp.OK, "SET", key, "1")
	}
	require.NoError(t, s.db.AlterCache(t.Context(), howdah.CacheConfig{Name: "db1", MaxEntries: 10, Eviction: "noeviction"}, howdah.AlterOptions{}))
	stop, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.db.Run(stop) }()
	t.Cleanup(func() { cancel(); <-done })
	require.Eventually(t, func() bool { return strings.HasPrefix(c.do("SET", "new", "1"), "-OOM") }, time.Minute, 5*time.Millisecond)
	c.want("*2\r\n$2\r\nla\r\n*1\r\n$1\r\n1\r\n", "LMPOP", "2", "la", "lb", "LEFT")
	c.want(bulk("2"), "EVAL", "redis.call('del','a') return redis.call('lpop','la')", "0")
	c.want("$-1\r\n", "GET", "a")
	require.Contains(t, c.do("EVAL", "return redis.call('sadd','s','1')", "0"), "OOM command not allowed")
	require.Contains(t, c.do("SADD", "s", "1"), "OOM command not allowed")
}

// What takes the place of a removed value lives as long as a new one.
func TestNewLifeHasTheDefaultTTL(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	c.want(resp.OK, "SELECT", "1")
	require.NoError(t, s.db.AlterCache(t.Context(), howdah.CacheConfig{Name: "db1", DefaultTTL: time.Hour}, howdah.AlterOptions{}))
	require.Eventually(t, func() bool {
		c.do("DEL", "l")
		c.want(":1\r\n", "RPUSH", "l", "1")
		return sameLife(":3600\r\n", c.do("TTL", "l"), 5)
	}, time.Minute, 20*time.Millisecond)
	c.want(":1\r\n", "EVAL", "redis.call('del',KEYS[1]) return redis.call('rpush',KEYS[1],'2')", "1", "l")
	c.wantLife(3600, "l")
	c.send(append(append(resp.AppendCommand(nil, "LPOP", "l"), resp.AppendCommand(nil, "LPOP", "l")...), resp.AppendCommand(nil, "RPUSH", "l", "3")...))
	require.Equal(t, []string{bulk("2"), "$-1\r\n", ":1\r\n"}, []string{c.reply(), c.reply(), c.reply()})
	c.wantLife(3600, "l")
	c.want(":1\r\n", "PERSIST", "l")
	c.want(":1\r\n", "EVAL", "redis.call('expire',KEYS[1],100) return redis.call('persist',KEYS[1])", "1", "l")
	c.want(":-1\r\n", "TTL", "l")
}

// A script inside MULTI may ask for any number of keys.
func TestScriptInMultiAsksForKeys(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "EVAL", "for i=1,15 do redis.call('incr','k'..i) end return redis.call('get','k15')", "0")
	c.want("*1\r\n"+bulk("1"), "EXEC")
}

// Where some of the changes that wait together are too large, those fail, and the
// others do not.
func TestLargeChangesFailAlone(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	large := strings.Repeat("v", 600<<10)
	c.want(":1\r\n", "HSET", "h", "first", large)
	var data []byte
	const n = 20
	for range n {
		data = resp.AppendCommand(data, "HINCRBY", "h", "n", "1")
		data = resp.AppendCommand(data, "HSET", "h", "second", large)
	}
	c.send(data)
	for i := range n {
		require.Equal(t, string(resp.AppendInt(nil, int64(i+1))), c.reply())
		require.Contains(t, c.reply(), "collection is larger than")
	}
	c.want(":2\r\n", "HLEN", "h")
}

// A read behind an edit is not answered with what memory got from the edit's own load.
func TestMemoryBehindAScript(t *testing.T) {
	t.Parallel()
	s := serveWith(t, pgtest.New(t), howdah.Options{Near: howdah.NearOptions{Bound: 5 * time.Second}}, Options{})
	require.NoError(t, s.db.AlterCache(t.Context(), howdah.CacheConfig{Name: "db0", Near: true}, howdah.AlterOptions{Only: []string{"near"}}))
	stop, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.db.Run(stop) }()
	t.Cleanup(func() { cancel(); <-done })
	c := dial(t, s.addr())
	require.Eventually(t, func() bool { c.do("GET", "warm"); return s.db.Stats().Near.Hits > 0 }, time.Minute, 5*time.Millisecond)
	const slow = "for i = 1, 2000000 do end redis.call('set', KEYS[1], ARGV[1]) return 1"
	c.want(":1\r\n", "EVAL", slow, "1", "k", "first") // it declares its keys
	for _, value := range []string{"a", "b", "c"} {
		data := resp.AppendCommand(nil, "SET", "k", "old"+value)
		data = resp.AppendCommand(data, "EVAL", slow, "1", "k", value)
		c.send(data)
		require.Equal(t, resp.OK, c.reply())
		c.send(resp.AppendCommand(nil, "GET", "k"))
		require.Equal(t, ":1\r\n", c.reply())
		require.Equal(t, bulk(value), c.reply())
	}
}
