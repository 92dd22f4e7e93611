package redisapi

import (
	"context"
	"testing"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
)

// A full cache refuses writes that need space with Redis's OOM error, and no other
// command. INFO counts what upkeep removed.
func TestFullCache(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	ctx := context.Background()
	c.want(resp.OK, "SELECT", "1")
	c.want(resp.OK, "SET", "k", "1", "PX", "1")
	if err := s.db.AlterCache(ctx, howdah.CacheConfig{Name: "db1", MaxEntries: 10, Eviction: "noeviction"}, howdah.AlterOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"} {
		c.want(resp.OK, "SET", key, "1")
	}
	c.want(resp.OK, "SET", "soon", "1", "PX", "1")
	stop, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.db.Run(stop) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	const full = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
	await.True(t, "a write is refused", func() bool { return c.do("SET", "a", "2") == full })
	for _, command := range [][]string{
		{"SET", "new", "1"}, {"SETNX", "new", "1"}, {"MSET", "new", "1"}, {"MSETNX", "new", "1"}, {"SETEX", "new", "9", "1"},
		{"GETSET", "a", "2"}, {"INCR", "b"}, {"INCRBYFLOAT", "b", "1"}, {"APPEND", "a", "2"}, {"SETRANGE", "a", "0", "2"}, {"COPY", "a", "z"},
	} {
		c.want(full, command...)
	}
	c.want(bulk("1"), "GET", "b")
	c.want(":1\r\n", "EXPIRE", "b", "100")
	c.want(":2\r\n", "DEL", "b", "c")
	await.True(t, "there is room again", func() bool { return c.do("SET", "a", "2") == resp.OK })
	await.True(t, "INFO counts what expired", func() bool { return infoFields(t, c.do("INFO", "stats"))["expired_keys"] == "1" })

	if err := s.db.AlterCache(ctx, howdah.CacheConfig{Name: "db1", MaxEntries: 5}, howdah.AlterOptions{}); err != nil {
		t.Fatal(err)
	}
	await.True(t, "INFO counts what was evicted", func() bool { return infoFields(t, c.do("INFO", "stats"))["evicted_keys"] > "0" })
}
