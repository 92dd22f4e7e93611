package statement

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// Watch reads the version of Key. That of an absent key is the one of its row,
// which is made if there is none, and is kept for ten minutes at least: an Edit, or
// a guard of a transaction, takes it as the version of an absent key. It is 0 only
// if another live key has the hash. Results: Status (Miss if the key is absent),
// Result.Found, Result.Version; Removed has the hash if the row is that of an entry which
// had expired, and is no longer.
var Watch = define(Spec{Verb: verb.Verb{Name: "watch", Writes: true, Quiet: true, Ends: true}, Form: watch})

var watch = form(Form{
	File: "watch", Unused: true, Params: (*Request).keyColumns,
	Start: func(_ *Request, c *verb.Call) { c.Status, c.Repeat = verb.Miss, true },
	Row: func(r *Request, v [][]byte) {
		for _, row := range r.find(pgwire.ReadInt8(v[0])) {
			// A row that is neither found nor made appeared in between.
			row.Call.Repeat = false
			if !keyEqual(row, v[1]) {
				continue
			}
			row.Call.Result.Version = pgwire.ReadInt8(v[2])
			if pgwire.ReadBool(v[3]) {
				row.Call.Status, row.Call.Result.Found = verb.OK, true
			}
			if pgwire.ReadBool(v[4]) {
				noteRemoved(r, row.Call, v)
			}
		}
	},
})
