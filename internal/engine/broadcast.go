package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

// Writes of this process say in a change log with keys who has made them: clients that
// broadcast are told by the answer of the write, and need not be told again by the log. A
// write of unknown outcome may become visible at any time, and must be told then. So the
// origin is another one from then on, and rows of the former are like those of others.

// renewOrigin has the rows that were written so far come back as those of others do.
func (s *Set) renewOrigin() { s.origin.Store(rand.Int64N(math.MaxInt64) + 1) }

// Wrote reports whether the origin of a row of the change log is this process, which has
// told its clients of the row, or will.
func (s *Set) Wrote(origin int64) bool { return origin == s.origin.Load() }

// flushes are the transactions in which this process has emptied caches, and of which it
// has told its clients.
type flushes struct {
	mu   sync.Mutex
	xids map[uint64]struct{}
}

// maxFlushes bounds them: the log may be followed no more.
const maxFlushes = 1000

func (f *flushes) add(xid uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.xids == nil || len(f.xids) >= maxFlushes {
		f.xids = make(map[uint64]struct{})
	}
	f.xids[xid] = struct{}{}
}

// Flushed reports whether this process has emptied a cache in a transaction. It is asked
// once, about the row in the change log.
func (s *Set) Flushed(xid uint64) bool {
	f := &s.flushes
	f.mu.Lock()
	defer f.mu.Unlock()
	_, own := f.xids[xid]
	delete(f.xids, xid)
	return own
}

// LoggedKeys is Logged, 0 also if the change log has no keys.
func (e *Engine) LoggedKeys() int32 { return e.Table().LoggedKeys() }

// tableIn is the table for statements in a transaction.
func (e *Engine) tableIn(tx pgx.Tx) *statement.Table {
	if _, own := tx.(*ownTx); own {
		return e.Table()
	}
	return e.Table().Anonymous()
}

// ShapeIn is what statements of no verb are made for in a transaction. Of what they write
// Writes is told.
func (e *Engine) ShapeIn(tx pgx.Tx) schema.Table { return e.tableIn(tx).Shape() }

// broadcast tells clients of the keys that the calls of a request have changed, all at
// once, before their callers are answered.
func (fl *flight) broadcast(calls []*verb.Call) {
	t := fl.set.Tracking
	if !t.Broadcasts() {
		return
	}
	var keys []tracking.Key
	for _, c := range calls {
		if c.Repeat || c.Alter != nil || !c.Verb.Changes() {
			continue
		}
		if changed := changedKeys(c); len(changed) > 0 {
			// Before: who is told reads again, perhaps from memory.
			engineOf(c).invalidate(c.Changed())
			keys = append(keys, changed...)
		}
	}
	t.ChangedKeys(keys)
}

// broadcastUnknown tells clients of a call whose outcome is unknown.
func (fl *flight) broadcastUnknown(c *verb.Call) {
	fl.set.renewOrigin()
	fl.set.Tracking.ChangedKeys(namedKeys(c, func(int) bool { return true }))
}

// changedKeys are the keys that a call has changed which has ended without an error.
func changedKeys(c *verb.Call) []tracking.Key {
	switch {
	case c.Verb.Removes && c.WantGone:
		return namedKeys(c, func(i int) bool { return slices.Contains(c.Gone, int64(c.Op.Keys[i])) })
	case c.Status != verb.OK, c.Verb == statement.SetRange && len(c.Value) == 0: // which only asks for the length
		return nil
	case c.Group != nil:
		return namedKeys(c, func(i int) bool { return c.Group[i].Changes() })
	}
	return namedKeys(c, func(int) bool { return true })
}

// namedKeys are those of the keys of a call that changed.
func namedKeys(c *verb.Call, changed func(i int) bool) (keys []tracking.Key) {
	writer := writerOf(c)
	if c.Keys == nil {
		if changed(0) {
			keys = append(keys, tracking.Key{Name: string(c.Key), Writer: writer})
		}
		return keys
	}
	for i, key := range c.Keys {
		if changed(i) {
			keys = append(keys, tracking.Key{Name: string(key), Writer: writer})
		}
	}
	return keys
}
