package redisapi

import (
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// TestExpired waits until keys have expired and runs commands on them.
func TestExpired(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	expire := func(key string) {
		t.Helper()
		c.want(resp.OK, "SET", key, "v", "PX", "30")
		waitFor(t, "the key to expire", func() bool { return c.do("GET", key) == "$-1\r\n" })
	}
	expire("k")
	c.want(resp.Zero, "EXISTS", "k")
	c.want(":-2\r\n", "TTL", "k")
	c.want(":-2\r\n", "PEXPIRETIME", "k")
	c.want("*1\r\n$-1\r\n", "MGET", "k")
	c.want(resp.Zero, "STRLEN", "k")
	c.want("+none\r\n", "TYPE", "k")
	c.want(resp.EmptyArray, "KEYS", "*")
	c.want("*2\r\n$1\r\n0\r\n*0\r\n", "SCAN", "0")
	c.want(resp.Zero, "DBSIZE")
	c.want("$-1\r\n", "RANDOMKEY")
	c.want("-ERR no such key\r\n", "RENAME", "k", "x")
	c.want(resp.Zero, "COPY", "k", "x")
	c.want(resp.Zero, "EXPIRE", "k", "100")
	c.want(resp.Zero, "PERSIST", "k")
	c.want(resp.Zero, "DEL", "k")
	for _, test := range []struct {
		reply string
		args  []string
		then  string // the value after it
	}{
		{"$-1\r\n", []string{"SET", "k", "w", "XX"}, "$-1\r\n"},
		{resp.OK, []string{"SET", "k", "w", "NX"}, bulk("w")},
		{"$-1\r\n", []string{"SET", "k", "w", "GET"}, bulk("w")},
		{"$-1\r\n", []string{"GETSET", "k", "w"}, bulk("w")},
		{resp.OK, []string{"SET", "k", "w", "KEEPTTL"}, bulk("w")},
		{resp.One, []string{"SETNX", "k", "w"}, bulk("w")},
		{resp.One, []string{"MSETNX", "k", "w"}, bulk("w")},
		{resp.One, []string{"INCR", "k"}, bulk("1")},
		{bulk("1.5"), []string{"INCRBYFLOAT", "k", "1.5"}, bulk("1.5")},
		{resp.One, []string{"APPEND", "k", "w"}, bulk("w")},
		{":2\r\n", []string{"SETRANGE", "k", "1", "w"}, bulk("\x00w")},
		{"$-1\r\n", []string{"GETDEL", "k"}, "$-1\r\n"},
		{"$-1\r\n", []string{"GETEX", "k", "EX", "100"}, "$-1\r\n"},
	} {
		expire("k")
		c.want(test.reply, test.args...)
		c.want(test.then, "GET", "k")
		if test.then != "$-1\r\n" {
			c.want(":-1\r\n", "TTL", "k") // the old expiry is not inherited
		}
	}
}

// TestWatchedKeyExpires checks that a key which expires after WATCH counts as
// changed, and a key which had expired before WATCH does not.
func TestWatchedKeyExpires(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	watchBeforeItExpires(c, "k", func() {})
	waitFor(t, "the key to expire", func() bool { return other.do("EXISTS", "k") == resp.Zero })
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "PING")
	c.want("*-1\r\n", "EXEC")
	c.want(resp.OK, "WATCH", "k")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "PING")
	c.want("*1\r\n+PONG\r\n", "EXEC")
}
