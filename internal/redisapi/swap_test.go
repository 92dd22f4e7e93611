package redisapi

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestSwapDatabases(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := serveURL(t, url, Options{})
	c, other := dial(t, s.addr()), dial(t, serveURL(t, url, Options{}).addr())
	c.want(resp.OK, "SET", "k", "0")
	other.want(resp.OK, "SELECT", "5")
	other.want(":1\r\n", "RPUSH", "k", "5")
	c.want(resp.OK, "SWAPDB", "0", "5")
	c.want("*1\r\n$1\r\n5\r\n", "LRANGE", "k", "0", "-1")
	other.want(bulk("0"), "GET", "k")
	other.want(":2\r\n", "APPEND", "k", "1")
	other.want(resp.OK, "SELECT", "0")
	other.want(":2\r\n", "RPUSH", "k", "6")
	c.want(resp.OK, "SELECT", "5")
	c.want(bulk("01"), "GET", "k")

	c.want(resp.OK, "SWAPDB", "0", "7") // which did not exist
	other.want("$-1\r\n", "GET", "k")
	other.want(resp.OK, "SELECT", "7")
	other.want(":2\r\n", "LLEN", "k")

	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "SWAPDB", "0", "5")
	c.want(resp.Queued, "STRLEN", "k")
	c.want("*2\r\n-ERR SWAPDB is not available inside a transaction\r\n:2\r\n", "EXEC")
	c.want(bulk("01"), "GET", "k")
	if got := c.do("EVAL", "return redis.call('SWAPDB', 0, 5)", "0"); !strings.HasPrefix(got, "-ERR") {
		t.Errorf("a script: %q", got)
	}
}

// TestSwapUnderLoad: while two databases are swapped again and again, on two servers,
// each write goes into one of them once, and what is read at one moment is of one.
func TestSwapUnderLoad(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	servers := []*testServer{serveURL(t, url, Options{}), serveURL(t, url, Options{})}
	c := dial(t, servers[0].addr())
	for n := range 2 {
		c.want(resp.OK, "SELECT", strconv.Itoa(n))
		c.want(resp.OK, "MSET", "a", strconv.Itoa(n), "b", strconv.Itoa(n), "mine", "0")
		c.want(":2\r\n", "RPUSH", "list", strconv.Itoa(n), strconv.Itoa(n))
	}
	// Each counts in whichever database has the number at the time.
	counts := [][]string{
		{"INCR", "count"}, {"HINCRBY", "hash", "count", "1"}, {"RPUSH", "pushed", "x"},
		{"EVAL", "return redis.call('INCR', 'script') + redis.call('INCR', KEYS[1]) - 1", "1", "script2"},
	}
	const clients, each = 6, 60
	var work sync.WaitGroup
	var rounds atomic.Int64
	for i := range clients {
		c := dial(t, servers[i%2].addr())
		work.Go(func() {
			c.want(resp.OK, "SELECT", strconv.Itoa(i/2%2))
			for range each {
				for _, count := range counts {
					if got := c.again(count...); got[0] != ':' {
						t.Errorf("%q: %q", count, got)
						return
					}
				}
				for _, read := range [][]string{{"MGET", "a", "b"}, {"LRANGE", "list", "0", "-1"}} {
					if pair := elements(c.do(read...)); len(pair) != 2 || pair[0] != pair[1] {
						t.Errorf("%q: %q", read, pair)
						return
					}
				}
				if got := c.do("RENAME", "a", "a"); got != resp.OK {
					t.Errorf("RENAME: %q", got)
				}
				if got := c.do("COPY", "mine", fmt.Sprint("copy:", i), "REPLACE"); got != ":1\r\n" {
					t.Errorf("COPY: %q", got)
				}
				c.want(resp.OK, "MULTI")
				c.want(resp.Queued, "INCR", "transaction")
				c.want(resp.Queued, "DBSIZE") // so that it runs as a transaction of PostgreSQL
				if got := elements(c.do("EXEC")); len(got) != 2 {
					t.Errorf("EXEC: %q", got)
				}
				rounds.Add(1)
			}
		})
	}
	const swaps = 100
	swapper := dial(t, servers[1].addr())
	for i := range swaps {
		waitFor(t, "some rounds", func() bool { return t.Failed() || rounds.Load() >= int64(i*clients*each/swaps) })
		swapper.want(resp.OK, "SWAPDB", strconv.Itoa(i%2), strconv.Itoa(1-i%2))
	}
	work.Wait()
	counts = append(counts, []string{"MULTI"})
	sums := make([]int, len(counts))
	for n := range 2 {
		c.want(resp.OK, "SELECT", strconv.Itoa(n))
		for i, get := range [][]string{{"GET", "count"}, {"HGET", "hash", "count"}, {"LLEN", "pushed"}, {"GET", "script"}, {"GET", "transaction"}} {
			sums[i] += number(c.do(get...))
		}
	}
	for i, sum := range sums {
		if sum != clients*each {
			t.Errorf("%q: %d of %d are there", counts[i], sum, clients*each)
		}
	}
}
