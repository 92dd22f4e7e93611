//go:build peers

package redisapi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/long"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

// TestStream sends the same random commands to redis-server and to Howdah and
// compares the replies. HOWDAH_SEED repeats a run.
func TestStream(t *testing.T) {
	t.Parallel()
	compareStreams(t, long.Or(20_000, 100_000), "", serve(t, Options{}).addr())
}

// With one hash tag in all keys a database in partitions answers as one without.
func TestStreamDivided(t *testing.T) {
	t.Parallel()
	compareStreams(t, 10_000, streamTag, serveURL(t, pgtest.Divided(t, streamPartitions), Options{}).addr())
}

const streamPartitions = 8

// streamTag begins all keys of a stream that stays in one partition.
const streamTag = "{t}"

// compareStreams sends so many random commands to redis-server and to Howdah.
func compareStreams(t *testing.T, commands int, tag, howdah string) {
	t.Helper()
	g := &generator{Rand: seed.Rand(t), start: time.Now().Unix(), tag: tag}
	redis := startRedis(t)
	var pairs [2]streamPair
	for i := range pairs {
		pairs[i] = streamPair{redis: dial(t, redis), howdah: dial(t, howdah)}
		pairs[i].exchange(t, g, [][]string{{"HELLO", strconv.Itoa(2 + i)}}, false)
	}
	// Howdah makes a database when it is first used, but not inside EXEC.
	pairs[0].exchange(t, g, [][]string{{"SELECT", "1"}, {"SELECT", "2"}, {"SELECT", "0"}}, true)
	for g.made < commands && !t.Failed() {
		g.block()
		for len(g.ops) > 0 {
			n := 1
			for limit := 1 + g.IntN(40); n < len(g.ops) && n < limit && g.ops[n].connection == g.ops[0].connection; {
				n++
			}
			var batch [][]string
			for _, op := range g.ops[:n] {
				batch = append(batch, op.args)
			}
			pairs[g.ops[0].connection].exchange(t, g, batch, true)
			g.ops = g.ops[n:]
		}
	}
}

// streamPair is one connection to each server.
type streamPair struct {
	redis, howdah *testClient
	queue         [][]string // between MULTI and EXEC
	multi         bool
}

// exchange sends a pipeline to both, to Howdah cut at random bytes, and
// compares the replies.
func (p *streamPair) exchange(t *testing.T, g *generator, batch [][]string, compare bool) {
	t.Helper()
	var data []byte
	for _, args := range batch {
		data = resp.AppendCommand(data, args...)
	}
	p.redis.send(data)
	for len(data) > 0 {
		n := len(data)
		if g.IntN(3) == 0 {
			n = 1 + g.IntN(n)
		}
		p.howdah.send(data[:n])
		data = data[n:]
	}
	for _, args := range batch {
		want, got := p.redis.reply(), p.howdah.reply()
		if compare && !p.same(args, want, got) {
			t.Errorf("%q (queue %q)\nhowdah %q\n redis %q", args, p.queue, got, want)
		}
		p.follow(args, want)
	}
}

// follow keeps the queue of a transaction, to compare the replies of EXEC.
func (p *streamPair) follow(args []string, reply string) {
	switch name := args[0]; {
	case name == "MULTI" && reply == resp.OK:
		p.multi, p.queue = true, nil
	case name == "EXEC" || name == "DISCARD":
		p.multi, p.queue = false, nil
	case p.multi && reply == resp.Queued:
		p.queue = append(p.queue, args)
	}
}

