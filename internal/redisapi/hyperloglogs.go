package redisapi

// hyperLogLogCommands are the commands on HyperLogLogs.
func hyperLogLogCommands() []*Command {
	return valueCommands("O(N) where N is the number of keys and elements", []*Command{
		{Name: "pfadd", Keys: oneKey("RW insert"), Syntax: "key [element [element ...]]",
			Summary: "Adds elements to a HyperLogLog"},
		{Name: "pfcount", Keys: []KeySpec{{Index: 1, Last: -1, Step: 1, Flags: "RW access", Notes: "RW because it may change the internal representation of the key, and propagate to replicas"}},
			Syntax:  "key [key ...]",
			Summary: "Estimates how many different elements HyperLogLogs have seen",
			Note:    "Only reads. Redis stores the estimate in the value the first time, which ends a WATCH of the key."},
		{Name: "pfmerge", Keys: keyAndMore("RW access insert", "RO access"), Syntax: "destkey sourcekey [sourcekey ...]",
			Summary: "Merges HyperLogLogs into one"},
	})
}
