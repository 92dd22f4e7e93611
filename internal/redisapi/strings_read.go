package redisapi

import (
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
	"slices"
)

func stringReads() []*Command {
	return []*Command{
		{Name: "get", Arity: 2, Flags: "readonly fast", Keys: oneKey("RO access"), Group: "string", Since: "1.0.0",
			Summary: "Returns the value of a key", Complexity: "O(1)", Syntax: "key", call: get},
		{Name: "mget", Arity: -2, Flags: "readonly fast", Keys: allKeys("RO access"), Group: "string", Since: "1.0.0",
			Tips:    "request_policy:multi_shard",
			Summary: "Returns the values of several keys, as of one moment", Complexity: "O(N) where N is the number of keys", Syntax: "key [key ...]", call: mget},
		{Name: "strlen", Arity: 2, Flags: "readonly fast", Keys: oneKey("RO"), Group: "string", Since: "2.2.0",
			Summary: "Returns the length of a value in bytes", Complexity: "O(1)", Syntax: "key", call: strlen},
		{Name: "getrange", Arity: 4, Flags: "readonly", Keys: oneKey("RO access"), Group: "string", Since: "2.4.0",
			Summary: "Returns a part of a value", Complexity: "O(N) where N is the length of the value", Syntax: "key start end", call: getRange},
		{Name: "substr", Arity: 4, Flags: "readonly", Keys: oneKey("RO access"), Group: "string", Since: "1.0.0",
			Summary: "The old name of GETRANGE", Complexity: "O(N) where N is the length of the value", Syntax: "key start end", call: getRange},
		{Name: "getdel", Arity: 2, Flags: "write fast", Keys: oneKey("RW access delete"), Group: "string", Since: "6.2.0",
			Summary: "Returns the value of a key and removes it", Complexity: "O(1)", Syntax: "key", call: getDelete},
		{Name: "getex", Arity: -2, Flags: "write fast", Group: "string", Since: "6.2.0",
			Keys:    []KeySpec{{Index: 1, Step: 1, Flags: "RW access update", Notes: "RW and UPDATE because it changes the TTL"}},
			Summary: "Returns the value of a key and sets when it expires", Complexity: "O(1)",
			Syntax: "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]",
			call:   getExpire, asValue: persists, vague: expiresAt},
	}
}

// get alone may be answered from memory, and not while the client watches keys:
// what it reads then decides what it writes. Inside EXEC the transaction reads.
func get(r *request, args [][]byte) error {
	readValue(r, args[1])
	r.call.Fresh = r.conn.watched != nil
	return nil
}

// readValue answers the value of a key, as of now.
func readValue(r *request, key []byte) {
	r.call.Verb, r.call.Key, r.reply = statement.Get, r.own(key), replyValue
	r.call.Fresh = true
}

// replyValue appends the value, or null if there is none.
func replyValue(dst []byte, r *request) []byte {
	if r.call.Status != verb.OK {
		return resp.AppendNull(dst, r.proto)
	}
	return r.bulk(dst, r.call.Result.Value)
}

func mget(r *request, args [][]byte) error {
	if len(args) == 2 { // merges with other reads of the key
		readValue(r, args[1])
		r.reply, r.otherIsNull = replyOneValue, true
		return nil
	}
	r.call.Verb, r.call.Keys, r.reply = statement.GetMany, r.ownKeys(args[1:]), replyValues
	return nil
}

func replyOneValue(dst []byte, r *request) []byte {
	return replyValue(resp.AppendArray(dst, 1), r)
}

func replyValues(dst []byte, r *request) []byte {
	dst = resp.AppendArray(dst, len(r.call.Entries))
	for i := range r.call.Entries {
		if entry := &r.call.Entries[i]; entry.Found {
			dst = r.bulk(dst, entry.Value)
		} else {
			dst = resp.AppendNull(dst, r.proto)
		}
	}
	return dst
}

func strlen(r *request, args [][]byte) error {
	r.call.Verb, r.call.Key, r.reply = statement.Stat, r.own(args[1]), replyLength
	return nil
}

func replyLength(dst []byte, r *request) []byte {
	switch {
	case r.call.Status == verb.Miss:
		return append(dst, resp.Zero...)
	case r.call.Result.Kind != 0:
		return resp.AppendError(dst, statusError(verb.WrongType))
	}
	return resp.AppendInt(dst, int64(r.call.Result.Length))
}

func getRange(r *request, args [][]byte) (err error) {
	if r.from, err = parseInt(args[2]); err != nil {
		return err
	}
	if r.to, err = parseInt(args[3]); err != nil {
		return err
	}
	readValue(r, args[1])
	r.reply = replyRange
	return nil
}

func replyRange(dst []byte, r *request) []byte {
	value := r.call.Result.Value
	if r.call.Status == verb.Miss {
		value = nil
	}
	return r.bulk(dst, cut(value, r.from, r.to))
}

// cut returns the part of a value from start to end, both included. Negative
// offsets count from its end.
func cut(value []byte, start, end int64) []byte {
	if start < 0 && end < 0 && start > end {
		return nil
	}
	size := int64(len(value))
	if start < 0 {
		start = max(size+start, 0)
	}
	if end < 0 {
		end = max(size+end, 0)
	}
	end = min(end, size-1)
	if start > end {
		return nil
	}
	return value[start : end+1]
}

func getDelete(r *request, args [][]byte) error {
	r.call.Verb, r.call.Key, r.reply = statement.GetDelete, r.own(args[1]), replyValue
	return nil
}

// persists reports whether GETEX takes the expiry away. The call cannot leave a key alone that has none.
func persists(args [][]byte) bool {
	return slices.ContainsFunc(args[2:], func(arg []byte) bool { return is(arg, "PERSIST") })
}

func getExpire(r *request, args [][]byte) error {
	options, err := parseSetOptions(args[2:], false)
	if err != nil {
		return err
	}
	expiry, err := options.expiry("getex")
	if err != nil { // Redis reports it only if the key exists
		return stat(r, args[1], func(dst []byte, _ *request) []byte { return resp.AppendError(dst, err.Error()) })
	}
	readValue(r, args[1])
	switch {
	case options.persist:
		r.call.Verb, r.call.Expiry = statement.GetExpire, verb.ExpireNever()
	case options.unit != 0:
		r.call.Verb, r.call.Expiry = statement.GetExpire, expiry
	}
	return nil
}
