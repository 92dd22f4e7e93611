package engine

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Observed is where a Set notes what its calls did. A nil part is off.
type Observed struct {
	Removals *observe.Removals
	Prefixes *observe.Prefixes
	Named    *observe.Named
}

// Observe has the Set note what its calls do.
func (s *Set) Observe(o Observed) {
	s.removals.Store(o.Removals)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefixes, s.namedPrefixes = o.Prefixes, o.Named
	for _, e := range s.engines {
		e.readsBy.Store(o.Prefixes.Cache(e.cache))
		e.named.Store(o.Named.Cache(e.cache))
	}
}

// Removals is what remembers removals; nil: nothing does.
func (s *Set) Removals() *observe.Removals { return s.removals.Load() }

// Prefixes is what counts reads by prefix; nil: nothing does.
func (s *Set) Prefixes() *observe.Prefixes {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.prefixes
}

// NamedPrefixes is what counts reads by prefixes that were named; nil: nothing does.
func (s *Set) NamedPrefixes() *observe.Named {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.namedPrefixes
}

// noteRemovals remembers the entries that calls which have ended well have ended.
func (e *Engine) noteRemovals(calls []*verb.Call) {
	removals := e.set.Removals()
	if removals == nil {
		return
	}
	for _, c := range calls {
		if c.Verb.Ends && !c.Repeat {
			e.eachEnded(c, func(key []byte, reason observe.Reason) { removals.Key(callerOf(c), e.cache, reason, key, false) })
		}
	}
}

// noteUnsure remembers the entries that a call may have ended whose outcome is unknown.
func (e *Engine) noteUnsure(c *verb.Call) {
	removals := e.set.Removals()
	if removals == nil || !c.Verb.Ends || c.Verb.Quiet {
		return
	}
	if (c.Verb == statement.Expire || c.Verb == statement.GetExpire) && !e.isPast(c.Expiry) {
		return
	}
	note := func(key []byte) { removals.Key(callerOf(c), e.cache, observe.Deleted, key, true) }
	switch {
	case c.Keys == nil:
		note(c.Key)
	case c.Group != nil:
		removedBy(c, note)
	default:
		for _, key := range c.Keys {
			note(key)
		}
	}
}

// callerOf is the caller of a call, whose verb is the command if its door names none.
func callerOf(c *verb.Call) observe.Caller {
	by := c.Caller
	if by.Command == "" {
		by.Command = c.Verb.Name
	}
	return by
}

// eachEnded calls note with the key of each entry that a call has ended which has ended
// without an error.
func (e *Engine) eachEnded(c *verb.Call, note func(key []byte, reason observe.Reason)) {
	switch v := c.Verb; {
	case v == statement.RemoveExpired, v == statement.Watch:
		e.eachRemoved(c, func(key []byte) { note(key, observe.Expired) })
	case c.Status != verb.OK:
	case v == statement.DeleteMany:
		e.eachRemoved(c, func(key []byte) { note(key, observe.Deleted) })
	case v == statement.Commit:
		removedBy(c, func(key []byte) { note(key, observe.Deleted) })
	case v == statement.Expire, v == statement.GetExpire:
		if e.isPast(c.Expiry) {
			note(c.Key, observe.Deleted)
		}
	default:
		note(c.Key, observe.Deleted)
	}
}

// isPast reports that an entry with this expiry has expired.
func (e *Engine) isPast(x verb.Expiry) bool {
	return x.Kind == verb.In && x.Value <= 0 || x.Kind == verb.At && x.Value <= e.Now()
}

// eachRemoved calls fn with the keys whose hashes are in Call.Removed, each once.
func (e *Engine) eachRemoved(c *verb.Call, fn func(key []byte)) {
	if len(c.Removed) == 0 {
		return
	}
	if c.Keys == nil {
		fn(c.Key)
		return
	}
	left := slices.Clone(c.Removed)
	slices.Sort(left)
	for i, key := range c.Keys {
		if at, found := slices.BinarySearch(left, int64(c.Op.Keys[i])); found {
			left = slices.Delete(left, at, at+1)
			fn(key)
		}
	}
}

// removedBy calls fn with the keys that a commit has removed.
func removedBy(c *verb.Call, fn func(key []byte)) {
	for i := range c.Group {
		if edit := &c.Group[i]; edit.Act == verb.Remove && edit.Changes() {
			fn(c.Keys[i])
		}
	}
}

// WhenCommitted calls fn when a transaction has been committed, or may have been, which is
// unsure. Of a transaction of the application the end is not known, and fn is not called.
func WhenCommitted(tx pgx.Tx, fn func(unsure bool)) {
	if own, ok := tx.(*ownTx); ok {
		own.committed = append(own.committed, fn)
	}
}

// noteRemovalsIn is noteRemovals for calls in a transaction, when that has been committed.
func (e *Engine) noteRemovalsIn(tx pgx.Tx, calls []*verb.Call) {
	if e.set.Removals() == nil {
		return
	}
	for _, c := range calls {
		if c.Err == nil && c.Verb.Ends && !c.Repeat {
			e.eachEnded(c, func(key []byte, reason observe.Reason) { e.EndsIn(tx, callerOf(c), key, reason) })
		}
	}
}

// EndsIn remembers that a transaction ends an entry, when that has been committed.
func (e *Engine) EndsIn(tx pgx.Tx, by observe.Caller, key []byte, reason observe.Reason) {
	removals := e.set.Removals()
	if removals == nil {
		return
	}
	key = slices.Clone(key)
	WhenCommitted(tx, func(unsure bool) { removals.Key(by, e.cache, reason, key, unsure) })
}

// noteReads counts by their prefixes the keys that a call has read which has ended.
func (e *Engine) noteReads(c *verb.Call) {
	reads, named := e.readsBy.Load(), e.named.Load()
	if reads == nil && named == nil || c.Err != nil || c.Held {
		return
	}
	switch c.Verb {
	case statement.Get, statement.GetEntry, statement.GetExpire:
		reads.Note(c.Key, c.Status == verb.OK)
		named.Note(c.Key, c.Status == verb.OK)
	case statement.Claim:
		if state := c.Claim.State; state != verb.Lost { // who has lost asks again
			reads.Note(c.Key, state == verb.Hit || state == verb.Stale)
			named.Note(c.Key, state == verb.Hit || state == verb.Stale)
		}
	case statement.GetMany:
		reads.NoteAll(len(c.Entries), func(i int) ([]byte, bool) { return c.Keys[i], c.Entries[i].Found })
		if named != nil {
			for i := range c.Entries {
				named.Note(c.Keys[i], c.Entries[i].Found)
			}
		}
	}
}
