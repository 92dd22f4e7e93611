package redisapi

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/values"
)

// libraryOf is a library with one function of this body.
func libraryOf(name, function, body string) string {
	return fmt.Sprintf("#!lua name=%s\nredis.register_function('%s', function(keys, args) %s end)", name, function, body)
}

const noFunction = "-ERR Function not found\r\n"

// TestFunctionsOfTwoServers: a change is seen at once on the server that makes it, and by
// the other when what it has learnt is too old. What is new is seen at once by both.
func TestFunctionsOfTwoServers(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	one, two := serveURL(t, url, Options{}), serveURL(t, url, Options{})
	a, b := dial(t, one.addr()), dial(t, two.addr())
	b.want(noFunction, "FCALL", "f", "0")
	a.want(bulk("lib"), "FUNCTION", "LOAD", libraryOf("lib", "f", "return 1"))
	a.want(":1\r\n", "FCALL", "f", "0")
	b.want(":1\r\n", "FCALL", "f", "0")
	b.want("-ERR Library 'lib' already exists\r\n", "FUNCTION", "LOAD", libraryOf("lib", "g", "return 1"))
	b.want("-ERR Function f already exists\r\n", "FUNCTION", "LOAD", libraryOf("other", "f", "return 1"))

	a.want(bulk("lib"), "FUNCTION", "LOAD", "REPLACE", libraryOf("lib", "f", "return 2"))
	a.want(":2\r\n", "FCALL", "f", "0")
	two.grow()
	b.want(":2\r\n", "FCALL", "f", "0")
	b.want(bulk("lib"), "FUNCTION", "LOAD", "REPLACE", libraryOf("lib", "f", "return 3"))
	one.grow()
	a.want(resp.OK, "MULTI")
	a.want(resp.Queued, "FCALL", "f", "0")
	a.want("*1\r\n:3\r\n", "EXEC")

	b.want(resp.OK, "FUNCTION", "DELETE", "lib")
	b.want(noFunction, "FCALL", "f", "0")
	one.grow()
	a.want(noFunction, "FCALL", "f", "0")
	a.want("-ERR Library not found\r\n", "FUNCTION", "DELETE", "lib")
	a.want(bulk("lib"), "FUNCTION", "LOAD", libraryOf("lib", "f", "return 4"))
	b.want(resp.OK, "MULTI")
	b.want(resp.Queued, "FCALL", "f", "0")
	b.want("*1\r\n:4\r\n", "EXEC")
	a.want(resp.OK, "FUNCTION", "FLUSH")
	two.grow()
	b.want("*0\r\n", "FUNCTION", "LIST")
}

// TestOutdatedFunctions: the bound on what is outdated holds without any change of the
// clock by the test.
func TestOutdatedFunctions(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := dial(t, serveURL(t, url, Options{}).addr()), dial(t, serveURL(t, url, Options{}).addr())
	a.want(bulk("lib"), "FUNCTION", "LOAD", libraryOf("lib", "f", "return 1"))
	b.want(":1\r\n", "FCALL", "f", "0")
	a.want(bulk("lib"), "FUNCTION", "LOAD", "REPLACE", libraryOf("lib", "f", "return 2"))
	waitFor(t, "the other server to see it", func() bool { return b.do("FCALL", "f", "0") == ":2\r\n" })
	a.want(resp.OK, "FUNCTION", "DELETE", "lib")
	waitFor(t, "the other server to see it", func() bool { return b.do("FCALL", "f", "0") == noFunction })
}

// TestReplacedWhileCalled: functions are replaced on one server while both call them. A
// call runs one version as a whole; the versions that a server runs do not go back, and
// the one that replaces has the new one at once.
func TestReplacedWhileCalled(t *testing.T) {
	t.Parallel()
	const versions, callers = 40, 3
	url := pgtest.New(t)
	one, two := serveURL(t, url, Options{}), serveURL(t, url, Options{})
	library := func(version int) string {
		return fmt.Sprintf("#!lua name=lib\nlocal version = %d\nredis.register_function('f', function(keys) redis.call('INCR', keys[1]) return version * 1000 + %d end)", version, version)
	}
	a := dial(t, one.addr())
	a.want(bulk("lib"), "FUNCTION", "LOAD", library(1))
	done := make(chan struct{})
	var work sync.WaitGroup
	for i := range callers * 2 {
		s := []*testServer{one, two}[i%2]
		c := dial(t, s.addr())
		work.Go(func() {
			for last := 0; ; {
				select {
				case <-done:
					return
				default:
				}
				var got int
				reply := c.do("FCALL", "f", "1", fmt.Sprint("k:", i))
				if _, err := fmt.Sscanf(reply, ":%d", &got); err != nil || got/1000 != got%1000 || got < last {
					t.Errorf("got %q after %d", reply, last)
					return
				}
				last = got
			}
		})
	}
	for version := 2; version <= versions; version++ {
		a.want(bulk("lib"), "FUNCTION", "LOAD", "REPLACE", library(version))
		a.want(fmt.Sprintf(":%d\r\n", version*1001), "FCALL", "f", "1", "k")
	}
	close(done)
	work.Wait()
}

