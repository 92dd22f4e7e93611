package statement

import (
	"math"
	"time"

	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// The verbs that read.
var (
	// Get reads the value. Results: Status (WrongType), Result.Value.
	// With Near or AnyKind, also Result.Version, Kind, ExpiresAt and TTL; with Near,
	// ServerStart.
	Get = define(Spec{Verb: verb.Verb{Name: "get"}, Pick: pickGet, Echoes: func(c *verb.Call) bool { return !c.AnyKind }})
	// GetEntry reads value, version, expiry and kind. Results: Status (WrongType),
	// Result.
	GetEntry = define(Spec{Verb: verb.Verb{Name: "get_entry"}, Pick: pickEntry})
	// Stat is GetEntry without the value, of an entry of any kind.
	Stat = define(Spec{Verb: verb.Verb{Name: "stat"}, Form: stat})
	// GetMany reads Keys in one snapshot. Results: Status OK, Entries in the
	// order of Keys (Found false for a miss and, without AnyKind, for what is no
	// string; repeated keys are answered each). With AnyKind, also what GetEntry reads.
	GetMany = define(Spec{Verb: verb.Verb{Name: "get_many", Many: true}, Pick: pickGet})
	// StatMany is GetMany without the values, but with versions and expiries.
	StatMany = define(Spec{Verb: verb.Verb{Name: "stat_many", Many: true}, Form: stat})
	// Probe is StatMany for a server that asks on behalf of callers who wait: it is no
	// hit and no miss of theirs.
	Probe = define(Spec{Verb: verb.Verb{Name: "probe", Many: true}, Form: stat})
)

var (
	get      = form(Form{File: "get", Single: getOne, Params: hashesOnly, Start: startRead, Row: readRow(unversioned, readValue)})
	getOne   = form(Form{File: "get_one", Params: hashOnly, Start: startRead, Row: readRow(unversioned, readValue)})
	getEntry = form(Form{File: "get_entry", Params: hashesOnly, Start: startRead, Row: readRow(4, func(c *verb.Call, e *verb.Entry, v [][]byte, value []byte) {
		readStat(c, e, v, nil)
		e.Value = value
		c.CheckKind(e)
	})})
	stat = form(Form{File: "stat", Unused: true, Params: hashesOnly, Start: startRead, Row: readRow(4, readStat)})
)

func pickGet(c *verb.Call, _ *Table) *Form {
	switch {
	case c.Near:
		return getNear
	case c.AnyKind, c.WantExpiry, c.InTx: // the versions tell which of two rows counts
		return getEntry
	}
	return get
}

func pickEntry(c *verb.Call, _ *Table) *Form {
	if c.Near {
		return getNear
	}
	return getEntry
}

// getNear begins with a row without a hash, which says when the server was started.
var getNear = form(Form{File: "get_near", Near: true, Params: hashesOnly, Start: startRead, Row: func(r *Request, v [][]byte) {
	if v[0] != nil {
		readNear(r, v)
		return
	}
	start := pgwire.ReadInt8(v[6]) + pgwire.Epoch
	for _, c := range r.Calls {
		c.ServerStart = start
	}
}})

var readNear = readRow(3, func(c *verb.Call, e *verb.Entry, v [][]byte, value []byte) {
	e.Value, e.Length = value, len(value)
	e.Version = pgwire.ReadInt8(v[3])
	e.Kind = int16(pgwire.ReadInt4(v[4]))
	SetExpiry(e, pgwire.ReadInt8(v[5]), pgwire.ReadInt8(v[6]))
	c.CheckKind(e)
})

func hashesOnly(r *Request) [][]byte { return [][]byte{r.hashes()} }
func hashOnly(r *Request) [][]byte   { return [][]byte{int8Value(r.Rows[0].Hash)} }

func startRead(_ *Request, c *verb.Call) {
	c.Status = verb.Miss
	if c.Keys != nil {
		c.Status = verb.OK
		c.Entries = make([]verb.Entry, len(c.Keys))
	}
}

// unversioned is the column of the version where the answer has none.
const unversioned = -1

// readRow makes a Form.Row of what reads an entry from hash, key, value[,
// length, version, expires_at, now, kind]. Those who asked for the same key share one
// copy of the value. Version is the column of the version.
//
// A transaction of REPEATABLE READ or SERIALIZABLE may see two rows of one key: one
// that others have deleted since its snapshot, and one that it has written itself
// since. The greater version counts.
func readRow(version int, read func(c *verb.Call, e *verb.Entry, v [][]byte, value []byte)) func(*Request, [][]byte) {
	return func(r *Request, v [][]byte) {
		rows := r.find(pgwire.ReadInt8(v[0]))
		var value []byte
		for _, row := range rows {
			if !keyEqual(row, v[1]) {
				continue
			}
			if value == nil && v[2] != nil {
				value = append(make([]byte, 0, len(v[2])), v[2]...)
			}
			e := &row.Call.Result
			if row.Call.Entries != nil {
				e = &row.Call.Entries[row.Index]
			}
			if version != unversioned && pgwire.ReadInt8(v[version]) < e.Version {
				continue
			}
			row.Call.Status = verb.OK
			row.Call.Shared = row.Call.Shared || len(rows) > 1
			*e = verb.Entry{Found: true}
			read(row.Call, e, v, value)
		}
	}
}

// readValue reads an entry from its value alone, which is NULL for what is no string.
func readValue(c *verb.Call, e *verb.Entry, _ [][]byte, value []byte) {
	e.Value, e.Length = value, len(value)
	if value == nil {
		e.Kind = verb.OtherKind
		c.CheckKind(e)
	}
}

func readStat(_ *verb.Call, e *verb.Entry, v [][]byte, _ []byte) {
	e.Length = int(pgwire.ReadInt4(v[3]))
	e.Version = pgwire.ReadInt8(v[4])
	SetExpiry(e, pgwire.ReadInt8(v[5]), pgwire.ReadInt8(v[6]))
	e.Kind = int16(pgwire.ReadInt4(v[7]))
}

// SetExpiry takes the timestamps of an entry and of the statement, in
// microseconds from pgwire.Epoch.
func SetExpiry(e *verb.Entry, expiresAt, now int64) {
	e.Now = now + pgwire.Epoch
	if expiresAt == pgwire.Infinity {
		e.TTL = verb.NoExpiry
		return
	}
	e.ExpiresAt = time.UnixMicro(expiresAt + pgwire.Epoch)
	left := expiresAt - now
	if left > math.MaxInt64/1000 {
		left = math.MaxInt64/1000 - 1
	}
	e.TTL = time.Duration(left) * time.Microsecond
}
