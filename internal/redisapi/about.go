package redisapi

import (
	"github.com/howdah/howdah/internal/resp"
)

const errModules = refusal(`ERR MODULE command not allowed. If the enable-module-command option is set to "local", ` +
	`you can run it from a local connection, ` +
	`otherwise you need to set this option in the configuration file, and then restart the server.`)

// elephant is what LOLWUT draws.
const elephant = `
        .--------.
        |::::::::|
   .----'--------'----.    __
  /                    \  /  \
 |                      \/  o \
 |                       |    |
/|    __________    __   |\_  |
 |   |          |  |  | /   \ |
 |___|          |__|__|'     \_)

`

// aboutCommands tell what the server is.
func aboutCommands() []*Command {
	const module, open = "admin noscript no_async_loading", "noscript loading stale"
	lolwut := serverCommand("lolwut", -1, "readonly fast", "", "[VERSION version]", "5.0.0",
		"Draws an elephant, and returns the version", lolwut)
	lolwut.Group = "server"
	role := serverCommand("role", 1, open+" fast", "", "", "2.8.12", "Returns master: replication is that of PostgreSQL", role)
	role.Group, role.ACL = "server", "admin dangerous"
	role.Note = "Also while PostgreSQL is a standby: writes are then refused with READONLY."
	return []*Command{role, lolwut, replicaOf("replicaof", "5.0.0"), replicaOf("slaveof", "1.0.0"), {
		Name: "module", Arity: -2, Group: "server", Since: "4.0.0", Summary: "Returns about modules", Complexity: "Depends on the subcommand",
		Note: "There are no modules. Redis's own error refuses to load one where enable-module-command is no, its default.",
		Sub: []*Command{
			serverCommand("list", 2, "admin noscript", "nondeterministic_output_order", "", "4.0.0", "Returns no modules", fixed(resp.EmptyArray)),
			serverCommand("load", -3, module, "", "path [arg [arg ...]]", "4.0.0", "Refused", fail(string(errModules))),
			serverCommand("loadex", -3, module, "", "path [CONFIG name value [name value ...]] [ARGS args [args ...]]", "7.0.0",
				"Refused", fail(string(errModules))),
			serverCommand("unload", 3, module, "", "name", "4.0.0", "Refused", fail(string(errModules))),
			help("5.0.0", "", "MODULE",
				"LIST", "    Return no modules.",
				"LOAD <path> [<arg> ...]", "    Refused.",
				"LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]", "    Refused.",
				"UNLOAD <name>", "    Refused."),
		},
	}}
}

// replicaOf is REPLICAOF by one of its names. Programs that set up a Redis say REPLICAOF NO ONE.
func replicaOf(name, since string) *Command {
	cmd := serverCommand(name, 3, "admin noscript stale no_async_loading", "", "<host port | NO ONE>", since, "Accepts NO ONE, refuses another server",
		func(_ *Conn, args [][]byte, reply []byte) []byte {
			if is(args[1], "NO") && is(args[2], "ONE") {
				return append(reply, resp.OK...)
			}
			return resp.AppendError(reply, "ERR replication is that of PostgreSQL; howdah import copies the entries of another Redis")
		})
	cmd.Group = "server"
	return cmd
}

// role answers as INFO replication does.
func role(_ *Conn, _ [][]byte, reply []byte) []byte {
	reply = resp.AppendArray(reply, 3)
	reply = resp.AppendBulkString(reply, "master")
	reply = resp.AppendInt(reply, 0)
	return resp.AppendArray(reply, 0)
}

func lolwut(c *Conn, args [][]byte, reply []byte) []byte {
	if len(args) > 2 && is(args[1], "VERSION") {
		if _, err := parseInt(args[2]); err != nil {
			return resp.AppendError(reply, err.Error())
		}
	}
	o := &c.engine.options
	return resp.AppendVerbatim(reply, c.proto, elephant+"Redis ver. "+o.RedisVersion+", Howdah ver. "+o.Version+"\n")
}
