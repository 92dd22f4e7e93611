package howdah

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
)

// A request is one statement to be run for one or several calls, and knows
// how to read its answer. A shared flight makes one request a statement; a
// transaction makes one a call.
type request struct {
	stmt   statementID
	table  *table
	rows   []row // sorted by hash
	calls  []*Call
	params [][]byte
	locked map[int64]bool // answer of stmtLocked
	next   int            // in rows: where the next answer is likely to be
}

// row is one key of one call.
type row struct {
	hash  int64
	key   []byte
	value []byte
	call  *Call
	index int // in Call.Keys
}

// statementOf says which statement runs a call.
func statementOf(c *Call, t *table) statementID {
	switch c.Verb {
	case VerbGet, VerbGetMany:
		return stmtGet
	case VerbGetEntry:
		return stmtGetEntry
	case VerbStat, VerbStatMany:
		return stmtStat
	case VerbSetMany:
		if t.sync() {
			return stmtSetVersion
		}
		return stmtSet
	case VerbSetManyIfAbsent:
		return stmtAddAll
	case VerbDelete, VerbDeleteMany:
		return stmtDelete
	case VerbGetDelete:
		return stmtGetDelete
	case VerbExpire, VerbTouch:
		return stmtExpire
	case VerbGetExpire:
		return stmtGetExpire
	case VerbIncrement:
		return stmtIncrement
	case VerbIncrementFloat:
		return stmtIncrementFloat
	case VerbAppend:
		return stmtAppend
	case VerbSetRange:
		if len(c.Value) == 0 {
			return stmtStat // changes nothing and answers the length
		}
		return stmtSetRange
	default:
		return statementOfSet(c, t)
	}
}

func statementOfSet(c *Call, t *table) statementID {
	switch {
	case c.WantOld:
		return stmtExchange
	case c.Condition == IfAbsent, c.Condition == IfVersion && c.IfVersion == 0:
		return stmtAdd
	case c.Condition != Always:
		return stmtReplace
	case c.Expiry.kind == expiryKeep:
		return stmtSetKeep
	case c.WantVersion || t.sync():
		return stmtSetVersion
	default:
		return stmtSet
	}
}

// alone tells that a statement serves exactly one call.
func (id statementID) alone() bool {
	return id == stmtExchange || id == stmtSetRange || id == stmtAddAll
}

// single is the form of a statement for one key, where there is one.
func (id statementID) single() statementID {
	switch id {
	case stmtGet:
		return stmtGetOne
	case stmtSet:
		return stmtSetOne
	}
	return id
}

// writes tells whether the request changes data. A flight cannot: a read that
// met a lock goes on in the lane of the suspects.
func (r *request) writes() bool { return r.calls[0].Verb > VerbStatMany }

// add takes a call into the request.
func (r *request) add(c *Call) {
	r.calls = append(r.calls, c)
	if c.Keys == nil {
		r.rows = append(r.rows, row{hash: int64(c.flight.op.Keys[0]), key: c.Key, value: c.Value, call: c})
		return
	}
	for i, key := range c.Keys {
		row := row{hash: int64(c.flight.op.Keys[i]), key: key, call: c, index: i}
		if c.Values != nil {
			row.value = c.Values[i]
		}
		r.rows = append(r.rows, row)
	}
}

// encode sorts the rows, so that all writers lock in one order, and writes the
// parameters. The caller's slices are not needed after it, except that keys
// are still compared with the answers.
func (r *request) encode() {
	slices.SortFunc(r.rows, func(a, b row) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		return cmp.Compare(a.index, b.index) // see dropRepeated
	})
	switch r.stmt {
	case stmtGet, stmtGetEntry, stmtStat:
		r.params = [][]byte{r.hashes()}
	case stmtGetOne:
		r.params = [][]byte{appendInt8(nil, r.rows[0].hash)[4:]}
	case stmtSetOne:
		row := &r.rows[0]
		var expiry []byte
		if v, null := r.table.expiry(row.call.Expiry); !null {
			expiry = appendInt8(nil, v)[4:]
		}
		r.params = [][]byte{appendInt8(nil, row.hash)[4:], nonNil(row.key), nonNil(row.value), expiry}
	case stmtExchange, stmtSetRange:
		r.encodeSingle()
	default:
		r.dropRepeated()
		r.params = [][]byte{r.hashes(), r.keys()}
		r.encodeWrite()
	}
}

// dropRepeated keeps the last of several rows of one call on one key: a
// statement may write a row only once.
func (r *request) dropRepeated() {
	kept := r.rows[:0]
	for i, row := range r.rows {
		if i+1 < len(r.rows) && r.rows[i+1].hash == row.hash {
			continue
		}
		kept = append(kept, row)
	}
	r.rows = kept
}

