package grammar

import "strconv"

// Families returns all families.
func Families() []Family { return append(collections(), others()...) }

func collections() []Family {
	return []Family{
		{Name: "hash", Templates: []string{
			"HSET k ( m v )+", "HSET k ( m v )+", "HMSET k ( m v )+", "HSETNX k m v", "HGET k m", "HMGET k ( m )+",
			"HDEL k ( m )+", "HDEL k ( m )+", "HLEN k", "HSTRLEN k m", "HEXISTS k m", "HKEYS k", "HVALS k", "HGETALL k", "HGETALL k",
			"HINCRBY k m i", "HINCRBY k m i", "HINCRBYFLOAT k m f", "HINCRBYFLOAT k m [f|b]", "HRANDFIELD k 0", "HRANDFIELD none", "HRANDFIELD none i [WITHVALUES|m|]", "HRANDFIELD k 1000 [WITHVALUES|]",
			"HSCAN k [0|b] [COUNT,1000|] [MATCH,p|]", "HSCAN k 0 MATCH p",
		}, Words: map[string][]string{"p": {"*", "a*", "?", "[a-c]", "*1*", "\\a", "[^a]*", ""}}},
		{Name: "set", Unordered: true, Templates: []string{
			"SADD k ( m )+", "SADD k ( m )+", "SADD k ( m )+", "SREM k ( m )+", "SMOVE k k m", "SISMEMBER k m", "SMISMEMBER k ( m )+",
			"SCARD k", "SMEMBERS k", "SRANDMEMBER k 0", "SRANDMEMBER k 1000", "SRANDMEMBER none [i|]", "SPOP k 0", "SPOP k 1000", "SPOP none [i|]",
			"SINTER ( k )+", "SUNION ( k )+", "SDIFF ( k )+", "SINTERSTORE k ( k )+", "SUNIONSTORE k ( k )+", "SDIFFSTORE k ( k )+",
			"SINTERCARD 1 k [LIMIT,i|]", "SINTERCARD 2 k k [LIMIT,i|]", "SINTERCARD i ( k )+", "SSCAN k 0 COUNT 1000 [MATCH,p|]", "SSCAN k q",
		}, Words: map[string][]string{"p": {"*", "a*", "?", "[a-c]", "*1*"}, "q": {"abc", " 1", "1 ", "--1", "99999999999999999999"}}},
		{Name: "sorted set", Templates: []string{
			"ZADD k ( s m )+", "ZADD k ( s m )+", "ZADD k ( s m )+", "ZADD k [NX|XX|] [GT|LT|] [CH|] ( s m )+", "ZADD k [NX|XX|GT|LT|CH|] [INCR|CH|] s m", "ZADD k [NX|XX] [NX|XX|GT|LT] [GT|LT|INCR] ( s m )+", "ZADD k [s|b] m",
			"ZINCRBY k s m", "ZINCRBY k [s|b] m", "ZREM k ( m )+", "ZREM k ( m )+", "ZCARD k", "ZSCORE k m", "ZMSCORE k ( m )+", "ZRANK k m", "ZREVRANK k m",
			"ZRANGE k i i [REV|] [WITHSCORES|]", "ZRANGE k e e BYSCORE [REV|] [LIMIT,i,i|] [WITHSCORES|]", "ZADD o ( 0 m )+", "ZADD o ( 0 m )+", "ZREM l m", "ZRANGE l x x BYLEX [REV|] [LIMIT,i,i|]",
			"ZRANGE k i i [BYSCORE|] [LIMIT,i,i|] [WITHSCORES|] [REV|]",
			"ZRANGESTORE k k i i [REV|]", "ZRANGESTORE k k e e BYSCORE [REV|] [LIMIT,i,i|]", "ZRANGESTORE o l x x BYLEX [REV|]",
			"ZREVRANGE k i i [WITHSCORES|]", "ZRANGEBYSCORE k e e [WITHSCORES|] [LIMIT,i,i|]", "ZREVRANGEBYSCORE k e e [LIMIT,i,i|] [WITHSCORES|]",
			"ZRANGEBYLEX l x x [LIMIT,i,i|]", "ZREVRANGEBYLEX l x x [LIMIT,i,i|]", "ZCOUNT k e e", "ZLEXCOUNT l x x",
			"ZREMRANGEBYRANK k i i", "ZREMRANGEBYSCORE k e e", "ZREMRANGEBYLEX l x x", "ZPOPMIN k [i|]", "ZPOPMAX k [i|]",
			"ZMPOP 2 k k [MIN|MAX] [COUNT,i|]", "ZMPOP i k k [MIN|MAX]", "ZRANDMEMBER k 0 [WITHSCORES|]", "ZRANDMEMBER none [i|]", "ZRANDMEMBER none i [WITHSCORES|m|]", "ZSCAN k 0 [COUNT,1000|] [MATCH,p|]",
			"ZUNION 2 k k [WEIGHTS,s,s|] [AGGREGATE,SUM|AGGREGATE,MIN|AGGREGATE,MAX|] [WITHSCORES|]", "ZINTER 2 k k [WEIGHTS,s,s|] [AGGREGATE,SUM|AGGREGATE,MIN|AGGREGATE,MAX|] [WITHSCORES|]",
			"ZUNION 3 k k k WITHSCORES", "ZINTER 3 k k k WITHSCORES", "ZDIFF 2 k k [WITHSCORES|]", "ZDIFF 3 k k k",
			"ZUNIONSTORE k 2 k k [WEIGHTS,s,s|] [AGGREGATE,MIN|AGGREGATE,m|]", "ZINTERSTORE k 2 k k [WEIGHTS,s,b|]", "ZDIFFSTORE k 2 k k", "ZUNIONSTORE k i k k",
			"ZINTERCARD 2 k k [LIMIT,i|]", "ZINTERCARD i k k",
		}, Words: map[string][]string{
			"p": {"*", "a*", "?", "[a-c]"},
			"e": {"1", "2", "(1", "(2", "-inf", "+inf", "(inf", "0", "5", "(5", "10", "2.5", "", "(", "nan", "abc", " 1", "1 ", "1e400"},
			"o": {"l0", "l1", "l2"},
			"l": {"l0", "l1", "l2", "l0", "l1", "l2", "w5", "none"},
			"x": {"-", "+", "[a", "(a", "[c", "(e", "[", "(", "[zz", "a", "", "+x", "[aa"},
		}},
		{Name: "list", Templates: []string{
			"RPUSH k ( m )+", "RPUSH k ( m )+", "LPUSH k ( m )+", "LPUSH k ( m )+", "LPUSHX k ( m )+", "RPUSHX k ( m )+", "LPOP k [i|]", "RPOP k [i|]", "LPOP k", "RPOP k",
			"LMPOP 2 k k [LEFT|RIGHT] [COUNT,i|]", "LMPOP i k k [LEFT|RIGHT]", "LMOVE k k [LEFT|RIGHT] [LEFT|RIGHT]", "RPOPLPUSH k k", "LLEN k", "LINDEX k i",
			"LRANGE k i i", "LRANGE k 0 -1", "LPOS k m [RANK,i|] [COUNT,i|] [MAXLEN,i|]", "LPOS k m [RANK,2|RANK,-1|RANK,-2|] [COUNT,0|COUNT,2|] [MAXLEN,3|]",
			"LSET k i m", "LINSERT k [BEFORE|AFTER|m] m m", "LREM k i m", "LTRIM k i i", "LTRIM k 0 20",
		}},
	}
}

