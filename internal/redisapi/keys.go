package redisapi

import (
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

func keyCommands() []*Command {
	return []*Command{
		{Name: "del", Arity: -2, Flags: "write", Keys: allKeys("RM delete"), Group: "generic", ACL: "keyspace", Since: "1.0.0",
			Tips:    "request_policy:multi_shard response_policy:agg_sum",
			Summary: "Removes keys", Complexity: "O(N) where N is the number of keys", Syntax: "key [key ...]", call: del},
		{Name: "unlink", Arity: -2, Flags: "write fast", Keys: allKeys("RM delete"), Group: "generic", ACL: "keyspace", Since: "4.0.0",
			Tips:    "request_policy:multi_shard response_policy:agg_sum",
			Summary: "The same as DEL", Complexity: "O(N) where N is the number of keys", Syntax: "key [key ...]", call: del},
		{Name: "exists", Arity: -2, Flags: "readonly fast", Keys: allKeys("RO"), Group: "generic", ACL: "keyspace", Since: "1.0.0",
			Tips:    "request_policy:multi_shard response_policy:agg_sum",
			Summary: "Counts how many of the keys exist", Complexity: "O(N) where N is the number of keys", Syntax: "key [key ...]", call: exists},
		{Name: "touch", Arity: -2, Flags: "readonly fast", Keys: allKeys("RO"), Group: "generic", ACL: "keyspace", Since: "3.2.1",
			Tips:    "request_policy:multi_shard response_policy:agg_sum",
			Summary: "Counts how many of the keys exist, which is an access to them", Complexity: "O(N) where N is the number of keys", Syntax: "key [key ...]", call: exists},
		{Name: "type", Arity: 2, Flags: "readonly fast", Keys: oneKey("RO"), Group: "generic", ACL: "keyspace", Since: "1.0.0",
			Summary: "Returns string, hash, list, set or zset, or none", Complexity: "O(1)", Syntax: "key", call: typeOf},
		{Name: "object", Arity: -2, Group: "generic", Since: "2.2.3", Summary: "Returns how a value is stored", Complexity: "Depends on the subcommand",
			Sub: []*Command{
				{Name: "encoding", Arity: 3, Flags: "readonly", Keys: subKey("RO"), ACL: "keyspace", Tips: "nondeterministic_output", Since: "2.2.3",
					Summary: "Returns how Redis would store the value", Complexity: "O(N) where N is the size of the value", Syntax: "key",
					Note: "The encoding that Redis chooses for a new value."},
				{Name: "freq", Arity: 3, Flags: "readonly", Keys: subKey("RO"), ACL: "keyspace", Tips: "nondeterministic_output", Since: "4.0.0",
					Summary: "Refused: access frequencies are not available", Complexity: "O(1)", Syntax: "key", call: objectFrequency},
				{Name: "idletime", Arity: 3, Flags: "readonly", Keys: subKey("RO"), ACL: "keyspace", Tips: "nondeterministic_output", Since: "2.2.3",
					Summary: "Returns the seconds since the last access", Complexity: "O(1)", Syntax: "key", Note: "Always 0.", call: objectIdle},
				{Name: "refcount", Arity: 3, Flags: "readonly", Keys: subKey("RO"), ACL: "keyspace", Tips: "nondeterministic_output", Since: "2.2.3",
					Summary: "Returns 1", Complexity: "O(1)", Syntax: "key", call: objectReferences},
				help("6.2.0", "keyspace", "OBJECT",
					"ENCODING <key>", "    Return how Redis would keep the value.",
					"FREQ <key>", "    Refused, no LFU policy is selected.",
					"IDLETIME <key>", "    Return 0 for a key that exists.",
					"REFCOUNT <key>", "    Return 1 for a key that exists."),
			}},
	}
}

func del(r *request, args [][]byte) error {
	if len(args) == 2 {
		r.call.Verb, r.call.Key, r.reply = statement.Delete, r.own(args[1]), replyDone
		return nil
	}
	r.call.Verb, r.call.Keys, r.reply = statement.DeleteMany, r.ownKeys(args[1:]), replyCount
	return nil
}

func replyCount(dst []byte, r *request) []byte { return resp.AppendInt(dst, r.call.Count) }

func exists(r *request, args [][]byte) error {
	if len(args) == 2 {
		r.call.Verb, r.call.Key, r.reply = statement.Stat, r.own(args[1]), replyDone
		return nil
	}
	r.call.Verb, r.call.Keys, r.reply = statement.StatMany, r.ownKeys(args[1:]), replyFound
	return nil
}

func replyFound(dst []byte, r *request) []byte {
	found := int64(0)
	for i := range r.call.Entries {
		if r.call.Entries[i].Found {
			found++
		}
	}
	return resp.AppendInt(dst, found)
}

func typeOf(r *request, args [][]byte) error {
	r.call.Verb, r.call.Key, r.reply = statement.Stat, r.own(args[1]), replyType
	return nil
}

func replyType(dst []byte, r *request) []byte {
	if r.call.Status == verb.Miss {
		return append(dst, "+none\r\n"...)
	}
	dst = append(dst, '+')
	dst = append(dst, values.Kind(r.call.Result.Kind).String()...)
	return append(dst, "\r\n"...)
}

func objectFrequency(r *request, args [][]byte) error {
	return object(r, args[2], func(dst []byte, r *request) []byte {
		return resp.AppendError(dst, "ERR An LFU maxmemory policy is not selected, access frequency not tracked. "+
			"Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
	})
}

func objectIdle(r *request, args [][]byte) error {
	return object(r, args[2], func(dst []byte, r *request) []byte { return append(dst, resp.Zero...) })
}

func objectReferences(r *request, args [][]byte) error {
	return object(r, args[2], func(dst []byte, r *request) []byte { return append(dst, resp.One...) })
}

// object is stat for commands that ask about a value: an absent key is then no event.
func object(r *request, key []byte, reply func([]byte, *request) []byte) error {
	r.call.Silent = true
	return stat(r, key, reply)
}

// stat makes a call whose reply is null if the key is absent.
func stat(r *request, key []byte, reply func([]byte, *request) []byte) error {
	r.call.Verb, r.call.Key = statement.Stat, r.own(key)
	r.reply = func(dst []byte, r *request) []byte {
		if r.call.Status == verb.Miss {
			return resp.AppendNull(dst, r.proto)
		}
		return reply(dst, r)
	}
	return nil
}
