package engine

import (
	"errors"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// record counts a finished call and its reads, and notes it if it was slow.
func (e *Engine) record(c *verb.Call) {
	elapsed := e.counters.record(c)
	e.noteReads(c)
	if e.set.Slow.IsSlow(elapsed) && c.Verb != nil {
		e.noteSlow(c, c.Verb, elapsed, c.Err != nil)
	}
}

// abandoned counts a call whose caller left it to its flight, and notes it if that took
// long. v is the verb that the call had: the flight may change it.
func (e *Engine) abandoned(c *verb.Call, v *verb.Verb, err error) {
	e.counters.fail(v, callError(err, v))
	if elapsed := coalesce.Now() - c.Began; e.set.Slow.IsSlow(elapsed) {
		if left := (*coalesce.LeftError)(nil); errors.As(err, &left) && left.Blocked {
			c.NoteLocked()
		}
		e.noteSlow(c, v, elapsed, true)
	}
}

// noteSlow notes a call that took long. It touches nothing that a flight writes.
func (e *Engine) noteSlow(c *verb.Call, v *verb.Verb, elapsed int64, failed bool) {
	if c.Held || c.Part || c.InTx {
		return // of an edit, a command or a transaction that is noted as a whole
	}
	sent, rows, locked := c.Timing()
	slow := Slow{Began: c.Began, Sent: sent, Locked: locked, Elapsed: elapsed}.call()
	slow.Batch, slow.Writes, slow.Failed, slow.Verb = rows, v.Writes, failed, v.Name
	e.NoteSlow(slow, c.Caller, c.Key, c.Keys)
}

// noteSlowTogether notes calls that ran together in a transaction of the caller, as one.
// There PostgreSQL waits for locks as the transaction says: that it waited is known only
// where it gave up.
func (e *Engine) noteSlowTogether(calls []*verb.Call, began int64, err error) {
	if !e.set.Slow.On() {
		return
	}
	elapsed := coalesce.Now() - began
	if !e.set.Slow.IsSlow(elapsed) || calls[0].Part {
		return
	}
	slow := Slow{Began: began, Sent: began, Locked: fault.IsLocked(err), Elapsed: elapsed}.call()
	slow.Failed, slow.Verb = err != nil, calls[0].Verb.Name
	var keys [][]byte
	for _, c := range calls {
		slow.Writes = slow.Writes || c.Verb.Writes
		if c.Keys == nil {
			keys = append(keys, c.Key)
		}
		keys = append(keys, c.Keys...)
	}
	slow.Batch = len(keys)
	e.NoteSlow(slow, calls[0].Caller, nil, keys)
}

// noteSent notes that requests are sent now, for calls that turn out to be slow.
func (fl *flight) noteSent(requests []*statement.Request) {
	now, behindLock := coalesce.Now(), fl.Kind() >= coalesce.Alone
	for _, r := range requests {
		for _, c := range r.Calls {
			c.NoteSent(now, len(r.Rows), behindLock)
		}
	}
}

// Slow is where the time of a call went, by coalesce.Now.
type Slow struct {
	Began   int64
	Sent    int64 // 0: it was not sent
	Locked  bool  // it met a lock of another transaction
	Elapsed int64
}

// call divides the time.
func (s Slow) call() observe.SlowCall {
	slow := observe.SlowCall{Time: time.Now().Add(-time.Duration(s.Elapsed)), Duration: time.Duration(s.Elapsed)}
	rest := slow.Duration
	if s.Sent == 0 && !s.Locked {
		rest = 0
	} else if s.Sent != 0 {
		rest = max(0, min(rest, time.Duration(s.Began+s.Elapsed-s.Sent)))
	}
	slow.Queued = slow.Duration - rest
	if s.Locked {
		slow.Blocked = rest
	} else {
		slow.Statement = rest
	}
	return slow
}

// NoteEdit notes an edit, if it was slow.
func (e *Engine) NoteEdit(s Slow, by observe.Caller, keys [][]byte, failed bool) {
	slow := s.call()
	slow.Writes, slow.Failed, slow.Verb = true, failed, "edit"
	e.NoteSlow(slow, by, nil, keys)
}

// NoteSlow adds who called, the cache and the keys to a slow call, and notes it. key is
// for a call of one key, keys for one of several.
func (e *Engine) NoteSlow(slow observe.SlowCall, by observe.Caller, key []byte, keys [][]byte) {
	slow.Cache, slow.Command = e.cache, by.Command
	slow.Door = observe.DoorGo
	if by.Client != nil {
		slow.Client = *by.Client
	}
	switch {
	case keys == nil:
		slow.Key, slow.Keys = string(key), 1
	case len(keys) > 0:
		slow.Key, slow.Keys = string(keys[0]), len(keys)
	}
	e.set.Slow.Note(slow)
}

// SlowLog returns what takes the calls that took long, which may be nil.
func (e *Engine) SlowLog() *observe.SlowLog { return e.set.Slow }
