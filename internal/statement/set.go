package statement

import (
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
)

// The verbs that store.
var (
	// Set stores Value under Key; with Condition, KeepExpiry or WantOld it is
	// the conditional form. Results: Status (NotStored if a condition failed),
	// Result.Version; with WantOld, Result.Found and Result.Value are the old
	// value, whether or not the condition held.
	// With Tags, NotStored says that one of them is being invalidated. With WantOld,
	// WrongType says that the key holds no string, and nothing was changed.
	Set = define(Spec{
		Verb: verb.Verb{Name: "set", Writes: true, Room: true}, Pick: pickSet,
		Merges: isPlainSet, Echoes: isKnown, Check: checkSet,
	})
	// SetMany stores Keys and Values with one Expiry, all or none. A key named
	// twice takes its last value.
	SetMany = define(Spec{Verb: verb.Verb{Name: "set_many", Writes: true, Room: true, Many: true, Values: true}, Pick: pickSetMany})
	// SetManyIfAbsent stores Keys and Values only if none of Keys exists
	// (MSETNX). Results: Status (NotStored).
	SetManyIfAbsent = define(Spec{Verb: verb.Verb{Name: "set_many_if_absent", Writes: true, Room: true, Many: true, Values: true, Whole: true}, Form: addAll})
)

// IsPlainSet reports that a call is a set which depends on nothing that was there
// before, and of which nothing but success is asked.
func IsPlainSet(c *verb.Call) bool { return c.Verb == Set && isPlainSet(c) }

// isPlainSet is IsPlainSet of a set.
func isPlainSet(c *verb.Call) bool {
	return c.Condition == verb.Always && c.Expiry.Kind != verb.Keep && !c.WantOld && !c.WantVersion && len(c.Tags) == 0
}

// isKnown reports that a plain set leaves its value under the key, for a time at
// least. An instant at which it expires may be past by PostgreSQL's clock.
func isKnown(c *verb.Call) bool {
	switch c.Expiry.Kind {
	case verb.Default, verb.Never:
		return isPlainSet(c)
	case verb.In:
		return isPlainSet(c) && c.Expiry.Value > 0
	}
	return false
}

func pickSet(c *verb.Call, t *Table) *Form {
	switch {
	case len(c.Tags) > 0:
		return setTagged
	case c.Near:
		return setNear
	case c.WantOld:
		return exchange
	case c.Condition == verb.IfAbsent, c.Condition == verb.IfVersion && c.IfVersion == 0:
		return add
	case c.Condition == verb.IfVersion && c.Expiry.Kind == verb.Keep:
		return replaceVersion
	case c.Condition != verb.Always:
		return replace
	case c.Expiry.Kind == verb.Keep:
		return setKeep
	case c.WantVersion || t.Sync():
		return setVersion
	}
	return set
}

func pickSetMany(_ *verb.Call, t *Table) *Form {
	if t.Sync() {
		return setVersion
	}
	return set
}

var (
	set    = form(Form{File: "set", Single: setOne, Params: (*Request).entryColumns, Start: startAs(verb.OK), Row: noRow})
	setOne = form(Form{File: "set_one", Params: (*Request).entryValues, Start: startAs(verb.OK), Row: noRow})

	setVersion = form(Form{
		File: "set_version", Params: (*Request).entryColumns, Start: startAs(verb.OK),
		Row: writeRow(func(_ *Request, c *verb.Call, v [][]byte) {
			c.Count++
			c.Result.Version = pgwire.ReadInt8(v[1])
		}),
		End: refuseIncomplete,
	})
	setNear = form(Form{
		File: "set_near", Single: setOneNear, Near: true, Params: (*Request).entryColumns,
		Start: startAs(verb.OK), Row: writeRow(readSetNear), End: refuseIncomplete,
	})
	setOneNear = form(Form{
		File: "set_one_near", Near: true, Params: (*Request).entryValues,
		Start: startAs(verb.OK), Row: writeRow(readSetNear), End: refuseIncomplete,
	})
	// Only class sync leaves a row out.
	setKeep = form(Form{File: "set_keep", Params: (*Request).entryColumns, Start: startAs(verb.Collision), Row: writeRow(readVersion)})

	add = form(Form{File: "add", Params: func(r *Request) [][]byte { return append(r.entryColumns(), r.kinds()) }, Start: startAs(verb.NotStored), Row: writeRow(readVersion)})

	addAll = form(Form{
		File: "add_all", Alone: true, RaceState: "22012", Params: (*Request).entryColumns, Start: startAs(verb.OK),
		Row: func(r *Request, v [][]byte) {
			if pgwire.ReadInt8(v[0]) == 0 {
				r.Calls[0].Status = verb.NotStored
			}
		},
	})

	replace = form(Form{File: "replace", Params: replaceParams, Start: startAs(verb.NotStored), Row: writeRow(readVersion)})

	replaceVersion = form(Form{
		File: "replace_version", Params: replaceVersionParams, Start: startAs(verb.NotStored), Row: writeRow(readVersion),
	})

	exchange = form(Form{File: "exchange", Alone: true, Params: exchangeParams, Start: startAs(verb.OK), Row: readExchange})
)

