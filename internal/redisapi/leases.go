package redisapi

import (
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

const errNotToken = refusal("ERR the token is not one that HOWDAH.FETCH has returned")

// defaultLease is how long a client may load if it does not say.
const defaultLease = 10 * time.Second

// leaseCommands are those by which one of many clients loads a value.
func leaseCommands() []*Command {
	return []*Command{
		{Name: "howdah.fetch", Arity: -2, Flags: "write fast noscript module", Keys: oneKey("RW access"), Group: "module", Since: "1.0.0",
			Summary: "Returns a value, or the lease to load it", Complexity: "O(1)", Syntax: "key [LEASE milliseconds]",
			Note: "Four replies: the state, the value or null, a token or null, and the milliseconds that remain of the lease (0: there is none). A token means: load the value, then send HOWDAH.STORE, or HOWDAH.RELEASE if the load failed. " +
				"States: `hit`; `stale`, an expired value that may still be served; `won`, load it; `lost`, another client loads it, so ask again soon; `absent`, it was loaded a moment ago and there was nothing; `unleased`, load it but do not store it. " +
				"A lease is 10000 milliseconds by default ([fetch.md](fetch.md)).",
			call: fetch},
		{Name: "howdah.store", Arity: -5, Flags: "write denyoom noscript module", Keys: oneKey("OW update"), Group: "module", Since: "1.0.0",
			Summary: "Stores what was loaded under a lease", Complexity: "O(1)", Syntax: "key token milliseconds value [STALE stale-milliseconds] [ABSENT] [TAGS numtags tag [tag ...]]",
			Note: "1 if it was stored, 0 if the key was changed or removed since the lease was won. 0 milliseconds: the default TTL of the cache. STALE: HOWDAH.FETCH may return the value for so long after it expired. ABSENT: there was nothing to load, which HOWDAH.FETCH replies until the TTL ends; the value is ignored. TAGS: as of HOWDAH.SET; 0 too if one was invalidated since the lease was won; refused inside MULTI.",
			call: storeLoaded},
		{Name: "howdah.release", Arity: 3, Flags: "write fast noscript module", Keys: oneKey("RW"), Group: "module", Since: "1.0.0",
			Summary: "Ends a lease whose load failed", Complexity: "O(1)", Syntax: "key token",
			Note: "1 if the lease was still this one, otherwise 0.", call: releaseLease},
	}
}

func fetch(r *request, args [][]byte) error {
	r.call.Verb, r.call.Key, r.call.Lease, r.reply = statement.Claim, r.own(args[1]), defaultLease, replyClaim
	switch {
	case len(args) == 2:
		return nil
	case len(args) != 4 || !is(args[2], "LEASE"):
		return errSyntax
	}
	lease, err := milliseconds(args[3], "howdah.fetch")
	if err == nil && lease == 0 {
		err = invalidExpiry("howdah.fetch")
	}
	r.call.Lease = lease
	return err
}

// replyClaim appends the state, the value, the token and what remains of the lease.
func replyClaim(dst []byte, r *request) []byte {
	claim := &r.call.Claim
	dst = resp.AppendArray(dst, 4)
	dst = resp.AppendBulk(dst, []byte(claim.State.String()))
	if r.call.Result.Found {
		dst = r.bulk(dst, r.call.Result.Value)
	} else {
		dst = resp.AppendNull(dst, r.proto)
	}
	if claim.Won {
		dst = resp.AppendBulk(dst, []byte(verb.FormatToken(r.call.Result.Version, claim.Snapshot)))
	} else {
		dst = resp.AppendNull(dst, r.proto)
	}
	return resp.AppendInt(dst, int64((claim.Left+time.Millisecond-1)/time.Millisecond))
}

func storeLoaded(r *request, args [][]byte) (err error) {
	r.call.Verb, r.call.Key, r.call.Value, r.reply = statement.Fulfil, r.own(args[1]), r.own(args[4]), replyDone
	if err = r.readToken(args[2]); err != nil {
		return err
	}
	ttl, err := milliseconds(args[3], "howdah.store")
	if err != nil {
		return err
	}
	r.call.Expiry = verb.ExpireIn(ttl)
	for i := 5; i < len(args); i++ {
		switch word := args[i]; {
		case is(word, "STALE") && i+1 < len(args):
			i++
			if r.call.Stale, err = milliseconds(args[i], "howdah.store"); err != nil {
				return err
			}
		case is(word, "TAGS") && i+1 < len(args):
			var rest [][]byte
			if r.call.Tags, rest, err = parseTags(args[i+1:]); err != nil {
				return err
			}
			i = len(args) - len(rest) - 1
		case is(word, "ABSENT") && ttl > 0:
			r.call.Absent = true
		case is(word, "ABSENT"):
			return invalidExpiry("howdah.store")
		default:
			return errSyntax
		}
	}
	return nil
}

func releaseLease(r *request, args [][]byte) error {
	r.call.Verb, r.call.Key, r.reply = statement.Release, r.own(args[1]), replyDone
	return r.readToken(args[2])
}

// readToken reads the token of a lease.
func (r *request) readToken(text []byte) (err error) {
	if r.call.Token, r.call.Snapshot, err = verb.ParseToken(string(text)); err != nil {
		return errNotToken
	}
	return nil
}

// milliseconds reads a duration that is not negative, of up to 200 years.
func milliseconds(text []byte, command string) (time.Duration, error) {
	n, err := parseInt(text)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > maxTTL {
		return 0, invalidExpiry(command)
	}
	return time.Duration(n) * time.Millisecond, nil
}
