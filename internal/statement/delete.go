package statement

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// The verbs that remove.
var (
	// Delete removes Key. Results: Status (Miss if it was absent).
	Delete = define(Spec{Verb: verb.Verb{Name: "delete", Writes: true, Removes: true, Ends: true}, Form: del, Holds: inTx})
	// DeleteMany removes Keys, all or none. Results: Status OK, Count.
	DeleteMany = define(Spec{Verb: verb.Verb{Name: "delete_many", Writes: true, Many: true, Removes: true, Ends: true}, Form: del, Holds: inTx})
	// GetDelete removes Key and answers what it held. Results: Status, Result.Value.
	GetDelete = define(Spec{Verb: verb.Verb{Name: "get_delete", Writes: true, Removes: true, Ends: true}, Form: getDelete, Holds: inTx})
)

// inTx reports that a call takes away what was made from something that the
// caller's transaction is changing. No other may claim the key, to load what is
// there before that transaction commits, until it has ended.
func inTx(c *verb.Call) bool { return c.InTx }

var (
	del = form(Form{
		File: "delete", Unused: true, Params: (*Request).keyColumns,
		Start: func(_ *Request, c *verb.Call) {
			if c.Keys == nil {
				c.Status = verb.Miss
			}
		},
		Row: writeRow(func(r *Request, c *verb.Call, v [][]byte) {
			noteGone(c, v, 2)
			if pgwire.ReadBool(v[1]) {
				c.Status = verb.OK
				c.Count++
				if c.WantRemoved {
					noteRemoved(r, c, v)
				}
			}
		}),
	})
	getDelete = form(Form{
		File: "get_delete", Unused: true, Params: (*Request).keyColumns, Start: startAs(verb.Miss),
		Row: writeRow(func(_ *Request, c *verb.Call, v [][]byte) {
			noteGone(c, v, 3)
			if pgwire.ReadBool(v[1]) {
				c.FoundString(v[2])
			}
		}),
	})
)

// noteGone reads the hash of a row that was removed, if a column says that it was an
// entry. Only a cache whose change log has keys has the column.
func noteGone(c *verb.Call, v [][]byte, column int) {
	if c.WantGone && column < len(v) && pgwire.ReadBool(v[column]) {
		c.Gone = append(c.Gone, pgwire.ReadInt8(v[0]))
	}
}
