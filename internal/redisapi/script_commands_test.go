package redisapi

import (
	"slices"
	"strings"
	"testing"
)

// otherDatabase are the commands that Redis allows in scripts and Howdah does not: a script works
// on the database of its connection.
var otherDatabase = strings.Fields("select move flushdb flushall swapdb")

// TestCommandsHaveAWayInScripts: a command runs in scripts unless its row says noscript.
func TestCommandsHaveAWayInScripts(t *testing.T) {
	t.Parallel()
	newTable().each(func(cmd *Command) {
		if cmd.Sub != nil && cmd.now == nil || cmd.has("noscript") || slices.Contains(otherDatabase, cmd.fullName) || cmd.refused != "" {
			return
		}
		if cmd.value == nil && cmd.now == nil && !cmd.publishes && !cmd.surveys() && cmd.fullName != "time" {
			t.Errorf("%s has no way in scripts, and no flag noscript", cmd.fullName)
		}
	})
}

// TestScriptsAskAboutTheServer: commands that need no key answer in scripts as they do to the client,
// in a script, a function and a transaction.
func TestScriptsAskAboutTheServer(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want(bulk("asking"), "FUNCTION", "LOAD", "#!lua name=asking\nredis.register_function('ask', function(keys, args) return redis.call(unpack(args)) end)")
	c.want("+OK\r\n", "SET", "k", "value")
	for _, line := range []string{
		"MEMORY USAGE k", "MEMORY USAGE nosuch", "MEMORY USAGE k SAMPLES x", "MEMORY DOCTOR", "COMMAND COUNT", "COMMAND INFO get", "COMMAND GETKEYS GET k",
		"SLOWLOG LEN", "SLOWLOG RESET", "OBJECT ENCODING k", "OBJECT HELP", "PUBSUB CHANNELS", "PUBSUB NUMSUB a", "CLIENT HELP", "CLUSTER INFO", "DBSIZE", "KEYS k*", "RANDOMKEY", "PING x",
	} {
		args := strings.Fields(line)
		want := c.do(args...)
		inScript := func(reply string) string {
			text, _, _ := strings.Cut(reply, " script: ")
			return strings.TrimSuffix(text, "\r\n")
		}
		for _, call := range [][]string{{"EVAL", "return redis.call(unpack(ARGV))", "0"}, {"FCALL", "ask", "0"}} {
			if got := c.do(append(call, args...)...); inScript(got) != inScript(want) && !strings.Contains(line, "HELP") {
				t.Errorf("%s in %s: got %q, want %q", line, call[0], got, want)
			}
			c.want("+OK\r\n", "MULTI")
			c.want("+QUEUED\r\n", append(call, args...)...)
			if got := c.do("EXEC"); inScript(got) != "*1\r\n"+inScript(want) && !strings.Contains(line, "HELP") {
				t.Errorf("%s in %s in MULTI: got %q, want %q", line, call[0], got, want)
			}
		}
	}
	for _, section := range []string{"server", "clients", "memory", "stats", "commandstats", "errorstats", "keyspace", "replication"} {
		reply := c.do("EVAL", "return redis.call('INFO', ARGV[1])", "0", section)
		if !strings.HasPrefix(strings.ToLower(unbulk(reply)), "# "+section+"\r\n") {
			t.Errorf("INFO %s in a script: %.60q", section, reply)
		}
	}
	c.want(bulk("txt"), "EVAL", "redis.setresp(3) return redis.call('INFO', 'server')['format'] or redis.call('INFO', 'server')['verbatim_string'].format", "0")
}

// TestUsageOfWhatAScriptHasWritten: MEMORY USAGE sees the value that the script has just made.
func TestUsageOfWhatAScriptHasWritten(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	const script = "local before = redis.call('MEMORY', 'USAGE', KEYS[1]) redis.call('APPEND', KEYS[1], ARGV[1]) return {before, redis.call('MEMORY', 'USAGE', KEYS[1])}"
	c.want("*2\r\n$-1\r\n:105\r\n", "EVAL", script, "1", "k", "four")
	c.want(":105\r\n", "MEMORY", "USAGE", "k")
	c.want("*2\r\n:105\r\n:109\r\n", "EVAL", script, "1", "k", "four")
	c.want(":109\r\n", "MEMORY", "USAGE", "k")
	for _, build := range [][]string{{"RPUSH", "l", "a", "b"}, {"SADD", "s", "1", "x"}, {"HSET", "h", "f", "v"}, {"ZADD", "z", "1.5", "m"}} {
		c.do(build...)
		want := c.do("MEMORY", "USAGE", build[1])
		c.want(want, "EVAL", "return redis.call('MEMORY', 'USAGE', KEYS[1])", "1", build[1])
	}
}

// TestScriptsStayInTheirDatabase: the error names the reason, and not a syntax error.
func TestScriptsStayInTheirDatabase(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want("+OK\r\n", "SELECT", "3")
	c.want("+OK\r\n", "SET", "a", "1")
	reason := " is not available in scripts: a script works on the database of its connection"
	for line, name := range map[string]string{"SELECT 1": "select", "MOVE a 1": "move", "FLUSHDB": "flushdb", "FLUSHALL": "flushall", "SWAPDB 0 1": "swapdb", "COPY a b DB 0": "copy to another database"} {
		c.want("-ERR "+name+reason+"\r\n", append([]string{"EVAL", "return redis.pcall(unpack(ARGV))", "0"}, strings.Fields(line)...)...)
	}
	for _, step := range []struct{ line, want string }{
		{"COPY a b DB 3", ":1\r\n"}, {"COPY a b DB 3", ":0\r\n"}, {"COPY a b REPLACE DB 3", ":1\r\n"}, {"COPY a b REPLACE", ":1\r\n"},
		{"COPY a b DB 16", "-ERR DB index is out of range\r\n"}, {"COPY a b DB x", "-ERR value is not an integer or out of range\r\n"}, {"COPY a b DB", "-ERR syntax error\r\n"},
		{"COPY a a DB 3", "-ERR source and destination objects are the same\r\n"},
	} {
		c.want(step.want, append([]string{"EVAL", "return redis.pcall(unpack(ARGV))", "0"}, strings.Fields(step.line)...)...)
	}
}
