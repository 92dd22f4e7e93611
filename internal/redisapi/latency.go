package redisapi

import (
	"fmt"

	"github.com/howdah/howdah/internal/resp"
)

const noteLatency = "There are no events of latency to record: nothing here forks, and PostgreSQL writes the disk. SLOWLOG has the slow calls."

func latencyCommands() []*Command {
	const (
		flags   = "admin noscript loading stale"
		nodes   = "request_policy:all_nodes"
		special = "nondeterministic_output request_policy:all_nodes response_policy:special"
	)
	histogram := serverCommand("histogram", -2, flags, special, "[command [command ...]]", "7.0.0", "Returns how long commands took", latencyHistogram)
	histogram.Complexity = "O(N) where N is the number of commands"
	histogram.Note = "From the start of a command to its reply, by powers of two of a microsecond. CONFIG RESETSTAT begins anew."
	return []*Command{{
		Name: "latency", Arity: -2, Group: "server", Since: "2.8.13", Summary: "Returns about latency", Complexity: "Depends on the subcommand", Note: noteLatency,
		Sub: []*Command{
			serverCommand("latest", 2, flags, special, "", "2.8.13", "Returns no events", fixed(resp.EmptyArray)),
			serverCommand("history", 3, flags, special, "event", "2.8.13", "Returns no samples", fixed(resp.EmptyArray)),
			serverCommand("graph", 3, flags, special, "event", "2.8.13", "Refused: there are no samples", latencyGraph),
			histogram,
			serverCommand("reset", -2, flags, nodes+" response_policy:all_succeeded", "[event [event ...]]", "2.8.13", "Returns 0", fixed(resp.Zero)),
			serverCommand("doctor", 2, flags, special, "", "2.8.13", "Returns where to look", latencyDoctor),
			help("2.8.13", "", "LATENCY",
				"DOCTOR", "    Return where to look.",
				"GRAPH <event>", "    Return an error: there are no samples.",
				"HISTORY <event>", "    Return no samples.",
				"LATEST", "    Return no events.",
				"RESET [<event> ...]", "    Return 0.",
				"HISTOGRAM [COMMAND ...]", "    Return a cumulative distribution of latencies in the format of a histogram for the specified command names.",
				"    If no commands are specified then all histograms are replied."),
		},
	}}
}

func latencyGraph(_ *Conn, args [][]byte, reply []byte) []byte {
	return resp.AppendError(reply, "ERR No samples available for event '"+string(cString(args[2], 128))+"'")
}

func latencyDoctor(c *Conn, _ [][]byte, reply []byte) []byte {
	slow := c.engine.slowLog()
	reads, writes := slow.Counts()
	text := "No calls are noted as slow: CONFIG SET slowlog-log-slower-than 100000 notes those of 100 ms and longer, for SLOWLOG GET.\n"
	if slow.On() {
		text = fmt.Sprintf("Of the calls since the start, %d reads and %d writes were slow: they took %v or longer. SLOWLOG GET says where the time of the last ones went.\n",
			reads, writes, slow.Threshold())
	}
	return resp.AppendVerbatim(reply, c.proto, text+"LATENCY HISTOGRAM has the time of all commands, howdah doctor looks at the database.\n")
}

func latencyHistogram(c *Conn, args [][]byte, reply []byte) []byte {
	var chosen []*Command
	choose := func(cmd *Command) {
		if cmd != nil && cmd.stats.calls() > 0 {
			chosen = append(chosen, cmd)
		}
	}
	if len(args) == 2 {
		c.engine.commands.each(choose)
	}
	for _, name := range args[2:] {
		cmd := c.engine.commands.named(name)
		choose(cmd)
		if cmd != nil {
			for _, sub := range cmd.Sub {
				choose(sub)
			}
		}
	}
	reply = resp.AppendMap(reply, c.proto, len(chosen))
	for _, cmd := range chosen {
		reply = resp.AppendBulkString(reply, cmd.fullName)
		reply = appendHistogram(reply, c.proto, &cmd.stats)
	}
	return reply
}

// appendHistogram appends how many calls took at most so many microseconds, for each bound
// that more calls keep than the one before it.
func appendHistogram(reply []byte, proto resp.Proto, stats *commandCounters) []byte {
	var bounds, counts []int64
	var calls int64
	for i := range stats.took {
		if n := int64(stats.took[i].Load()); n > 0 {
			calls += n
			bounds, counts = append(bounds, 1<<i), append(counts, calls)
		}
	}
	reply = resp.AppendMap(reply, proto, 2)
	reply = resp.AppendBulkString(reply, "calls")
	reply = resp.AppendInt(reply, calls)
	reply = resp.AppendBulkString(reply, "histogram_usec")
	reply = resp.AppendMap(reply, proto, len(bounds))
	for i := range bounds {
		reply = resp.AppendInt(reply, bounds[i])
		reply = resp.AppendInt(reply, counts[i])
	}
	return reply
}
