package redisapi

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
)

// holdRow has another transaction hold the row of a key until the function that it returns
// is called.
func (s *testServer) holdRow(key string) (release func()) {
	s.t.Helper()
	ctx := context.Background()
	tx, err := s.db.Pool().Begin(ctx)
	if err == nil {
		err = s.db.Cache("db0").With(tx).Set(ctx, key, []byte("held"), 0)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(ctx); err != nil {
			s.t.Error(err)
		}
	}
}

// blocked is how often calls have met a lock.
func (s *testServer) blocked() uint64 {
	for _, cache := range (*core.DB)(s.db).Stats().Caches {
		if cache.Name == "db0" {
			return cache.Blocked
		}
	}
	return 0
}

// awaitBlocked waits until calls have met a lock more often than before.
func (s *testServer) awaitBlocked(before uint64) {
	s.t.Helper()
	await.True(s.t, "a call meets a lock", func() bool { return s.blocked() > before })
}

// slow returns the last call that was noted of a command.
func (s *testServer) slow(command string) observe.SlowCall {
	s.t.Helper()
	for _, call := range (*core.DB)(s.db).SlowLog().Recent(-1) {
		if call.Command == command {
			if sum := call.Queued + call.Statement + call.Blocked; sum != call.Duration {
				s.t.Errorf("%s: the parts of %v are %v", command, call.Duration, sum)
			}
			return call
		}
	}
	s.t.Fatalf("%s was not noted", command)
	return observe.SlowCall{}
}

// TestSlowLogSaysWhoHeldARow: the time of a call whose row another transaction held is
// that of the lock, for plain values, collections and scripts.
func TestSlowLogSaysWhoHeldARow(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	for _, args := range [][]string{
		{"SET", "sess:SECRET", "VALUE"},
		{"RPUSH", "list", "VALUE"},
		{"EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", "1", "script", "VALUE"},
		{"INCRBY", "counter", "77"},
		{"MSET", "first", "VALUE", "second", "VALUE"},
	} {
		key := args[1]
		switch args[0] {
		case "EVAL":
			key = "script"
		case "MSET":
			key = "second"
		}
		c := dial(t, s.addr())
		c.do("CLIENT", "SETNAME", "worker")
		c.do("CONFIG", "SET", "slowlog-log-slower-than", "20000")
		release := s.holdRow(key)
		before := s.blocked() // a call that waits long is counted again and again
		c.send(resp.AppendCommand(nil, args...))
		s.awaitBlocked(before)
		release()
		if reply := c.reply(); isError([]byte(reply)) {
			t.Errorf("%s: %s", args[0], reply)
		}
		call := s.slow(strings.ToLower(args[0]))
		if call.Blocked == 0 || call.Statement != 0 || !call.Writes || call.Failed || call.Cache != "db0" {
			t.Errorf("%s: %+v", args[0], call)
		}
		if call.Name != "worker" || call.Door != observe.DoorRedis || call.Address != c.conn.LocalAddr().String() {
			t.Errorf("%s: the client is %+v", args[0], call.Client)
		}
		if shown := fmt.Sprintf("%+v", call); strings.Contains(shown, "SECRET") || strings.Contains(shown, "VALUE") || strings.Contains(shown, "77") && args[0] == "INCRBY" && call.Key != "counter" {
			t.Errorf("%s: %s", args[0], shown)
		}
	}
	if call := s.slow("set"); call.Key != "sess:***" || call.Keys != 1 || call.Verb != "set" {
		t.Errorf("%+v", call)
	}
	if call := s.slow("mset"); call.Keys != 2 || call.Key != "first" {
		t.Errorf("%+v", call)
	}
}

// TestSlowLogOfCommands: with threshold 0 every command that PostgreSQL has a part in is
// noted once, whatever way it takes.
func TestSlowLogOfCommands(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	c.want(resp.OK, "CONFIG", "SET", "slowlog-log-slower-than", "0")
	for _, args := range [][]string{
		{"SET", "k", "VALUE"}, {"GET", "k"}, {"MGET", "k", "l"}, {"APPEND", "k", "VALUE"}, {"HSET", "h", "f", "VALUE"}, {"HGETALL", "h"},
		{"KEYS", "*"}, {"SCAN", "0"}, {"DBSIZE"}, {"BLPOP", "nothing", "h", "0.01"}, {"RPUSH", "q", "VALUE"}, {"BLPOP", "q", "1"},
		{"EVAL", "return redis.call('GET', KEYS[1])", "1", "k"}, {"WATCH", "k", "l"}, {"SORT", "l", "BY", "w*"}, {"COPY", "k", "k2"},
		{"DEL", "k"}, {"FLUSHDB"},
	} {
		c.do("SLOWLOG", "RESET")
		c.do(args...)
		var noted []string
		for _, call := range (*core.DB)(s.db).SlowLog().Recent(-1) {
			if call.Command != "slowlog|reset" && call.Command != "config|set" {
				noted = append(noted, fmt.Sprintf("%s %s %d %v", call.Command, call.Key, call.Keys, call.Writes))
			}
			if strings.Contains(fmt.Sprintf("%+v", call), "VALUE") {
				t.Errorf("%q: %+v", args, call)
			}
		}
		name := strings.ToLower(args[0])
		if len(noted) != 1 || !strings.HasPrefix(noted[0], name+" ") {
			if name != "blpop" { // one that has waited is not slow
				t.Errorf("%q: noted are %q", args, noted)
			}
		}
	}
	c.do("SLOWLOG", "RESET")
	c.do("MULTI")
	c.do("SET", "a", "VALUE")
	c.do("HSET", "b", "f", "VALUE")
	c.do("GET", "c")
	c.do("EXEC")
	calls := (*core.DB)(s.db).SlowLog().Recent(-1)
	if len(calls) == 0 || calls[0].Command != "exec" || calls[0].Keys != 3 || calls[0].Key != "a" {
		t.Errorf("EXEC is noted as %+v", calls)
	}
}

