package statement

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// The columns of the rows as arrays of PostgreSQL.

// hashes writes the distinct hashes.
func (r *Request) hashes() []byte {
	dst := pgwire.AppendArray(make([]byte, 0, 20+12*len(r.Rows)), pgwire.Int8, 0, false)
	n := 0
	for i, row := range r.Rows {
		if i > 0 && row.Hash == r.Rows[i-1].Hash {
			continue
		}
		dst = pgwire.AppendInt8(dst, row.Hash)
		n++
	}
	pgwire.AppendArray(dst[:0], pgwire.Int8, n, false)
	return dst
}

func (r *Request) keys() []byte {
	return r.bytesColumn(func(row *Row) []byte { return row.Key })
}

func (r *Request) values() []byte {
	return r.bytesColumn(func(row *Row) []byte { return row.Value })
}

func (r *Request) bytesColumn(of func(*Row) []byte) []byte {
	size := 20
	for i := range r.Rows {
		size += 4 + len(of(&r.Rows[i]))
	}
	dst := pgwire.AppendArray(make([]byte, 0, size), pgwire.Bytea, len(r.Rows), false)
	for i := range r.Rows {
		dst = pgwire.AppendBytes(dst, of(&r.Rows[i]))
	}
	return dst
}

func (r *Request) expiries() []byte {
	dst := pgwire.AppendArray(make([]byte, 0, 20+12*len(r.Rows)), pgwire.Int8, len(r.Rows), true)
	for _, row := range r.Rows {
		dst = r.Table.appendExpiry(dst, row.Call.Expiry)
	}
	return dst
}

// kinds are what the values are.
func (r *Request) kinds() []byte {
	dst := pgwire.AppendArray(make([]byte, 0, 20+8*len(r.Rows)), pgwire.Int4, len(r.Rows), false)
	for _, row := range r.Rows {
		dst = pgwire.AppendInt4(dst, int32(row.Call.Kind))
	}
	return dst
}

func (t *Table) appendExpiry(dst []byte, e verb.Expiry) []byte {
	if v, null := t.expiry(e); !null {
		return pgwire.AppendInt8(dst, v)
	}
	return pgwire.AppendNull(dst)
}

// expiry is that of the first row as a bare value; nil is NULL.
func (r *Request) expiry() []byte {
	if v, null := r.Table.expiry(r.Rows[0].Call.Expiry); !null {
		return int8Value(v)
	}
	return nil
}

// dropRepeated keeps the last of several rows of one call on one key: a
// statement may write a row only once.
func (r *Request) dropRepeated() {
	kept := r.Rows[:0]
	for i, row := range r.Rows {
		if i+1 < len(r.Rows) && r.Rows[i+1].Hash == row.Hash {
			continue
		}
		kept = append(kept, row)
	}
	r.Rows = kept
}

// keyColumns are the hashes and keys of a write.
func (r *Request) keyColumns() [][]byte {
	r.dropRepeated()
	return [][]byte{r.hashes(), r.keys()}
}

// entryColumns are the hashes, keys, values and expiries of a write.
func (r *Request) entryColumns() [][]byte {
	return append(r.keyColumns(), r.values(), r.expiries())
}

// entryValues are entryColumns of one row as bare values.
func (r *Request) entryValues() [][]byte {
	row := &r.Rows[0]
	return [][]byte{int8Value(row.Hash), nonNil(row.Key), nonNil(row.Value), r.expiry()}
}

func int8Value(v int64) []byte { return pgwire.AppendInt8(make([]byte, 0, 12), v)[4:] }
func int4Value(v int32) []byte { return pgwire.AppendInt4(nil, v)[4:] }
func boolValue(v bool) []byte  { return pgwire.AppendBool(nil, v)[4:] }