// same compares two replies to a command. Replies that are random or depend on the
// clock are compared loosely.
func (p *streamPair) same(args []string, want, got string) bool {
	if want == got {
		return true
	}
	if p.multi && args[0] != "EXEC" {
		return false
	}
	switch args[0] {
	case "EXEC":
		wants, gots := elements(want), elements(got)
		if len(wants) != len(p.queue) || len(gots) != len(p.queue) {
			return false
		}
		inner := streamPair{}
		for i, args := range p.queue {
			if !inner.same(args, wants[i], gots[i]) {
				return false
			}
		}
		return true
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME":
		tolerance := int64(5)
		if args[0][0] == 'P' {
			tolerance *= 1000
		}
		return sameLife(want, got, tolerance)
	case "KEYS", "SCAN":
		a, b := elements(want), elements(got)
		if args[0] == "SCAN" && len(a) == 2 && len(b) == 2 && a[0] == b[0] {
			a, b = elements(a[1]), elements(b[1])
		}
		slices.Sort(a)
		slices.Sort(b)
		return slices.Equal(a, b)
	case "RANDOMKEY":
		return want[0] == '$' && got[0] == '$' && want != "$-1\r\n" && got != "$-1\r\n"
	}
	return false
}

// generator makes random commands on few keys. Keys of one letter hold values
// of one kind: n integers up to the limits, f decimal numbers, s anything.
type generator struct {
	*rand.Rand
	ops   []op
	made  int
	ttls  int
	start int64
	tag   string // that begins each key; "": none
}

type op struct {
	connection int
	args       []string
}

func (g *generator) add(connection int, args ...string) {
	g.ops = append(g.ops, op{connection, args})
	g.made++
}

func (g *generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g *generator) key() string { return g.tag + g.name() }

// name is a key without the tag.
func (g *generator) name() string {
	switch g.IntN(10) {
	case 0, 1:
		return fmt.Sprintf("n%d", g.IntN(4))
	case 2, 3:
		return fmt.Sprintf("f%d", g.IntN(4))
	case 4:
		return g.pick("", "\x00", "s\r\n", "s\xff\xfe", "s {tag}")
	}
	return fmt.Sprintf("s%d", g.IntN(12))
}

func (g *generator) value(key string) string {
	key = strings.TrimPrefix(key, g.tag)
	switch {
	case strings.HasPrefix(key, "n"):
		return g.pick("0", "1", "-1", "42", "9223372036854775807", "-9223372036854775808", "9223372036854775806", "-9223372036854775807", "12345678901", "", "abc", " 1", "01")
	case strings.HasPrefix(key, "f"):
		return g.pick("0", "1.5", "-0.25", "1000000.75", "3", "-7", "10.50", "0.1", "19.99", "-1234.56", "abc", "", "1.")
	}
	switch g.IntN(5) {
	case 0:
		return ""
	case 1:
		return strconv.Itoa(g.IntN(2000) - 1000)
	case 2:
		raw := make([]byte, g.IntN(200))
		for i := range raw {
			raw[i] = byte(g.Uint32())
		}
		return string(raw)
	case 3:
		return strings.Repeat("x", g.IntN(3000))
	}
	return g.pick("a", "Hello", "value", "\x00", "{}")
}

// ttl returns a long TTL, 200 s away from every other, so that comparisons of two
// do not depend on the clock.
func (g *generator) ttl() int64 {
	g.ttls++
	return 1_000_000 + int64(g.ttls*7919%100_000)*200
}

func (g *generator) expiry() []string {
	switch g.IntN(5) {
	case 0:
		return []string{"EX", fmt.Sprint(g.ttl())}
	case 1:
		return []string{"px", fmt.Sprint(g.ttl() * 1000)}
	case 2:
		return []string{"EXAT", fmt.Sprint(g.start + g.ttl())}
	case 3:
		return []string{"PXAT", fmt.Sprint((g.start + g.ttl()) * 1000)}
	}
	if g.IntN(2) == 0 {
		return []string{g.pick("EX", "PX", "EXAT"), "9223372036854775807"} // too far away; see expiry.txt for PXAT
	}
	return []string{g.pick("EX", "PX", "EXAT", "PXAT"), g.pick("0", "-1", "x", "1.5")}
}

