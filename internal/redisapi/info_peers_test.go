//go:build peers

package redisapi

import (
	"maps"
	"strings"
	"testing"
)

// TestErrorStatsOfRedis compares the counters of errors with redis-server.
func TestErrorStatsOfRedis(t *testing.T) {
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
	want, got := infoFields(t, redis.do("INFO", "errorstats")), infoFields(t, howdah.do("INFO", "errorstats"))
	if !maps.Equal(want, got) {
		t.Errorf("errorstats: %v, Redis %v", got, want)
	}
	const total = "total_error_replies"
	if want, got := infoFields(t, redis.do("INFO", "stats"))[total], infoFields(t, howdah.do("INFO", "stats"))[total]; want != got {
		t.Errorf("%s is %s, in Redis %s", total, got, want)
	}
}
