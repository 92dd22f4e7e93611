package redisapi

import (
	"fmt"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
)

const noteSlowLog = "The calls of this server, through every door: Redis, HTTP and Go. CONFIG SET slowlog-log-slower-than and slowlog-max-len (at most 4096) change it while it runs; " +
	"howdah serve --slow-call says where it begins. A line has the command, the first key without its secret, how many keys there are besides, and where the time went: no value is ever in it. " +
	"What memory answers is not timed. [operations.md](operations.md#slow-calls) says more."

func slowLogCommands() []*Command {
	const (
		flags = "admin loading stale"
		nodes = "request_policy:all_nodes"
	)
	return []*Command{{
		Name: "slowlog", Arity: -2, Group: "server", Since: "2.2.12", Summary: "Returns the calls that took long", Complexity: "Depends on the subcommand", Note: noteSlowLog,
		Sub: []*Command{
			serverCommand("get", -2, flags, nodes+" nondeterministic_output", "[count]", "2.2.12", "Returns the last calls that took long", slowLogGet),
			serverCommand("len", 2, flags, nodes+" response_policy:agg_sum nondeterministic_output", "", "2.2.12", "Returns how many are kept", slowLogLen),
			serverCommand("reset", 2, flags, nodes+" response_policy:all_succeeded", "", "2.2.12", "Forgets them", slowLogReset),
			help("6.2.0", "", "SLOWLOG",
				"GET [<count>]", "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
				"    Entries are made of:", "    id, timestamp, time in microseconds, arguments array, client IP and port,", "    client name",
				"LEN", "    Return the length of the slowlog.",
				"RESET", "    Reset the slowlog."),
		},
	}}
}

// slowLog is that of the database.
func (e *Engine) slowLog() *observe.SlowLog { return e.options.DB.SlowLog() }

// microseconds is a duration as CONFIG SET gives it.
func microseconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Microsecond)
	return time.Duration(min(n, most)) * time.Microsecond
}

// countOf reads the count of SLOWLOG GET and HOWDAH.SLOWLOG; without one it is 10, as in
// Redis. A negative one means all.
func countOf(args [][]byte) (int, error) {
	if len(args) == 0 {
		return 10, nil
	}
	count, err := parseInt(args[0])
	if err != nil || count < -1 {
		return 0, refusal("ERR count should be greater than or equal to -1")
	}
	return int(min(count, observe.MaxSlowCalls)), nil
}

func slowLogGet(c *Conn, args [][]byte, reply []byte) []byte {
	if len(args) > 3 {
		return resp.AppendError(reply, string(wrongUse("SLOWLOG", args[1])))
	}
	count, err := countOf(args[2:])
	if err != nil {
		return resp.AppendError(reply, err.Error())
	}
	calls := c.engine.slowLog().Recent(count)
	reply = resp.AppendArray(reply, len(calls))
	for i := range calls {
		call := &calls[i]
		reply = resp.AppendArray(reply, 6)
		reply = resp.AppendInt(reply, call.ID)
		reply = resp.AppendInt(reply, call.Time.Unix())
		reply = resp.AppendInt(reply, call.Duration.Microseconds())
		words := slowWords(call)
		reply = resp.AppendArray(reply, len(words))
		for _, word := range words {
			reply = resp.AppendBulkString(reply, word)
		}
		reply = resp.AppendBulkString(reply, call.Address)
		reply = resp.AppendBulkString(reply, call.Name)
	}
	return reply
}

// slowWords stand for the arguments of a call: Redis too says in words what it leaves out.
func slowWords(call *observe.SlowCall) []string {
	words := strings.Split(call.What(), "|")
	if call.Keys > 0 {
		words = append(words, call.Key)
	}
	if call.Keys > 1 {
		words = append(words, fmt.Sprintf("... (%d more keys)", call.Keys-1))
	}
	return append(words, fmt.Sprintf("(queued %d us, statement %d us, blocked %d us)",
		call.Queued.Microseconds(), call.Statement.Microseconds(), call.Blocked.Microseconds()))
}

func slowLogLen(c *Conn, _ [][]byte, reply []byte) []byte {
	return resp.AppendInt(reply, int64(c.engine.slowLog().Len()))
}

func slowLogReset(c *Conn, _ [][]byte, reply []byte) []byte {
	c.engine.slowLog().Reset()
	return append(reply, resp.OK...)
}

// howdahSlowLog is SLOWLOG GET with all that is known, as pairs of names and values.
func howdahSlowLog(c *Conn, args [][]byte, reply []byte) []byte {
	if len(args) > 2 {
		return resp.AppendError(reply, wrongArity("howdah.slowlog").Error())
	}
	count, err := countOf(args[1:])
	if err != nil {
		return resp.AppendError(reply, err.Error())
	}
	calls := c.engine.slowLog().Recent(count)
	reply = resp.AppendArray(reply, len(calls))
	for i := range calls {
		reply = appendSlowCall(reply, c.proto, &calls[i])
	}
	return reply
}

func appendSlowCall(reply []byte, proto resp.Proto, call *observe.SlowCall) []byte {
	numbers := []struct {
		name  string
		value int64
	}{
		{"id", call.ID}, {"time_us", call.Time.UnixMicro()}, {"duration_us", call.Duration.Microseconds()},
		{"queued_us", call.Queued.Microseconds()}, {"statement_us", call.Statement.Microseconds()}, {"blocked_us", call.Blocked.Microseconds()},
		{"keys", int64(call.Keys)}, {"batch", int64(call.Batch)}, {"failed", flagOf(call.Failed)},
	}
	texts := [][2]string{
		{"op", call.Op()}, {"command", call.Command}, {"verb", call.Verb}, {"cache", call.Cache}, {"key", call.Key},
		{"door", call.Door}, {"name", call.Name}, {"library", call.Library}, {"library_version", call.Version}, {"address", call.Address},
	}
	reply = resp.AppendMap(reply, proto, len(numbers)+len(texts))
	for _, n := range numbers {
		reply = resp.AppendBulkString(reply, n.name)
		reply = resp.AppendInt(reply, n.value)
	}
	for _, pair := range texts {
		reply = resp.AppendBulkString(reply, pair[0])
		reply = resp.AppendBulkString(reply, pair[1])
	}
	return reply
}

func flagOf(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// noteSlow notes a command that took its own way and took long.
func (t *task) noteSlow(cmd *Command, keys [][]byte, took int64) {
	for _, q := range t.queue {
		keys = q.cmd.appendKeys(keys, q.args)
	}
	t.conn.noteSlow(slowCall(took, t.waited, t.locked, isError(t.out)), cmd, keys)
}

// slowCall divides the nanoseconds that a command took.
func slowCall(took, waited int64, locked, failed bool) observe.SlowCall {
	slow := observe.SlowCall{Duration: time.Duration(took), Queued: time.Duration(min(took, waited)), Failed: failed}
	if rest := slow.Duration - slow.Queued; locked {
		slow.Blocked = rest
	} else {
		slow.Statement = rest
	}
	return slow
}

// noteSlow notes a command that took long.
func (c *Conn) noteSlow(slow observe.SlowCall, cmd *Command, keys [][]byte) {
	slow.Time = time.Now().Add(-slow.Duration)
	slow.Writes, slow.Cache, slow.Keys = cmd.writes, c.engine.caches[c.database].Name(), len(keys)
	slow.Client, slow.Command = *c.client, cmd.fullName
	if len(keys) > 0 {
		slow.Key = string(keys[0])
	}
	c.engine.slowLog().Note(slow)
}
