//go:build peers

package redisapi

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/grammar"
)

// eventSequences are commands whose events depend on those before them.
var eventSequences = map[string][]string{
	"a key that changes its kind": {"SET k v", "DEL k", "LPUSH k a", "DEL k", "SADD k a", "RENAME k j", "SET k v", "RENAME k j", "GET k"},
	"expiries":                    {"SET k v EX 100", "SET k v KEEPTTL", "PERSIST k", "PERSIST k", "EXPIRE k 100", "EXPIRE k -1", "EXPIRE k 100", "SET k v PX 100000 GET", "GETEX k PERSIST", "GETEX k PERSIST"},
	"the last element":            {"RPUSH l a b", "LPOP l", "LPOP l", "LPOP l", "SADD s a", "SPOP s", "ZADD z 1 a", "ZREM z a", "HSET h f v", "HDEL h f"},
	"lists between keys":          {"RPUSH l a b", "LMOVE l l LEFT RIGHT", "LMOVE l m LEFT RIGHT", "RPOPLPUSH l m", "RPOPLPUSH l m", "LMOVE m m RIGHT LEFT"},
	"stored results":              {"SADD a 1 2", "SADD b 2 3", "SINTERSTORE c a b", "SINTERSTORE c a none", "SDIFFSTORE c a a", "SUNIONSTORE a a b", "ZUNIONSTORE z 1 a", "ZUNIONSTORE z 1 none", "SORT a STORE l", "SORT none STORE l"},
	"copies over what is there":   {"SET k v", "COPY k j", "COPY k j", "COPY k j REPLACE", "RENAMENX k j", "DEL j", "RENAMENX k j", "COPY j k DB 0"},
	"several databases":           {"SET k v", "MOVE k 1", "MOVE k 1", "SET k w", "MOVE k 1", "SELECT 1", "GET k", "DEL k", "SELECT 0", "COPY k j DB 1", "FLUSHDB", "SELECT 1", "FLUSHALL", "SELECT 0"},
	"nothing to do":               {"PFADD p a", "PFADD p a", "SETRANGE k 0 x", "APPEND k x", "SETBIT k 1 1", "HSETNX h f v", "HSETNX h f v", "ZADD z 1 a", "ZADD z 1 a", "ZADD z XX 1 b", "SADD s a", "SADD s a", "MSETNX k 1 n 2"},
	"bytes":                       {"SET \x00\xff v", "LPUSH a\x00b v", "DEL \x00\xff a\x00b", "SET {__:k} v", "HSET __keyspace@0__:x f v"},
}

// TestEventsOfSequences runs each sequence in turns, in a pipeline, in a transaction and in
// a script, and compares the events.
func TestEventsOfSequences(t *testing.T) {
	t.Parallel()
	e := newEventStream(t, grammar.Grammar{})
	e.setEvents("KEg$lshznm")
	for name, sequence := range eventSequences {
		var lines [][]string
		for _, line := range sequence {
			lines = append(lines, strings.Fields(line))
		}
		inTransaction := append(append([][]string{{"MULTI"}}, lines...), []string{"EXEC"})
		for way, batches := range map[string][][][]string{
			"in turns": inTurns(lines), "pipelined": {lines}, "in a transaction": {inTransaction}, "in scripts": scripted(lines),
		} {
			e.exchange(t, 0, [][]string{{"FLUSHALL"}, {"SELECT", "0"}}, false)
			e.redis.take()
			e.howdah.take()
			for _, batch := range batches {
				e.exchange(t, 0, batch, false)
			}
			want, got := e.redis.take(), e.howdah.take()
			if way == "pipelined" {
				want, got = byChannel(want), byChannel(got)
			}
			if !slices.Equal(want, got) {
				t.Errorf("%s, %s\n  got %q\nredis %q", name, way, got, want)
			}
		}
	}
}

func inTurns(lines [][]string) (batches [][][]string) {
	for _, line := range lines {
		batches = append(batches, [][]string{line})
	}
	return batches
}

