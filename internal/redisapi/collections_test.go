package redisapi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/grammar"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/values"
)

// model runs command lines over a map with the functions of the room of values.
type model struct {
	commands map[string]*values.Command
	entries  map[string]*values.Entry
}

func newModel() *model {
	m := &model{commands: make(map[string]*values.Command), entries: make(map[string]*values.Entry)}
	for _, cmd := range values.Commands() {
		m.commands[cmd.Name] = cmd
	}
	return m
}

func (m *model) Entry(key []byte) *values.Entry {
	e := m.entries[string(key)]
	if e == nil {
		e = new(values.Entry)
		m.entries[string(key)] = e
	}
	return e
}

func (m *model) do(line []string) string {
	args := make([][]byte, len(line))
	for i, arg := range line {
		args[i] = []byte(arg)
	}
	return string(evaluate(nil, m.commands[strings.ToLower(line[0])], resp.RESP2, values.Call{Args: args, Keys: m, Now: time.Now().UnixMilli()}))
}

// TestCollections sends random commands on collections through a server, in
// pipelines and inside MULTI, and compares the replies with those of the functions
// over a map.
func TestCollections(t *testing.T) {
	t.Parallel()
	seed := seed.Of(t)
	for _, family := range grammar.Families() {
		if family.Name == "string" || family.Name == "generic" {
			continue // they run as statements, which the transcripts compare
		}
		t.Run(family.Name, func(t *testing.T) {
			g := &grammar.Grammar{Rand: rand.New(rand.NewPCG(seed, 0)), Family: family}
			c, m := dial(t, serve(t, Options{}).addr()), newModel()
			playOnBoth(t, c, m, g, grammar.Prepare())
			for range 20 {
				lines := make([][]string, 1+g.IntN(60))
				for i := range lines {
					lines[i] = g.Line()
				}
				playOnBoth(t, c, m, g, lines)
			}
		})
	}
}

// playOnBoth sends one pipeline, sometimes as a transaction.
func playOnBoth(t *testing.T, c *testClient, m *model, g *grammar.Grammar, lines [][]string) {
	t.Helper()
	multi := g.IntN(3) == 0
	var data []byte
	if multi {
		data = resp.AppendCommand(data, "MULTI")
		lines = lines[:min(len(lines), 15)]
	}
	lines = slices.DeleteFunc(slices.Clone(lines), func(line []string) bool {
		return !m.commands[strings.ToLower(line[0])].Takes(len(line)) // MULTI would refuse all of them
	})
	var wants []string
	for _, line := range lines {
		data = resp.AppendCommand(data, line...)
		wants = append(wants, m.do(line))
	}
	if multi {
		data = resp.AppendCommand(data, "EXEC")
	}
	c.send(data)
	gots := make([]string, len(lines))
	if multi {
		for range len(lines) + 1 {
			c.reply()
		}
		gots = elements(c.reply())
	} else {
		for i := range gots {
			gots[i] = c.reply()
		}
	}
	for i, line := range lines {
		if i >= len(gots) || !g.Family.Same(gots[i], wants[i]) {
			t.Fatalf("%q (in MULTI: %v)\n got %q\nwant %q", line, multi, gots[min(i, len(gots)-1)], wants[i])
		}
	}
}

// TestCollectionsOfManyClients lets clients change the same keys at once: no change
// is lost, those of several keys included.
func TestCollectionsOfManyClients(t *testing.T) {
	t.Parallel()
	const clients, rounds = 8, 50
	s := serve(t, Options{})
	first := dial(t, s.addr())
	for i := range clients * rounds {
		first.do("RPUSH", "from", fmt.Sprint(i))
	}
	var work sync.WaitGroup
	for range clients {
		c := dial(t, s.addr())
		work.Go(func() {
			var data []byte
			for range rounds {
				data = resp.AppendCommand(data, "HINCRBY", "h", "n", "1")
				data = resp.AppendCommand(data, "LMOVE", "from", "to", "LEFT", "RIGHT")
				data = resp.AppendCommand(data, "ZINCRBY", "z", "1", "m")
			}
			c.send(data)
			for range 3 * rounds {
				if reply := c.reply(); isError([]byte(reply)) {
					t.Errorf("got %q", reply)
				}
			}
		})
	}
	work.Wait()
	total := fmt.Sprint(clients * rounds)
	first.want(bulk(total), "HGET", "h", "n")
	first.want(bulk(total), "ZSCORE", "z", "m")
	first.want(":0\r\n", "LLEN", "from")
	seen := make(map[string]bool)
	for _, element := range elements(first.do("LRANGE", "to", "0", "-1")) {
		seen[element] = true
	}
	if len(seen) != clients*rounds {
		t.Errorf("%d of %d elements arrived", len(seen), clients*rounds)
	}
}