// block makes a command, or a transaction.
func (g *generator) block() {
	connection := g.IntN(2)
	if g.IntN(25) > 0 {
		g.add(connection, g.command()...)
		return
	}
	if g.IntN(2) == 0 {
		for range 1 + g.IntN(2) {
			g.add(connection, append([]string{"WATCH"}, g.keys(1+g.IntN(3))...)...)
		}
		if g.IntN(2) == 0 {
			other := g.IntN(2)
			for _, command := range g.changes() {
				g.add(other, command...)
			}
		}
		if g.IntN(10) == 0 {
			g.add(connection, "UNWATCH")
		}
	}
	g.add(connection, "MULTI")
	for range g.IntN(12) {
		g.add(connection, g.inside()...)
	}
	switch g.IntN(12) {
	case 0:
		g.add(connection, g.pick("MULTI", "EXEC "))
	case 1:
		g.add(connection, "WATCH", g.key())
	case 2:
		g.add(connection, "GET")
	}
	g.add(connection, g.pick("EXEC", "EXEC", "EXEC", "DISCARD"))
	g.add(connection, "SELECT", "0")
}

// inside makes a command of a transaction: in one partition none that concerns all of them.
func (g *generator) inside() []string {
	for {
		command := g.command()
		if g.tag == "" || !slices.Contains([]string{"DBSIZE", "KEYS", "RANDOMKEY", "FLUSHDB", "FLUSHALL"}, command[0]) {
			return command
		}
	}
}

// changes are commands of one client between WATCH and MULTI of another: they
// may create a key and remove it again.
func (g *generator) changes() (commands [][]string) {
	for range 1 + g.IntN(3) {
		key := g.key()
		switch g.IntN(4) {
		case 0:
			commands = append(commands, []string{"SET", key, g.value(key)}, []string{"DEL", key})
		case 1:
			commands = append(commands, []string{"DEL", key})
		case 2:
			commands = append(commands, []string{"SET", key, g.value(key)})
		default:
			commands = append(commands, g.command())
		}
	}
	return commands
}

func (g *generator) keys(n int) (keys []string) {
	for range n {
		keys = append(keys, g.key())
	}
	return keys
}

// command makes one command. Those of the last group cost Howdah a
// transaction or a scan, so there are fewer of them.
func (g *generator) command() []string {
	key := g.key()
	words := func(args ...string) []string { return args }
	switch g.IntN(60) {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		return words("GET", key)
	case 8, 9, 10, 11, 12:
		return words("SET", key, g.value(key))
	case 13, 14, 15, 16:
		args := words("SET", key, g.value(key))
		if g.IntN(2) == 0 {
			args = append(args, g.pick("NX", "XX"))
		}
		if g.IntN(3) == 0 {
			args = append(args, "GET")
		}
		switch g.IntN(4) {
		case 0:
			args = append(args, "KEEPTTL")
		case 1, 2:
			args = append(args, g.expiry()...)
		}
		return args
	case 17:
		return words(g.pick("SETEX", "PSETEX"), key, fmt.Sprint(1_000_000_000+g.ttl()), g.value(key))
	case 18:
		return words("SETNX", key, g.value(key))
	case 19:
		return words("GETSET", key, g.value(key))
	case 20:
		return words("GETDEL", key)
	case 21:
		return append(words("GETEX", key), g.pickExpiry()...)
	case 22, 23:
		return append(words("MGET"), g.keys(1+g.IntN(8))...)
	case 24:
		args := words(g.pick("MSET", "MSETNX"))
		for _, key := range g.keys(1 + g.IntN(5)) {
			args = append(args, key, g.value(key))
		}
		return args
	case 25, 26:
		return words("APPEND", g.stringKey(), g.pick("", "a", "bcd", "\x00\xff", strings.Repeat("y", 100)))
	case 27:
		return words("STRLEN", key)
	case 28, 29:
		return words(g.pick("GETRANGE", "SUBSTR"), key, strconv.Itoa(g.IntN(60)-30), strconv.Itoa(g.IntN(60)-30))
	case 30:
		return words("SETRANGE", g.stringKey(), strconv.Itoa(g.IntN(60)-2), g.pick("", "z", "zzzz"))
	case 31, 32, 33:
		return words(g.pick("INCR", "DECR"), key)
	case 34, 35:
		if strings.HasPrefix(key, g.tag+"f") {
			return words("INCRBY", key, strconv.Itoa(g.IntN(100)-50))
		}
		return words(g.pick("INCRBY", "DECRBY"), key, g.pick("1", "-1", "0", "100", "-9223372036854775808", "9223372036854775807", "x", "1.0", "007"))
	case 36:
		return words("INCRBYFLOAT", g.tag+fmt.Sprintf("f%d", g.IntN(4)), g.pick("0.25", "-0.5", "1", "100", "-3.75", "1e2", "0", "0.1", "-0.01", "999.99", "x", "", "nan", "inf", "+1"))
	case 37, 38:
		return append(words(g.pick("DEL", "UNLINK")), g.keys(1+g.IntN(3))...)
	case 39, 40:
		return append(words(g.pick("EXISTS", "TOUCH")), g.keys(1+g.IntN(4))...)
	case 41, 42, 43:
		unit := g.pick("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT")
		amount := g.ttl()
		if strings.HasSuffix(unit, "AT") {
			amount += g.start
		}
		if unit[0] == 'P' {
			amount *= 1000
		}
		args := words(unit, key, fmt.Sprint(amount))
		if g.IntN(20) == 0 {
			args[2] = g.pick("0", "-1", "x", "-100000000")
		}
		if g.IntN(2) == 0 {
			args = append(args, g.pick("NX", "XX", "GT", "LT", "gt", "foo"))
		}
		return args
	case 44, 45, 46:
		return words(g.pick("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"), key)
	case 47:
		return words("PERSIST", key)
	case 48:
		return words("TYPE", key)
	case 49:
		return words(g.pick("PING", "ECHO"), g.value("s"))
	case 50:
		return g.pickWords([]string{"nosuch", key}, []string{"GET"}, []string{"SET", key}, []string{"PING"}, []string{"CLIENT", "GETNAME"}, []string{"SET", key, "v", "foo"}, []string{"OBJECT", "REFCOUNT", g.tag + "nosuchkey"})
	}
	return g.rare(key)
}

