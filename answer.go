package howdah

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"
)

// begin sets the calls' outcomes to what no row means.
func (r *request) begin() {
	for _, c := range r.calls {
		r.beginCall(c)
	}
}

// end takes note that every row was read.
func (r *request) end() {
	if r.stmt == stmtSetVersion {
		r.refuseIncomplete()
	}
}

// refuseIncomplete finds the calls of which class sync left a key out.
func (r *request) refuseIncomplete() {
	for _, row := range r.rows {
		row.call.Count--
	}
	for _, c := range r.calls {
		if c.Count < 0 {
			c.Status = StatusCollision
		}
		c.Count = 0
	}
}

func (r *request) beginCall(c *Call) {
	c.Result, c.Entries, c.Int, c.Count = Entry{}, nil, 0, 0
	c.Status = StatusOK
	switch r.stmt {
	case stmtGet, stmtGetOne, stmtGetEntry, stmtStat:
		if c.Keys != nil {
			c.Entries = make([]Entry, len(c.Keys))
			for i, key := range c.Keys {
				c.Entries[i].Key = key
			}
		} else if c.Verb != VerbSetRange {
			c.Status = StatusMiss
		}
	case stmtSet, stmtSetOne, stmtSetVersion, stmtAddAll, stmtExchange:
	case stmtSetKeep, stmtSetRange:
		c.Status = StatusCollision // only class sync leaves a row out
	case stmtAdd, stmtReplace:
		c.Status = StatusNotStored
	case stmtAppend:
		c.Status = StatusTooLarge
	case stmtDelete:
		if c.Keys == nil {
			c.Status = StatusMiss
		}
	case stmtExpire:
		c.Status = StatusMiss
		if c.ExpireIf != ExpireAlways || c.Expiry.kind == expiryNone && c.Verb == VerbExpire {
			c.Status = StatusNotStored
		}
	default:
		c.Status = StatusMiss
	}
}

// find returns the rows asked with a hash: several, where calls share a key.
func (r *request) find(hash int64) []row {
	i := r.next
	if i >= len(r.rows) || r.rows[i].hash != hash { // PostgreSQL answered in another order, or there are misses
		i, _ = slices.BinarySearchFunc(r.rows, hash, func(row row, h int64) int { return cmp.Compare(row.hash, h) })
	}
	j := i
	for j < len(r.rows) && r.rows[j].hash == hash {
		j++
	}
	r.next = j
	return r.rows[i:j]
}

func (r *request) readRow(v [][]byte) {
	switch r.stmt {
	case stmtExchange:
		r.readExchange(v)
		return
	case stmtLocked:
		r.locked[readInt8(v[0])] = true
		return
	case stmtAddAll:
		if readInt8(v[0]) == 0 {
			r.calls[0].Status = StatusNotStored
		}
		return
	}
	for _, row := range r.find(readInt8(v[0])) {
		switch r.stmt {
		case stmtGet, stmtGetOne, stmtGetEntry, stmtStat:
			if bytes.Equal(row.key, v[1]) {
				r.readEntry(row, v)
			}
		default:
			r.readWrite(row.call, v)
		}
	}
}

// readEntry takes hash, key, value[, length, version, expires_at, now].
func (r *request) readEntry(row row, v [][]byte) {
	e := &row.call.Result
	if row.call.Entries != nil {
		e = &row.call.Entries[row.index]
	} else {
		row.call.Status = StatusOK
	}
	e.Key, e.Found = row.key, true
	if r.stmt != stmtStat {
		e.Value = append(make([]byte, 0, len(v[2])), v[2]...)
		e.Length = len(v[2])
	}
	if r.stmt == stmtGet || r.stmt == stmtGetOne {
		return
	}
	e.Length = int(readInt4(v[3]))
	row.call.Int = int64(e.Length)
	e.Version = readInt8(v[4])
	e.setExpiry(readInt8(v[5]), readInt8(v[6]))
}

// setExpiry takes the timestamps of an entry and of the statement.
func (e *Entry) setExpiry(expiresAt, now int64) {
	if expiresAt == infinity {
		e.TTL = NoExpiry
		return
	}
	e.ExpiresAt = time.UnixMicro(expiresAt + postgresEpoch)
	left := expiresAt - now
	if left > math.MaxInt64/1000 {
		left = math.MaxInt64/1000 - 1
	}
	e.TTL = time.Duration(left) * time.Microsecond
}

// readWrite takes the row that a write answers for one key.
func (r *request) readWrite(c *Call, v [][]byte) {
	switch r.stmt {
	case stmtSetVersion:
		c.Count++
		c.Result.Version = readInt8(v[1])
	case stmtSetKeep, stmtAdd, stmtReplace:
		c.Status = StatusOK
		c.Result.Version = readInt8(v[1])
	case stmtDelete:
		if readBool(v[1]) {
			c.Status = StatusOK
			c.Count++
		}
	case stmtGetDelete:
		if readBool(v[1]) {
			c.found(v[2])
		}
	case stmtExpire:
		c.Status = StatusOK
	case stmtGetExpire:
		c.found(v[1])
	case stmtAppend, stmtSetRange:
		c.Status = StatusOK
		c.Int = int64(readInt4(v[1]))
		c.Result.Version = readInt8(v[2])
	case stmtIncrement:
		r.readIncrement(c, v)
	case stmtIncrementFloat:
		c.Status = StatusNotFloat
		if v[2] != nil {
			c.found(v[1])
			c.Result.Version = readInt8(v[2])
		}
	}
}

func (c *Call) found(value []byte) {
	c.Status = StatusOK
	c.Result.Found = true
	c.Result.Value = append(make([]byte, 0, len(value)), value...)
	c.Result.Length = len(value)
}

// readIncrement takes hash, new value, version, and, where nothing was
// written, the value that was in the way.
func (r *request) readIncrement(c *Call, v [][]byte) {
	if v[2] != nil {
		c.Status = StatusOK
		c.Int, _ = strconv.ParseInt(string(v[1]), 10, 64)
		c.Result.Version = readInt8(v[2])
		return
	}
	switch {
	case v[3] == nil && r.table.sync():
		c.Status = StatusCollision
	case isInteger(v[3]):
		c.Status = StatusOverflow
	default:
		c.Status = StatusNotInteger
	}
}

// readExchange takes live, old value, new version, version in the slot, and
// whether another live key is in it.
func (r *request) readExchange(v [][]byte) {
	c := r.calls[0]
	live := readBool(v[0])
	if live {
		c.found(v[1])
	}
	met := true
	switch c.Condition {
	case IfAbsent:
		met = !live
	case IfPresent:
		met = live
	case IfVersion:
		met = live && v[3] != nil && readInt8(v[3]) == c.IfVersion || !live && c.IfVersion == 0
	}
	switch {
	case v[2] != nil:
		c.Status = StatusOK
		c.Result.Version = readInt8(v[2])
	case !met:
		c.Status = StatusNotStored
	case r.table.sync() && readBool(v[4]):
		c.Status = StatusCollision
	default:
		c.flight.again = true // a row appeared in the slot meanwhile
	}
}
