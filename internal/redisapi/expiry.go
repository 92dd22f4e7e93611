package redisapi

import (
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

func expiryCommands() []*Command {
	const options = " [NX | XX | GT | LT]"
	return []*Command{
		{Name: "expire", Arity: -3, Flags: "write fast", Keys: oneKey("RW update"), Group: "generic", ACL: "keyspace", Since: "1.0.0",
			Summary: "Lets a key expire after seconds", Complexity: "O(1)", Syntax: "key seconds" + options, call: expire, vague: expiresNow},
		{Name: "pexpire", Arity: -3, Flags: "write fast", Keys: oneKey("RW update"), Group: "generic", ACL: "keyspace", Since: "2.6.0",
			Summary: "Lets a key expire after milliseconds", Complexity: "O(1)", Syntax: "key milliseconds" + options, call: pexpire, vague: expiresNow},
		{Name: "expireat", Arity: -3, Flags: "write fast", Keys: oneKey("RW update"), Group: "generic", ACL: "keyspace", Since: "1.2.0",
			Summary: "Lets a key expire at a Unix time in seconds", Complexity: "O(1)", Syntax: "key unix-time-seconds" + options, call: expireat, vague: expiresAt},
		{Name: "pexpireat", Arity: -3, Flags: "write fast", Keys: oneKey("RW update"), Group: "generic", ACL: "keyspace", Since: "2.6.0",
			Summary: "Lets a key expire at a Unix time in milliseconds", Complexity: "O(1)", Syntax: "key unix-time-milliseconds" + options, call: pexpireat, vague: expiresAt},
		{Name: "ttl", Arity: 2, Flags: "readonly fast", Keys: oneKey("RO access"), Group: "generic", ACL: "keyspace", Since: "1.0.0", Tips: "nondeterministic_output",
			Summary: "Returns the seconds left, -1 without an expiry, -2 for a miss", Complexity: "O(1)", Syntax: "key", call: ttl},
		{Name: "pttl", Arity: 2, Flags: "readonly fast", Keys: oneKey("RO access"), Group: "generic", ACL: "keyspace", Since: "2.6.0", Tips: "nondeterministic_output",
			Summary: "Returns the milliseconds left, -1 without an expiry, -2 for a miss", Complexity: "O(1)", Syntax: "key", call: pttl},
		{Name: "expiretime", Arity: 2, Flags: "readonly fast", Keys: oneKey("RO access"), Group: "generic", ACL: "keyspace", Since: "7.0.0",
			Summary: "Returns the Unix time of expiry in seconds, -1 or -2", Complexity: "O(1)", Syntax: "key", call: expireTime},
		{Name: "pexpiretime", Arity: 2, Flags: "readonly fast", Keys: oneKey("RO access"), Group: "generic", ACL: "keyspace", Since: "7.0.0",
			Summary: "Returns the Unix time of expiry in milliseconds, -1 or -2", Complexity: "O(1)", Syntax: "key", call: pexpireTime},
		{Name: "persist", Arity: 2, Flags: "write fast", Keys: oneKey("RW update"), Group: "generic", ACL: "keyspace", Since: "2.2.0",
			Summary: "Takes the expiry away", Complexity: "O(1)", Syntax: "key", call: persist},
	}
}

func expire(r *request, args [][]byte) error    { return expireWith(r, args, unitSeconds, "expire") }
func pexpire(r *request, args [][]byte) error   { return expireWith(r, args, 0, "pexpire") }
func pexpireat(r *request, args [][]byte) error { return expireWith(r, args, unitInstant, "pexpireat") }
func expireat(r *request, args [][]byte) error {
	return expireWith(r, args, unitSeconds|unitInstant, "expireat")
}

func expireWith(r *request, args [][]byte, unit expiryUnit, name string) error {
	condition, err := parseExpireIf(args[3:])
	if err != nil {
		return err
	}
	amount, err := parseInt(args[2])
	if err != nil {
		return err
	}
	if r.call.Expiry, err = expiryOf(amount, unit, name); err != nil {
		return err
	}
	r.call.Verb, r.call.Key, r.call.ExpireIf = statement.Expire, r.own(args[1]), condition
	r.reply = replyDone
	return nil
}

func parseExpireIf(args [][]byte) (condition verb.ExpireIf, err error) {
	for _, word := range args {
		switch {
		case is(word, "NX"):
			condition |= verb.ExpireNoTTL
		case is(word, "XX"):
			condition |= verb.ExpireHasTTL
		case is(word, "GT"):
			condition |= verb.ExpireGreater
		case is(word, "LT"):
			condition |= verb.ExpireLess
		default:
			return 0, refusal("ERR Unsupported option " + string(cString(word, len(word))))
		}
	}
	const both = verb.ExpireGreater | verb.ExpireLess
	switch {
	case condition&verb.ExpireNoTTL != 0 && condition != verb.ExpireNoTTL:
		return 0, refusal("ERR NX and XX, GT or LT options at the same time are not compatible")
	case condition&both == both:
		return 0, refusal("ERR GT and LT options at the same time are not compatible")
	}
	return condition, nil
}

func persist(r *request, args [][]byte) error {
	r.call.Verb, r.call.Key, r.reply = statement.Expire, r.own(args[1]), replyDone
	r.call.Expiry = verb.ExpireNever()
	return nil
}

func ttl(r *request, args [][]byte) error         { return askExpiry(r, args, 1000, remaining) }
func pttl(r *request, args [][]byte) error        { return askExpiry(r, args, 1, remaining) }
func expireTime(r *request, args [][]byte) error  { return askExpiry(r, args, 1000, instant) }
func pexpireTime(r *request, args [][]byte) error { return askExpiry(r, args, 1, instant) }

// request.to says what TTL and EXPIRETIME return.
const (
	remaining = iota
	instant
)

func askExpiry(r *request, args [][]byte, unit, what int64) error {
	r.call.Verb, r.call.Key, r.reply = statement.Stat, r.own(args[1]), replyExpiry
	r.from, r.to = unit, what
	return nil
}

func replyExpiry(dst []byte, r *request) []byte {
	entry := &r.call.Result
	if r.call.Status == verb.Miss {
		return append(dst, ":-2\r\n"...)
	}
	if entry.ExpiresAt.IsZero() {
		return append(dst, ":-1\r\n"...)
	}
	ms := entry.ExpiresAt.UnixMilli()
	if r.to == remaining {
		ms = remainingTTL(entry)
	}
	if r.from == 1000 {
		ms = (ms + 500) / 1000
	}
	return resp.AppendInt(dst, ms)
}

// remainingTTL returns the remaining time in milliseconds, by the clock of the
// database. It is at least 1 for a key that has not expired.
func remainingTTL(entry *verb.Entry) int64 {
	if entry.TTL < maxTTL*time.Millisecond {
		return int64((entry.TTL + time.Millisecond - 1) / time.Millisecond)
	}
	return entry.ExpiresAt.UnixMilli() - time.Now().UnixMilli()
}
