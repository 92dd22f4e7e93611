package redisapi

import (
	"testing"

	"github.com/howdah/howdah/internal/pgtest"
	"github.com/howdah/howdah/internal/resp"
)

// A key that was absent at WATCH, was created by a client of another server,
// seen by the watching connection, and removed again: EXEC must fail, because
// what its client read is no longer true.
func TestWatchedKeyFoundAndGone(t *testing.T) {
	url := pgtest.New(t)
	watcher, other := dial(t, serveURL(t, url, Options{}).addr()), dial(t, serveURL(t, url, Options{}).addr())
	for _, read := range []struct {
		args  []string
		reply string
	}{
		{[]string{"GET", "k"}, bulk("100")},
		{[]string{"MGET", "a", "k"}, "*2\r\n$-1\r\n" + bulk("100")},
		{[]string{"EXISTS", "k"}, ":1\r\n"},
		{[]string{"TTL", "k"}, ":-1\r\n"},
		{[]string{"SET", "k", "1", "NX"}, "$-1\r\n"},
		{[]string{"COPY", "k", "copy", "REPLACE"}, ":1\r\n"},
	} {
		watcher.want(resp.OK, "WATCH", "k")
		other.want(resp.OK, "SET", "k", "100")
		watcher.want(read.reply, read.args...)
		other.want(":1\r\n", "DEL", "k")
		watcher.want(resp.OK, "MULTI")
		watcher.want(resp.Queued, "SET", "k", "90")
		watcher.want("*-1\r\n", "EXEC")
		watcher.want(":0\r\n", "EXISTS", "k")
	}
}

// The registry of watched keys is empty when no connection watches keys, however
// each stopped watching.
func TestWatchesAreForgotten(t *testing.T) {
	s := serve(t, Options{})
	c := dial(t, s.addr())
	c.want(resp.OK, "SET", "present", "1")
	for name, stop := range map[string]func(c *testClient){
		"UNWATCH": func(c *testClient) { c.want(resp.OK, "UNWATCH") },
		"RESET":   func(c *testClient) { c.want("+RESET\r\n", "RESET") },
		"DISCARD": func(c *testClient) { c.want(resp.OK, "MULTI"); c.want(resp.OK, "DISCARD") },
		"EXEC":    func(c *testClient) { c.want(resp.OK, "MULTI"); c.want("*0\r\n", "EXEC") },
		"EXECABORT": func(c *testClient) {
			c.want(resp.OK, "MULTI")
			c.do("EXEC", "too many")
		},
		"refused": func(c *testClient) {
			c.want(resp.OK, "MULTI")
			c.do("GET")
			c.do("EXEC")
		},
		"closing": func(c *testClient) { c.conn.Close() },
	} {
		c := dial(t, s.addr())
		c.want(resp.OK, "WATCH", "a", "b", "a", "present")
		c.want(resp.OK, "WATCH", "b", "c")
		if got := s.engine.watches.count.Load(); got != 3 {
			t.Errorf("%s: %d absent keys are watched, want 3", name, got)
		}
		stop(c)
		waitFor(t, name+" ends the watch", func() bool { return !s.engine.watches.inUse() })
		if n := len(s.engine.watches.states); n > 0 {
			t.Errorf("%s: %d keys are left in the registry", name, n)
		}
	}
}

// A connection that closes while WATCH runs leaves nothing in the registry.
func TestWatchOfClosedConnection(t *testing.T) {
	s := serve(t, Options{})
	c := s.engine.Connect(Info{}, func() {})
	c.Close()
	if err := watch(&task{conn: c, ctx: t.Context()}, [][]byte{[]byte("WATCH"), []byte("k")}); err != nil {
		t.Fatal(err)
	}
	if s.engine.watches.inUse() {
		t.Error("the key is still watched")
	}
}
