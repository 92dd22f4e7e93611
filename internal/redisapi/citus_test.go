//go:build citus

package redisapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/pgtest"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/seed"
)

// citusDivision is into how many partitions these tests divide keys.
const citusDivision = 8

// Commands with keys of several servers answer as on one, or say that they cannot.
func TestCommandsOnCitus(t *testing.T) {
	cluster := pgtest.StartCitus(t, 2)
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

}

// Commands of one connection on one key keep their order while its partition moves.
func TestOrderOnCitus(t *testing.T) {
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
