package engine

import (
	"cmp"

	"github.com/howdah/howdah/internal/coalesce"
)

// reservation is rows of one cache that a flight may write.
type reservation struct {
	engine *Engine
	rows   int
}

// admit makes sure that the settings of the caches are known, completes the
// calls of those whose are not and those that a full cache refuses, lets those wait that write faster than upkeep
// allows, and returns the others.
func (fl *flight) admit(ops []*coalesce.Op) []*coalesce.Op {
	if err := fl.refresh(ops); err != nil {
		fl.failAll(ops, err)
		return nil
	}
	admitted := ops[:0]
	for len(ops) > 0 {
		n := sameTable(ops)
		e, own := engineOf(callOf(ops[0])), ops[:n]
		ops = ops[n:]
		switch {
		case !e.Table().Known():
			fl.failAll(own, cmp.Or(fl.unread, e.Table().Unusable()))
		case fl.Kind() == coalesce.Read:
			admitted = append(admitted, own...)
		default:
			alone := len(admitted)+len(ops) == 0
			admitted = append(admitted, fl.admitWrites(e, own, alone)...)
		}
	}
	return admitted
}

// admitWrites is admit for the writes of one cache. Where the flight carries
// other caches too, those that must wait do so in a flight of their own.
func (fl *flight) admitWrites(e *Engine, ops []*coalesce.Op, alone bool) []*coalesce.Op {
	ops = fl.refuseFull(e, ops)
	if e.Pressure.allow.Load() == 0 && !e.Pressure.strict.Load() {
		return ops
	}
	rows := rowsThatNeedRoom(ops)
	granted := e.Pressure.grant(rows)
	if granted == 0 && rows > 0 && alone {
		e.Pressure.hold(fl.ctx)
		if err := fl.refresh(ops); err != nil {
			fl.failAll(ops, err)
			return nil
		}
		ops = fl.refuseFull(e, ops)
		rows = rowsThatNeedRoom(ops)
		granted = e.Pressure.grant(rows)
		if granted == 0 && !e.Pressure.strict.Load() {
			granted = rows // it has waited long enough
		}
	}
	return fl.within(e, ops, rows, granted)
}

// within returns the ops that need no more room than was granted. The others
// wait in a flight of their own. A single call that needs more is not split.
func (fl *flight) within(e *Engine, ops []*coalesce.Op, rows, granted int) []*coalesce.Op {
	var waiting []*coalesce.Op
	if granted < rows {
		e.Pressure.call()
		admitted, left := ops[:0], granted
		for _, op := range ops {
			n := callOf(op).Rows()
			if n > 0 && left <= 0 {
				waiting = append(waiting, op)
				continue
			}
			left -= n
			admitted = append(admitted, op)
		}
		ops = admitted
	}
	if e.Pressure.strict.Load() && granted > 0 {
		fl.reserved = append(fl.reserved, reservation{e, granted})
	}
	if len(waiting) > 0 {
		fl.TableBlocked(waiting...)
	}
	return ops
}

// settle ends the reservations: the rows are written, or will not be.
func (fl *flight) settle() {
	for _, r := range fl.reserved {
		r.engine.Pressure.written(r.rows)
	}
}

func rowsThatNeedRoom(ops []*coalesce.Op) (rows int) {
	for _, op := range ops {
		rows += callOf(op).Rows()
	}
	return rows
}

// refuseFull completes the calls that a full cache refuses, and returns the
// others.
func (fl *flight) refuseFull(e *Engine, ops []*coalesce.Op) []*coalesce.Op {
	if !e.Table().Full {
		return ops
	}
	rest := ops[:0]
	for _, op := range ops {
		c := callOf(op)
		if c.Rows() == 0 {
			rest = append(rest, op)
			continue
		}
		c.RefuseFull()
		fl.complete(c, nil)
	}
	return rest
}
