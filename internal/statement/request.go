package statement

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// A Request is one statement to be run for one or several calls. It knows how to
// read the answer. It is a pgwire.Request.
type Request struct {
	Form  *Form
	Table *Table
	Calls []*verb.Call
	Rows  []Row // sorted by hash

	// Err is what PostgreSQL said against the statement.
	Err error

	// Xid is the transaction of a set with Near, 0 if it wrote nothing.
	Xid uint64

	params [][]byte
	next   int           // in Rows: where the next answer is likely to be
	row    [1]Row        // backs Rows
	call   [1]*verb.Call // backs Calls

	// question is what a request answers that serves no call; see NewLocked.
	question map[int64]bool
}

// Row is one key of one call.
type Row struct {
	Hash  int64
	Key   []byte
	Value []byte
	Call  *verb.Call
	Index int // in Call.Keys
}

// NewRequest makes a request without calls.
func NewRequest(f *Form, t *Table, calls int) *Request {
	r := &Request{Form: f, Table: t}
	r.Rows, r.Calls = r.row[:0], r.call[:0]
	if !f.Alone && calls > 1 {
		r.Rows = make([]Row, 0, calls)
		r.Calls = make([]*verb.Call, 0, calls)
	}
	return r
}

// Add takes a call into the request. The hashes of its keys are in Call.Op.
func (r *Request) Add(c *verb.Call) {
	r.Calls = append(r.Calls, c)
	if c.Keys == nil {
		r.Rows = append(r.Rows, Row{Hash: int64(c.Op.Keys[0]), Key: c.Key, Value: c.Value, Call: c})
		return
	}
	for i, key := range c.Keys {
		row := Row{Hash: int64(c.Op.Keys[i]), Key: key, Call: c, Index: i}
		if c.Values != nil {
			row.Value = c.Values[i]
		}
		r.Rows = append(r.Rows, row)
	}
}

// Encode sorts the rows, so that all writers lock in one order, and writes the
// parameters. The callers' slices are not needed after it, except that keys
// are still compared with the answers.
func (r *Request) Encode() {
	if len(r.Rows) == 1 && r.Form.Single != nil && r.Calls[0].Keys == nil {
		r.Form = r.Form.Single
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		if a.Hash != b.Hash {
			return cmp.Compare(a.Hash, b.Hash)
		}
		return cmp.Compare(a.Index, b.Index) // see dropRepeated
	})
	r.params = r.Form.Params(r)
}

// Writes reports whether the request changes data.
func (r *Request) Writes() bool { return len(r.Calls) > 0 && r.Calls[0].Verb.Writes }

// Stored returns how many rows the request may have stored.
func (r *Request) Stored() int {
	if r.Calls[0].Group != nil {
		return r.Calls[0].Rows()
	}
	if !r.Calls[0].Verb.Quiet {
		return len(r.Rows)
	}
	n := 0
	for _, c := range r.Calls {
		if c.Claim.State == verb.Won {
			n++
		}
	}
	return n
}

// Statement implements pgwire.Request.
func (r *Request) Statement() pgwire.Statement { return r.Table.statement(r.Form) }

// Params implements pgwire.Request.
func (r *Request) Params() [][]byte { return r.params }

// Begin implements pgwire.Request.
func (r *Request) Begin() {
	r.Err, r.Xid, r.next = nil, 0, 0
	for _, c := range r.Calls {
		c.Reset()
		r.Form.Start(r, c)
	}
}

// Row implements pgwire.Request.
func (r *Request) Row(values [][]byte) { r.Form.Row(r, values) }

// End implements pgwire.Request.
func (r *Request) End() {
	if r.Form.End != nil {
		r.Form.End(r)
	}
}

// SetError implements pgwire.Request.
func (r *Request) SetError(refusal error) { r.Err = refusal }

