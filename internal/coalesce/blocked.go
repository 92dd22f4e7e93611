package coalesce

import "time"

// suspicion keeps ops on what somebody else has locked, a key or a whole
// table, out of shared batches.
type suspicion struct {
	until int64
	reads bool // a read was blocked, not only a write
}

// suspicionTime is how long a suspicion lasts if nothing succeeds before.
const suspicionTime = int64(time.Second)

// concerns says whether ops of this kind are kept out.
func (s suspicion) concerns(kind Kind) bool { return kind != Read || s.reads }

// renewed is the suspicion after an op of this kind was blocked.
func (s suspicion) renewed(kind Kind, now int64) suspicion {
	return suspicion{until: now + suspicionTime, reads: s.reads || kind == Read}
}

// suspect says whether op must go alone.
func (t *Table) suspect(op *Op) bool {
	for _, key := range op.Keys {
		s, ok := t.suspects[key]
		if !ok || !s.concerns(op.Kind) {
			continue
		}
		if Now() < s.until {
			return true
		}
		delete(t.suspects, key)
	}
	return false
}

// suspectKeys records that op was blocked. It does not know which of several
// keys was locked; those that were not are cleared by their next success.
func (t *Table) suspectKeys(op *Op, now int64) {
	for _, key := range op.Keys {
		t.suspects[key] = t.suspects[key].renewed(op.Kind, now)
	}
	if len(t.suspects) < 2*t.suspectsKept+64 {
		return
	}
	for key, s := range t.suspects {
		if s.until <= now {
			delete(t.suspects, key)
		}
	}
	t.suspectsKept = len(t.suspects)
}

// isolates says whether op must go in a flight of this table alone.
func (t *Table) isolates(op *Op) bool {
	if t.locked.until == 0 || !t.locked.concerns(op.Kind) {
		return false
	}
	if Now() < t.locked.until {
		return true
	}
	t.locked = suspicion{}
	return false
}

// isolate records that op met a lock on its whole table. What is ready in the
// shared lanes then changes to that of isolated tables.
func (t *Table) isolate(op *Op, now int64) {
	known := t.isolates(op)
	t.locked = t.locked.renewed(op.Kind, now)
	if known {
		return
	}
	for i := range isolated {
		for o := t.feeds[i].head; o != nil; {
			next := o.next
			if t.isolates(o) {
				t.feeds[i].remove(o)
				t.feeds[isolated].push(o)
			}
			o = next
		}
	}
}

// heldUp says whether a foreign lock is what op waits for: it met one, or an
// op that it waits for did.
func (t *Table) heldUp(op *Op) bool {
	return op.blocked || t.isolates(op) || len(t.suspects) > 0 && t.suspect(op)
}

// clear ends the suspicion of what an op used that succeeded. A read proves
// nothing about writes.
func (t *Table) clear(op *Op) {
	if op.Kind != Read {
		t.locked = suspicion{}
	} else {
		t.locked.reads = false
	}
	if len(t.suspects) == 0 {
		return
	}
	for _, key := range op.Keys {
		s, ok := t.suspects[key]
		switch {
		case !ok:
		case op.Kind != Read:
			delete(t.suspects, key)
		case s.reads:
			s.reads = false
			t.suspects[key] = s
		}
	}
}

// suspicious says whether there is anything to clear.
func (t *Table) suspicious() bool { return len(t.suspects) > 0 || t.locked.until != 0 }

// blocked records that op met a lock and chooses the lane of its next flight.
func (t *Table) blocked(op *Op, table bool, now int64) *lane {
	t.stats.Blocked++
	op.blocked = true
	if table {
		t.isolate(op, now)
	} else {
		t.suspectKeys(op, now)
	}
	if t.isolates(op) {
		return &t.c.lanes[isolated]
	}
	return &t.c.lanes[alone]
}
