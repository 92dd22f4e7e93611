package statement

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// The verbs that change the expiry.
var (
	// Expire sets Expiry on an existing key, under ExpireIf; an Expiry that is
	// already past deletes it. ExpireNever changes only an entry that has a
	// TTL. Results: Status: Miss if absent; with a condition NotStored if it is
	// absent or the condition failed; ExpireNever counts as one.
	Expire = define(Spec{Verb: verb.Verb{Name: expireName, Writes: true, Ends: true}, Form: expire})
	// Touch extends the expiry of an existing key to Expiry, never shortening
	// it. Results: Status.
	Touch = define(Spec{Verb: verb.Verb{Name: touchName, Writes: true}, Form: expire})
	// GetExpire reads the value and sets Expiry (GETEX). Results: Status (WrongType),
	// Result.Value.
	GetExpire = define(Spec{Verb: verb.Verb{Name: "get_expire", Writes: true, Ends: true}, Form: getExpire})
)

// Both share statements, which tell them apart by name.
const (
	expireName = "expire"
	touchName  = "touch"
)

var (
	expire = form(Form{
		File: "expire", Unused: true, Params: expireParams,
		Start: func(_ *Request, c *verb.Call) {
			c.Status = verb.Miss
			if c.ExpireIf != verb.ExpireAlways || isPersist(c) {
				c.Status = verb.NotStored
			}
		},
		Row: writeRow(func(_ *Request, c *verb.Call, _ [][]byte) { c.Status = verb.OK }),
	})
	getExpire = form(Form{
		File: "get_expire", Params: expireParams, Start: startAs(verb.Miss),
		Row: writeRow(func(_ *Request, c *verb.Call, v [][]byte) { c.FoundString(v[1]) }),
	})
)

// isPersist reports that an expire takes a TTL away. It changes only what has one.
func isPersist(c *verb.Call) bool { return c.Verb.Name == expireName && c.Expiry.Kind == verb.Never }

// neverShorten is the condition bit of schema/statements/expire.sql for a touch;
// the lower bits are those of verb.ExpireIf.
const neverShorten = 16

func expireParams(r *Request) [][]byte {
	params := append(r.keyColumns(), r.expiries())
	conditions := pgwire.AppendArray(make([]byte, 0, 20+8*len(r.Rows)), pgwire.Int4, len(r.Rows), false)
	for _, row := range r.Rows {
		condition := int32(row.Call.ExpireIf)
		if row.Call.Verb.Name == touchName {
			condition |= neverShorten
		}
		if isPersist(row.Call) {
			condition |= int32(verb.ExpireHasTTL)
		}
		conditions = pgwire.AppendInt4(conditions, condition)
	}
	return append(params, conditions)
}