func others() []Family {
	return []Family{
		{Name: "bitmap", Templates: []string{
			"SET k v", "SETBIT k o t", "SETBIT k o t", "GETBIT k o", "BITCOUNT k", "BITCOUNT k i i [BIT|BYTE|]", "BITCOUNT k j j [BIT|BYTE|m|]",
			"BITPOS k t", "BITPOS k t j", "BITPOS k t j j [BIT|BYTE|]", "BITPOS k t i i [BIT|BYTE|]", "BITOP [AND|OR|XOR] k ( k )+", "BITOP NOT k k",
			"BITFIELD k GET T o", "BITFIELD k SET T o n INCRBY T o n GET T o", "BITFIELD k OVERFLOW [WRAP|SAT|FAIL] INCRBY T o n INCRBY T o n",
			"BITFIELD k OVERFLOW [WRAP|SAT|FAIL|m] SET T o n GET T o OVERFLOW [WRAP|SAT|FAIL] INCRBY T o n", "BITFIELD k INCRBY T o i", "BITFIELD_RO k GET T o [SET,T,o,n|]", "GET k",
		}, Words: map[string][]string{
			"k": {"k0", "k1", "k2", "k3", "k0", "k1", "k2", "k3", "w0", "none"},
			"o": {"0", "1", "7", "8", "15", "31", "64", "100", "3", "#0", "#1", "#3", "0", "5", "13", "9", "-1", "#", "#-1", "4294967296", "9223372036854775807", "#9223372036854775807", "x"},
			"t": {"0", "1", "0", "1", "0", "1", "2", "x"},
			"j": {"0", "1", "2", "3", "-1", "-2", "-3", "5", "10", "-10", "17", "1000"},
			"T": {"u1", "u4", "u8", "u16", "u32", "u63", "i1", "i2", "i5", "i8", "i16", "i32", "i63", "i64", "u64", "i65", "u0", "x8", "i"},
			"n": {"0", "1", "-1", "2", "100", "127", "128", "-128", "-129", "255", "256", "65535", "-65536", "9223372036854775807", "-9223372036854775808", "4611686018427387904", "3", "5", "-7", "x"},
			"v": {"", "a", "foobar", "\xff\xff\xff", "\x00\x00", "\xff\xf0\x00", "\x00\xff\xf0"},
		}},
		{Name: "string", Templates: []string{
			"SET k v", "SET k v", "SET k v [NX|XX|] [GET|] [KEEPTTL|]", "SET k v [EX,u|PX,u|EXAT,y|PXAT,y|] [NX|]", "GET k", "MGET ( k )+", "STRLEN k", "GETRANGE k i i", "SUBSTR k i i", "GETDEL k", "GETSET k v", "SETNX k v",
			"MSET ( k v )+", "MSETNX k v", "APPEND k v", "SETRANGE k r v", "INCR k", "DECR k", "INCRBY k i", "DECRBY k i", "INCRBYFLOAT k f", "INCRBYFLOAT k [f|b]",
			"SETEX k u v", "PSETEX k u v", "GETEX k [PERSIST|EX,u|PXAT,y|EX|]",
			"SET k w", "SET k w", "SET k w", "LCS k k [LEN|IDX|] [WITHMATCHLEN|] [MINMATCHLEN,i|]", "LCS k k [LEN|IDX|] [LEN|IDX|]", "LCS k k",
		}, Words: map[string][]string{
			"k": {"k0", "k1", "k2", "k3", "k0", "k1", "k2", "k3", "w0", "none"},
			"u": {"100000", "1000000", "0", "-1", "x", "9223372036854775807", "9223372036854775", "9223372036854774"},
			"y": {"99999999999", "9999999999999", "1", "0", "-1", "x"},
			"r": {"0", "1", "5", "10", "-1", "9223372036854775807", "536870912", "x"},
			"w": {"ohmytext", "mynewtext", "abcbdab", "bdcaba", "aaaa", "aa", "xyz", "abcdefghijklmnop", "acegikmo"},
		}},
		// GT and LT with instants only: a duration counts from the moment of each server.
		{Name: "generic", Templates: []string{
			"SET k v", "SADD k a b", "HSET k a 1", "RPUSH k a b", "ZADD k 1 a", "DEL ( k )+", "UNLINK k k", "EXISTS ( k )+", "TOUCH ( k )+", "TYPE k",
			"EXPIRE k u [NX|XX|m|]", "PEXPIRE k u [NX|XX|] [NX|XX|]", "EXPIREAT k y [NX|XX|GT|LT|]", "PEXPIREAT k y [NX|XX|GT|LT|] [NX|XX|GT|LT|]",
			"EXPIREAT k y", "PEXPIREAT k y", "PERSIST k", "RENAME k k", "RENAMENX k k", "COPY k k [REPLACE|]", "RENAME k k", "COPY k k REPLACE",
			"EXPIREAT q y", "PEXPIREAT q y", "EXPIRETIME q", "PEXPIRETIME q", "SET q v KEEPTTL", "SET q v", "PERSIST q", "TTL none", "PTTL none", "TTL n", "PTTL n", "SADD n a", "GET k", "SCARD k",
		}, Words: map[string][]string{
			"q": {"q0", "q1", "q2"}, "n": {"n0"},
			"k": {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"},
			"u": {"100000", "1000000", "0", "-1", "x", "9223372036854775807", "9223372036854775", "9223372036854774", "-9223372036854775808"},
			"y": {"99999999999", "88888888888", "9999999999999", "9999999999499", "9999999999500", "1", "0", "-1", "x", "9223372036854775807"},
		}},
		{Name: "sort", Templates: []string{
			"RPUSH k ( n )+", "SADD S ( n )+", "ZADD z ( n n )+", "SET W n", "HSET H f n", "DEL W", "DEL k", "RPUSH k m", "SET L m",
			"SORT K [ASC|DESC|]", "SORT K [LIMIT,i,i|] [DESC|]", "SORT K ALPHA [DESC|] [LIMIT,i,i|]", "SORT k BY p [DESC|] [GET,g|]", "SORT K GET g GET g", "SORT O BY nosort [DESC|] [LIMIT,i,i|]",
			"SORT k [BY,p|] [GET,g|] STORE k", "SORT K STORE k", "SORT S BY nosort STORE k", "SORT_RO K [LIMIT,i,i|] [GET,g|]", "SORT_RO K STORE k", "SORT K [LIMIT,i|GET|BY|m]",
			"LRANGE k 0 -1", "SORT l BY p [DESC|]", "RPUSH l n",
		}, Words: map[string][]string{
			"m": {"a", "b", "10", "", "\xff\xfe"}, "b": {"abc", "", "nan", " 1", "1 "}, // Redis takes elements as equal that differ behind a NUL
			"n": {"1", "2", "3", "10", "20", "-5", "2.5", "0", "7"}, "S": {"s0", "s1"}, "z": {"z0", "z1"}, "l": {"l0"},
			"O": {"k0", "k1", "k2", "k3", "z0", "z1", "w1", "w3", "w2", "none"}, // what has an order
			"K": {"k0", "k1", "k2", "k3", "s0", "s1", "z0", "z1", "w0", "w4", "w2", "none"},
			"W": {"weight_1", "weight_2", "weight_3", "weight_10", "weight_20", "weight_-5", "weight_7"},
			"L": {"label_1", "label_2", "label_3", "label_10"}, "H": {"h_1", "h_2", "h_3"}, "f": {"a", "b"},
			"p": {"weight_*", "h_*->a", "none*", "weight_*->a", "h_*"}, "g": {"#", "label_*", "h_*->a", "h_*->b", "h_*->", "w*", "none", "weight_*"},
		}},
		{Name: "hyperloglog", HyperLogLog: true, Templates: []string{
			"PFADD k ( n )+", "PFADD k ( n )+", "PFADD k ( n )+", "PFADD k ( n )+", "PFADD k ( n )+", "PFADD k ( n )+", "PFADD k ( n )+", "PFADD k ( n )+", "PFADD k ( n )+", "PFADD k",
			"PFADD d ( n n n n )+", "PFADD d ( n n n n )+", "PFCOUNT d k", "PFMERGE [k|k|d] d [k|k,k|d]", "GET d",
			"PFCOUNT k", "PFCOUNT ( k )+", "PFMERGE k ( k )+", "PFMERGE k", "GET k",
		}, Words: map[string][]string{"k": {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "w0", "w4"}, "d": {"d0", "d1", "d2"}, "n": numbers(20_000)}},
	}
}

func numbers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "element:" + strconv.Itoa(i)
	}
	return list
}