// TestLoadedAtOnce: libraries that clients of two servers load at once are all there, and
// of those with the same function one is.
func TestLoadedAtOnce(t *testing.T) {
	t.Parallel()
	const clients = 8
	url := pgtest.New(t)
	servers := []*testServer{serveURL(t, url, Options{}), serveURL(t, url, Options{})}
	var work sync.WaitGroup
	var loaded sync.Map
	for i := range clients {
		c := dial(t, servers[i%2].addr())
		work.Go(func() {
			name := fmt.Sprint("lib", i)
			c.want(bulk(name), "FUNCTION", "LOAD", libraryOf(name, fmt.Sprint("f", i), "return 1"))
			switch got := c.do("FUNCTION", "LOAD", libraryOf(fmt.Sprint("same", i), "same", "return 1")); got {
			case bulk(fmt.Sprint("same", i)):
				if other, twice := loaded.Swap("same", i); twice {
					t.Errorf("both %d and %d have it", other, i)
				}
			case "-ERR Function same already exists\r\n":
			default:
				t.Errorf("got %q", got)
			}
		})
	}
	work.Wait()
	for _, s := range servers {
		s.grow()
		c := dial(t, s.addr())
		for i := range clients {
			c.want(":1\r\n", "FCALL", fmt.Sprint("f", i), "0")
		}
		c.want(":1\r\n", "FCALL", "same", "0")
	}
}

// TestKilledFunctions ends endless functions with FUNCTION KILL. Nothing of what they
// wrote is stored.
func TestKilledFunctions(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	const killed = "-ERR Error running function: Script killed by user with FUNCTION KILL...\r\n"
	c.want(bulk("lib"), "FUNCTION", "LOAD", libraryOf("lib", "endless", "redis.call('SET', keys[1], '1') while true do end"))
	c.send(resp.AppendCommand(nil, "fcall", "ENDLESS", "1", "k", "a"))
	waitFor(t, "the function to run", func() bool { _, ok := s.engine.scripts.longest(); return ok })
	stats := other.do("FUNCTION", "STATS")
	if want := "*4\r\n" + bulk("running_script") + "*6\r\n" + bulk("name") + bulk("endless") + bulk("command") +
		"*5\r\n" + bulk("fcall") + bulk("ENDLESS") + bulk("1") + bulk("k") + bulk("a") + bulk("duration_ms") + ":"; !strings.HasPrefix(stats, want) {
		t.Errorf("got %q, want %q", stats, want)
	}
	other.want("-BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.\r\n", "SCRIPT", "KILL")
	other.want(resp.OK, "FUNCTION", "KILL")
	if got := c.reply(); got != killed {
		t.Errorf("got %q", got)
	}
	other.want(":0\r\n", "EXISTS", "k")
	other.want("-NOTBUSY No scripts in execution right now.\r\n", "FUNCTION", "KILL")

	c.send(resp.AppendCommand(nil, "EVAL", "while true do end", "0"))
	waitFor(t, "the script to run", func() bool {
		return other.do("FUNCTION", "KILL") == "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"
	})
	other.want(resp.OK, "SCRIPT", "KILL")
	if got := c.reply(); got != killedScript {
		t.Errorf("got %q", got)
	}
}

// TestFunctionLimits: time and memory are bounded as those of scripts, when a library is
// loaded too.
func TestFunctionLimits(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want("-ERR Script used more than 64 MiB\r\n", "FUNCTION", "LOAD", "#!lua name=a\nlocal s = 'x' while true do s = s .. s end")
	c.want(bulk("lib"), "FUNCTION", "LOAD", libraryOf("lib", "greedy", "redis.call('SET', 'k', '1') return string.rep('x', 1024 * 1024 * 1024)"))
	c.want("-ERR Script used more than 64 MiB\r\n", "FCALL", "greedy", "0")
	c.want(":0\r\n", "EXISTS", "k")
	c.want(bulk("state"), "FUNCTION", "LOAD", "#!lua name=state\nlocal n = 0\nredis.register_function('next', function() n = n + 1 return n end)")
	c.want(":1\r\n", "FCALL", "next", "0")
	c.want(":1\r\n", "FCALL", "next", "0") // a run leaves nothing
}

