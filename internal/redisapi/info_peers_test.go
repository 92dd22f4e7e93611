//go:build peers

package redisapi

import (
	"maps"
	"strings"
	"testing"
)

// TestErrorStatsOfRedis compares the counters of errors with redis-server.
func TestErrorStatsOfRedis(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t, "--requirepass", "secret")), dial(t, serve(t, Options{Password: "secret"}).addr())
	for _, command := range []string{
		"GET k", "AUTH wrong", "AUTH secret", "nosuch a", "GET", "SET k v EX 0", "CLIENT nosuch", "SET k x", "INCR k",
		"MULTI", "nosuch", "EXEC", "MULTI", "INCR k", "SET k v EX x", "SELECT 99", "CLIENT KILL 1:1", "EXEC", "EXEC", "MULTI", "EXEC 1",
		"RENAME nosuch k", "HELLO 9", "HELLO 3 AUTH default wrong",
	} {
		args := strings.Fields(command)
		if want, got := redis.do(args...), howdah.do(args...); want != got {
			t.Errorf("%s: %q, Redis %q", command, got, want)
		}
	}
	compareErrorStats(t, redis, howdah)
}

func compareErrorStats(t *testing.T, redis, howdah *testClient) {
	t.Helper()
	want, got := infoFields(t, redis.do("INFO", "errorstats")), infoFields(t, howdah.do("INFO", "errorstats"))
	if !maps.Equal(want, got) {
		t.Errorf("errorstats: %v, Redis %v", got, want)
	}
	const total = "total_error_replies"
	if want, got := infoFields(t, redis.do("INFO", "stats"))[total], infoFields(t, howdah.do("INFO", "stats"))[total]; want != got {
		t.Errorf("%s is %s, in Redis %s", total, got, want)
	}
}

// linesThatFail are command lines, some of them with several commands, at least one of which is answered by an error.
const linesThatFail = `
LPUSH s x
INCR s
GETEX s EX 0
SETEX s 0 v
SET s v PX -1
HGET s f
ZADD s 1 a
SADD s a
SUNIONSTORE d s l
EVALSHA abc 0
EVAL ( 0
EVAL return(nosuch) 0
FCALL nosuch 0
FUNCTION LOAD x
SCRIPT nosuch
RESTORE s 0 x
RESTORE s 0 x REPLACE
LSET nokey 0 a
LSET l 99 a
RENAME nokey s
EXEC
DISCARD
MULTI;MULTI;WATCH a;EXEC
MULTI;INCR s;LPUSH s a;GET;EXEC
MULTI;INCR s;LPUSH s a;EXEC
MULTI;nosuch;GET s;EXEC
MULTI;INCR s;SELECT 99;EXEC
SUBSCRIBE
CLIENT KILL 1:1
CLIENT REPLY x
CLIENT nosuch
OBJECT nosuch k
OBJECT FREQ s
CONFIG SET nosuch 1
CONFIG GET
CONFIG SET maxmemory x
LATENCY nosuch
ACL nosuch
ACL CAT nosuch
AUTH x
AUTH a b
HELLO 9
SELECT x
MOVE s 99
SETRANGE s 9999999999 x
GETRANGE s x 1
BITOP NOT d a b
SORT s BY
ZADD z nan a
ZADD z 1
ZRANGEBYSCORE z x y
PFADD s a
MEMORY USAGE
EXPIRE s x
EXPIRE s 9223372036854775807
SET n 9223372036854775807;INCR n
HINCRBY h f 1
LPOS l a RANK 0
ZUNIONSTORE d 0
COPY s s
BLPOP l x
BLPOP s 0
WAIT x y
KEYS
SCAN x
PUBLISH a
`

// TestWhatCountsAsAnError compares the counters of errors and of commands with redis-server, line by line.
func TestWhatCountsAsAnError(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	for _, c := range []*testClient{redis, howdah} {
		c.do("SET", "s", "v")
		c.do("RPUSH", "l", "a")
		c.do("HSET", "h", "f", "v")
	}
	for line := range strings.Lines(strings.TrimSpace(linesThatFail)) {
		var calls []map[string]string
		for _, c := range []*testClient{redis, howdah} {
			c.do("CONFIG", "RESETSTAT")
			for command := range strings.SplitSeq(strings.TrimSpace(line), ";") {
				c.do(strings.Fields(command)...)
			}
			calls = append(calls, commandCalls(t, c))
		}
		if !maps.Equal(calls[0], calls[1]) {
			t.Errorf("%s: calls %v, Redis %v", strings.TrimSpace(line), calls[1], calls[0])
		}
		compareErrorStats(t, redis, howdah)
		if t.Failed() {
			t.Fatalf("after %s", line)
		}
	}
}

// commandCalls are the lines of INFO commandstats without the times.
func commandCalls(t *testing.T, c *testClient) map[string]string {
	t.Helper()
	fields := infoFields(t, c.do("INFO", "commandstats"))
	delete(fields, "cmdstat_info")
	delete(fields, "cmdstat_config|resetstat")
	for name, value := range fields {
		var counts []string
		for field := range strings.SplitSeq(value, ",") {
			if !strings.HasPrefix(field, "usec") {
				counts = append(counts, field)
			}
		}
		fields[name] = strings.Join(counts, ",")
	}
	return fields
}
