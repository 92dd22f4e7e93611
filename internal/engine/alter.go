package engine

import (
	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// alter lets the caller of a call with Alter make of the entry that was found what is to
// be stored, and reports whether it did.
func (fl *flight) alter(c *verb.Call) bool {
	if c.Alter == nil {
		return false
	}
	e, alter := engineOf(c), c.Alter
	c.Alter = nil
	e.record(c) // as the read that it was
	if !alter(c) {
		return false
	}
	if err := statement.Prepare(c, e.set.MaxValueBytes); err != nil {
		fl.complete(c, err)
	} else {
		fl.altered = append(fl.altered, c)
	}
	return true
}

// store sends what alter has made of calls, on the same connection.
func (fl *flight) store() {
	if len(fl.altered) == 0 {
		return
	}
	if ops := fl.admit(fl.retake(fl.altered)); len(ops) > 0 {
		fl.fly(fl.plan(ops), wholeBatch)
	}
}

// kindOf is how a call shares its key. One with Alter flies with the writes, though it
// begins as a read.
func kindOf(c *verb.Call) coalesce.Kind {
	if c.Alter != nil {
		return coalesce.Write
	}
	return c.Op.Kind
}
