package redisapi

import (
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// noteDefaultTTL is said of every command that stores without a TTL.
const noteDefaultTTL = "Without an expiry the default TTL of the cache holds, if it has one."

func stringWrites() []*Command {
	return []*Command{
		{Name: "set", Arity: -3, Flags: "write denyoom", Group: "string", Since: "1.0.0",
			Keys:    []KeySpec{{Index: 1, Step: 1, Flags: "RW access update variable_flags", Notes: "RW and ACCESS due to the optional `GET` argument"}},
			Summary: "Stores a value", Complexity: "O(1)",
			Syntax: "key value [NX | XX | IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
			Note:   noteDefaultTTL + " IFEQ, IFNE, IFDEQ and IFDNE are those of Redis 8.4.", call: set, asValue: comparesValue, vague: expiresAt, keyFlags: setKeyFlags},
		{Name: "setex", Arity: 4, Flags: "write denyoom", Keys: oneKey("OW update"), Group: "string", Since: "2.0.0",
			Summary: "Stores a value with a TTL in seconds", Complexity: "O(1)", Syntax: "key seconds value", call: setSeconds},
		{Name: "psetex", Arity: 4, Flags: "write denyoom", Keys: oneKey("OW update"), Group: "string", Since: "2.6.0",
			Summary: "Stores a value with a TTL in milliseconds", Complexity: "O(1)", Syntax: "key milliseconds value", call: setMilliseconds},
		{Name: "setnx", Arity: 3, Flags: "write denyoom fast", Keys: oneKey("OW insert"), Group: "string", Since: "1.0.0",
			Summary: "Stores a value if the key is absent", Complexity: "O(1)", Syntax: "key value", Note: noteDefaultTTL, call: setIfAbsent},
		{Name: "getset", Arity: 3, Flags: "write denyoom fast", Keys: oneKey("RW access update"), Group: "string", Since: "1.0.0",
			Summary: "Stores a value and answers the one before", Complexity: "O(1)", Syntax: "key value", Note: noteDefaultTTL, call: getSet},
		{Name: "mset", Arity: -3, Flags: "write denyoom", Keys: pairs("OW update"), Group: "string", Since: "1.0.1",
			Tips:    "request_policy:multi_shard response_policy:all_succeeded",
			Summary: "Stores several values, all or none", Complexity: "O(N) where N is the number of keys", Syntax: "key value [key value ...]", Note: noteDefaultTTL, call: setMany},
		{Name: "msetnx", Arity: -3, Flags: "write denyoom", Keys: pairs("OW insert"), Group: "string", Since: "1.0.1",
			Tips:    "request_policy:multi_shard response_policy:agg_min",
			Summary: "Stores several values if none of the keys exists", Complexity: "O(N) where N is the number of keys", Syntax: "key value [key value ...]", Note: noteDefaultTTL, call: setManyIfAbsent},
		{Name: "append", Arity: 3, Flags: "write denyoom fast", Keys: oneKey("RW insert"), Group: "string", Since: "2.0.0",
			Summary: "Appends to a value", Complexity: "O(N) where N is the length of the value", Syntax: "key value", call: appendTo},
		{Name: "setrange", Arity: 4, Flags: "write denyoom", Keys: oneKey("RW update"), Group: "string", Since: "2.2.0",
			Summary: "Overwrites a part of a value, padding it with zero bytes", Complexity: "O(N) where N is the length of the value", Syntax: "key offset value", call: setRange},
	}
}

func set(r *request, args [][]byte) error {
	options := setOptions{}
	if len(args) > 3 {
		var err error
		if options, err = parseSetOptions(args[3:], true); err != nil {
			return err
		}
		if r.call.Expiry, err = options.expiry("set"); err != nil {
			return err
		}
		if options.keepTTL {
			r.call.Expiry = verb.KeepExpiry()
		}
		r.call.Condition, r.call.WantOld = options.condition, options.get
	}
	r.call.Verb, r.call.Key, r.call.Value = statement.Set, r.own(args[1]), r.own(args[2])
	r.reply = replyStored
	if options.get {
		r.reply = replyOld
	}
	return nil
}

// comparesValue reports whether a SET has a condition on the value that is there.
func comparesValue(args [][]byte) bool {
	for _, arg := range args[3:] {
		if is(arg, "IFEQ") || is(arg, "IFNE") || is(arg, "IFDEQ") || is(arg, "IFDNE") {
			return true
		}
	}
	return false
}

// setKeyFlags returns the key flags of a SET: with GET it also reads the key.
func setKeyFlags(args [][]byte) string {
	if options, err := parseSetOptions(args[min(3, len(args)):], true); err == nil && options.get {
		return "RW access update"
	}
	return "OW update"
}

// replyStored appends OK, or null if a condition was not met.
func replyStored(dst []byte, r *request) []byte {
	if r.call.Status == verb.NotStored {
		return resp.AppendNull(dst, r.proto)
	}
	return append(dst, resp.OK...)
}

// replyOld appends the previous value, whether or not a condition was met.
func replyOld(dst []byte, r *request) []byte {
	if !r.call.Result.Found {
		return resp.AppendNull(dst, r.proto)
	}
	return r.bulk(dst, r.call.Result.Value)
}

func setSeconds(r *request, args [][]byte) error      { return setWithTTL(r, args, unitSeconds, "setex") }
func setMilliseconds(r *request, args [][]byte) error { return setWithTTL(r, args, 0, "psetex") }

func setWithTTL(r *request, args [][]byte, unit expiryUnit, name string) (err error) {
	options := setOptions{unit: unitGiven | unit, amount: args[2]}
	if r.call.Expiry, err = options.expiry(name); err != nil {
		return err
	}
	r.call.Verb, r.call.Key, r.call.Value = statement.Set, r.own(args[1]), r.own(args[3])
	r.reply = replyOK
	return nil
}

func replyOK(dst []byte, _ *request) []byte { return append(dst, resp.OK...) }

func setIfAbsent(r *request, args [][]byte) error {
	r.call.Verb, r.call.Key, r.call.Value = statement.Set, r.own(args[1]), r.own(args[2])
	r.call.Condition, r.reply = verb.IfAbsent, replyDone
	return nil
}

// replyDone appends 1 if the command had an effect, otherwise 0.
func replyDone(dst []byte, r *request) []byte {
	if r.call.Status == verb.OK {
		return append(dst, resp.One...)
	}
	return append(dst, resp.Zero...)
}

func getSet(r *request, args [][]byte) error {
	r.call.Verb, r.call.Key, r.call.Value = statement.Set, r.own(args[1]), r.own(args[2])
	r.call.WantOld, r.reply = true, replyOld
	return nil
}

func setMany(r *request, args [][]byte) error {
	if len(args)%2 == 0 {
		return wrongArity("mset")
	}
	r.call.Verb, r.reply = statement.SetMany, replyOK
	r.call.Keys, r.call.Values = r.ownPairs(args[1:])
	return nil
}

func setManyIfAbsent(r *request, args [][]byte) error {
	if len(args)%2 == 0 {
		return wrongArity("msetnx")
	}
	r.call.Verb, r.reply = statement.SetManyIfAbsent, replyDone
	r.call.Keys, r.call.Values = r.ownPairs(args[1:])
	return nil
}

func appendTo(r *request, args [][]byte) error {
	r.call.Verb, r.call.Key, r.call.Value = statement.Append, r.own(args[1]), r.own(args[2])
	r.reply = replyInt
	return nil
}

func replyInt(dst []byte, r *request) []byte { return resp.AppendInt(dst, r.call.Int) }

func setRange(r *request, args [][]byte) error {
	offset, err := parseInt(args[2])
	if err != nil {
		return err
	}
	if offset < 0 {
		return refusal("ERR offset is out of range")
	}
	if len(args[3]) > 0 && offset > int64(r.conn.engine.options.MaxBulk-len(args[3])) {
		return refusal(statusError(verb.TooLarge))
	}
	r.call.Verb, r.call.Key, r.call.Value = statement.SetRange, r.own(args[1]), r.own(args[3])
	r.call.Offset, r.reply = int(min(offset, int64(r.conn.engine.options.MaxBulk))), replyInt
	return nil
}
