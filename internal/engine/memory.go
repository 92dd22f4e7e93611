package engine

import (
	"bytes"
	"slices"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// use makes a table the one of the cache, and the entries in memory those of
// that table.
func (e *Engine) use(t *statement.Table) {
	var memory *near.Cache
	if e.set.Memory != nil && t.Near {
		memory = e.set.Memory.Cache(t.ID, t.Durability != "unlogged")
	}
	// What is in memory first: a call that finds the new table must not find
	// the entries of the former one.
	if e.memory.Load() != memory {
		e.memory.Store(memory)
	}
	if t.Strict && e.set.binds.Load() {
		e.Pressure.bind()
	}
	e.table.Store(t)
}

// near returns what is in memory of the cache, nil if a key is never there.
func (e *Engine) near(key []byte) *near.Cache {
	m := e.memory.Load()
	if m == nil {
		return nil
	}
	for _, prefix := range e.set.Exclude {
		if bytes.HasPrefix(key, prefix) {
			return nil
		}
	}
	return m
}

// Recall answers a get from memory, if it can, as Do does first. What asks for more
// than the value asks PostgreSQL, unless it says that memory will do.
func (e *Engine) Recall(c *verb.Call) bool {
	if c.Fresh || c.Verb != statement.Get && !(c.Recall && c.Verb == statement.GetEntry) {
		return false
	}
	entry, ok := e.fromMemory(c.Verb, c.Key)
	if !ok {
		return false
	}
	c.Err = nil
	c.Reset()
	c.Recalled = true
	if entry.Absent {
		c.Status = verb.Miss
		return true
	}
	c.Result.Found, c.Result.Value, c.Result.Length = true, entry.Value, len(entry.Value)
	c.Result.Kind, c.Shared = entry.Kind, true
	if c.Recall || c.AnyKind {
		e.recallRest(&c.Result, entry)
	}
	c.CheckKind(&c.Result)
	return true
}

// RecallOne answers a get of a string from memory, if it can. It keeps nothing of key.
func (e *Engine) RecallOne(key []byte) (near.Entry, bool) {
	entry, ok := e.fromMemory(statement.Get, key)
	return entry, ok && entry.Kind == 0
}

// fromMemory returns what is in memory of a key, and counts it as a call of a verb.
func (e *Engine) fromMemory(v *verb.Verb, key []byte) (near.Entry, bool) {
	m := e.near(key)
	if m == nil {
		return near.Entry{}, false
	}
	entry, ok := m.Get(key)
	switch {
	case !ok:
		return near.Entry{}, false
	case entry.Absent:
		e.counters.recalled(v, key, 0, 1)
		e.readsBy.Load().Note(key, false)
		e.named.Load().Note(key, false)
	default:
		e.counters.recalled(v, key, 1, 0)
		e.readsBy.Load().Note(key, true)
		e.named.Load().Note(key, true)
		if reads := e.reads.Load(); reads != nil {
			reads.noteHit(e.set, key)
		}
	}
	return entry, true
}

// RecallBatch answers gets of strings from memory, of at most near.Batch keys that were all received
// before it is called. It writes the entries that it finds to entries, at the places
// of their keys, and returns their places as bits. The first run of them is counted,
// and is to be served: see near.Cache.GetBatch, also for room. The others are to be
// asked for again, or started as calls.
func (e *Engine) RecallBatch(keys [][]byte, entries *[near.Batch]near.Entry, room int) (hits uint32, run int) {
	m := e.memory.Load()
	if m == nil {
		return 0, 0
	}
	if len(e.set.Exclude) > 0 { // up to the first one that is never in memory
		if n := slices.IndexFunc(keys, func(key []byte) bool { return e.near(key) == nil }); n >= 0 {
			keys = keys[:n]
		}
	}
	if len(keys) > 0 {
		hits, run = m.GetBatch(keys, entries, room)
	}
	for i := range keys[:run] {
		if entries[i].Kind != 0 { // as if it were not there: a call answers WrongType
			hits, run = hits&(1<<i-1), i
			break
		}
	}
	if run == 0 {
		return hits, 0
	}
	reads := e.reads.Load()
	found := 0
	for i, key := range keys[:run] {
		if entries[i].Absent {
			continue
		}
		found++
		if reads != nil {
			reads.noteHit(e.set, key)
		}
	}
	e.counters.recalled(statement.Get, keys[0], found, run-found)
	e.readsBy.Load().NoteAll(run, func(i int) ([]byte, bool) { return keys[i], !entries[i].Absent })
	if named := e.named.Load(); named != nil {
		for i, key := range keys[:run] {
			named.Note(key, !entries[i].Absent)
		}
	}
	return hits, run
}

// recallRest is what a get does not ask for. What remains of the entry's life has not
// ended, or memory would not have answered.
func (e *Engine) recallRest(found *verb.Entry, entry near.Entry) {
	found.Version, found.Kind, found.TTL, found.Now = entry.Version, entry.Kind, verb.NoExpiry, e.Now()
	if !entry.Expires.IsZero() {
		found.TTL = max(time.Until(entry.Expires), time.Microsecond)
		found.ExpiresAt = time.UnixMicro(found.Now).Add(found.TTL)
	}
}

// Changed tells of changes of a key, as near.Cache.Changed says. The channel is nil if
// there is no memory that learns of them.
func (e *Engine) Changed(key []byte) (changed <-chan struct{}, stop func()) {
	if m := e.memory.Load(); m != nil {
		return m.Changed(e.set.Hash(key))
	}
	return nil, func() {}
}

// keeps reports whether the answer of a call, or what it stores, may be kept in
// memory.
func (e *Engine) keeps(c *verb.Call) bool {
	switch c.Verb {
	case statement.Get, statement.GetEntry, statement.Claim:
		return e.near(c.Key) != nil
	case statement.GetMany:
		return e.memory.Load() != nil
	case statement.Set:
		return statement.IsPlainSet(c) && e.near(c.Key) != nil
	}
	return false
}

// foresee prepares memory for a call that goes to PostgreSQL. A read takes the
// tokens with which its answer may be kept. They must be older than every write
// that this process begins later, which so ends the life of what the read finds.
// A write ends what is in memory at once: a read after it finds nothing there,
// even one that does not wait for the write's answer.
func (e *Engine) foresee(c *verb.Call) {
	m := e.memory.Load()
	if m == nil {
		return
	}
	if c.Verb.Changes() {
		bump(m, c.Changed())
		return
	}
	if !c.Near {
		return
	}
	c.Memory, c.Tokens = m, make([]near.Token, len(c.Op.Keys))
	for i, hash := range c.Op.Keys {
		c.Tokens[i] = m.Begin(int64(hash))
	}
}

// whenQueued returns what must be done with memory when a write has taken its
// place in line; nil: nothing. A read that took its token between foresee and
// that moment may stand in line before the write, and must not be kept: a read
// after the write would find it.
func (e *Engine) whenQueued(c *verb.Call) func() {
	m := e.memory.Load()
	if m == nil || !c.Verb.Changes() {
		return nil
	}
	keys := slices.Clone(c.Changed()) // the call may be over by then, and used again
	return func() { bump(m, keys) }
}

// invalidate ends what is in memory of these keys. It is called before the
// caller of a write is answered, whatever the outcome.
func (e *Engine) invalidate(keys []uint64) {
	if m := e.memory.Load(); m != nil {
		bump(m, keys)
	}
}

// foreseeSet takes the token of a plain set that is about to be sent: with it the
// value may be kept.
func (e *Engine) foreseeSet(c *verb.Call) {
	if m := e.memory.Load(); c.Near && m != nil {
		c.Memory, c.Tokens = m, append(c.Tokens[:0], m.Begin(int64(c.Op.Keys[0])))
	}
}

// rememberSet keeps what a plain set has stored, or sees to it that memory holds
// nothing older. It is called before the caller is answered. last says that no
// other write of the key was in line behind it.
func (e *Engine) rememberSet(c *verb.Call, last bool) {
	m := c.Memory
	if m == nil || m != e.memory.Load() || !last || c.Op.Left() || c.ServerStart == 0 {
		e.invalidate(c.Op.Keys)
		if m != nil {
			bump(m, c.Op.Keys) // see own
		}
		e.changed(c.Op.Keys, writerOf(c))
		return
	}
	found := c.Result
	c.Stored = stored(c)
	found.Found, found.Value = true, c.Stored
	m.Wrote(c.Tokens[0], c.Key, entryOf(&found, c.Began), c.ServerStart)
	e.changed(c.Op.Keys, writerOf(c))
}

// own tells memory of plain sets that this process invalidates itself.
func (e *Engine) own(r *statement.Request) {
	if r.Xid == 0 {
		return
	}
	for _, c := range r.Calls {
		if c.Memory == nil || c.Memory.ID() != r.Table.ID || c.Status != verb.OK {
			return
		}
	}
	c := r.Calls[0]
	c.Memory.Own(c.Tokens[0], r.Xid, c.ServerStart)
}

func bump(m *near.Cache, keys []uint64) {
	for _, key := range keys {
		m.Bump(int64(key))
	}
}

// remember keeps the answers of a request in memory, or sees to it that no later
// hit is older than they are. The request may be for another table than the one
// that the tokens were taken for: the changes of that one are logged under another
// number.
func (e *Engine) remember(r *statement.Request) {
	m := e.memory.Load()
	if m == nil || r.Calls[0].Verb.Changes() {
		return
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		c := row.Call
		found := &c.Result
		if c.Entries != nil {
			found = &c.Entries[row.Index]
		}
		switch {
		case e.near(row.Key) == nil, c.Verb.Quiet && c.Verb != statement.Claim, c.Claim.State == verb.Unleased:
		case c.Verb == statement.Claim && c.Claim.State != verb.Hit:
			m.Bump(row.Hash) // there is no live value, which its caller knows now
		case !found.Found && found.Kind != 0 && c.Near: // the call got no value to keep
			m.Saw(row.Hash, row.Key, found.Version, false)
		case c.Memory != nil && c.Memory.ID() == r.Table.ID:
			c.Shared = true
			e.NoteTime(found.Now)
			c.Memory.Fill(c.Tokens[row.Index], row.Key, entryOf(found, c.Began), c.ServerStart)
		case c.Verb == statement.Stat || c.Verb == statement.StatMany:
			m.Saw(row.Hash, row.Key, found.Version, !found.Found)
		default:
			m.Bump(row.Hash)
		}
	}
}

// entryOf is what memory holds of an answer. It expires no later than in
// PostgreSQL: what remained of its life when the statement ran is counted from
// the beginning of the call.
func entryOf(found *verb.Entry, began int64) near.Entry {
	entry := near.Entry{Value: found.Value, Version: found.Version, Kind: found.Kind, Absent: !found.Found}
	if found.Found && found.TTL != verb.NoExpiry {
		entry.Expires = time.Now().Add(found.TTL - time.Duration(coalesce.Now()-began))
	}
	return entry
}
