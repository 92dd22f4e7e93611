//go:build peers

package redisapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// countedScripts are scripts with errors of their own, and of commands that they catch or not.
var countedScripts = []string{
	"return redis.error_reply('MY_ERR x')", "return redis.error_reply('My-Err x')", "return redis.error_reply('x')", "return {err='ABC def'}", "return {err='ABC'}",
	"return {err='1a:b#c d'}", "return {err='a_name_that_is_longer_than_thirty_bytes x'}", "return {err='a_name_that_has_thirty_bytes_x x'}", "return {err=''}",
	"error({err='FOO bar'})", "error('bar')", "redis.pcall('nosuch') return 1", "redis.pcall('get') return 1", "redis.call('set','s','x') redis.pcall('incr','s') return 1",
	"redis.call('set','s','x') redis.pcall('lpush','s',1) return 1", "redis.call('lpush','s',1) return 1", "return redis.pcall('lpush','s',1)",
	"return pcall(redis.call,'lpush','s',1)", "local ok,e=pcall(redis.call,'lpush','s',1) return e", "local ok,e=pcall(redis.call,'lpush','s',1) error(e)",
	"local e=redis.pcall('lpush','s',1) return {err=e.err}", "return redis.pcall('nosuch')", "return redis.call('nosuch')", "return redis.call('get')", "return redis.call()", "return redis.call({})",
	"return redis.pcall('subscribe','x')", "for i=1,3 do redis.call('get','x'..i) end return redis.call('set','a','b')", "return 1 +", "#!lua flags=foo\nreturn 1",
	"return redis.pcall('set','a','b','c')", "return redis.pcall('memory','nosuch')", "return redis.pcall('object','freq','a')", "for i=1,5 do redis.pcall('lpush','s',1) redis.pcall('hset','s',1,1) end return 1",
	"return {1,{err='IN array'},redis.pcall('lpush','s',1)}", "return 1",
}

var countsOfCommand = regexp.MustCompile(`(?m)^cmdstat_(\S+?):calls=(\d+),.*rejected_calls=(\d+),failed_calls=(\d+)`)

// countersOf returns what INFO says of errors, and of commands but those that ask for it.
func countersOf(c *testClient) string {
	c.t.Helper()
	var list []string
	for line := range strings.Lines(unbulk(c.do("INFO", "errorstats"))) {
		if strings.HasPrefix(line, "errorstat_") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	for _, m := range countsOfCommand.FindAllStringSubmatch(unbulk(c.do("INFO", "commandstats")), -1) {
		if m[1] != "info" && m[1] != "config|resetstat" {
			list = append(list, fmt.Sprint(m[1:]))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// TestScriptsCountAsInRedis compares the counters of errors and commands after scripts: alone, as they
// are known, and in a transaction.
func TestScriptsCountAsInRedis(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	for _, script := range countedScripts {
		for _, way := range []string{"new", "known", "MULTI"} {
			var got [2]string
			for i, c := range []*testClient{redis, howdah} {
				c.want("+OK\r\n", "SET", "s", "x")
				c.want("+OK\r\n", "CONFIG", "RESETSTAT")
				if way == "MULTI" {
					c.want("+OK\r\n", "MULTI")
				}
				c.do("EVAL", script, "1", "s")
				if way == "MULTI" {
					c.do("EXEC")
				}
				got[i] = countersOf(c)
			}
			if strings.Contains(script, "IN array") { // Redis counts two failures of one EVAL
				got[0] = strings.Replace(got[0], "[eval 1 0 2]", "[eval 1 0 0]", 1)
			}
			if got[0] != got[1] {
				t.Errorf("%s, %s\nhowdah:\n%s\nredis:\n%s", script, way, got[1], got[0])
			}
		}
	}
}

// TestRandomNumbersGoOn compares the numbers of scripts and functions behind a seed.
func TestRandomNumbersGoOn(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	const library = "#!lua name=drawing\nredis.register_function('draw', function() return tostring(math.random()) end)"
	for _, line := range [][]string{
		{"FUNCTION", "LOAD", library}, {"EVAL", "math.randomseed(42)", "0"}, {"EVAL", "return tostring(math.random())", "0"}, {"EVAL", "return tostring(math.random())", "0"},
		{"FCALL", "draw", "0"}, {"FCALL", "draw", "0"}, {"EVAL", "return math.random(100)", "0"}, {"EVAL", "return redis.call('SET', 'k' .. math.random(1000000), 1)", "0"}, {"KEYS", "*"},
		{"EVAL", "local x = math.random(1000000) redis.call('SET', 'a' .. x, 1) redis.call('SET', 'b' .. math.random(1000000), 1) return {x, math.random(1000000)}", "0"}, {"FCALL", "draw", "0"},
	} {
		if want, got := redis.do(line...), howdah.do(line...); got != want {
			t.Errorf("%q\n got %q\nwant %q", line, got, want)
		}
	}
}

// TestScriptsAreCounted: INFO says how many scripts and functions there are.
func TestScriptsAreCounted(t *testing.T) {
	t.Parallel()
	numbers := regexp.MustCompile(`(?m)^number_of_\w+:\d+`)
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	for _, line := range [][]string{
		{"PING"}, {"EVAL", "return 1", "0"}, {"SCRIPT", "LOAD", "return 2"}, {"EVAL", "return 2", "0"},
		{"FUNCTION", "LOAD", "#!lua name=a\nredis.register_function('f', function() return 1 end) redis.register_function('g', function() return 1 end)"},
		{"SCRIPT", "FLUSH"}, {"FUNCTION", "FLUSH"},
	} {
		redis.do(line...)
		howdah.do(line...)
		want, got := numbers.FindAllString(redis.do("INFO", "memory"), -1), numbers.FindAllString(howdah.do("INFO", "memory"), -1)
		if !slices.Equal(got, want) {
			t.Errorf("after %q: got %q, want %q", line, got, want)
		}
	}
}
