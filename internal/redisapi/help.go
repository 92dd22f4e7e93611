package redisapi

import (
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

// help returns the HELP subcommand of a command with subcommands.
func help(since, acl, container string, lines ...string) *Command {
	return &Command{
		Name: "help", Arity: 2, Flags: "loading stale", ACL: acl, Since: since,
		Summary: "Returns what the subcommands do", Complexity: "O(1)",
		now: func(_ *Conn, _ [][]byte, reply []byte) []byte {
			reply = resp.AppendArray(reply, len(lines)+3)
			reply = resp.AppendSimple(reply, strings.ToUpper(container)+" <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
			for _, line := range lines {
				reply = resp.AppendSimple(reply, line)
			}
			reply = resp.AppendSimple(reply, "HELP")
			return resp.AppendSimple(reply, "    Prints this help.")
		},
	}
}

// fixed always gives the same reply.
func fixed(answer string) func(*Conn, [][]byte, []byte) []byte {
	return func(_ *Conn, _ [][]byte, reply []byte) []byte { return append(reply, answer...) }
}

// fail always gives the same error.
func fail(text string) func(*Conn, [][]byte, []byte) []byte {
	return func(_ *Conn, _ [][]byte, reply []byte) []byte { return resp.AppendError(reply, text) }
}
