package redisapi

// dumpCommands are the commands that take a value out and put it back.
func dumpCommands() []*Command {
	return valueCommands("O(N) where N is the size of the value", []*Command{
		{Name: "dump", Keys: oneKey("RO access"), ACL: "keyspace", Tips: "nondeterministic_output", Syntax: "key",
			Summary: "Returns the value of a key as bytes that RESTORE takes"},
		{Name: "restore", Keys: oneKey("OW update"), ACL: "keyspace dangerous", Syntax: "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
			Summary: "Stores a value that DUMP returned"},
	})
}
