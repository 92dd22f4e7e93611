package redisapi

import (
	"regexp"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// fetched is the reply of HOWDAH.FETCH, whose token and time differ from run to run.
func fetched(t *testing.T, reply, state, value string, token, lease bool) string {
	t.Helper()
	null, any := regexp.QuoteMeta("$-1\r\n"), `\$\d+\r\n(\d+/[\d:,]+)\r\n`
	want := regexp.QuoteMeta("*4\r\n"+bulk(state)) + map[bool]string{true: null, false: regexp.QuoteMeta(bulk(value))}[value == ""]
	want += map[bool]string{true: any, false: `\$-1\r\n()`}[token] + map[bool]string{true: `:[1-9]\d*\r\n`, false: `:0\r\n`}[lease]
	match := regexp.MustCompile("^" + want + "$").FindStringSubmatch(reply)
	if match == nil {
		t.Fatalf("%q is not %q", reply, want)
	}
	return match[1]
}

func TestFetch(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	token := fetched(t, c.do("HOWDAH.FETCH", "k"), "won", "", true, true)
	fetched(t, c.do("howdah.fetch", "k", "lease", "5000"), "lost", "", false, true)
	c.want("$-1\r\n", "GET", "k")
	c.want(resp.Zero, "EXISTS", "k")
	c.want(resp.Zero, "HOWDAH.STORE", "k", "1", "60000", "v")
	c.want(resp.One, "HOWDAH.STORE", "k", token, "60000", "v", "STALE", "60000")
	c.want(resp.Zero, "HOWDAH.STORE", "k", token, "60000", "late")
	c.want(bulk("v"), "GET", "k")
	fetched(t, c.do("HOWDAH.FETCH", "k"), "hit", "v", false, false)

	// A stale value: one client loads, and all are served.
	token = fetched(t, c.do("HOWDAH.FETCH", "s"), "won", "", true, true)
	c.want(resp.One, "HOWDAH.STORE", "s", token, "1", "old", "stale", "60000")
	for c.do("GET", "s") != "$-1\r\n" {
	}
	token = fetched(t, c.do("HOWDAH.FETCH", "s"), "stale", "old", true, true)
	fetched(t, c.do("HOWDAH.FETCH", "s"), "stale", "old", false, true)
	c.want(resp.One, "HOWDAH.RELEASE", "s", token)
	c.want(resp.Zero, "HOWDAH.RELEASE", "s", token)
	fetched(t, c.do("HOWDAH.FETCH", "s"), "stale", "old", true, true)

	// Nothing to load, and an invalidation.
	token = fetched(t, c.do("HOWDAH.FETCH", "a"), "won", "", true, true)
	c.want(resp.One, "HOWDAH.STORE", "a", token, "60000", "", "ABSENT")
	fetched(t, c.do("HOWDAH.FETCH", "a"), "absent", "", false, true)
	c.want(resp.Zero, "DEL", "a")
	token = fetched(t, c.do("HOWDAH.FETCH", "a"), "won", "", true, true)
	c.want(resp.Zero, "DEL", "a")
	c.want(resp.Zero, "HOWDAH.STORE", "a", token, "0", "old")

	for _, command := range []string{
		"HOWDAH.FETCH k LEASE", "HOWDAH.FETCH k FOR 5", "HOWDAH.STORE k 1 0 v STALE", "HOWDAH.STORE k 1 0 v TAGS",
	} {
		c.want("-ERR syntax error\r\n", strings.Fields(command)...)
	}
	for _, command := range []string{"HOWDAH.STORE k x 0 v", "HOWDAH.RELEASE k x", "HOWDAH.RELEASE k 1/x", "HOWDAH.STORE k 1/ 0 v"} {
		c.want("-ERR the token is not one that HOWDAH.FETCH has returned\r\n", strings.Fields(command)...)
	}
	for _, command := range []string{"HOWDAH.FETCH k LEASE x", "HOWDAH.STORE k 1 x v"} {
		c.want("-ERR value is not an integer or out of range\r\n", strings.Fields(command)...)
	}
	c.want("-ERR invalid expire time in 'howdah.fetch' command\r\n", "HOWDAH.FETCH", "k", "LEASE", "0")
	for _, command := range []string{"HOWDAH.STORE k 1 -1 v", "HOWDAH.STORE k 1 0 v ABSENT", "HOWDAH.STORE k 1 5 v STALE -1"} {
		c.want("-ERR invalid expire time in 'howdah.store' command\r\n", strings.Fields(command)...)
	}
	c.want("*1\r\n"+bulk("k"), "COMMAND", "GETKEYS", "HOWDAH.STORE", "k", "1", "0", "v")
}

// Inside EXEC, and beside WATCH: a lease is not a change of the key.
func TestFetchInTransactions(t *testing.T) {
	t.Parallel()
	address := serve(t, Options{}).addr()
	c, other := dial(t, address), dial(t, address)
	c.want(resp.OK, "WATCH", "k")
	token := fetched(t, other.do("HOWDAH.FETCH", "k"), "won", "", true, true)
	other.want(resp.One, "HOWDAH.RELEASE", "k", token)
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "HOWDAH.FETCH", "k")
	reply := c.do("EXEC")
	token = fetched(t, strings.TrimPrefix(reply, "*1\r\n"), "won", "", true, true)
	c.want(resp.OK, "WATCH", "k")
	other.want(resp.One, "HOWDAH.STORE", "k", token, "0", "v")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "SET", "k", "w")
	c.want("*-1\r\n", "EXEC")
	c.want(bulk("v"), "GET", "k")
}
