package values

import (
	"math"
	"strings"
)

// Command is one command as data.
type Command struct {
	Name  string // lower case
	Arity int    // of the whole command line; -n: at least n
	Flags string // as in COMMAND INFO: "write denyoom fast" and so on
	Since string // the first version of Redis that has it
	Group string // as in COMMAND DOCS: hash, list, set, sorted-set, string, bitmap, hyperloglog, generic

	// First, Last and Step say which arguments are keys, as in COMMAND INFO.
	// First is 0 if no key has a fixed place.
	First, Last, Step int

	// NumKeys is the place of the argument that counts the keys behind it; 0 if
	// there is none. KeyStep is their distance, 0 for 1.
	NumKeys, KeyStep int

	// MoreKeys returns keys that stand at no fixed place, nil for none.
	MoreKeys func(args [][]byte) [][]byte

	// Open reports whether a command line may ask for keys that Keys does not name,
	// because values name them. Default: none does.
	Open func(args [][]byte) bool

	// Waits returns what a command line waits for if Run finds nothing, or what is wrong
	// with it. Default: the command does not wait.
	Waits func(args [][]byte) (Waiting, error)

	// Run executes the command. The arity has been checked. It returns an
	// [Error], the reply then being empty.
	Run func(c *Call) error
}

// Writes reports whether the command may change its keys.
func (cmd *Command) Writes() bool { return strings.Contains(cmd.Flags, "write") }

// Takes reports whether a command line of n words has the right length.
func (cmd *Command) Takes(n int) bool {
	return n == cmd.Arity || cmd.Arity < 0 && n >= -cmd.Arity
}

// Keys appends the keys of a command line whose arity is right, as often as it
// names them. Where the line has not as many arguments as it announces keys,
// the command will refuse it, and the keys that are there are given.
func (cmd *Command) Keys(keys, args [][]byte) [][]byte {
	if cmd.First > 0 {
		last := cmd.Last
		if last < 0 {
			last += len(args)
		}
		for i := cmd.First; i <= last && i < len(args); i += cmd.Step {
			keys = append(keys, args[i])
		}
	}
	if cmd.MoreKeys != nil {
		keys = append(keys, cmd.MoreKeys(args)...)
	}
	if cmd.NumKeys > 0 && cmd.NumKeys < len(args) {
		n, _ := parseInt(args[cmd.NumKeys])
		step := max(cmd.KeyStep, 1)
		for i := cmd.NumKeys + 1; n > 0 && i < len(args); i += step {
			keys = append(keys, args[i])
			n--
		}
	}
	return keys
}

// Commands returns all commands, by family.
func Commands() []*Command {
	var list []*Command
	for _, family := range []struct {
		group    string
		commands []Command
	}{
		{"hash", hashCommands()}, {"set", setCommands()}, {"sorted-set", sortedSetCommands()}, {"list", listCommands()},
		{"list", blockingListCommands()}, {"sorted-set", blockingSortedSetCommands()},
		{"string", stringCommands()}, {"bitmap", bitmapCommands()}, {"hyperloglog", hyperLogLogCommands()},
		{"generic", keyCommands()}, {"generic", dumpCommands()}, {"generic", sortCommands()}, {"generic", objectCommands()},
	} {
		for i := range family.commands {
			cmd := &family.commands[i]
			cmd.Group = family.group
			if cmd.First == 0 && cmd.NumKeys == 0 {
				cmd.First, cmd.Last, cmd.Step = 1, 1, 1
			}
			if cmd.Waits != nil {
				checked(cmd)
			}
			list = append(list, cmd)
		}
	}
	return list
}

// numKeys reads the argument that counts keys, and checks that they are there.
func numKeys(args [][]byte, at int) (keys [][]byte, err error) {
	n, err := integerIn(args[at], 1, math.MaxInt64, errNumKeys)
	if err != nil {
		return nil, err
	}
	if n > int64(len(args)-at-1) {
		return nil, errManyKeys
	}
	return args[at+1 : at+1+int(n)], nil
}
