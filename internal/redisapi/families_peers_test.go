//go:build peers

package redisapi

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/grammar"
	"github.com/howdah/howdah/internal/test/long"
	"github.com/howdah/howdah/internal/test/seed"
)

var (
	familyLength = flag.Int("commands", long.Or(3_000, 10_000), "commands of each family that are compared with redis-server")
	familySeed   = flag.Uint64("seed", 0, "repeats the streams; 0: as HOWDAH_SEED says")
)

// TestFamilies sends the same random commands of each family to redis-server and to
// Howdah, in both versions of the protocol and partly inside MULTI, and compares the
// replies.
func TestFamilies(t *testing.T) {
	t.Parallel()
	for _, family := range grammar.Families() {
		t.Run(family.Name, func(t *testing.T) {
			seed := seed.Or(t, *familySeed)
			limit(&family)
			redis := startRedis(t, "--hash-max-listpack-value", "1000000", "--hash-max-listpack-entries", "10000",
				"--zset-max-listpack-value", "1000000", "--zset-max-listpack-entries", "10000")
			howdah := serve(t, Options{}).addr()
			f := &familyStream{Grammar: grammar.Grammar{Rand: rand.New(rand.NewPCG(seed, 0)), Family: family}}
			for i := range f.pairs {
				f.pairs[i] = [2]*testClient{dial(t, redis), dial(t, howdah)}
				f.exchange(t, i, [][]string{{"HELLO", strconv.Itoa(2 + i)}}, false)
			}
			f.exchange(t, 0, grammar.Prepare(), true)
			for made := 0; made < *familyLength && !t.Failed(); {
				made += f.batch(t)
			}
			f.compareState(t)
		})
	}
}

// limit leaves out what docs/commands.md lists as different: sums of decimal numbers
// beyond 2^64, and times beyond those of PostgreSQL.
func limit(family *grammar.Family) {
	switch family.Name {
	case "string":
		family.Templates = slices.DeleteFunc(family.Templates, func(template string) bool { return strings.HasPrefix(template, "INCRBYFLOAT") })
	case "generic":
		family.Words["u"] = []string{"100000", "1000000", "0", "-1", "x", "9223372036854775807", "-9223372036854775808"}
		family.Words["y"] = []string{"99999999999", "88888888888", "1", "0", "-1", "x"}
	}
}

// familyStream is the stream of a family over connections to both servers: in
// version 2 and in version 3 of the protocol.
type familyStream struct {
	grammar.Grammar
	pairs [2][2]*testClient
}

// batch sends some commands and returns how many.
func (f *familyStream) batch(t *testing.T) int {
	t.Helper()
	lines := make([][]string, 1+f.IntN(100))
	for i := range lines {
		lines[i] = f.Line()
	}
	if f.IntN(4) == 0 {
		lines = append(append([][]string{{"MULTI"}}, lines[:min(len(lines), 20)]...), []string{"EXEC"})
	}
	f.exchange(t, f.IntN(2), lines, true)
	return len(lines)
}

// exchange sends a pipeline to both servers and compares the replies.
func (f *familyStream) exchange(t *testing.T, pair int, lines [][]string, compare bool) {
	t.Helper()
	var data []byte
	for _, line := range lines {
		data = resp.AppendCommand(data, line...)
	}
	redis, howdah := f.pairs[pair][0], f.pairs[pair][1]
	redis.send(data)
	howdah.send(data)
	for _, line := range lines {
		want, got := redis.reply(), howdah.reply()
		if compare && !f.same(line, got, want) {
			t.Errorf("RESP%d %q in %d\n  got %q\nredis %q", pair+2, line, len(lines), got, want)
			if line[0] == "EXEC" {
				t.Logf("%q", lines)
			}
		}
	}
}