// TestCollectionBounds refuses a collection beyond 1 MiB, alone and inside EXEC,
// without an effect.
func TestCollectionBounds(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	const refused = "-ERR collection is larger than 1048576 bytes, the most that Howdah stores under one key\r\n"
	half := strings.Repeat("x", 600<<10)
	c.want(":1\r\n", "RPUSH", "l", half)
	c.want(refused, "RPUSH", "l", half)
	c.want(":1\r\n", "LLEN", "l")
	c.want("+OK\r\n", "MULTI")
	c.want("+QUEUED\r\n", "RPUSH", "l", half)
	c.want("+QUEUED\r\n", "RPUSH", "l", "small")
	c.want("+QUEUED\r\n", "SADD", "s", "m")
	c.want("*3\r\n"+refused+":2\r\n:1\r\n", "EXEC")
	c.want(":2\r\n", "LLEN", "l")
}

// TestSortSeesWhatCameBefore: SORT with a pattern reads keys that it does not name,
// and yet what the same connection wrote just before.
func TestSortSeesWhatCameBefore(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want(":2\r\n", "RPUSH", "l", "1", "2")
	for i := range 50 {
		var data []byte
		data = resp.AppendCommand(data, "MSET", "w_1", fmt.Sprint(i), "w_2", fmt.Sprint(-i-1))
		data = resp.AppendCommand(data, "SORT", "l", "BY", "w_*", "GET", "w_*")
		data = resp.AppendCommand(data, "SET", "w_1", "later")
		c.send(data)
		c.reply()
		want := "*2\r\n" + bulk(fmt.Sprint(-i-1)) + bulk(fmt.Sprint(i))
		if got := c.reply(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		c.reply()
	}
}

// TestConditionsOnValues are those of SET and DELEX, alone and inside EXEC.
func TestConditionsOnValues(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want("+OK\r\n", "SET", "k", "a")
	c.want("$-1\r\n", "SET", "k", "b", "IFEQ", "x")
	c.want("+OK\r\n", "SET", "k", "b", "ifeq", "a", "EX", "100")
	c.want(bulk("b"), "SET", "k", "c", "IFNE", "a", "GET")
	c.want("+OK\r\n", "MULTI")
	c.want("+QUEUED\r\n", "SET", "k", "d", "IFEQ", "x")
	c.want("+QUEUED\r\n", "SET", "k", "d", "IFEQ", "c")
	c.want("+QUEUED\r\n", "DELEX", "k", "IFEQ", "x")
	c.want("+QUEUED\r\n", "GET", "k")
	c.want("*4\r\n$-1\r\n+OK\r\n:0\r\n$1\r\nd\r\n", "EXEC")
	c.want(":1\r\n", "DELIFEQ", "k", "d")
	c.want("$-1\r\n", "GET", "k")
}

// TestMemoryOfCollections: MEMORY USAGE knows collections.
func TestMemoryOfCollections(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want(":1\r\n", "HSET", "h", "f", strings.Repeat("v", 1000))
	var size int
	if _, err := fmt.Sscanf(c.do("MEMORY", "USAGE", "h"), ":%d\r\n", &size); err != nil || size < 1000 || size > 1500 {
		t.Errorf("%d bytes, error %v", size, err)
	}
	c.want("$-1\r\n", "MEMORY", "USAGE", "none")
}

// TestValuesAreCounted: commands on collections are in the statistics, and CLIENT
// REPLY holds for them.
func TestValuesAreCounted(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.send(resp.AppendCommand(nil, "CLIENT", "REPLY", "OFF"))
	c.send(resp.AppendCommand(nil, "HSET", "h", "f", "v"))
	c.send(resp.AppendCommand(nil, "SADD", "h", "m"))
	c.want("+OK\r\n", "CLIENT", "REPLY", "ON")
	c.want("$1\r\nv\r\n", "HGET", "h", "f")
	c.want("+OK\r\n", "MULTI")
	c.want("+QUEUED\r\n", "HGET", "h", "f")
	c.want("+QUEUED\r\n", "LPUSH", "h", "f")
	c.want("*2\r\n$1\r\nv\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", "EXEC")
	stats := c.do("INFO", "commandstats", "errorstats")
	for _, want := range []string{"cmdstat_hset:calls=1", "cmdstat_hget:calls=2", "cmdstat_sadd:calls=1", "cmdstat_lpush:calls=1", "errorstat_WRONGTYPE:count=2"} {
		if !strings.Contains(stats, want) {
			t.Errorf("no %s in %q", want, stats)
		}
	}
}

// TestWatchOfCollections: EXEC fails after a change of a watched collection, and of
// an absent key that came and went.
func TestWatchOfCollections(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	c.want(":1\r\n", "SADD", "s", "a")
	for name, change := range map[string][][]string{
		"changed":       {{"SADD", "s", "b"}},
		"came and went": {{"RPUSH", "absent", "x"}, {"LPOP", "absent"}},
	} {
		c.want("+OK\r\n", "WATCH", "s", "absent")
		for _, line := range change {
			other.do(line...)
		}
		c.want("+OK\r\n", "MULTI")
		c.want("+QUEUED\r\n", "SCARD", "s")
		if got := c.do("EXEC"); got != "*-1\r\n" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	c.want("+OK\r\n", "WATCH", "s", "absent")
	other.want(":0\r\n", "SREM", "s", "none")
	c.want("+OK\r\n", "MULTI")
	c.want("+QUEUED\r\n", "SCARD", "s")
	c.want("*1\r\n:2\r\n", "EXEC")
}
