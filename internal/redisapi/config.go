package redisapi

import (
	"bytes"
	"net"
	"strconv"
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

func configCommands() []*Command {
	const flags = "admin noscript loading stale"
	return []*Command{{
		Name: "config", Arity: -2, Group: "server", Since: "2.0.0", Summary: "Returns settings", Complexity: "Depends on the subcommand",
		Sub: []*Command{
			{Name: "get", Arity: -3, Flags: flags, Since: "2.0.0", Syntax: "parameter [parameter ...]",
				Summary: "Returns the settings whose names match", Complexity: "O(N) where N is the number of settings", now: configGet},
			{Name: "set", Arity: -4, Flags: flags, Since: "2.0.0", Syntax: "parameter value [parameter value ...]",
				Tips:    "request_policy:all_nodes response_policy:all_succeeded",
				Summary: "Accepts the present values, refuses others", Complexity: "O(N) where N is the number of settings",
				Note: "Settings are flags of howdah serve and settings of each cache.", now: configSet},
			{Name: "resetstat", Arity: 2, Flags: flags, Since: "2.0.0", Summary: "Sets the counters of INFO to zero", Complexity: "O(1)",
				Tips: "", now: configResetStat},
			{Name: "rewrite", Arity: 2, Flags: flags, Since: "2.8.0", Summary: "Refused: there is no configuration file", Complexity: "O(1)",
				now: fail("ERR The server is running without a config file")},
			help("5.0.0", "", "CONFIG",
				"GET <pattern>", "    Return the settings whose names match.",
				"SET <directive> <value>", "    Accept the present value, refuse another.",
				"RESETSTAT", "    Set the counters of INFO to zero.",
				"REWRITE", "    Refused."),
		},
	}}
}

// setting is one that clients and dashboards read.
type setting struct{ name, value string }

// settings are the settings of Redis that mean something here, or that
// clients ask for, by name.
func (c *Conn) settings() []setting {
	o := &c.engine.options
	_, port, _ := net.SplitHostPort(c.info.LocalAddr)
	password := ""
	if o.Password != "" {
		password = "(hidden)"
	}
	return []setting{
		{"appendfsync", "everysec"},
		{"appendonly", "no"},
		{"bind", "* -::*"},
		{"client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
		{"client-query-buffer-limit", "1073741824"},
		{"cluster-enabled", "no"},
		{"databases", strconv.Itoa(Databases)},
		{"dbfilename", ""},
		{"dir", ""},
		{"hz", "10"},
		{"io-threads", "1"},
		{"latency-monitor-threshold", "0"},
		{"lazyfree-lazy-expire", "yes"},
		{"lazyfree-lazy-user-del", "yes"},
		{"lazyfree-lazy-user-flush", "yes"},
		{"loglevel", "notice"},
		{"lua-time-limit", "5000"},
		{"maxclients", strconv.Itoa(o.MaxClients)},
		{"maxmemory", "0"},
		{"maxmemory-policy", "noeviction"},
		{"maxmemory-samples", "5"},
		{"min-replicas-to-write", "0"},
		{"notify-keyspace-events", ""},
		{"port", port},
		{"proto-max-bulk-len", strconv.Itoa(o.MaxBulk)},
		{"protected-mode", "no"},
		{"repl-backlog-size", "0"},
		{"replica-read-only", "yes"},
		{"replicaof", ""},
		{"requirepass", password},
		{"save", ""},
		{"slave-read-only", "yes"},
		{"slaveof", ""},
		{"slowlog-log-slower-than", "10000"},
		{"slowlog-max-len", "128"},
		{"tcp-backlog", "511"},
		{"tcp-keepalive", "300"},
		{"timeout", "0"},
		{"unixsocket", ""},
	}
}

func configGet(c *Conn, args [][]byte, reply []byte) []byte {
	size := 0
	for _, pattern := range args[2:] {
		size += len(pattern) + 1
	}
	if size > maxNamePatterns {
		return resp.AppendError(reply, string(errLongNamePatterns))
	}
	var found []setting
	for _, s := range c.settings() {
		for _, pattern := range args[2:] {
			if matchGlob(bytes.ToLower(pattern), []byte(s.name)) {
				if !bytes.ContainsAny(pattern, "*?[") {
					s.name = string(pattern) // Redis answers a plain name as it was asked
				}
				found = append(found, s)
				break
			}
		}
	}
	reply = resp.AppendMap(reply, c.proto, len(found))
	for _, s := range found {
		reply = resp.AppendBulkString(reply, s.name)
		reply = resp.AppendBulkString(reply, s.value)
	}
	return reply
}

func configSet(c *Conn, args [][]byte, reply []byte) []byte {
	if len(args)%2 != 0 {
		return resp.AppendError(reply, string(errSyntax))
	}
	values := make(map[string]string)
	for _, s := range c.settings() {
		values[s.name] = s.value
	}
	for i := 2; i < len(args); i += 2 {
		name := strings.ToLower(string(args[i]))
		value, known := values[name]
		if !known {
			return resp.AppendError(reply, "ERR Unknown option or number of arguments for CONFIG SET - '"+string(cString(args[i], 128))+"'")
		}
		if !strings.EqualFold(value, string(args[i+1])) {
			return resp.AppendError(reply, "ERR CONFIG SET failed (possibly related to argument '"+name+
				"') - can't set it here; use the flags of howdah serve, or howdah.alter_cache in PostgreSQL")
		}
	}
	return append(reply, resp.OK...)
}

func configResetStat(c *Conn, _ [][]byte, reply []byte) []byte {
	c.engine.resetStats()
	return append(reply, resp.OK...)
}
