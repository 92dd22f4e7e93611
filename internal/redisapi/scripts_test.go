package redisapi

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

const killedScript = "-ERR Error running script: Script killed by user with SCRIPT KILL...\r\n"

// endlessScripts run until somebody ends them. They first write, which must not count.
var endlessScripts = map[string]string{
	"loop":      `while true do end`,
	"caught":    `while true do pcall(function() while true do end end) end`,
	"commands":  `while true do redis.call('INCR', KEYS[1]) end`,
	"pattern":   `return string.find(string.rep('a', 40), string.rep('a?', 40) .. string.rep('a', 41))`,
	"gsub":      `while true do string.gsub(string.rep('x', 10000), '.', '%0%0') end`,
	"coroutine": `coroutine.wrap(function() while true do end end)()`,
}

// TestKilledScripts ends endless scripts with SCRIPT KILL while other clients are
// served. Nothing of what they wrote is stored.
func TestKilledScripts(t *testing.T) {
	s := serve(t, Options{})
	other := dial(t, s.addr())
	for name, script := range endlessScripts {
		t.Run(name, func(t *testing.T) {
			c := dial(t, s.addr())
			c.send(resp.AppendCommand(nil, "EVAL", "redis.call('SET', KEYS[1], '1') redis.pcall('SET', 'undeclared', '1') "+script, "1", "k:"+name))
			other.want("+OK\r\n", "SET", "k", name)
			waitFor(t, "the script to run", func() bool { return other.do("SCRIPT", "KILL") == resp.OK })
			other.want(bulk(name), "GET", "k")
			if got := c.reply(); got != killedScript {
				t.Errorf("got %q", got)
			}
			other.want(":0\r\n", "EXISTS", "k:"+name, "undeclared")
		})
	}
	other.want("-NOTBUSY No scripts in execution right now.\r\n", "SCRIPT", "KILL")
}

// TestScriptTime: a script that nobody ends has 5 s. Callers of its key wait for it,
// others do not, and nothing of what it wrote is stored.
func TestScriptTime(t *testing.T) {
	s := serve(t, Options{})
	c, waits, other := dial(t, s.addr()), dial(t, s.addr()), dial(t, s.addr())
	c.send(resp.AppendCommand(nil, "EVAL", "redis.call('SET', KEYS[1], '1') while true do end", "1", "k"))
	waitFor(t, "the script to run", func() bool {
		s.engine.scripts.mu.Lock()
		defer s.engine.scripts.mu.Unlock()
		return len(s.engine.scripts.cancels) > 0
	})
	waits.send(resp.AppendCommand(nil, "APPEND", "k", "2"))
	other.want(":1\r\n", "APPEND", "other", "2")
	if got, want := c.reply(), "-ERR the script ran for more than 5 s; nothing of it was stored\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := waits.reply(); got != ":1\r\n" && !strings.HasPrefix(got, "-ERR timeout") {
		t.Errorf("a command that waited: %q", got)
	}
}

// TestGreedyScripts end with an error by themselves.
func TestGreedyScripts(t *testing.T) {
	s := serve(t, Options{})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	for script, want := range map[string]string{
		`local t = {} while true do t[#t + 1] = string.rep('x', 100000) .. #t end`:     "64 MiB",
		`return string.rep('x', 1024 * 1024 * 1024)`:                                   "64 MiB",
		`local s = 'x' while true do s = s .. s end`:                                   "64 MiB",
		`return #table.concat({string.rep('x', 40000000), string.rep('y', 40000000)})`: "64 MiB",
		`local function f() return 1 + f() end return f()`:                             "stack overflow",
		`local function f() return pcall(f) end return tostring(f())`:                  "",
		`return {unpack({}, 1, 10000000)}`:                                             "too many results to unpack",
		`local t = {} t[1] = t return t`:                                               "",
		`return cjson.encode(setmetatable({}, {__index = error}))`:                     "",
	} {
		got := c.do("EVAL", "redis.call('SET', 'k', '1') "+script, "0")
		if want != "" && (!isError([]byte(got)) || !strings.Contains(got, want)) {
			t.Errorf("%s: got %.200q, want an error with %q", script, got, want)
		}
		other.want(resp.Pong, "PING")
		if want == "64 MiB" {
			other.want(":0\r\n", "DEL", "k")
		} else {
			other.want(":1\r\n", "DEL", "k")
		}
	}
}

// TestScriptsOfManyClients change the same keys at once, declared and not: each
// script sees all of what another did, or nothing.
func TestScriptsOfManyClients(t *testing.T) {
	const clients, rounds = 8, 25
	s := serve(t, Options{})
	const script = `local n = (redis.call('GET', 'a') or 0) + 1
		if n ~= (redis.call('HGET', 'b', 'n') or 0) + 1 then return redis.error_reply('TORN') end
		redis.call('SET', 'a', n) redis.call('HSET', 'b', 'n', n) return n`
	var work sync.WaitGroup
	for i := range clients {
		c := dial(t, s.addr())
		work.Go(func() {
			for range rounds {
				line := []string{"EVAL", script, "2", "a", "b"}
				if i%2 == 0 {
					line = []string{"EVAL", script, "0"}
				}
				if got := c.do(line...); isError([]byte(got)) {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	work.Wait()
	dial(t, s.addr()).want(bulk(fmt.Sprint(clients*rounds)), "GET", "a")
}
