package edit

import (
	"fmt"
	"runtime/debug"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// change is what the functions left of one entry.
type change struct {
	index  int // in group.keys
	delete bool
	kind   int16
	value  []byte
	expiry verb.Expiry

	entry values.Entry // without its value
	given *expiry      // what View.SetExpiry was given for it
}

// apply runs the functions of all edits that have not failed, over the loaded
// entries. It returns what must be written, or the keys that were missing. An edit
// whose change is too large, or that undid itself, fails, and the others run without it.
func (g *group) apply() (changes []change, missing [][]byte, err error) {
	g.unserve(0)
	g.ran, g.refused, g.remover = coalesce.Now(), nil, nil
	v, err := g.view()
	if err != nil {
		return nil, nil, err
	}
	first := true // nothing ran before this edit
	for _, e := range g.edits {
		if e.Err != nil {
			continue
		}
		g.runOne(e, v)
		switch {
		case v.Missed():
			return nil, v.missing, nil
		case v.err == ErrSlow:
			e.Slow = true
			return nil, nil, ErrSlow
		case v.undone:
			g.spend() // nobody is late for what the function took
			if first {
				g.fail(e, v, 0) // another run would say the same
			}
			return g.applyCarefully()
		}
		first = false
	}
	g.grows = v.Grows
	changes, large := g.changes(v)
	if large {
		return g.applyCarefully()
	}
	return changes, nil, nil
}

// applyCarefully is apply where an edit fails: it looks after each function, and goes
// on from what the one before left.
func (g *group) applyCarefully() (kept []change, missing [][]byte, err error) {
	g.unserve(0)
	g.grows, g.refused = false, nil
	var v *View
	for _, e := range g.edits {
		for again := e.Err == nil; again; {
			if e.late() {
				e.Err = errLate
				break
			}
			if v == nil {
				if v, err = g.viewAfter(kept); err != nil {
					return nil, nil, err
				}
			}
			served := len(g.pins)
			g.runOne(e, v)
			if v.Missed() {
				return nil, v.missing, nil
			}
			if v.err == ErrSlow {
				e.Slow = true
				return nil, nil, ErrSlow
			}
			changes, large := g.changes(v)
			if !v.undone && !large {
				kept, g.grows = changes, v.Grows
				break
			}
			again = g.fail(e, v, served)
			v = nil
		}
	}
	return kept, nil, nil
}

// fail takes an edit back that was undone, or is too large, with what waiters took of it.
// If what they move to another key may be what is too large, they fail instead, and the
// edit is to run again.
func (g *group) fail(e *Edit, v *View, served int) (again bool) {
	again = !v.undone && g.refuse(served)
	g.unserve(served)
	switch {
	case v.undone:
		e.Err = v.err
	case !again:
		e.Err = fault.ErrLargeCollection
	}
	return again
}

// viewAfter is a fresh view after changes.
func (g *group) viewAfter(changes []change) (*View, error) {
	v, err := g.view()
	if err == nil {
		err = g.restore(v, changes)
	}
	return v, err
}

// restore makes a fresh view one after changes.
func (g *group) restore(v *View, changes []change) (err error) {
	v.Grows = g.grows
	for i := range changes {
		c := &changes[i]
		e := v.Entry(g.keys[c.index])
		*e = c.entry
		if c.given != nil {
			v.give(e, *c.given)
		}
		if c.delete {
			continue
		}
		if e.Value, err = Decode(c.kind, c.value); err != nil {
			return err
		}
	}
	return nil
}

// runOne runs one edit, serves waiters from what it left, and notes whether it has ended the
// entry.
func (g *group) runOne(e *Edit, v *View) {
	was := v.one.Value != nil
	e.run(v)
	g.serve(v)
	if !v.single || was && v.one.Value == nil {
		g.remover = e
	}
}

// run calls the function. One that panics is undone: the server goes on, and so do the
// other edits of the group.
func (e *Edit) run(v *View) {
	defer func() {
		if p := recover(); p != nil {
			v.missing = nil
			v.Undo(fmt.Errorf("howdah: internal error: %v\n%s", p, debug.Stack()))
		}
	}()
	v.running, e.Events, e.Effect = e, e.Events[:0], nil
	e.Run(v)
}

// view decodes the loaded entries. Error: ErrUnavailable for bytes that are no
// packed value.
func (g *group) view() (*View, error) {
	e := g.table.engine
	v := &View{
		Now: e.Now() / 1000, MaxString: int64(e.MaxValueBytes()),
		Locked: g.locked, Quick: g.quick, Full: g.full || e.Table().Full, group: g,
	}
	if len(g.keys) == 1 {
		v.single, v.key = true, string(g.keys[0])
		return v, g.loaded[0].decode(&v.one)
	}
	v.entries = make(map[string]*values.Entry, len(g.keys))
	for i, key := range g.keys {
		e := new(values.Entry)
		if err := g.loaded[i].decode(e); err != nil {
			return nil, err
		}
		v.entries[string(key)] = e
	}
	return v, nil
}

func (l *loaded) decode(e *values.Entry) error {
	if !l.found {
		return nil
	}
	value, err := Decode(l.kind, l.value)
	e.Value, e.ExpiresAt = value, l.expires
	return err
}

// Decode returns the value that an entry of a kind holds.
func Decode(kind int16, packed []byte) (values.Value, error) {
	value, err := values.Decode(values.Kind(kind), packed)
	if err != nil {
		return nil, fmt.Errorf("howdah: an entry of kind %d cannot be read: %w", kind, err)
	}
	return value, nil
}

// changes returns what must be written, and whether one of the entries is too large.
func (g *group) changes(v *View) (list []change, tooLarge bool) {
	for i, key := range g.keys {
		e := v.Entry(key)
		if !e.Changed {
			continue
		}
		l := &g.loaded[i]
		c := change{index: i, delete: e.Value == nil, expiry: v.expiry(l, e), entry: *e}
		c.entry.Value = nil
		if given, ok := v.expiries[e]; ok {
			c.given = &given
		}
		if c.delete && !l.found {
			continue // it came and went
		}
		if !c.delete {
			c.kind = int16(e.Value.Kind())
			c.value = values.Encode(make([]byte, 0, len(l.value)+64), e.Value)
			if c.kind != int16(values.KindString) && len(c.value) > fault.MaxCollectionBytes || int64(len(c.value)) > v.MaxString {
				return nil, true
			}
		}
		list = append(list, c)
	}
	return list, false
}

// expiry says how the expiry of a changed entry is to be stored.
func (v *View) expiry(l *loaded, e *values.Entry) verb.Expiry {
	x, given := v.expiries[e]
	switch {
	case given && x.at == e.ExpiresAt: // else another function has changed it since
		return x.Expiry
	case e.ExpiresAt == 0 && (!l.found || e.Replaced):
		return verb.Expiry{}
	case e.ExpiresAt == 0 && l.expires != 0:
		return verb.ExpireNever()
	case l.found && e.ExpiresAt == l.expires:
		return verb.KeepExpiry()
	}
	return verb.ExpireAtMilli(e.ExpiresAt)
}
