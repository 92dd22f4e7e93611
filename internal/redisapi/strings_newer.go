package redisapi

// newerStringCommands are the commands on strings that compare, or came after Redis 6.2.
func newerStringCommands() []*Command {
	return valueCommands("O(N) where N is the length of the values", []*Command{
		{Name: "delex", Keys: oneKey("RW access delete"), Syntax: "key [IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest]",
			Summary: "Removes a key if its value, or the digest of it, equals another or does not"},
		{Name: "delifeq", Keys: oneKey("RW access delete"), Syntax: "key value",
			Summary: "Removes a key if its value equals another"},
		{Name: "digest", Keys: oneKey("RO access"), Syntax: "key",
			Summary: "Returns the XXH3 digest of a value"},
		{Name: "increx", Keys: oneKey("RW access update"),
			Syntax:  "key [BYINT increment | BYFLOAT increment] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]",
			Summary: "Adds to a number, within bounds, and sets when it expires"},
		{Name: "lcs", Keys: []KeySpec{{Index: 1, Last: 1, Step: 1, Flags: "RO access"}}, Syntax: "key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]",
			Summary: "Returns the longest common subsequence of two values"},
		{Name: "msetex", Keys: counted(1, 2, "OW update"),
			Syntax:  "numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
			Summary: "Stores several values with one TTL, all or none"},
	})
}