var slowTimes = regexp.MustCompile(`\(queued \d+ us, statement \d+ us, blocked \d+ us\)`)

func TestSlowLogOverTheProtocol(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	show := func(name, value string) string {
		return string(resp.AppendArray(nil, 2)) + bulk(name) + bulk(value)
	}
	c.want(show("slowlog-log-slower-than", "-1"), "CONFIG", "GET", "slowlog-log-slower-than")
	c.want(show("slowlog-max-len", "128"), "CONFIG", "GET", "slowlog-max-len")
	c.want(resp.OK, "CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "2")
	c.want(show("slowlog-log-slower-than", "0"), "CONFIG", "GET", "slowlog-log-slower-than")
	c.do("SLOWLOG", "RESET")
	c.do("SET", "a", "VALUE")
	c.do("SET", "session:SECRET", "VALUE")
	c.do("MSET", "b", "VALUE", "c", "VALUE", "d", "VALUE")
	c.want(":2\r\n", "SLOWLOG", "LEN")
	entries := elements(c.do("SLOWLOG", "GET", "-1"))
	if len(entries) != 2 {
		t.Fatalf("%q", entries)
	}
	for i, want := range [][]string{{"mset", "b", "... (2 more keys)"}, {"set", "session:***"}} {
		fields := elements(entries[i])
		words := elements(fields[3])
		if len(fields) != 6 || fields[4] != bulk(c.conn.LocalAddr().String()) || fields[5] != bulk("") || len(words) != len(want)+1 {
			t.Fatalf("%q", fields)
		}
		for j := range want {
			if words[j] != bulk(want[j]) {
				t.Errorf("word %d is %q, want %q", j, words[j], want[j])
			}
		}
		if !slowTimes.MatchString(words[len(want)]) {
			t.Errorf("the times are %q", words[len(want)])
		}
	}
	own := c.do("HOWDAH.SLOWLOG", "1")
	for _, want := range []string{bulk("command") + bulk("mset"), bulk("keys") + ":3\r\n", bulk("door") + bulk("RESP"), bulk("op") + bulk("write"), bulk("cache") + bulk("db0")} {
		if !strings.Contains(own, want) {
			t.Errorf("HOWDAH.SLOWLOG: %q lacks %q", own, want)
		}
	}
	c.want(resp.OK, "SLOWLOG", "RESET")
	c.want(resp.OK, "CONFIG", "SET", "slowlog-log-slower-than", "-1", "slowlog-max-len", "1000000")
	c.want(show("slowlog-max-len", "4096"), "CONFIG", "GET", "slowlog-max-len")
	c.do("SET", "a", "VALUE")
	c.want(":0\r\n", "SLOWLOG", "LEN")
}

func TestLatencyHistogram(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	for range 3 {
		c.do("SET", "k", "v")
	}
	c.do("CLIENT", "ID")
	c.do("HELLO", "3")
	for args, want := range map[string]string{
		"set": `^%1\r\n\$3\r\nset\r\n%2\r\n\$5\r\ncalls\r\n:3\r\n\$14\r\nhistogram_usec\r\n%[123]\r\n(:\d+\r\n:[123]\r\n)*:\d+\r\n:3\r\n$`,
		// Those of a command with subcommands are theirs.
		"client": `^%1\r\n\$9\r\nclient\|id\r\n%2\r\n\$5\r\ncalls\r\n:1\r\n\$14\r\nhistogram_usec\r\n%1\r\n:1\r\n:1\r\n$`,
		"get":    `^%0\r\n$`,
	} {
		if got := c.do("LATENCY", "HISTOGRAM", args); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("LATENCY HISTOGRAM %s: %q", args, got)
		}
	}
	if all := c.do("LATENCY", "HISTOGRAM"); !strings.Contains(all, bulk("set")) || !strings.Contains(all, bulk("hello")) {
		t.Errorf("%q", all)
	}
	c.want(resp.OK, "CONFIG", "RESETSTAT")
	c.want("%0\r\n", "LATENCY", "HISTOGRAM", "set")
}

// TestLatencyBounds: a call is within the bound that counts it, and not within the one
// before it.
func TestLatencyBounds(t *testing.T) {
	t.Parallel()
	for _, nanos := range []int64{0, 999, 1000, 1999, 2000, 65_535_999, 65_536_000, 30e9, 1 << 62} {
		var counters commandCounters
		counters.add(nanos, false)
		if counters.calls() != 1 {
			t.Fatalf("%d calls", counters.calls())
		}
		for i := range counters.took {
			if counters.took[i].Load() == 0 {
				continue
			}
			bound := int64(1) << i * 1000
			if last := i == latencyBuckets-1; nanos >= bound && !last || i > 0 && nanos < bound/2 {
				t.Errorf("%d ns counts as at most %d ns", nanos, bound)
			}
		}
	}
}
