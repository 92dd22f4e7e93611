package redisapi

import (
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/schema"
)

func serverCommands() []*Command {
	return []*Command{
		{Name: "info", Arity: -1, Flags: "loading stale", Group: "server", ACL: "dangerous", Since: "1.0.0",
			Tips:    "nondeterministic_output request_policy:all_shards response_policy:special",
			Summary: "Returns facts and counters of the server", Complexity: "O(1)", Syntax: "[section [section ...]]",
			Note: "Figures that only Redis has are zero. The section unknowncommands counts the commands that clients sent and Howdah lacks, by name. The numbers of keys are at most ten seconds old; where counting takes more than half a second they are estimates, with expires and avg_ttl 0. " +
				"maxmemory is the budget of the cache of the connection's database, at most ten seconds old. " +
				"latencystats has the bounds of LATENCY HISTOGRAM that so many per cent of the calls kept. " +
				"expired_keys counts rows that the upkeep of this process has removed: a read of an expired key removes nothing. " +
				"rdb_changes_since_last_save is 0: no acknowledged write waits to be saved.", run: info, free: infoIsFree},
		{Name: "time", Arity: 1, Flags: "loading stale fast", Group: "server", Since: "2.6.0", Tips: "nondeterministic_output",
			Summary: "Returns the time in seconds and microseconds", Complexity: "O(1)", Note: "By the clock of PostgreSQL, which expiry goes by.", run: timeNow},
		{Name: "wait", Arity: 3, Flags: "noscript", Group: "generic", ACL: "connection", Since: "3.0.0", Tips: "request_policy:all_shards response_policy:agg_min",
			Summary: "Returns 0: replication is that of PostgreSQL", Complexity: "O(1)", Syntax: "numreplicas timeout", now: wait},
		{Name: "debug", Arity: -2, Flags: "admin noscript loading stale", Group: "server", Since: "1.0.0",
			Summary: "Refused", Complexity: "O(1)", Syntax: "subcommand [argument ...]",
			Note: "With Redis's own error where enable-debug-command is no, its default. Howdah has no other setting of it. " +
				"CLIENT PAUSE does what DEBUG SLEEP is used for; OBJECT ENCODING, MEMORY USAGE and PTTL tell what DEBUG OBJECT does.",
			refused: errDebug},
	}
}

func timeNow(t *task, _ [][]byte) error {
	query := schema.Query("time")
	ctx, cancel := t.bounded()
	defer cancel()
	var now int64
	var err error
	if t.tx != nil {
		err = t.tx.query(ctx, query, &now)
	} else {
		err = t.conn.engine.options.DB.Pool().QueryRow(ctx, query).Scan(&now)
	}
	if err != nil {
		return unavailable(err)
	}
	t.out = appendTime(t.out, now)
	return nil
}

// appendTime appends a time in microseconds as TIME answers it.
func appendTime(dst []byte, now int64) []byte {
	dst = resp.AppendArray(dst, 2)
	dst = resp.AppendBulkInt(dst, now/1e6)
	return resp.AppendBulkInt(dst, now%1e6)
}

func wait(_ *Conn, args [][]byte, reply []byte) []byte {
	if _, err := parseInt(args[1]); err != nil {
		return resp.AppendError(reply, err.Error())
	}
	if _, err := parseTimeout(args[2]); err != nil {
		return resp.AppendError(reply, err.Error())
	}
	return append(reply, resp.Zero...)
}

func memoryCommands() []*Command {
	usage := &Command{Name: "usage", Arity: -3, Flags: "readonly", Keys: subKey("RO"), Syntax: "key [SAMPLES count]", Since: "4.0.0", ACL: "",
		Summary: "Returns about how many bytes a key takes in its table", Complexity: "O(1)", call: memoryUsage}
	const special = "nondeterministic_output request_policy:all_shards response_policy:special"
	sub := serverCommand
	return []*Command{
		{Name: "memory", Arity: -2, Group: "server", Since: "4.0.0", Summary: "Returns about memory", Complexity: "Depends on the subcommand",
			Sub: []*Command{
				usage,
				sub("doctor", 2, "", special, "", "4.0.0", "Returns a hint", verbatim("The data is in PostgreSQL; run howdah doctor.\n")),
				sub("purge", 2, "", "request_policy:all_shards response_policy:all_succeeded", "", "4.0.0", "Accepted", fixed(resp.OK)),
				sub("stats", 2, "", special, "", "4.0.0", "Returns the memory of this process", memoryStats),
				sub("malloc-stats", 2, "", special, "", "4.0.0", "Returns a hint", verbatim("The allocator is that of the Go runtime; see /metrics.\n")),
				help("4.0.0", "", "MEMORY", "DOCTOR", "    Return a hint.", "MALLOC-STATS", "    Return a hint.", "PURGE", "    Accepted.",
					"STATS", "    Return the memory of this process.", "USAGE <key> [SAMPLES <count>]", "    Return about how many bytes a key takes."),
			}},
	}
}

// serverCommand is a subcommand that needs no database.
func serverCommand(name string, arity int, flags, tips, syntax, since, summary string, now func(*Conn, [][]byte, []byte) []byte) *Command {
	return &Command{Name: name, Arity: arity, Flags: flags, Tips: tips, Syntax: syntax, Since: since, Summary: summary, Complexity: "O(1)", now: now}
}

// verbatim always gives the same text.
func verbatim(text string) func(*Conn, [][]byte, []byte) []byte {
	return func(c *Conn, _ [][]byte, reply []byte) []byte { return resp.AppendVerbatim(reply, c.proto, text) }
}

func memoryUsage(r *request, args [][]byte) error {
	if err := values.CheckUsage(args); err != nil {
		return err
	}
	r.from = int64(len(args[2]))
	return object(r, args[2], replyUsage)
}

func replyUsage(dst []byte, r *request) []byte {
	return resp.AppendInt(dst, values.RowOverhead+r.from+int64(r.call.Result.Length))
}

func memoryStats(c *Conn, _ [][]byte, reply []byte) []byte {
	m := readMemory()
	reply = resp.AppendMap(reply, c.proto, 2)
	reply = resp.AppendBulkString(reply, "peak.allocated")
	reply = resp.AppendInt(reply, m.resident)
	reply = resp.AppendBulkString(reply, "total.allocated")
	return resp.AppendInt(reply, m.used)
}
