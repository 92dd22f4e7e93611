package redisapi

// bitmapCommands are the commands on the bits of strings.
func bitmapCommands() []*Command {
	return valueCommands("O(N) where N is the length of the value", []*Command{
		{Name: "bitcount", Keys: oneKey("RO access"), Syntax: "key [start end [BYTE | BIT]]",
			Summary: "Counts the bits of a string that are set"},
		{Name: "bitfield", Keys: []KeySpec{{Index: 1, Step: 1, Flags: "RW access update variable_flags", Notes: "This command allows both access and modification of the key"}},
			Syntax:   "key [<GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] <SET encoding offset value | INCRBY encoding offset increment>> ...]",
			keyFlags: bitfieldKeyFlags,
			Summary:  "Reads, stores and adds to integers of any width inside a string"},
		{Name: "bitfield_ro", Keys: oneKey("RO access"), Syntax: "key [GET encoding offset [GET encoding offset ...]]",
			Summary: "Reads integers of any width inside a string"},
		{Name: "bitop", Keys: []KeySpec{{Index: 2, Step: 1, Flags: "OW update"}, {Index: 3, Last: -1, Step: 1, Flags: "RO access"}}, Syntax: "operation destkey key [key ...]",
			Summary: "Combines strings bit by bit, and stores the result"},
		{Name: "bitpos", Keys: oneKey("RO access"), Syntax: "key bit [start [end [BYTE | BIT]]]",
			Summary: "Returns where a string has its first bit that is set, or clear"},
		{Name: "getbit", Keys: oneKey("RO access"), Syntax: "key offset",
			Summary: "Returns a bit of a string"},
		{Name: "setbit", Keys: oneKey("RW access update"), Syntax: "key offset value",
			Summary: "Sets or clears a bit of a string, and answers the one before"},
	})
}

// bitfieldKeyFlags returns the key flags of a BITFIELD, which may only read.
func bitfieldKeyFlags(args [][]byte) string {
	for i := 2; i < len(args); {
		left := len(args) - i - 1
		switch {
		case is(args[i], "GET") && left >= 2:
			i += 3
		case is(args[i], "OVERFLOW") && left >= 1:
			i += 2
		default:
			return "RW access update"
		}
	}
	return "RO access"
}
