package redisapi

const noteFunction = "On every server of the database: at once on this one, and within two seconds on the others. Refused inside MULTI."

// functionCommands are those that keep libraries of functions, and call them.
func functionCommands() []*Command {
	const unknown = "We cannot tell how the keys will be used so we assume the worst, "
	const flags, readOnly = "noscript stale skip_monitor no_mandatory_keys movablekeys", "readonly noscript stale skip_monitor no_mandatory_keys movablekeys"
	const all = "request_policy:all_shards response_policy:all_succeeded"
	return []*Command{
		{Name: "fcall", Arity: -3, Flags: flags, Keys: scriptSpec("RW access update", unknown+"RW and UPDATE"), Group: "scripting", ACL: "scripting", Since: "7.0.0",
			Summary: "Calls a function", Complexity: "Depends on the function",
			Syntax: "function numkeys [key [key ...]] [arg [arg ...]]", Note: "As EVAL; what a library keeps in its variables does not outlive the call.", edit: callFunction},
		{Name: "fcall_ro", Arity: -3, Flags: readOnly, Keys: scriptSpec("RO access", unknown+"RO and ACCESS"), Group: "scripting", ACL: "scripting", Since: "7.0.0",
			Summary: "Calls a function that only reads", Complexity: "Depends on the function",
			Syntax: "function numkeys [key [key ...]] [arg [arg ...]]", edit: callFunctionReadOnly},
		{Name: "function", Arity: -2, Group: "scripting", Since: "7.0.0", Summary: "Keeps libraries of Lua functions", Complexity: "Depends on the subcommand",
			Sub: []*Command{
				{Name: "load", Arity: -3, Flags: "write denyoom noscript", ACL: "scripting", Since: "7.0.0", Syntax: "[REPLACE] function-code", Tips: all,
					Summary: "Keeps a library", Complexity: "O(N) where N is the length of the library and of the others", Note: noteFunction, run: functionLoad},
				{Name: "delete", Arity: 3, Flags: "write noscript", ACL: "scripting", Since: "7.0.0", Syntax: "library-name", Tips: all,
					Summary: "Removes a library", Complexity: "O(N) where N is the number of functions", Note: noteFunction, run: functionDelete},
				{Name: "flush", Arity: -2, Flags: "write noscript", ACL: "scripting", Since: "7.0.0", Syntax: "[ASYNC | SYNC]", Tips: all,
					Summary: "Removes all libraries", Complexity: "O(N) where N is the number of libraries", Note: noteFunction, run: functionFlush},
				{Name: "dump", Arity: 2, Flags: "noscript", ACL: "scripting", Since: "7.0.0",
					Summary: "Returns all libraries as bytes that FUNCTION RESTORE takes", Complexity: "O(N) where N is the size of the libraries", run: functionDump},
				{Name: "restore", Arity: -3, Flags: "write denyoom noscript", ACL: "scripting", Since: "7.0.0", Syntax: "serialized-value [FLUSH | APPEND | REPLACE]", Tips: all,
					Summary: "Keeps the libraries that FUNCTION DUMP returned", Complexity: "O(N) where N is the size of the libraries",
					Note: "Also of Redis 7. " + noteFunction, run: functionRestore},
				{Name: "list", Arity: -2, Flags: "noscript", ACL: "scripting", Since: "7.0.0", Syntax: "[LIBRARYNAME library-name-pattern] [WITHCODE]",
					Tips:    "nondeterministic_output_order",
					Summary: "Returns the libraries and their functions", Complexity: "O(N) where N is the number of functions",
					Note: "A library that cannot be loaded has no functions.", run: functionList},
				{Name: "stats", Arity: 2, Flags: "noscript allow_busy", ACL: "scripting", Since: "7.0.0",
					Tips:    "nondeterministic_output request_policy:all_shards response_policy:special",
					Summary: "Returns the function that runs, and how many libraries and functions there are", Complexity: "O(N) where N is the number of libraries",
					Note: "Of the functions that run on this server, the one that has run for the longest time.", run: functionStats},
				{Name: "kill", Arity: 2, Flags: "noscript allow_busy", ACL: "scripting", Since: "7.0.0",
					Tips:    "request_policy:all_shards response_policy:one_succeeded",
					Summary: "Ends the functions that run on this server", Complexity: "O(N) where N is the number of functions that run",
					Note: "A function that has written can be killed too: nothing of it is stored.", now: functionKill},
				help("7.0.0", "scripting", "FUNCTION",
					"DELETE <LIBRARY NAME>", "    Remove a library.",
					"DUMP", "    Return all libraries as bytes that RESTORE takes.",
					"FLUSH [ASYNC|SYNC]", "    Remove all libraries.",
					"KILL", "    End the functions that run on this server.",
					"LIST [LIBRARYNAME PATTERN] [WITHCODE]", "    Return the libraries and their functions.",
					"LOAD [REPLACE] <FUNCTION CODE>", "    Keep a library.",
					"RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]", "    Keep the libraries that DUMP returned.",
					"STATS", "    Return the function that runs, and how many libraries and functions there are."),
			}},
	}
}
