package redisapi

// sortCommands are SORT and its variant that only reads.
func sortCommands() []*Command {
	return valueCommands("O(N+M*log(M)) where N is the number of elements and M the number that it returns", []*Command{
		{Name: "sort", Keys: []KeySpec{{Index: 1, Step: 1, Flags: "RO access"}, {Unknown: true, Flags: "RO access", Notes: "For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of the key we sort"}, {Unknown: true, Flags: "OW update", Notes: "For the optional STORE keyword. It is marked 'unknown' because the keyword can appear anywhere in the argument array"}}, ACL: "set sortedset list dangerous",
			Syntax:  "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA] [STORE destination]",
			Summary: "Returns the elements of a list, set or sorted set in order, or stores them"},
		{Name: "sort_ro", Keys: []KeySpec{{Index: 1, Step: 1, Flags: "RO access"}, {Unknown: true, Flags: "RO access", Notes: "For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of the key we sort"}}, ACL: "set sortedset list dangerous",
			Syntax:  "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA]",
			Summary: "Returns the elements of a list, set or sorted set in order"},
	})
}