// readSetNear reads hash, version, expires_at, now, start of the server and xid.
func readSetNear(r *Request, c *verb.Call, v [][]byte) {
	c.Count++
	c.Result.Version = pgwire.ReadInt8(v[1])
	SetExpiry(&c.Result, pgwire.ReadInt8(v[2]), pgwire.ReadInt8(v[3]))
	c.ServerStart = pgwire.ReadInt8(v[4]) + pgwire.Epoch
	r.Xid = uint64(pgwire.ReadInt8(v[5]))
}

func noRow(*Request, [][]byte) {}

// refuseIncomplete finds the calls of which class sync left a key out.
func refuseIncomplete(r *Request) {
	for _, row := range r.Rows {
		row.Call.Count--
	}
	for _, c := range r.Calls {
		if c.Count < 0 {
			c.Status = verb.Collision
		}
		c.Count = 0
	}
}

func replaceParams(r *Request) [][]byte {
	params := r.entryColumns()
	keep := pgwire.AppendArray(nil, pgwire.Bool, len(r.Rows), false)
	versions := pgwire.AppendArray(nil, pgwire.Int8, len(r.Rows), true)
	for _, row := range r.Rows {
		keep = pgwire.AppendBool(keep, row.Call.Expiry.Kind == verb.Keep)
		if row.Call.Condition == verb.IfVersion {
			versions = pgwire.AppendInt8(versions, row.Call.IfVersion)
		} else {
			versions = pgwire.AppendNull(versions)
		}
	}
	return append(params, keep, versions, r.kinds())
}

func replaceVersionParams(r *Request) [][]byte {
	params := append(r.keyColumns(), r.values())
	versions := pgwire.AppendArray(make([]byte, 0, 20+12*len(r.Rows)), pgwire.Int8, len(r.Rows), false)
	for _, row := range r.Rows {
		versions = pgwire.AppendInt8(versions, row.Call.IfVersion)
	}
	return append(params, versions, r.kinds())
}

func exchangeParams(r *Request) [][]byte {
	c := r.Calls[0]
	condition := c.Condition
	if condition == verb.IfVersion && c.IfVersion == 0 {
		condition = verb.IfAbsent
	}
	return append(r.entryValues(), boolValue(c.Expiry.Kind == verb.Keep), int4Value(int32(condition)), int8Value(c.IfVersion))
}

// readExchange reads live, old value, new version, version in the slot, and
// whether another live key is in it.
func readExchange(r *Request, v [][]byte) {
	c := r.Calls[0]
	live := pgwire.ReadBool(v[0])
	if live {
		c.FoundString(v[1])
	}
	met := true
	switch c.Condition {
	case verb.IfAbsent:
		met = !live
	case verb.IfPresent:
		met = live
	case verb.IfVersion:
		met = live && v[3] != nil && pgwire.ReadInt8(v[3]) == c.IfVersion || !live && c.IfVersion == 0
	}
	switch {
	case c.Status == verb.WrongType:
	case v[2] != nil:
		c.Status = verb.OK
		c.Result.Version = pgwire.ReadInt8(v[2])
	case !met:
		c.Status = verb.NotStored
	case r.Table.Sync() && pgwire.ReadBool(v[4]):
		c.Status = verb.Collision
	default:
		c.Repeat = true // a row appeared in the slot meanwhile
	}
}
