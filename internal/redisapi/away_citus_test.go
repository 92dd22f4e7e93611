//go:build citus

package redisapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// scanning is a SCAN that a client makes, step by step.
type scanning struct {
	t      *testing.T
	c      *testClient
	cursor string
	found  []string
}

// step asks for the next page. ok is false if that failed, with the error in reply.
func (s *scanning) step() (reply string, ok bool) {
	s.t.Helper()
	reply = s.c.do("SCAN", s.cursor, "COUNT", "7")
	if strings.HasPrefix(reply, "-") {
		return reply, false
	}
	page := elements(reply)
	s.cursor = unbulk(page[0])
	for _, key := range elements(page[1]) {
		s.found = append(s.found, unbulk(key))
	}
	return "", true
}

// While a server is away, looks at all keys say which one, and a SCAN that has begun goes on
// when it is back: it misses no key that was there all the time.
func TestAwayOnCitus(t *testing.T) {
	t.Parallel()
	cluster := pgtest.StartCitus(t, 2)
	cluster.Divide(citusDivision)
	url := cluster.Coordinator().URL()
	s := serveURL(t, url, Options{})
	if err := s.db.CreateCache(t.Context(), howdah.CacheConfig{Name: "db1", Durability: howdah.Sync}); err != nil {
		t.Fatal(err)
	}
	c := dial(t, s.addr())
	c.want(resp.OK, "SELECT", "1") // its entries outlive a crash
	var keys []string
	for i := range 100 {
		key := fmt.Sprint("key", i)
		keys = append(keys, key)
		c.want(resp.OK, "SET", key, "v")
	}
	slices.Sort(keys)
	for _, node := range cluster.Nodes()[1:] {
		host, port := pgtest.Address(node)
		says := fmt.Sprintf("-LOADING Howdah cannot reach PostgreSQL at %s:%d (one of several servers), try again\r\n", host, port)
		walk := &scanning{t: t, c: c, cursor: "0"}
		walk.step()
		node.Stop("immediate")
		for _, args := range [][]string{{"DBSIZE"}, {"KEYS", "*"}, append([]string{"MGET"}, keys...), append([]string{"EXISTS"}, keys...)} {
			c.want(says, args...)
		}
		reply, ok := "", true
		for ok && walk.cursor != "0" {
			reply, ok = walk.step()
		}
		if reply != says {
			t.Errorf("SCAN: %q", reply)
		}
		node.Start()
		for begun := false; !begun || walk.cursor != "0"; begun = true {
			waitFor(t, "SCAN goes on", func() bool { _, ok := walk.step(); return ok })
		}
		slices.Sort(walk.found)
		if found := slices.Compact(walk.found); !slices.Equal(found, keys) {
			t.Errorf("SCAN found %d keys of %d", len(found), len(keys))
		}
		waitFor(t, "all keys are counted", func() bool { return c.do("DBSIZE") == fmt.Sprintf(":%d\r\n", len(keys)) })
	}
}
