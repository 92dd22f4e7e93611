package redisapi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/lua"
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
	t.Parallel()
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

// TestKilledBetweenRuns: a script that is killed while it asks for a key does not begin
// again.
func TestKilledBetweenRuns(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	ran := 0
	r := newRequest(&Conn{engine: s.engine}, s.engine.commands.named([]byte("eval")), nil)
	r.runScript(nil, scriptRun{}, func(context.Context, *scriptHost, *lua.Run) ([]byte, error) {
		ran++
		if killed, _ := s.engine.scripts.kill(false); !killed {
			t.Error("no script runs")
		}
		return nil, errNotLoaded
	})
	r.edit.Run(new(edit.View))
	r.edit.Run(new(edit.View))
	if ran != 1 {
		t.Errorf("it ran %d times", ran)
	}
}

// TestScriptTime: a script that nobody ends has 5 s. Callers of its key wait for it,
// others do not, and nothing of what it wrote is stored.
func TestScriptTime(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c, waits, other := dial(t, s.addr()), dial(t, s.addr()), dial(t, s.addr())
	c.send(resp.AppendCommand(nil, "EVAL", "redis.call('SET', KEYS[1], '1') while true do end", "1", "k"))
	waitFor(t, "the script to run", func() bool {
		s.engine.scripts.mu.Lock()
		defer s.engine.scripts.mu.Unlock()
		return len(s.engine.scripts.running) > 0
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
	t.Parallel()
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
	t.Parallel()
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
				if got := c.again(line...); isError([]byte(got)) {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	work.Wait()
	dial(t, s.addr()).want(bulk(fmt.Sprint(clients*rounds)), "GET", "a")
}

// TestScriptTimeInExec: a script inside EXEC, which holds rows, has the time of the
// transaction. SCRIPT KILL ends the script alone.
func TestScriptTimeInExec(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{TaskTimeout: 300 * time.Millisecond})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	const endless = "redis.call('SET', 'other', '1') while true do end"
	queue := func() {
		c.want(resp.OK, "MULTI")
		c.want(resp.Queued, "HSET", "h", "f", "v")
		c.want(resp.Queued, "EVAL", endless, "0")
	}
	queue()
	if got := c.do("EXEC"); !strings.HasPrefix(got, "-ERR timeout") {
		t.Errorf("got %q", got)
	}
	other.want(":0\r\n", "EXISTS", "h", "other")

	s = serve(t, Options{})
	c, other = dial(t, s.addr()), dial(t, s.addr())
	queue()
	c.send(resp.AppendCommand(nil, "EXEC"))
	waitFor(t, "the script to run", func() bool { return other.do("SCRIPT", "KILL") == resp.OK })
	if got, want := c.reply(), "*2\r\n:1\r\n"+killedScript; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	other.want(":1\r\n", "EXISTS", "h", "other")
}

// TestLongScript: what takes long to compile does not keep the connection's event
// loop, and what is longer is refused.
func TestLongScript(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	const refused = "-ERR script is longer than 1048576 bytes; use a shorter one\r\n"
	long := "return #{" + strings.Repeat("1,", maxScriptText/2-5) + "}"
	c.want(":524283\r\n", "EVAL", long, "0")
	c.want(refused, "EVAL", long+"   ", "0")
	c.want(refused, "SCRIPT", "LOAD", long+"   ")
	if cmd := s.engine.commands.named([]byte("script|load")); cmd.now != nil {
		t.Error("SCRIPT LOAD compiles on the event loop")
	}
}

// TestScriptsMayWrite: a client must not repeat a script whose outcome is unknown.
func TestScriptsMayWrite(t *testing.T) {
	t.Parallel()
	e := serve(t, Options{}).engine
	for name, prefix := range map[string]string{"eval": "ERR outcome unknown", "evalsha": "ERR outcome unknown", "fcall": "ERR outcome unknown", "eval_ro": "LOADING", "fcall_ro": "LOADING", "evalsha_ro": "LOADING"} {
		if got := e.errorText(fault.ErrUnknownOutcome, e.commands.named([]byte(name)).writes); !strings.HasPrefix(got, prefix) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestNoScripts: a server may refuse scripts.
func TestNoScripts(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{NoScripts: true}).addr())
	const refused = "-NOPERM this server is set to run no scripts\r\n"
	for _, line := range []string{"EVAL x 0", "EVAL_RO x 0", "EVALSHA x 0", "EVALSHA_RO x 0", "SCRIPT LOAD x", "FCALL f 0", "FCALL_RO f 0", "FUNCTION LOAD x", "FUNCTION RESTORE x"} {
		c.want(refused, strings.Fields(line)...)
	}
	c.want("*1\r\n:0\r\n", "SCRIPT", "EXISTS", "x")
	c.want(resp.OK, "SCRIPT", "FLUSH")
	c.want("*0\r\n", "FUNCTION", "LIST")
	c.want(resp.OK, "MULTI")
	c.want(refused, "EVAL", "x", "0")
	c.want("-EXECABORT Transaction discarded because of previous errors.\r\n", "EXEC")
}

// TestSurveysInScripts: KEYS, SCAN, DBSIZE and RANDOMKEY see what is stored, and what
// a script then does with the keys that it found is guarded as ever.
func TestSurveysInScripts(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want("*0\r\n", "EVAL", "return redis.call('KEYS', '*')", "0")
	c.want("$-1\r\n", "EVAL", "return redis.call('RANDOMKEY')", "0")
	const n = 2500
	fill := []string{"MSET"}
	for i := range n {
		fill = append(fill, fmt.Sprint("cache:", i), "v")
	}
	c.want(resp.OK, fill...)
	c.want(resp.OK, "SET", "kept", "v")
	c.want(":2501\r\n", "EVAL", "return redis.call('DBSIZE')", "0")
	c.want(":1\r\n", "EVAL", "return redis.call('EXISTS', redis.call('RANDOMKEY'))", "0")
	c.want(":1250\r\n", "EVAL", `local n, cursor = 0, '0'
		repeat
			local page = redis.call('SCAN', cursor, 'MATCH', 'cache:*', 'COUNT', 300)
			cursor = page[1]
			for i, key in ipairs(page[2]) do
				if tonumber(string.sub(key, 7)) % 2 == 0 then n = n + redis.call('DEL', key) end
			end
		until cursor == '0'
		return n`, "0")
	c.want(":1250\r\n", "EVAL", "local n = 0 for _, key in ipairs(redis.call('keys', ARGV[1])) do n = n + redis.call('del', key) end return n", "0", "cache:*")
	c.want("*1\r\n$4\r\nkept\r\n", "KEYS", "*")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "SET", "cache:1", "v")
	c.want(resp.Queued, "EVAL", "return redis.call('DEL', unpack(redis.call('KEYS', 'cache:*')))", "0")
	c.want(resp.Queued, "SELECT", "1")
	c.want(resp.Queued, "EVAL", "return redis.call('DBSIZE')", "0")
	c.want("*4\r\n+OK\r\n:1\r\n+OK\r\n:0\r\n", "EXEC")
}

// TestRunsWithFoundKeys: a script that uses the keys which it found one by one does
// not begin again for each.
func TestRunsWithFoundKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	for i := range 200 {
		c.want(resp.OK, "SET", fmt.Sprint("cache:", i), "v")
	}
	before := s.engine.scripts.runs
	c.want(":200\r\n", "EVAL", "local n = 0 for _, key in ipairs(redis.call('KEYS', '*')) do n = n + redis.call('DEL', key) end return n", "0")
	if runs := s.engine.scripts.runs - before; runs != 2 {
		t.Errorf("%d runs, want 2", runs)
	}
}
