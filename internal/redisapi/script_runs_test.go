package redisapi

import (
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// flights is how many flights the calls of db0 have taken.
func (s *testServer) flights() (n uint64) {
	for _, stats := range s.db.Stats().Caches {
		n += stats.Batches
	}
	return n
}

// TestQuickScripts: a script that has ended before runs where the entry is loaded, in
// the flight that stores what it left. One that takes longer there runs again elsewhere,
// where it may be killed.
func TestQuickScripts(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	other := dial(t, s.addr())
	for name, endless := range endlessScripts {
		t.Run(name, func(t *testing.T) {
			c := dial(t, s.addr())
			script := "if ARGV[1] == 'endless' then redis.call('SET', KEYS[1], '1') " + endless + " end redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])"
			run := func(argument string, flights uint64) {
				t.Helper()
				before := s.flights()
				c.want(bulk(argument), "EVAL", script, "1", "k:"+name, argument)
				if took := s.flights() - before; took != flights {
					t.Errorf("%d flights, want %d", took, flights)
				}
			}
			run("first", 2)
			run("second", 1)
			run("third", 1)
			c.send(resp.AppendCommand(nil, "EVAL", script, "1", "k:"+name, "endless"))
			other.want("+OK\r\n", "SET", "k", name)
			waitFor(t, "the script to run", func() bool { return other.do("SCRIPT", "KILL") == resp.OK })
			other.want(bulk(name), "GET", "k")
			if got := c.reply(); got != killedScript {
				t.Errorf("got %q", got)
			}
			other.want(bulk("third"), "GET", "k:"+name)
			run("fourth", 2)
		})
	}
}

// TestQuickScriptsThatAsk: a script that was quick may ask for what is not loaded, or for
// what only PostgreSQL knows.
func TestQuickScriptsThatAsk(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	const script = `redis.call('INCR', KEYS[1])
		if ARGV[1] == 'key' then return redis.call('INCR', 'other') end
		if ARGV[1] == 'size' then return redis.call('DBSIZE') end
		return redis.call('GET', KEYS[1])`
	run := func(want, argument string) {
		t.Helper()
		c.want(want, "EVAL", script, "1", "k", argument)
	}
	run(bulk("1"), "")
	run(bulk("2"), "")
	run(":1\r\n", "size")
	run(bulk("4"), "")

	c.want(resp.OK, "SCRIPT", "FLUSH") // and what is known of it
	run(bulk("5"), "")
	run(bulk("6"), "")
	run(":1\r\n", "key")
	run(":2\r\n", "key")
	run(bulk("9"), "")
	c.want(bulk("2"), "GET", "other")
}