// scripted has one script run all lines that a script may run, and leaves the others
// beside it.
func scripted(lines [][]string) (batches [][][]string) {
	const run = `for _, line in ipairs(ARGV) do
		local words = {}
		for word in line:gmatch('%S+') do words[#words + 1] = word end
		redis.pcall(unpack(words))
	end`
	script := []string{"EVAL", run, "0"}
	flush := func() {
		if len(script) > 3 {
			batches = append(batches, [][]string{script})
			script = []string{"EVAL", run, "0"}
		}
	}
	for _, line := range lines {
		if notInScripts[strings.ToLower(line[0])] || strings.ContainsAny(strings.Join(line, ""), "\x00") {
			flush()
			batches = append(batches, [][]string{line})
			continue
		}
		script = append(script, strings.Join(line, " "))
	}
	flush()
	return batches
}

// TestEventsOfRestore compares the events of payloads that can be restored.
func TestEventsOfRestore(t *testing.T) {
	t.Parallel()
	e := newEventStream(t, grammar.Grammar{})
	e.setEvents("KEg$lshznm")
	redis := e.pairs[0][0]
	redis.do("ZADD", "z", "1", "a")
	payload := content(redis.do("DUMP", "z"))
	for _, options := range []string{"k 0", "k 100000", "k 99999999999999 ABSTTL", "k 1 ABSTTL", "s 0", "s 0 REPLACE", "s 1 REPLACE ABSTTL", "s 100000 REPLACE", "z 0 REPLACE"} {
		words := strings.Fields(options)
		line := append(append([]string{"RESTORE"}, words[0], words[1], payload), words[2:]...)
		for _, lines := range [][][]string{{line}, {{"MULTI"}, line, {"EXEC"}}, {append([]string{"EVAL", "return redis.pcall(unpack(ARGV))", "0"}, line...)}} {
			e.exchange(t, 0, append([][]string{{"FLUSHALL"}}, eventKeys...), false)
			e.redis.take()
			e.howdah.take()
			e.exchange(t, 0, lines, true)
			if want, got := e.redis.take(), e.howdah.take(); !slices.Equal(got, want) {
				t.Errorf("RESTORE %s\n  got %q\nredis %q", options, got, want)
			}
		}
	}
}

// TestEventsOfExpiredKeys compares the events of commands that meet a key which has
// expired, but for their order: Redis publishes keymiss after expired.
func TestEventsOfExpiredKeys(t *testing.T) {
	t.Parallel()
	e := newEventStream(t, grammar.Grammar{})
	e.setEvents("Kg$lshzxnm")
	for _, c := range e.pairs[0][:1] {
		c.want(resp.OK, "DEBUG", "SET-ACTIVE-EXPIRE", "0")
	}
	for _, line := range []string{
		"GET k", "MGET k j", "EXISTS k", "TTL k", "TYPE k", "STRLEN k", "LLEN k", "HGETALL k", "GETRANGE k 0 1", "SCARD k", "SINTER j k", "OBJECT ENCODING k", "TOUCH k", "DUMP k",
	} {
		e.exchange(t, 0, [][]string{{"FLUSHALL"}, {"SET", "k", "v", "PX", "1"}}, true)
		for _, c := range e.pairs[0] {
			c.awaitTime(now(c).Add(5 * time.Millisecond))
		}
		e.redis.take()
		e.howdah.take()
		e.exchange(t, 0, [][]string{strings.Fields(line)}, false)
		e.pairs[0][1].do("DEL", "k") // waits behind what removes the key
		if want, got := slices.Sorted(slices.Values(e.redis.take())), slices.Sorted(slices.Values(e.howdah.take())); !slices.Equal(got, want) {
			t.Errorf("%s\n  got %q\nredis %q", line, got, want)
		}
	}
}

// now returns the time of a server.
func now(c *testClient) time.Time {
	words := elements(c.do("TIME"))
	seconds, _ := strconv.ParseInt(content(words[0]), 10, 64)
	micros, _ := strconv.ParseInt(content(words[1]), 10, 64)
	return time.Unix(seconds, micros*1000)
}

// awaitTime waits until it is later than that on a server.
func (c *testClient) awaitTime(at time.Time) {
	await.True(c.t, "the server's clock is there", func() bool { return now(c).After(at) })
}
