//go:build peers

package redisapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// TestFunctionDumpExchange moves libraries from redis-server and back, under every
// policy, and compares the replies and what is there afterwards.
func TestFunctionDumpExchange(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	long := libraryOf("long", "long", "return '"+strings.Repeat("long text ", 3000)+"'")
	sets := [][]string{
		{},
		{libraryOf("a", "a", "return 1")},
		{libraryOf("a", "a", "return 2"), libraryOf("b", "b", "return 2"), long},
		{libraryOf("c", "A", "return 3")},
		{libraryOf("b", "a", "return 4"), libraryOf("d", "d", "return 4")},
	}
	for i, before := range sets {
		for j, after := range sets {
			for _, policy := range []string{"", "append", "FLUSH", "Replace"} {
				var states, dumps [2]string
				for k, c := range []*testClient{redis, howdah} {
					fill(c, after)
					dumps[k] = bulkOf(c.do("FUNCTION", "DUMP"))
				}
				for k, c := range []*testClient{redis, howdah} {
					fill(c, before)
					line := []string{"FUNCTION", "RESTORE", dumps[1-k]}
					if policy != "" {
						line = append(line, policy)
					}
					states[k] = c.do(line...)
					for _, name := range []string{"a", "b", "c", "d", "long"} {
						states[k] += c.do("FUNCTION", "LIST", "LIBRARYNAME", name, "WITHCODE") + c.do("FCALL", name, "0")
					}
				}
				if states[0] != states[1] {
					t.Errorf("%d over %d, %s:\nredis  %.1000q\nhowdah %.1000q", j, i, policy, states[0], states[1])
				}
			}
		}
	}
}

func fill(c *testClient, libraries []string) {
	c.t.Helper()
	c.want(resp.OK, "FUNCTION", "FLUSH")
	for _, source := range libraries {
		if got := c.do("FUNCTION", "LOAD", source); isError([]byte(got)) {
			c.t.Fatalf("%q", got)
		}
	}
}

// bulkOf is the text of a bulk string.
func bulkOf(reply string) string {
	var n int
	fmt.Sscanf(reply, "$%d", &n)
	_, rest, _ := strings.Cut(reply, "\r\n")
	return rest[:n]
}
