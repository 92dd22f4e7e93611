package redisapi

import (
	"bytes"
	"slices"
	"strings"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

func commandCommands() []*Command {
	sub := func(name string, arity int, tips, syntax, since, summary string, now func(*Conn, [][]byte, []byte) []byte) *Command {
		return &Command{Name: name, Arity: arity, Flags: "loading stale", ACL: "connection", Tips: tips, Syntax: syntax, Since: since,
			Summary: summary, Complexity: "O(N) where N is the number of commands", now: now}
	}
	const unordered = "nondeterministic_output_order"
	return []*Command{{
		Name: "command", Arity: -1, Flags: "loading stale", Group: "server", ACL: "connection", Tips: unordered, Since: "2.8.13",
		Summary: "Returns what commands there are", Complexity: "O(N) where N is the number of commands", now: commandAll,
		Sub: []*Command{
			sub("count", 2, "", "", "2.8.13", "Counts the commands", func(c *Conn, _ [][]byte, reply []byte) []byte {
				return resp.AppendInt(reply, int64(len(c.engine.commands.list)))
			}),
			sub("info", -2, unordered, "[command-name [command-name ...]]", "2.8.13", "Returns flags and keys of commands", commandInfo),
			sub("docs", -2, unordered, "[command-name [command-name ...]]", "7.0.0", "Returns the documentation of commands", commandDocs),
			sub("list", -2, unordered, "[FILTERBY filter value]", "7.0.0", "Returns the names of the commands", commandNames),
			sub("getkeys", -4, "", "command [argument [argument ...]]", "2.8.13", "Returns the keys of a command line", commandGetKeys),
			sub("getkeysandflags", -4, "", "command [argument [argument ...]]", "7.0.0", "Returns the keys of a command line and what is done to them", commandGetKeysAndFlags),
			help("5.0.0", "connection", "COMMAND",
				"(no subcommand)", "    Return details about all commands.",
				"COUNT", "    Count the commands.",
				"LIST", "    Return the names of the commands.",
				"INFO [<command-name> ...]", "    Return flags and keys of commands.",
				"DOCS [<command-name> ...]", "    Return the documentation of commands.",
				"GETKEYS <full-command>", "    Return the keys of a command line.",
				"GETKEYSANDFLAGS <full-command>", "    Return the keys of a command line and what is done to them."),
		},
	}}
}

func commandAll(c *Conn, _ [][]byte, reply []byte) []byte {
	list := c.engine.commands.list
	reply = resp.AppendArray(reply, len(list))
	for _, cmd := range list {
		reply = cmd.appendInfo(reply, c.proto)
	}
	return reply
}

// maxNames bounds the names of one COMMAND INFO: each adds kilobytes to a reply
// that is built on the event loop. Howdah has fewer commands than this.
const maxNames = 512

func commandInfo(c *Conn, args [][]byte, reply []byte) []byte {
	switch {
	case len(args) == 2:
		return commandAll(c, args, reply)
	case len(args)-2 > maxNames:
		return resp.AppendError(reply, "ERR too many names; ask for at most 512 at once")
	}
	reply = resp.AppendArray(reply, len(args)-2)
	type part struct{ from, to int }
	encoded := make(map[*Command]part)
	for _, name := range args[2:] {
		cmd := c.engine.commands.named(name)
		if cmd == nil {
			reply = resp.AppendNull(reply, c.proto)
			continue
		}
		if p, repeated := encoded[cmd]; repeated {
			reply = append(reply, reply[p.from:p.to]...)
			continue
		}
		start := len(reply)
		reply = cmd.appendInfo(reply, c.proto)
		encoded[cmd] = part{start, len(reply)}
	}
	return reply
}

// appendInfo appends one command's part of COMMAND INFO.
func (cmd *Command) appendInfo(dst []byte, proto resp.Proto) []byte {
	dst = resp.AppendArray(dst, 10)
	dst = resp.AppendBulkString(dst, cmd.fullName)
	dst = resp.AppendInt(dst, int64(cmd.Arity))
	dst = appendStatuses(dst, proto, cmd.flags)
	first, last, step := cmd.keyRange()
	for _, n := range []int{first, last, step} {
		dst = resp.AppendInt(dst, int64(n))
	}
	dst = appendStatuses(dst, proto, cmd.categories())
	tips := strings.Fields(cmd.Tips)
	dst = resp.AppendSet(dst, proto, len(tips))
	for _, tip := range tips {
		dst = resp.AppendBulkString(dst, tip)
	}
	dst = resp.AppendSet(dst, proto, len(cmd.Keys))
	for _, spec := range cmd.Keys {
		dst = spec.append(dst, proto)
	}
	dst = resp.AppendSet(dst, proto, len(cmd.Sub))
	for _, sub := range cmd.Sub {
		dst = sub.appendInfo(dst, proto)
	}
	return dst
}

// keyRange returns first key, last key and step: how Redis described keys before
// key specifications.
func (cmd *Command) keyRange() (first, last, step int) {
	for _, spec := range cmd.Keys {
		if spec.Counted || spec.Unknown {
			continue
		}
		if first == 0 {
			first = spec.Index
		}
		if last, step = spec.Last, spec.Step; last >= 0 {
			last += spec.Index
		}
	}
	return first, last, step
}

// categories returns the ACL categories, in the order of Redis.
func (cmd *Command) categories() []string {
	given := strings.Fields(cmd.ACL)
	has := func(category string) bool {
		switch category {
		case "read":
			return cmd.has("readonly") && !slices.Contains(given, "scripting")
		case "write":
			return cmd.has("write")
		case "hash", "list", "set", "sortedset", "string", "bitmap", "hyperloglog":
			return strings.ReplaceAll(cmd.Group, "-", "") == category || slices.Contains(given, category)
		case "admin", "pubsub":
			return cmd.has(category) || slices.Contains(given, category)
		case "fast":
			return cmd.has("fast")
		case "slow":
			return !cmd.has("fast")
		case "blocking":
			return cmd.has("blocking")
		case "dangerous":
			return cmd.has("admin") || slices.Contains(given, category)
		}
		return slices.Contains(given, category)
	}
	var categories []string
	for _, category := range []string{"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting"} {
		if has(category) {
			categories = append(categories, "@"+category)
		}
	}
	return categories
}

func (k *KeySpec) append(dst []byte, proto resp.Proto) []byte {
	fields := 3
	if k.Notes != "" {
		fields++
	}
	dst = resp.AppendMap(dst, proto, fields)
	if k.Notes != "" {
		dst = appendField(dst, "notes", k.Notes)
	}
	dst = resp.AppendBulkString(dst, "flags")
	dst = appendStatuses(dst, proto, strings.Fields(k.Flags))
	dst = resp.AppendBulkString(dst, "begin_search")
	if k.Unknown {
		dst = appendSearch(dst, proto, "unknown")
		dst = resp.AppendBulkString(dst, "find_keys")
		return appendSearch(dst, proto, "unknown")
	}
	dst = appendSearch(dst, proto, "index", field{"index", k.Index})
	dst = resp.AppendBulkString(dst, "find_keys")
	if k.Counted {
		return appendSearch(dst, proto, "keynum", field{"keynumidx", 0}, field{"firstkey", 1}, field{"keystep", k.Step})
	}
	return appendSearch(dst, proto, "range", field{"lastkey", k.Last}, field{"keystep", k.Step}, field{"limit", 0})
}

// field is a number with its name.
type field struct {
	name string
	n    int
}

// appendSearch appends one way to look for keys.
func appendSearch(dst []byte, proto resp.Proto, way string, spec ...field) []byte {
	dst = resp.AppendMap(dst, proto, 2)
	dst = appendField(dst, "type", way)
	dst = resp.AppendBulkString(dst, "spec")
	dst = resp.AppendMap(dst, proto, len(spec))
	for _, f := range spec {
		dst = resp.AppendInt(resp.AppendBulkString(dst, f.name), int64(f.n))
	}
	return dst
}

func commandDocs(c *Conn, args [][]byte, reply []byte) []byte {
	var found []*Command
	if len(args) == 2 {
		found = c.engine.commands.list
	}
	named := make(map[*Command]bool)
	for _, name := range args[2:] {
		if cmd := c.engine.commands.named(name); cmd != nil && !named[cmd] {
			named[cmd] = true
			found = append(found, cmd)
		}
	}
	reply = resp.AppendMap(reply, c.proto, len(found))
	for _, cmd := range found {
		reply = cmd.appendDocs(reply, c.proto)
	}
	return reply
}

// appendDocs appends one command's name and its part of COMMAND DOCS.
func (cmd *Command) appendDocs(dst []byte, proto resp.Proto) []byte {
	arguments := parseSyntax(cmd.Syntax)
	fields := 4
	if len(arguments) > 0 {
		fields++
	}
	if cmd.Sub != nil {
		fields++
	}
	dst = resp.AppendBulkString(dst, cmd.fullName)
	dst = resp.AppendMap(dst, proto, fields)
	dst = appendField(dst, "summary", cmd.Summary)
	dst = appendField(dst, "since", cmd.Since)
	dst = appendField(dst, "group", cmd.Group)
	dst = appendField(dst, "complexity", cmd.Complexity)
	if len(arguments) > 0 {
		dst = resp.AppendBulkString(dst, "arguments")
		dst = appendArguments(dst, proto, arguments)
	}
	if cmd.Sub != nil {
		dst = resp.AppendBulkString(dst, "subcommands")
		dst = resp.AppendMap(dst, proto, len(cmd.Sub))
		for _, sub := range cmd.Sub {
			dst = sub.appendDocs(dst, proto)
		}
	}
	return dst
}

func commandNames(c *Conn, args [][]byte, reply []byte) []byte {
	keep := func(*Command) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 5 && is(args[2], "FILTERBY") && is(args[3], "PATTERN"):
		if len(args[4]) > maxNamePatterns {
			return resp.AppendError(reply, string(errLongNamePatterns))
		}
		pattern := bytes.ToLower(args[4])
		keep = func(cmd *Command) bool { return values.Match(pattern, []byte(cmd.fullName)) }
	case len(args) == 5 && is(args[2], "FILTERBY") && is(args[3], "ACLCAT"):
		category := "@" + strings.ToLower(string(args[4]))
		keep = func(cmd *Command) bool { return slices.Contains(cmd.categories(), category) }
	case len(args) == 5 && is(args[2], "FILTERBY") && is(args[3], "MODULE"):
		keep = func(cmd *Command) bool { return cmd.Group == "module" && is(args[4], "HOWDAH") }
	default:
		return resp.AppendError(reply, string(errSyntax))
	}
	var names []string
	c.engine.commands.each(func(cmd *Command) {
		if keep(cmd) {
			names = append(names, cmd.fullName)
		}
	})
	reply = resp.AppendArray(reply, len(names))
	for _, name := range names {
		reply = resp.AppendBulkString(reply, name)
	}
	return reply
}