func (g *generator) pickWords(choices ...[]string) []string { return choices[g.IntN(len(choices))] }

func (g *generator) stringKey() string { return g.tag + fmt.Sprintf("s%d", g.IntN(12)) }

func (g *generator) pickExpiry() []string {
	switch g.IntN(3) {
	case 0:
		return nil
	case 1:
		return []string{"PERSIST"}
	}
	return g.expiry()
}

func (g *generator) rare(key string) []string {
	switch g.IntN(12) {
	case 0:
		return []string{g.pick("RENAME", "RENAMENX"), g.stringKey(), g.stringKey()}
	case 1:
		args := []string{"COPY", g.stringKey(), g.stringKey()}
		if g.IntN(2) == 0 {
			args = append(args, "REPLACE")
		}
		if g.IntN(3) == 0 {
			args = append(args, "DB", g.pick("0", "1", "2", "99"))
		}
		return args
	case 2:
		return []string{"MOVE", g.stringKey(), g.pick("0", "1", "2", "x")}
	case 3, 4:
		return []string{"SELECT", g.pick("0", "0", "0", "1", "2")}
	case 5:
		return []string{"KEYS", g.tag + g.pick("*", "s*", "s[0-4]", "?1", "n*", "nosuch*", "\\s1", "[^s]*", "")}
	case 6:
		if g.tag != "" { // the cursor names a partition: redis-server's does not
			return []string{"DBSIZE"}
		}
		return []string{"SCAN", "0", "COUNT", "1000", "MATCH", g.pick("*", "s*", "f?")}
	case 7:
		return []string{"DBSIZE"}
	case 8:
		return []string{"RANDOMKEY"}
	case 9:
		if g.IntN(20) == 0 {
			return []string{g.pick("FLUSHDB", "FLUSHALL")}
		}
		return []string{"DBSIZE"}
	case 10:
		return []string{"OBJECT", "ENCODING", g.tag + "nosuchkey"}
	}
	return []string{"EXISTS", key}
}