// find returns the rows asked with a hash: several, where calls share a key.
func (r *Request) find(hash int64) []Row {
	i := r.next
	if i >= len(r.Rows) || r.Rows[i].Hash != hash { // PostgreSQL answered in another order, or there are misses
		i, _ = slices.BinarySearchFunc(r.Rows, hash, func(row Row, h int64) int { return cmp.Compare(row.Hash, h) })
	}
	j := i
	for j < len(r.Rows) && r.Rows[j].Hash == hash {
		j++
	}
	r.next = j
	return r.Rows[i:j]
}

// writeRow makes a Form.Row of what reads one row for each call.
func writeRow(read func(r *Request, c *verb.Call, values [][]byte)) func(*Request, [][]byte) {
	return func(r *Request, values [][]byte) {
		for _, row := range r.find(pgwire.ReadInt8(values[0])) {
			read(r, row.Call, values)
		}
	}
}

// startAs makes a Form.Start of a status.
func startAs(s verb.Status) func(*Request, *verb.Call) {
	return func(_ *Request, c *verb.Call) { c.Status = s }
}

// readVersion reads a row that is there only if the write took effect: hash and
// new version.
func readVersion(_ *Request, c *verb.Call, v [][]byte) {
	c.Status = verb.OK
	c.Result.Version = pgwire.ReadInt8(v[1])
}

// Used returns, in order, the hashes of the entries that the request found.
func (r *Request) Used() func(yield func(hash int64) bool) {
	return func(yield func(int64) bool) {
		if r.Form.Unused {
			return
		}
		for _, row := range r.Rows {
			found := row.Call.Status == verb.OK
			if row.Call.Entries != nil {
				found = row.Call.Entries[row.Index].Found
			}
			if found && !yield(row.Hash) {
				return
			}
		}
	}
}

// NewLocked makes a request that asks which rows of another request somebody
// else's transaction holds.
func NewLocked(of *Request) *Request {
	return &Request{Form: locked, Table: of.Table, params: [][]byte{of.hashes()}, question: make(map[int64]bool)}
}

// NewHold makes a request that holds the places of another request's keys until the
// transaction ends, those of absent keys too; nil: its call does not need it. It is
// sent before that request, in the same transaction.
func NewHold(of *Request) *Request {
	c := of.Calls[0]
	holds := Of(c.Verb).Holds
	if holds == nil || len(of.Rows) == 0 || !holds(c) {
		return nil
	}
	return &Request{Form: hold, Table: of.Table, params: of.params[:2]}
}

// NewGuard makes a request that keeps the table of another request on this server until
// the transaction ends; nil: the table does not move, or the request looks for itself,
// as reads do. It is sent before that request, in the same transaction.
func NewGuard(of *Request) *Request {
	if of.Table.Shard == 0 || !of.Writes() {
		return nil
	}
	return &Request{Form: here, Table: of.Table, params: [][]byte{int8Value(of.Table.Shard)}}
}

// Leads reports whether NewHold or NewGuard made the request.
func (r *Request) Leads() bool { return len(r.Calls) == 0 && (r.Form == hold || r.Form == here) }

// Lock holds the places of Keys until the caller's transaction ends, those of absent
// keys too.
var Lock = define(Spec{Verb: verb.Verb{Name: "lock", Writes: true, Quiet: true, Many: true, Whole: true}, Form: hold})

var here = form(Form{File: "here", Unused: true, Start: startAs(verb.OK), Row: noRow})

var hold = form(Form{File: "hold", Unused: true, Params: (*Request).keyColumns, Start: startAs(verb.OK), Row: noRow})

// Holds reports, of the answer to NewLocked, whether a key of a call is held.
func (r *Request) Holds(c *verb.Call) bool {
	for _, hash := range c.Op.Keys {
		if r.question[int64(hash)] {
			return true
		}
	}
	return false
}

var locked = form(Form{
	File: "locked", Unused: true,
	Start: startAs(verb.OK),
	Row:   func(r *Request, v [][]byte) { r.question[pgwire.ReadInt8(v[0])] = true },
})

// nonNil makes of no bytes the empty value: a nil parameter would be NULL.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// keyEqual reports whether an answer is about the key that was asked for, and
// not about another one with the same hash.
func keyEqual(row Row, key []byte) bool { return bytes.Equal(row.Key, key) }