// same compares two replies; those of EXEC part by part.
func (f *familyStream) same(line []string, got, want string) bool {
	if line[0] != "EXEC" || want[0] != '*' || got[0] != '*' {
		return f.Family.Same(got, want)
	}
	wants, gots := elements(want), elements(got)
	for i := range wants {
		if len(gots) != len(wants) || !f.Family.Same(gots[i], wants[i]) {
			return false
		}
	}
	return true
}

// compareState reads all keys of both servers.
func (f *familyStream) compareState(t *testing.T) {
	t.Helper()
	all := grammar.Family{Unordered: true}
	redis, howdah := f.pairs[0][0], f.pairs[0][1]
	keys := redis.do("KEYS", "*")
	if got := howdah.do("KEYS", "*"); !all.Same(got, keys) {
		t.Errorf("keys\n  got %q\nredis %q", got, keys)
	}
	for _, key := range elements(keys) {
		key = content(key)
		want := redis.do("TYPE", key)
		if got := howdah.do("TYPE", key); got != want {
			t.Errorf("%q is %q, redis has %q", key, got, want)
			continue
		}
		read := reading(want, key)
		same := grammar.Family{HyperLogLog: true, Unordered: read[0] == "HGETALL" || read[0] == "SMEMBERS"}
		if got, want := howdah.do(read...), redis.do(read...); !same.Same(got, want) {
			t.Errorf("%q\n  got %q\nredis %q", read, got, want)
		}
	}
}

// TestDumpExchange carries values of all kinds to redis-server by DUMP and RESTORE, and
// back.
func TestDumpExchange(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	lines := [][]string{
		{"SET", "text", "value"}, {"SET", "number", "12345"}, {"SET", "long", strings.Repeat("abc", 20_000)},
		{"HSET", "hash", "f", "v", "n", "1"}, {"RPUSH", "list", "a", "2", strings.Repeat("x", 200)}, {"SADD", "numbers", "1", "2", "70000"},
		{"SADD", "words", "a", "b"}, {"ZADD", "zset", "1.5", "a", "-inf", "b", "3", "c"}, {"PFADD", "hll", "a", "b"},
	}
	for i := range 300 {
		n := strconv.Itoa(i)
		lines = append(lines, []string{"HSET", "large hash", "field" + n, n}, []string{"RPUSH", "large list", n}, []string{"SADD", "large set", "m" + n}, []string{"ZADD", "large zset", n, "m" + n})
	}
	for _, servers := range [][2]*testClient{{redis, howdah}, {howdah, redis}} {
		from, to := servers[0], servers[1]
		for _, line := range lines {
			from.do(line...)
		}
		for _, key := range elements(from.do("KEYS", "*")) {
			key = content(key)
			if reply := to.do("RESTORE", "copy of "+key, "0", content(from.do("DUMP", key))); reply != resp.OK {
				t.Errorf("%s: %q", key, reply)
			}
			kind := from.do("TYPE", key)
			if got := to.do("TYPE", "copy of "+key); got != kind {
				t.Errorf("%s is %q there, %q here", key, got, kind)
			}
			same := grammar.Family{Unordered: kind == "+hash\r\n" || kind == "+set\r\n"}
			if got, want := to.do(reading(kind, "copy of "+key)...), from.do(reading(kind, key)...); !same.Same(got, want) {
				t.Errorf("%s\n got %.200q\nwant %.200q", key, got, want)
			}
		}
		from.do("FLUSHALL")
		to.do("FLUSHALL")
	}
}

// content returns the text of a bulk string.
func content(bulk string) string { return bulk[strings.Index(bulk, "\n")+1 : len(bulk)-2] }

// reading returns a command that reads the whole value of a key of a kind.
func reading(kind, key string) []string {
	return map[string][]string{
		"+string": {"GET", key}, "+hash": {"HGETALL", key}, "+set": {"SMEMBERS", key},
		"+list": {"LRANGE", key, "0", "-1"}, "+zset": {"ZRANGE", key, "0", "-1", "WITHSCORES"},
	}[strings.TrimSpace(kind)]
}
