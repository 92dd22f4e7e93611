package statement

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// The verbs that change a part of a value.
var (
	// Append appends Value, creating the entry with Expiry; an existing entry
	// keeps its expiry. Results: Status (TooLarge, WrongType), Int (new length),
	// Result.Version.
	Append = define(Spec{Verb: verb.Verb{Name: "append", Writes: true, Room: true}, Form: appendTo})
	// SetRange overwrites from Offset, padding with zero bytes. Results: Status
	// (TooLarge, WrongType), Int (new length), Result.Version. With an empty Value an
	// absent key stays absent.
	SetRange = define(Spec{Verb: verb.Verb{Name: "set_range", Writes: true, Room: true}, Pick: pickSetRange})
)

func pickSetRange(c *verb.Call, _ *Table) *Form {
	if len(c.Value) == 0 {
		return length // changes nothing and answers the length
	}
	return setRange
}

var (
	appendTo = form(Form{
		File: "append", Start: startAs(verb.Collision), Row: writeRow(readLength), End: repeatUnexplained,
		Params: func(r *Request) [][]byte {
			// Every call of a database has the same limit.
			return append(r.entryColumns(), int8Value(r.Calls[0].Limit))
		},
	})
	setRange = form(Form{
		File: "set_range", Alone: true, Start: startAs(verb.Collision), Row: writeRow(readLength), End: repeatUnexplained,
		Params: func(r *Request) [][]byte {
			return append(r.entryValues(), int4Value(int32(r.Calls[0].Offset)))
		},
	})
	length = form(Form{
		File: "stat", Unused: true, Params: hashesOnly, Start: startAs(verb.OK),
		Row: func(r *Request, v [][]byte) {
			for _, row := range r.find(pgwire.ReadInt8(v[0])) {
				switch {
				case !keyEqual(row, v[1]):
				case pgwire.ReadInt4(v[7]) != 0:
					row.Call.Status = verb.WrongType
				default:
					row.Call.Int = int64(pgwire.ReadInt4(v[3]))
				}
			}
		},
	})
)

// readLength reads hash, length and version, or, where nothing was written, the kind
// of the entry that was in the way; 0: its value would be too long.
func readLength(_ *Request, c *verb.Call, v [][]byte) {
	switch {
	case v[2] != nil:
		c.Status, c.Int = verb.OK, int64(pgwire.ReadInt4(v[1]))
		c.Result.Version = pgwire.ReadInt8(v[2])
	case v[3] == nil:
	case isOther(v[3]):
		c.Status = verb.WrongType
	default:
		c.Status = verb.TooLarge
	}
}

// repeatUnexplained deals with the calls that wrote nothing for no reason that the
// statement saw: the entry has changed since. Class sync leaves a row out for a collision.
func repeatUnexplained(r *Request) {
	for _, c := range r.Calls {
		c.Repeat = c.Status == verb.Collision && !r.Table.Sync()
	}
}
