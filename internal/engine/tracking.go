package engine

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/internal/verb"
)

// changed tells the clients that track these keys of a write whose outcome is known, or
// is known to be unknown. Memory was invalidated before: see package tracking.
func (e *Engine) changed(keys []uint64, writer *tracking.Client) {
	t := e.set.Tracking
	if !t.Wanted() {
		return
	}
	for _, key := range keys {
		t.Changed(int64(key), writer)
	}
}

// writerOf is the client whose write a call is, nil if there is none, or if writes of
// several clients have merged: then each of them is told.
func writerOf(c *verb.Call) *tracking.Client {
	for op := c.Op.Follower(); op != nil; op = op.Follower() {
		if callOf(op).Writer != c.Writer {
			return nil
		}
	}
	return c.Writer
}

// change is keys that a transaction has written.
type change struct {
	engine *Engine
	keys   []uint64
	writer *tracking.Client
}

// Writes is called where a transaction is about to write a key of this cache by a
// statement that is not shared.
func (e *Engine) Writes(tx pgx.Tx, writer *tracking.Client, hash int64, key string) {
	e.note(tx, []uint64{uint64(hash)}, writer)
	e.noteKeys(tx, []tracking.Key{{Name: key, Writer: writer}})
}

// note remembers what a transaction writes whose end this program sees. Of others the
// change log tells.
func (e *Engine) note(tx pgx.Tx, keys []uint64, writer *tracking.Client) {
	if own, ok := tx.(*ownTx); ok && len(keys) > 0 && e.set.Tracking.Wanted() {
		own.changes = append(own.changes, change{e, slices.Clone(keys), writer}) // the call will be used again
	}
}

// noteKeys remembers the keys that a transaction has changed. The log will not tell of
// rows with an origin, so those are remembered also while nobody wants them: somebody may
// when the transaction ends.
func (e *Engine) noteKeys(tx pgx.Tx, keys []tracking.Key) {
	if own, ok := tx.(*ownTx); ok && len(keys) > 0 && (e.LoggedKeys() != 0 || e.set.Tracking.Broadcasts()) {
		own.names = append(own.names, keys...)
	}
}

// noteCalls is note for calls.
func (e *Engine) noteCalls(tx pgx.Tx, calls []*verb.Call) {
	for _, c := range calls {
		if c.Verb.Changes() {
			e.note(tx, c.Changed(), c.Writer)
		}
	}
}

// Flush runs what changes all of the cache, in the transaction xid, once it has ended. The
// caller tells the clients that track keys.
func (e *Engine) Flush(xid *uint64, fn func() error) error {
	err := fn()
	if err == nil && e.set.Tracking.Wanted() {
		e.set.flushes.add(*xid)
	}
	return err
}

// Logged returns the number under which the change log has the changes of the cache, 0
// if it has none, or it is not known yet. A client may keep what was read while the
// number was the same.
func (e *Engine) Logged() int32 { return e.Table().Log() }
