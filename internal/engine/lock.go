package engine

import (
	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// takeApart finds out whose rows are locked, lets those wait alone, and sends
// the others again. If the whole table is locked, all of them wait.
func (fl *flight) takeApart(r *statement.Request, step int) {
	// Nothing of theirs is under way: a caller that leaves now has changed nothing.
	ops := fl.retake(r.Calls)
	if len(ops) == 0 {
		return
	}
	r.Calls = r.Calls[:0]
	for _, op := range ops {
		r.Calls = append(r.Calls, callOf(op))
	}
	held, err := fl.askLocked(r)
	switch {
	case fault.IsLocked(err):
		for _, c := range r.Calls {
			c.NoteLocked()
		}
		fl.TableBlocked(ops...)
	case fault.State(err) == "42P01" && fl.reread(r, step):
	case err != nil:
		fl.lost(r, err, false)
	default:
		fl.separate(r, held, step)
	}
}

// separate lets the calls for locked rows wait alone, and sends the others again.
func (fl *flight) separate(r, held *statement.Request, step int) {
	var rest []*verb.Call
	for _, c := range r.Calls {
		if held.Holds(c) {
			c.NoteLocked()
			fl.blocked(c)
		} else {
			rest = append(rest, c)
		}
	}
	if len(rest) < len(r.Calls) && step == wholeBatch {
		fl.again(rest, withoutLocked)
		return
	}
	fl.callByCall(rest) // the lock is on a row that no other transaction can see yet
}

// patience is for how many times LockTimeout a call waits for a row if it need not
// have it. A batch that the machine is slow to commit does not last so long.
const patience = 10

// blocked lets a call wait for its row, or ends it if it has waited enough.
func (fl *flight) blocked(c *verb.Call) {
	locked := statement.Of(c.Verb).Locked
	if locked == nil || coalesce.Now()-c.Began < int64(patience*fl.set.LockTimeout) {
		fl.Blocked(&c.Op)
		return
	}
	locked(c)
	fl.complete(c, nil)
}

// askLocked asks which of a request's rows somebody else holds.
func (fl *flight) askLocked(r *statement.Request) (*statement.Request, error) {
	question := statement.NewLocked(r)
	_, _, err := fl.exchange([]*statement.Request{question}, wholeBatch)
	if err == nil {
		err = question.Err
	}
	return question, err
}

// retake returns those of the calls whose callers still wait.
func (fl *flight) retake(calls []*verb.Call) []*coalesce.Op {
	ops := make([]*coalesce.Op, len(calls))
	for i, c := range calls {
		ops[i] = &c.Op
	}
	return fl.Retake(ops)
}

// again sends calls once more, as one batch.
func (fl *flight) again(calls []*verb.Call, step int) {
	if ops := fl.retake(calls); len(ops) > 0 {
		fl.fly(fl.plan(ops), step)
	}
}

// callByCall sends each call in a statement and transaction of its own.
func (fl *flight) callByCall(calls []*verb.Call) {
	var requests []*statement.Request
	for _, op := range fl.retake(calls) {
		requests = append(requests, fl.plan([]*coalesce.Op{op})...)
	}
	if len(requests) > 0 {
		fl.fly(requests, callByCall)
	}
}
