//go:build peers

package transfer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/peers"
)

// startRedis starts a redis-server that the test's end stops, and returns its address.
func startRedis(t testing.TB, args ...string) Address {
	t.Helper()
	return Address{Host: peers.Redis(t, args...).Addr}
}

// client is a connection of a test to a server.
type client struct {
	t testing.TB
	*Conn
}

func connect(t testing.TB, a Address) client {
	t.Helper()
	conn, err := Dial(context.WithoutCancel(t.Context()), a)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return client{t, conn}
}

func (c client) do(args ...string) resp.Reply {
	c.t.Helper()
	reply, err := c.Do(args...)
	require.NoError(c.t, err, "%.200q", args)
	return reply
}

// words are the commands that make one collection of some size.
func words(g *rand.Rand, key string, n int) []string {
	element := func(i int) string {
		switch g.IntN(4) {
		case 0:
			return strconv.Itoa(i)
		case 1:
			return strconv.Itoa(i) + "\x00\xff\r\n"
		case 2:
			return strconv.Itoa(i) + strings.Repeat("x", 100)
		}
		return "element:" + strconv.Itoa(i)
	}
	command := [...]string{"HSET", "RPUSH", "SADD", "ZADD"}[g.IntN(4)]
	args := []string{command, key}
	for i := range n {
		switch command {
		case "HSET":
			args = append(args, element(i), element(g.IntN(9)))
		case "ZADD":
			args = append(args, strconv.FormatFloat(float64(g.IntN(50))/7, 'g', -1, 64), element(i))
		default:
			args = append(args, element(i))
		}
	}
	return args
}

// populate writes keys of all types and sizes, binary ones among them, some with a TTL.
func (c client) populate(g *rand.Rand, prefix string, n int) {
	c.t.Helper()
	b := new(batch)
	for i := range n {
		key := fmt.Sprintf("%s%d", prefix, i)
		if i%11 == 0 {
			key += "\xff\x00\r\n"
		}
		size := [...]int{1, 5, 60, 200, 700}[g.IntN(5)] // on both sides of the bounds of the encodings
		switch g.IntN(8) {
		case 0, 1, 2:
			b.add("SET", key, strings.Repeat("v\xfe", g.IntN(200)))
		case 3:
			b.add("SET", key, strconv.Itoa(g.Int()))
		default:
			b.add(words(g, key, size)...)
		}
		if g.IntN(3) == 0 {
			b.add("PEXPIRE", key, strconv.Itoa(600_000+g.IntN(10_000_000)))
		}
	}
	b.add("SETRANGE", prefix+"bitmap", "100000", "x").add("PFADD", prefix+"hll", "a", "b")
	b.add("SADD", prefix+"ints", "1", "2", "3").add("ZADD", prefix+"inf", "inf", "a", "-inf", "b")
	c.all(b)
}

// all sends commands and expects them to succeed.
func (c client) all(b *batch) {
	c.t.Helper()
	replies, err := c.exchange(b)
	require.NoError(c.t, err)
	for _, reply := range replies {
		require.NoError(c.t, replyError(reply))
	}
}

// content is what a database holds, by the reading commands of each type.
func (c client) content() map[string]readable {
	c.t.Helper()
	all := map[string]readable{}
	for _, elem := range c.do("KEYS", "*").Elems {
		key := string(elem.Str)
		r := readable{kind: string(c.do("TYPE", key).Str)}
		if at := c.do("PEXPIRETIME", key).Int; at >= 0 {
			r.expires = time.UnixMilli(at)
		}
		switch r.kind {
		case "string":
			r.text = string(c.do("GET", key).Str)
		case "list":
			r.list = texts(c.do("LRANGE", key, "0", "-1").Elems)
		case "set":
			r.members = map[string]string{}
			for _, m := range c.do("SMEMBERS", key).Elems {
				r.members[string(m.Str)] = ""
			}
		case "hash":
			r.members = map[string]string{}
			pairs := c.do("HGETALL", key).Elems
			for i := 0; i < len(pairs); i += 2 {
				r.members[string(pairs[i].Str)] = string(pairs[i+1].Str)
			}
		case "zset":
			r.list = texts(c.do("ZRANGE", key, "0", "-1", "WITHSCORES").Elems)
			for i := 1; i < len(r.list); i += 2 {
				score, err := strconv.ParseFloat(r.list[i], 64)
				require.NoError(c.t, err)
				r.list[i] = formatScore(score)
			}
		}
		all[key] = r
	}
	return all
}

func texts(elems []resp.Reply) (list []string) {
	for _, e := range elems {
		list = append(list, string(e.Str))
	}
	return list
}

// optionsFor are those of an import into a new folder.
func optionsFor(t testing.TB, a Address) Options {
	t.Helper()
	folder := t.TempDir()
	return Options{
		Source: a, MaxValueBytes: 64 << 20, PageKeys: 50,
		StateFile: filepath.Join(folder, "state"), RefusedFile: filepath.Join(folder, "refused"),
		Say: func(format string, args ...any) { t.Logf(format, args...) },
	}
}