// encodeWrite appends the parameters after hashes and keys.
func (r *request) encodeWrite() {
	switch r.stmt {
	case stmtDelete, stmtGetDelete:
	case stmtExpire, stmtGetExpire:
		r.params = append(r.params, r.expiries(), r.conditions())
	case stmtIncrement:
		deltas := appendArrayHeader(nil, oidInt8, len(r.rows), false)
		for _, row := range r.rows {
			deltas = appendInt8(deltas, row.call.Delta)
		}
		r.params = append(r.params, deltas, r.expiries())
	case stmtIncrementFloat:
		deltas := appendArrayHeader(nil, oidText, len(r.rows), false)
		for _, row := range r.rows {
			deltas = appendBytes(deltas, []byte(row.call.DeltaFloat))
		}
		r.params = append(r.params, deltas, r.expiries())
	case stmtReplace:
		r.params = append(r.params, r.values(), r.expiries())
		r.encodeReplace()
	case stmtAppend:
		// Every call of a database has the same bound.
		limit := make([]byte, 0, 12)
		r.params = append(r.params, r.values(), r.expiries(), appendInt8(limit, r.calls[0].flight.limit)[4:])
	default:
		r.params = append(r.params, r.values(), r.expiries())
	}
}

func (r *request) encodeReplace() {
	keep := appendArrayHeader(nil, oidBool, len(r.rows), false)
	versions := appendArrayHeader(nil, oidInt8, len(r.rows), true)
	for _, row := range r.rows {
		keep = appendBool(keep, row.call.Expiry.kind == expiryKeep)
		if row.call.Condition == IfVersion {
			versions = appendInt8(versions, row.call.IfVersion)
		} else {
			versions = appendNull(versions)
		}
	}
	r.params = append(r.params, keep, versions)
}

// encodeSingle writes the scalar parameters of exchange and set_range.
func (r *request) encodeSingle() {
	c := r.calls[0]
	scalar := func(v int64) []byte { return appendInt8(nil, v)[4:] }
	var expiry []byte
	if v, null := r.table.expiry(c.Expiry); !null {
		expiry = scalar(v)
	}
	r.params = [][]byte{scalar(r.rows[0].hash), nonNil(c.Key), nonNil(c.Value), expiry}
	if r.stmt == stmtSetRange {
		r.params = append(r.params, appendInt4(nil, int32(c.Offset))[4:])
		return
	}
	keep := appendBool(nil, c.Expiry.kind == expiryKeep)[4:]
	condition := c.Condition
	if condition == IfVersion && c.IfVersion == 0 {
		condition = IfAbsent
	}
	r.params = append(r.params, keep, appendInt4(nil, int32(condition))[4:], scalar(c.IfVersion))
}

// nonNil makes of no bytes the empty value: a nil parameter would be NULL.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// hashes writes the distinct hashes.
func (r *request) hashes() []byte {
	dst := appendArrayHeader(make([]byte, 0, 20+12*len(r.rows)), oidInt8, 0, false)
	n := 0
	for i, row := range r.rows {
		if i > 0 && row.hash == r.rows[i-1].hash {
			continue
		}
		dst = appendInt8(dst, row.hash)
		n++
	}
	appendArrayHeader(dst[:0], oidInt8, n, false)
	return dst
}

func (r *request) keys() []byte {
	size := 20
	for _, row := range r.rows {
		size += 4 + len(row.key)
	}
	dst := appendArrayHeader(make([]byte, 0, size), oidBytea, len(r.rows), false)
	for _, row := range r.rows {
		dst = appendBytes(dst, row.key)
	}
	return dst
}

func (r *request) values() []byte {
	size := 20
	for _, row := range r.rows {
		size += 4 + len(row.value)
	}
	dst := appendArrayHeader(make([]byte, 0, size), oidBytea, len(r.rows), false)
	for _, row := range r.rows {
		dst = appendBytes(dst, row.value)
	}
	return dst
}

func (r *request) expiries() []byte {
	dst := appendArrayHeader(make([]byte, 0, 20+12*len(r.rows)), oidInt8, len(r.rows), true)
	for _, row := range r.rows {
		if v, null := r.table.expiry(row.call.Expiry); null {
			dst = appendNull(dst)
		} else {
			dst = appendInt8(dst, v)
		}
	}
	return dst
}

// touch is the condition bit of schema/statements/expire.sql that never
// shortens; the lower bits are those of ExpireIf.
const touch = 16

func (r *request) conditions() []byte {
	dst := appendArrayHeader(make([]byte, 0, 20+8*len(r.rows)), oidInt4, len(r.rows), false)
	for _, row := range r.rows {
		c := int32(row.call.ExpireIf)
		if row.call.Verb == VerbTouch {
			c |= touch
		}
		if row.call.Expiry.kind == expiryNone && row.call.Verb == VerbExpire {
			c |= int32(ExpireHasTTL) // PERSIST changes only what has a TTL
		}
		dst = appendInt4(dst, c)
	}
	return dst
}

// isInteger tells whether a value is a decimal integer of 64 bits as Redis
// reads one: no spaces, no plus, no leading zeros.
func isInteger(v []byte) bool {
	n, err := strconv.ParseInt(string(v), 10, 64)
	return err == nil && bytes.Equal(strconv.AppendInt(nil, n, 10), v)
}
