package statement

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// CompareDelete removes Key if it has IfVersion (Condition IfVersion) or holds
// Value (Condition IfValue). Results: Status (NotStored if not).
var CompareDelete = define(Spec{Verb: verb.Verb{Name: "compare_delete", Writes: true, Ends: true}, Form: compareDelete})

var compareDelete = form(Form{
	File: "compare_delete", Unused: true, Start: startAs(verb.NotStored),
	Params: func(r *Request) [][]byte {
		params := r.keyColumns()
		versions := pgwire.AppendArray(nil, pgwire.Int8, len(r.Rows), true)
		values := pgwire.AppendArray(nil, pgwire.Bytea, len(r.Rows), true)
		for _, row := range r.Rows {
			if row.Call.Condition == verb.IfValue {
				versions = pgwire.AppendNull(versions)
				values = pgwire.AppendBytes(values, row.Value)
			} else {
				versions = pgwire.AppendInt8(versions, row.Call.IfVersion)
				values = pgwire.AppendNull(values)
			}
		}
		return append(params, versions, values)
	},
	Row: writeRow(func(_ *Request, c *verb.Call, _ [][]byte) { c.Status = verb.OK }),
})