// TestFunctionBounds: what is too much is refused.
func TestFunctionBounds(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := serveURL(t, url, Options{})
	c := dial(t, s.addr())
	c.want("-ERR library is longer than 1048576 bytes; use a shorter one\r\n", "FUNCTION", "LOAD", libraryOf("lib", "f", "return 1")+strings.Repeat(" ", maxScriptText))
	c.want("-ERR library name is longer than 1024 bytes; use a shorter one\r\n", "FUNCTION", "LOAD", libraryOf(strings.Repeat("x", 1025), "f", "return 1"))
	c.want(bulk(strings.Repeat("x", 1024)), "FUNCTION", "LOAD", libraryOf(strings.Repeat("x", 1024), "f", "return 1"))
	c.want("-ERR there would be 10000 functions, more than Howdah keeps; delete some libraries\r\n", "FUNCTION", "LOAD",
		"#!lua name=many\nfor i = 1, 20000 do redis.register_function('f' .. i, function() end) end")
	c.want("-ERR the function libraries would have more than 16777216 bytes of text, names and descriptions, the most that Howdah keeps; delete some\r\n", "FUNCTION", "LOAD",
		"#!lua name=long\nlocal s = 'x' for i = 1, 20 do s = s .. s end for i = 1, 20 do redis.register_function(s .. i, function() end) end")
	c.want(resp.OK, "FUNCTION", "FLUSH")

	execSQL(t, url, `INSERT INTO howdah_internal.function_library
		SELECT 'lib' || i, convert_to(format(E'#!lua name=lib%s\nredis.register_function(''f%s'', function() return 1 end)%s', i, i, repeat(' ', 1000)), 'UTF8')
		FROM generate_series(1, 1000) AS i`)
	execSQL(t, url, "UPDATE howdah_internal.script_state SET functions = gen_random_uuid()")
	c.want("-ERR there would be more than 1000 function libraries, the most that Howdah keeps; delete some\r\n", "FUNCTION", "LOAD", libraryOf("more", "g", "return 1"))
	c.want(bulk("lib7"), "FUNCTION", "LOAD", "REPLACE", libraryOf("lib7", "g", "return 7"))
	c.want(":7\r\n", "FCALL", "g", "0")
	c.want("-ERR there would be more than 1000 function libraries, the most that Howdah keeps; delete some\r\n", "FUNCTION", "RESTORE",
		string(values.DumpFunctions([]string{libraryOf("lib8", "h", "return 1"), libraryOf("more", "i", "return 1")})), "REPLACE")
	execSQL(t, url, `UPDATE howdah_internal.function_library SET source = source || convert_to(repeat(' ', 1000000), 'UTF8') WHERE name ~ '^lib1?.$'`)
	execSQL(t, url, "UPDATE howdah_internal.script_state SET functions = gen_random_uuid()")
	c.want("-ERR the function libraries would have more than 16777216 bytes of text, names and descriptions, the most that Howdah keeps; delete some\r\n",
		"FUNCTION", "LOAD", "REPLACE", libraryOf("lib7", "g", "return 8"))
}

// TestPlantedLibraries: rows that are no libraries leave the others alone, are said to be
// there, and can be removed.
func TestPlantedLibraries(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := serveURL(t, url, Options{})
	c := dial(t, s.addr())
	c.want(bulk("good"), "FUNCTION", "LOAD", libraryOf("good", "f", "return 1"))
	for name, source := range map[string]string{
		"broken": "#!lua name=broken\nreturn 1 +", "other": libraryOf("another", "g", "return 1"), "zz": libraryOf("zz", "F", "return 'stolen'"), "": "x",
	} {
		execSQL(t, url, "INSERT INTO howdah_internal.function_library VALUES ($1, $2)", name, []byte(source))
	}
	execSQL(t, url, "UPDATE howdah_internal.script_state SET functions = gen_random_uuid()")
	s.grow()
	c.want(":1\r\n", "FCALL", "f", "0")
	c.want("-ERR Function not found; libraries that cannot be loaded: , broken, other\r\n", "FCALL", "g", "0")
	c.want("*1\r\n*6\r\n"+bulk("library_name")+bulk("broken")+bulk("engine")+bulk("LUA")+bulk("functions")+"*0\r\n", "FUNCTION", "LIST", "LIBRARYNAME", "broken")
	c.want("-ERR Library 'broken' already exists\r\n", "FUNCTION", "LOAD", libraryOf("broken", "h", "return 1"))
	for _, name := range []string{"broken", "other", "zz", ""} {
		c.want(resp.OK, "FUNCTION", "DELETE", name)
	}
	c.want(noFunction, "FCALL", "g", "0")

	execSQL(t, url, "DELETE FROM howdah_internal.script_state")
	s.grow()
	if got := c.do("FCALL", "f", "0"); !strings.HasPrefix(got, "-ERR howdah: the row of howdah_internal.script_state is missing") {
		t.Errorf("got %q", got)
	}
}

// TestFunctionsInMulti: changes of the libraries take no part in transactions.
func TestFunctionsInMulti(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want(bulk("lib"), "FUNCTION", "LOAD", libraryOf("lib", "f", "return redis.call('INCR', keys[1])"))
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "FCALL", "f", "1", "n")
	c.want(resp.Queued, "FUNCTION", "LOAD", libraryOf("more", "g", "return 1"))
	c.want(resp.Queued, "FUNCTION", "DELETE", "lib")
	c.want(resp.Queued, "FUNCTION", "FLUSH")
	c.want(resp.Queued, "FUNCTION", "RESTORE", string(values.DumpFunctions(nil)))
	c.want(resp.Queued, "FCALL", "f", "1", "n")
	const refused = "-ERR Command not allowed inside a transaction\r\n"
	c.want("*6\r\n:1\r\n"+refused+refused+refused+refused+":2\r\n", "EXEC")
}
