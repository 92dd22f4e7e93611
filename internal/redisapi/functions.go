package redisapi

import (
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

// functionCommands are those of FUNCTION that have a truthful answer where no
// function can be loaded. Test suites and frameworks begin with FUNCTION FLUSH.
func functionCommands() []*Command {
	return []*Command{{
		Name: "function", Arity: -2, Group: "scripting", Since: "7.0.0", Summary: "Returns that there are no functions", Complexity: "Depends on the subcommand",
		Note: "Functions cannot be loaded.",
		Sub: []*Command{
			{Name: "flush", Arity: -2, Flags: "write noscript", ACL: "scripting", Since: "7.0.0", Syntax: "[ASYNC | SYNC]",
				Tips:    "request_policy:all_shards response_policy:all_succeeded",
				Summary: "Accepted; there are no functions", Complexity: "O(1)", now: functionFlush},
			{Name: "list", Arity: -2, Flags: "noscript", ACL: "scripting", Since: "7.0.0", Syntax: "[LIBRARYNAME library-name-pattern] [WITHCODE]",
				Tips:    "nondeterministic_output_order",
				Summary: "Returns an empty list", Complexity: "O(1)", now: functionList},
			help("7.0.0", "scripting", "FUNCTION",
				"FLUSH [ASYNC|SYNC]", "    Accepted, there are no functions.",
				"LIST [LIBRARYNAME PATTERN] [WITHCODE]", "    Return an empty list."),
		},
	}}
}

func functionFlush(_ *Conn, args [][]byte, reply []byte) []byte {
	switch {
	case len(args) > 3:
		return resp.AppendError(reply, "ERR unknown subcommand or wrong number of arguments for '"+string(cString(args[1], 128))+"'. Try FUNCTION HELP.")
	case len(args) == 3 && !is(args[2], "SYNC") && !is(args[2], "ASYNC"):
		return resp.AppendError(reply, "ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	}
	return append(reply, resp.OK...)
}

func functionList(_ *Conn, args [][]byte, reply []byte) []byte {
	given := make(map[string]bool)
	for i := 2; i < len(args); i++ {
		option := strings.ToUpper(string(args[i]))
		if given[option] || option != "WITHCODE" && option != "LIBRARYNAME" {
			return resp.AppendError(reply, "ERR Unknown argument "+string(cString(args[i], len(args[i]))))
		}
		given[option] = true
		if option == "LIBRARYNAME" {
			if i++; i == len(args) {
				return resp.AppendError(reply, "ERR library name argument was not given")
			}
		}
	}
	return append(reply, resp.EmptyArray...)
}