// keyUse is one key of a command line and what is done to it.
type keyUse struct {
	key   []byte
	flags []string
}

// keyUses returns the keys of a command line.
func (cmd *Command) keyUses(args [][]byte) (uses []keyUse) {
	for _, spec := range cmd.Keys {
		if !spec.isKeys() {
			continue
		}
		flags := strings.Fields(spec.Flags)
		if cmd.keyFlags != nil {
			flags = strings.Fields(cmd.keyFlags(args))
		}
		first, last := spec.bounds(args)
		for i := first; i <= last && i < len(args); i += spec.Step {
			uses = append(uses, keyUse{args[i], flags})
		}
	}
	if cmd.value != nil && cmd.value.MoreKeys != nil {
		for _, key := range cmd.value.MoreKeys(args) {
			uses = append(uses, keyUse{key, []string{"OW", "update"}})
		}
	}
	return uses
}

// appendKeys appends the keys of a command line.
func (cmd *Command) appendKeys(keys [][]byte, args [][]byte) [][]byte {
	for _, use := range cmd.keyUses(args) {
		keys = append(keys, use.key)
	}
	return keys
}

// keysOfLine returns the keys of the command line that an argument list holds.
func (c *Conn) keysOfLine(args [][]byte) ([]keyUse, error) {
	cmd, err := c.engine.commands.find(args)
	switch {
	case err != nil:
		return nil, refusal("ERR Invalid command specified")
	case !slices.ContainsFunc(cmd.Keys, KeySpec.isKeys):
		return nil, refusal("ERR The command has no key arguments")
	case !cmd.takes(len(args)):
		return nil, refusal("ERR Invalid number of arguments specified for command")
	}
	for _, spec := range cmd.Keys {
		if !spec.fits(args) && !cmd.has("no_mandatory_keys") {
			return nil, refusal("ERR Invalid arguments specified for command")
		}
	}
	return cmd.keyUses(args), nil
}

func commandGetKeys(c *Conn, args [][]byte, reply []byte) []byte {
	uses, err := c.keysOfLine(args[2:])
	if err != nil {
		return resp.AppendError(reply, err.Error())
	}
	reply = resp.AppendArray(reply, len(uses))
	for _, use := range uses {
		reply = resp.AppendBulk(reply, use.key)
	}
	return reply
}

func commandGetKeysAndFlags(c *Conn, args [][]byte, reply []byte) []byte {
	uses, err := c.keysOfLine(args[2:])
	if err != nil {
		return resp.AppendError(reply, err.Error())
	}
	reply = resp.AppendArray(reply, len(uses))
	for _, use := range uses {
		reply = resp.AppendArray(reply, 2)
		reply = resp.AppendBulk(reply, use.key)
		reply = appendStatuses(reply, c.proto, use.flags)
	}
	return reply
}
