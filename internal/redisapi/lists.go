package redisapi

// listCommands are the commands on lists.
func listCommands() []*Command {
	return valueCommands("O(N) where N is the size of all lists that it names", []*Command{
		{Name: "lindex", Keys: oneKey("RO access"), Syntax: "key index",
			Summary: "Returns the element at an index"},
		{Name: "linsert", Keys: oneKey("RW insert"), Syntax: "key <BEFORE | AFTER> pivot element",
			Summary: "Inserts an element before or after another"},
		{Name: "llen", Keys: oneKey("RO"), Syntax: "key",
			Summary: "Returns the length of a list"},
		{Name: "lmove", Keys: twoKeys("RW access delete", "RW insert"), Syntax: "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
			Summary: "Moves an element from one end of a list to an end of another"},
		{Name: "lmpop", Keys: counted(1, 1, "RW access delete"), Syntax: "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
			Summary: "Removes and returns elements of the first list that is not empty"},
		{Name: "lpop", Keys: oneKey("RW access delete"), Syntax: "key [count]",
			Summary: "Removes and returns the first elements of a list"},
		{Name: "lpos", Keys: oneKey("RO access"), Syntax: "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
			Summary: "Returns the indexes of elements that equal a value"},
		{Name: "lpush", Keys: oneKey("RW insert"), Syntax: "key element [element ...]",
			Summary: "Adds elements to the head of a list"},
		{Name: "lpushx", Keys: oneKey("RW insert"), Syntax: "key element [element ...]",
			Summary: "Adds elements to the head of a list that exists"},
		{Name: "lrange", Keys: oneKey("RO access"), Syntax: "key start stop",
			Summary: "Returns a range of elements"},
		{Name: "lrem", Keys: oneKey("RW delete"), Syntax: "key count element",
			Summary: "Removes elements that equal a value"},
		{Name: "lset", Keys: oneKey("RW update"), Syntax: "key index element",
			Summary: "Replaces the element at an index"},
		{Name: "ltrim", Keys: oneKey("RW delete"), Syntax: "key start stop",
			Summary: "Keeps a range of elements and removes the others"},
		{Name: "rpop", Keys: oneKey("RW access delete"), Syntax: "key [count]",
			Summary: "Removes and returns the last elements of a list"},
		{Name: "rpoplpush", Keys: twoKeys("RW access delete", "RW insert"), Syntax: "source destination",
			Summary: "Moves the last element of a list to the head of another"},
		{Name: "rpush", Keys: oneKey("RW insert"), Syntax: "key element [element ...]",
			Summary: "Adds elements to the tail of a list"},
		{Name: "rpushx", Keys: oneKey("RW insert"), Syntax: "key element [element ...]",
			Summary: "Adds elements to the tail of a list that exists"},
	})
}

// blockingCommands are those that wait until a key holds something for them.
func blockingCommands() []*Command {
	list := valueCommands("O(N) where N is the size of all lists and sorted sets that it names", []*Command{
		{Name: "blpop", Keys: blockingKeys(), Syntax: "key [key ...] timeout",
			Summary: "Removes and returns the first element of the first list that is not empty, or waits for one"},
		{Name: "brpop", Keys: blockingKeys(), Syntax: "key [key ...] timeout",
			Summary: "Removes and returns the last element of the first list that is not empty, or waits for one"},
		{Name: "blmove", Keys: twoKeys("RW access delete", "RW insert"), Syntax: "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
			Summary: "Moves an element from one end of a list to an end of another, or waits for one"},
		{Name: "brpoplpush", Keys: twoKeys("RW access delete", "RW insert"), Syntax: "source destination timeout",
			Summary: "Moves the last element of a list to the head of another, or waits for one"},
		{Name: "blmpop", Keys: counted(2, 1, "RW access delete"), Syntax: "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
			Summary: "Removes and returns elements of the first list that is not empty, or waits for one"},
		{Name: "bzpopmin", Keys: blockingKeys(), Syntax: "key [key ...] timeout",
			Summary: "Removes and returns the member with the lowest score of the first sorted set that is not empty, or waits for one"},
		{Name: "bzpopmax", Keys: blockingKeys(), Syntax: "key [key ...] timeout",
			Summary: "Removes and returns the member with the highest score of the first sorted set that is not empty, or waits for one"},
		{Name: "bzmpop", Keys: counted(2, 1, "RW access delete"), Syntax: "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
			Summary: "Removes and returns members of the first sorted set that is not empty, or waits for one"},
	})
	for _, cmd := range list {
		cmd.Note = noteBlocking
	}
	return list
}

const noteBlocking = "What other servers of the database push is served within a second at most, see blocking.md. Inside MULTI it does not wait."

// blockingKeys are all arguments but the last, which is the timeout.
func blockingKeys() []KeySpec {
	return []KeySpec{{Index: 1, Last: -2, Step: 1, Flags: "RW access delete"}}
}
