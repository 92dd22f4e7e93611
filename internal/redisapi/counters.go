package redisapi

import (
	"math"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

func counterCommands() []*Command {
	return []*Command{
		{Name: "incr", Arity: 2, Flags: "write denyoom fast", Keys: oneKey("RW access update"), Group: "string", Since: "1.0.0",
			Summary: "Adds one to an integer", Complexity: "O(1)", Syntax: "key", call: increment},
		{Name: "decr", Arity: 2, Flags: "write denyoom fast", Keys: oneKey("RW access update"), Group: "string", Since: "1.0.0",
			Summary: "Takes one from an integer", Complexity: "O(1)", Syntax: "key", call: decrement},
		{Name: "incrby", Arity: 3, Flags: "write denyoom fast", Keys: oneKey("RW access update"), Group: "string", Since: "1.0.0",
			Summary: "Adds to an integer", Complexity: "O(1)", Syntax: "key increment", call: incrementBy},
		{Name: "decrby", Arity: 3, Flags: "write denyoom fast", Keys: oneKey("RW access update"), Group: "string", Since: "1.0.0",
			Summary: "Takes from an integer", Complexity: "O(1)", Syntax: "key decrement", call: decrementBy},
		{Name: "incrbyfloat", Arity: 3, Flags: "write denyoom fast", Keys: oneKey("RW access update"), Group: "string", Since: "2.6.0",
			Summary: "Adds to a decimal number", Complexity: "O(1)", Syntax: "key increment",
			Note: "Rounds as Redis on x86-64 does: operands and sum to the 64 significant bits of a long double, the answer to 17 decimals. Numbers from 2^64 on keep every digit, where Redis keeps 19.", call: incrementFloat},
	}
}

func increment(r *request, args [][]byte) error { return add(r, args[1], 1) }
func decrement(r *request, args [][]byte) error { return add(r, args[1], -1) }

func incrementBy(r *request, args [][]byte) error {
	delta, err := parseInt(args[2])
	if err != nil {
		return err
	}
	return add(r, args[1], delta)
}

func decrementBy(r *request, args [][]byte) error {
	delta, err := parseInt(args[2])
	if err != nil {
		return err
	}
	if delta == math.MinInt64 {
		return refusal("ERR decrement would overflow")
	}
	return add(r, args[1], -delta)
}

func add(r *request, key []byte, delta int64) error {
	r.call.Verb, r.call.Key, r.call.Delta, r.reply = statement.Increment, r.own(key), delta, replyInt
	return nil
}

func incrementFloat(r *request, args [][]byte) (err error) {
	if r.call.DeltaFloat, err = parseDecimal(args[2]); err == errInfinite {
		r.call.Verb, r.call.Key, r.reply = statement.Get, r.own(args[1]), replyInfinite
		return nil
	} else if err != nil {
		return err
	}
	r.call.Verb, r.call.Key, r.reply = statement.IncrementFloat, r.own(args[1]), replyNumber
	return nil
}

// replyInfinite refuses an infinite increment. As in Redis, an error of the stored
// value takes precedence.
func replyInfinite(dst []byte, r *request) []byte {
	if r.call.Status == verb.OK {
		if _, err := parseDecimal(r.call.Result.Value); err == errNotFloat {
			return resp.AppendError(dst, string(errNotFloat))
		}
	}
	return resp.AppendError(dst, string(errInfinite))
}

func replyNumber(dst []byte, r *request) []byte { return resp.AppendBulk(dst, r.call.Result.Value) }
