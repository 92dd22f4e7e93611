package statement

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// Commit does what Group says with Keys, which are distinct, all or nothing: only
// if every key still is as it was read. Values are those of the keys that are
// stored. Results: Status (NotStored if a key has changed since, and is to be read
// again), Entries with the new Version of each key that was stored.
var Commit = define(Spec{
	Verb: verb.Verb{Name: "commit", Writes: true, Room: true, Many: true, Values: true, Whole: true, Ends: true},
	Form: commit, Check: (*verb.Call).CheckGroup,
	// An absent key has no row that could be compared and locked.
	Holds: func(c *verb.Call) bool { return c.MeetsAbsent() || c.InTx },
})

var commit = form(Form{
	File: "commit", Alone: true, Unused: true,
	Start: func(_ *Request, c *verb.Call) {
		c.Status = verb.NotStored
		c.Entries = make([]verb.Entry, len(c.Keys))
	},
	Params: func(r *Request) [][]byte {
		n := len(r.Rows)
		params := append(r.keyColumns(), r.values())
		expiries := pgwire.AppendArray(make([]byte, 0, 20+12*n), pgwire.Int8, n, true)
		versions := pgwire.AppendArray(make([]byte, 0, 20+12*n), pgwire.Int8, n, false)
		acts := pgwire.AppendArray(make([]byte, 0, 20+8*n), pgwire.Int4, n, false)
		kinds := pgwire.AppendArray(make([]byte, 0, 20+8*n), pgwire.Int4, n, false)
		for _, row := range r.Rows {
			e := &row.Call.Group[row.Index]
			expiries = r.Table.appendExpiry(expiries, e.Expiry)
			versions = pgwire.AppendInt8(versions, readVersionOf(e))
			acts = pgwire.AppendInt4(acts, actOf(e))
			kinds = pgwire.AppendInt4(kinds, int32(e.Kind))
		}
		return append(params, expiries, versions, acts, kinds)
	},
	Row: readCommit,
})

// readVersionOf is the version that the statement compares.
func readVersionOf(e *verb.Edit) int64 {
	if e.Absent {
		return -e.Version
	}
	return e.Version
}

// actOf is the act as the statement takes it.
func actOf(e *verb.Edit) int32 {
	switch {
	case !e.Changes():
		return 0
	case e.Act == verb.Remove:
		return 3
	case e.Expiry.Kind == verb.Keep:
		return 2
	}
	return 1
}

// The outcomes in the first row of the answer; 0: something has changed.
const (
	commitCollides = 1
	commitDone     = 2
)

func readCommit(r *Request, v [][]byte) {
	if v[0] != nil {
		for _, row := range r.find(pgwire.ReadInt8(v[0])) {
			row.Call.Entries[row.Index].Version = pgwire.ReadInt8(v[1])
		}
		return
	}
	switch pgwire.ReadInt8(v[1]) {
	case commitCollides:
		r.Calls[0].Status = verb.Collision
	case commitDone:
		r.Calls[0].Status = verb.OK
	}
}
