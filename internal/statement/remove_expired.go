package statement

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// RemoveExpired removes those of Keys that have expired, as upkeep does, and no others.
// Results: Status OK, Removed.
var RemoveExpired = define(Spec{Verb: verb.Verb{Name: "remove_expired", Writes: true, Quiet: true, Many: true, Ends: true}, Form: removeExpired})

var removeExpired = form(Form{
	File: "remove_expired", Unused: true, Params: (*Request).keyColumns, Start: startAs(verb.OK),
	Row: writeRow(noteRemoved),
})

// noteRemoved reads the hash of a key that was removed.
func noteRemoved(_ *Request, c *verb.Call, v [][]byte) {
	c.Removed = append(c.Removed, pgwire.ReadInt8(v[0]))
}
