package redisapi

import (
	"strings"

	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

// Command is one command, or one subcommand, as data. Everything about
// commands comes from these: dispatch, arity checks, COMMAND, docs/commands.md.
type Command struct {
	Name  string // lower case; a subcommand's own name
	Arity int    // of the whole command line; -n: at least n
	Flags string // as in COMMAND INFO, separated by spaces
	Keys  []KeySpec
	Group string // as in COMMAND DOCS; a subcommand has the group of its parent
	ACL   string // categories that do not follow from group and flags
	Tips  string // for proxies, as in COMMAND INFO
	Since string // the first version of Redis that has it

	Summary    string
	Complexity string
	Syntax     string // of the arguments, in the notation of redis.io
	Note       string // where Howdah differs, for the documentation

	Sub []*Command

	// One of these runs the command; a command with subcommands may have none.
	// args is the whole command line. call and now must not keep it.
	call func(r *request, args [][]byte) error
	now  func(c *Conn, args [][]byte, reply []byte) []byte
	run  func(t *task, args [][]byte) error
	edit func(r *request, args [][]byte) error // makes r.edit

	// begins says that it begins subscriptions, and subscribesTo of which kind.
	begins       bool
	subscribesTo pubsub.Kind
	// subscribes changes the subscriptions and appends the confirmations.
	subscribes func(s *subscriptions, proto resp.Proto, args [][]byte, reply []byte) []byte

	// publishes says that the command sends a message: it runs at once if no earlier command of
	// its connection is under way, and in its turn otherwise.
	publishes bool

	// value is the command as a function over loaded values. It runs the command if
	// none of those above does, and inside transactions and scripts.
	value *values.Command

	// asValue reports whether value runs a command line although the command has
	// another way. Default: it does not.
	asValue func(args [][]byte) bool

	// vague reports whether call does not tell which events a command line causes: value
	// then runs it while events are published. Default: it tells.
	vague func(args [][]byte) bool

	// free reports whether a command line of a command with run needs no
	// database, and so no slot. Default: every one needs it.
	free func(e *Engine, args [][]byte) bool

	// refused is the reply to every command line, with or without a password; "": it runs.
	refused refusal

	// keyFlags returns the flags of the key, for commands where they depend on
	// the command line.
	keyFlags func(args [][]byte) string

	// Derived.
	fullName string // "client|setname"
	parent   *Command
	flags    []string
	writes   bool
	tracked  bool // see isTracked
	noAuth   bool
	controls bool // runs at once inside MULTI, is not queued
	listens  bool // a subscriber may use it in RESP2
	stats    commandCounters
}

// KeySpec says which arguments are keys, and how the command uses them.
type KeySpec struct {
	Index int // of the first
	Last  int // relative to Index, or from the end (-1: the last argument)
	Step  int
	Flags string
	Notes string

	Counted bool // Index is that of the number of keys, which stand behind it
	Unknown bool // the place depends on the command line, or on a value
}

// bounds returns the indexes of the first and the last key of a command line. There
// is none if the last comes before the first.
func (k KeySpec) bounds(args [][]byte) (first, last int) {
	switch {
	case k.Unknown:
		return 1, 0
	case k.Counted:
		first = k.Index + 1
		n, err := parseInt(args[min(k.Index, len(args)-1)])
		if err != nil || n < 0 {
			n = 0
		}
		return first, first + k.Step*int(min(n, int64(len(args)))) - 1
	case k.Last < 0:
		return k.Index, len(args) + k.Last
	}
	return k.Index, k.Index + k.Last
}

// fits reports whether a command line has all the keys that it announces.
func (k KeySpec) fits(args [][]byte) bool {
	first, last := k.bounds(args)
	if !k.Counted {
		return k.Unknown || first < len(args)
	}
	n, err := parseInt(args[min(k.Index, len(args)-1)])
	return err == nil && 0 < n && n < int64(len(args)) && last < len(args)
}

func oneKey(flags string) []KeySpec  { return []KeySpec{{Index: 1, Step: 1, Flags: flags}} }
func allKeys(flags string) []KeySpec { return []KeySpec{{Index: 1, Last: -1, Step: 1, Flags: flags}} }
func pairs(flags string) []KeySpec   { return []KeySpec{{Index: 1, Last: -1, Step: 2, Flags: flags}} }
func twoKeys(first, second string) []KeySpec {
	return []KeySpec{{Index: 1, Step: 1, Flags: first}, {Index: 2, Step: 1, Flags: second}}
}

// keyAndMore is one key, and all the arguments behind it.
func keyAndMore(first, more string) []KeySpec {
	return []KeySpec{{Index: 1, Step: 1, Flags: first}, {Index: 2, Last: -1, Step: 1, Flags: more}}
}

// counted is as many keys as the argument at index says, which stand behind it.
func counted(index, step int, flags string) []KeySpec {
	return []KeySpec{{Index: index, Counted: true, Step: step, Flags: flags}}
}

// keyAndCounted is one key, and behind it as many as the next argument says.
func keyAndCounted(first, more string) []KeySpec {
	return append(oneKey(first), counted(2, 1, more)...)
}

func subKey(flags string) []KeySpec { return []KeySpec{{Index: 2, Step: 1, Flags: flags}} }

// isKeys reports whether the arguments are keys: those of shard channels are not.
func (k KeySpec) isKeys() bool { return k.Flags != notKey }

// takes reports whether a command line of n words has the right length.
func (cmd *Command) takes(n int) bool {
	return n == cmd.Arity || cmd.Arity < 0 && n >= -cmd.Arity
}

// onlyValue reports whether a command runs as a function over loaded values alone.
func (cmd *Command) onlyValue() bool {
	return cmd.value != nil && cmd.call == nil && cmd.now == nil && cmd.run == nil
}

// isValue reports whether a command line runs as a function over loaded values.
func (cmd *Command) isValue(args [][]byte) bool {
	return cmd.onlyValue() || cmd.asValue != nil && cmd.asValue(args)
}

// isOpen reports whether a command line may use keys that only values name. It then
// runs when the earlier commands of its connection are done: it has no place among
// the calls on those keys.
func (cmd *Command) isOpen(args [][]byte) bool {
	return cmd.value != nil && cmd.value.Open != nil && cmd.value.Open(args)
}

// table holds the commands of one engine and their counters.
type table struct {
	list   []*Command // by family, without subcommands
	byName map[string]*Command
}

// commandList returns all commands, by family.
func commandList() []*Command {
	var list []*Command
	for _, family := range [][]*Command{
		stringReads(), stringWrites(), counterCommands(), newerStringCommands(), bitmapCommands(), hyperLogLogCommands(),
		hashCommands(), listCommands(), setCommands(), sortedSetCommands(), blockingCommands(),
		keyCommands(), dumpCommands(), sortCommands(), expiryCommands(), keyspaceCommands(),
		transactionCommands(), messageCommands(),
		connectionCommands(), clientCommands(),
		serverCommands(), aboutCommands(), persistenceCommands(), aclCommands(),
		configCommands(), commandCommands(), memoryCommands(), slowLogCommands(), latencyCommands(), monitorCommands(), clusterCommands(), functionCommands(), howdahCommands(), leaseCommands(), tagCommands(), scriptCommands(),
	} {
		list = append(list, family...)
	}
	return list
}

func newTable() *table {
	t := &table{list: commandList(), byName: make(map[string]*Command)}
	bind(t.list)
	for _, cmd := range t.list {
		t.add(cmd, nil)
		for _, sub := range cmd.Sub {
			t.add(sub, cmd)
		}
	}
	return t
}

func (t *table) add(cmd, parent *Command) {
	cmd.fullName = cmd.Name
	if parent != nil {
		cmd.parent = parent
		cmd.fullName = parent.Name + "|" + cmd.Name
		cmd.Group = parent.Group
	}
	cmd.flags = strings.Fields(cmd.Flags)
	cmd.writes = cmd.has("write")
	switch cmd.Name {
	case "exec", "eval", "evalsha", "fcall": // they have not the flag, as in Redis, and yet may write
		cmd.writes = true
	}
	cmd.noAuth = cmd.has("no_auth")
	cmd.tracked = cmd.isTracked()
	switch cmd.Name {
	case "multi", "exec", "discard", "watch", "quit", "reset":
		cmd.controls = parent == nil
	}
	switch cmd.Name {
	case "ping", "quit", "reset":
		cmd.listens = parent == nil
	}
	cmd.listens = cmd.listens || cmd.subscribes != nil
	t.byName[cmd.fullName] = cmd
}

func (cmd *Command) has(flag string) bool {
	for _, f := range cmd.flags {
		if f == flag {
			return true
		}
	}
	return false
}

// longestName bounds the names that are looked up, in bytes.
const longestName = 32

// find returns the command of a command line, or its subcommand if it has
// subcommands. If the subcommand is unknown it returns its parent and an error.
func (t *table) find(args [][]byte) (*Command, error) {
	var buffer [longestName]byte
	cmd := t.byName[string(lower(buffer[:0], args[0]))]
	if cmd == nil || cmd.parent != nil {
		return nil, unknownCommand(args)
	}
	if cmd.Sub == nil || len(args) == 1 {
		return cmd, nil // the check of the arity follows
	}
	sub := cmd.sub(args[1])
	if sub == nil {
		return cmd, refusal("ERR unknown subcommand '" + string(cString(args[1], 128)) +
			"'. Try " + strings.ToUpper(cmd.Name) + " HELP.")
	}
	return sub, nil
}

func (cmd *Command) sub(name []byte) *Command {
	var buffer [longestName]byte
	name = lower(buffer[:0], name)
	for _, sub := range cmd.Sub {
		if sub.Name == string(name) {
			return sub
		}
	}
	return nil
}

// named finds "get", or "client|setname".
func (t *table) named(name []byte) *Command {
	var buffer [2 * longestName]byte
	return t.byName[string(lower(buffer[:0], name))]
}

// lower appends name in lower case, cut to the capacity of dst. That is one byte
// more than any name has, so that a name which is cut matches none.
func lower(dst, name []byte) []byte {
	for i, c := range name {
		if i == cap(dst) {
			break
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
