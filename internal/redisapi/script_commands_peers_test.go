//go:build peers

package redisapi

import (
	"slices"
	"strings"
	"testing"
)

// TestCommandsOfRedisInScripts asks redis-server for each of its commands whether scripts may call it.
// Howdah allows and refuses the same ones, of those that it has.
func TestCommandsOfRedisInScripts(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	const library = "#!lua name=calling\nredis.register_function('pcall', function(keys, args) return redis.pcall(unpack(args)) end)"
	redis.do("FUNCTION", "LOAD", library)
	howdah.do("FUNCTION", "LOAD", library)
	allowed, refused := 0, 0
	newTable().each(func(cmd *Command) {
		if cmd.Sub != nil && cmd.now == nil || slices.Contains(otherDatabase, cmd.fullName) || !strings.HasPrefix(redis.do("COMMAND", "INFO", cmd.fullName), "*1\r\n*10\r\n") {
			return
		}
		args := strings.Split(cmd.fullName, "|")
		for len(args) < max(cmd.Arity, -cmd.Arity) {
			args = append(args, "x")
		}
		for _, call := range [][]string{{"EVAL", "return redis.pcall(unpack(ARGV))", "0"}, {"FCALL", "pcall", "0"}} {
			line := append(call, args...)
			want, got := verdict(redis.do(line...)), verdict(howdah.do(line...))
			if got != want {
				t.Errorf("%q: %s, want %s", line, got, want)
			}
			if want == "allowed" {
				allowed++
			} else {
				refused++
			}
			redis.do("MULTI")
			howdah.do("MULTI")
			redis.do(line...)
			howdah.do(line...)
			want, got = verdict(strings.TrimPrefix(redis.do("EXEC"), "*1\r\n")), verdict(strings.TrimPrefix(howdah.do("EXEC"), "*1\r\n"))
			if got != want {
				t.Errorf("%q in MULTI: %s, want %s", line, got, want)
			}
		}
	})
	if allowed < 300 || refused < 80 {
		t.Errorf("only %d calls were allowed and %d refused", allowed, refused)
	}
}

// verdict says whether a script may call the command of a reply.
func verdict(reply string) string {
	for _, text := range []string{"not allowed from script", "Unknown Redis command", "not available in scripts", "Wrong number of args"} {
		if strings.Contains(reply, text) {
			return "refused: " + text
		}
	}
	return "allowed"
}

// TestSortInScripts: a set that is not to be sorted has an order in scripts.
func TestSortInScripts(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	for _, line := range []string{
		"SADD s 10 9 1 -2", "SADD words b a c aa B", "RPUSH l 3 1 2", "ZADD z 3 a 1 b 2 c", "MSET w_1 5 w_9 4 w_10 3 w_-2 2",
	} {
		redis.do(strings.Fields(line)...)
		howdah.do(strings.Fields(line)...)
	}
	for _, key := range []string{"s", "words", "l", "z", "nosuch"} {
		for _, options := range []string{
			"BY nosort", "BY nosort DESC", "BY nosort ASC", "BY nosort LIMIT 1 2", "BY nosort LIMIT 0 1 DESC", "BY nosort GET #", "BY nosort GET w_*", "BY nosort ALPHA", "BY nosort ALPHA DESC LIMIT 1 9",
			"ALPHA", "BY nosort STORE d", "BY nosort DESC STORE d",
		} {
			args := append([]string{key}, strings.Fields(options)...)
			for _, call := range [][]string{
				{"EVAL", "return redis.pcall('SORT', KEYS[1], unpack(ARGV))", "1"}, {"EVAL", "return redis.pcall('SORT_RO', KEYS[1], unpack(ARGV))", "1"},
				{"EVAL_RO", "return redis.pcall('SORT_RO', KEYS[1], unpack(ARGV))", "1"},
			} {
				line := append(call, args...)
				if want, got := redis.do(line...), howdah.do(line...); got != want {
					t.Errorf("%q\n got %q\nwant %q", line, got, want)
				}
				if want, got := redis.do("LRANGE", "d", "0", "-1"), howdah.do("LRANGE", "d", "0", "-1"); got != want {
					t.Errorf("%q stores\n got %q\nwant %q", line, got, want)
				}
			}
		}
	}
}
