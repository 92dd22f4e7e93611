package edit

import (
	"fmt"
	"runtime/debug"
	"time"

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
}

// apply runs the functions of all edits that have not failed, over the loaded
// entries. It returns what must be written, or the keys that were missing. An edit
// whose change is too large, or that undid itself, fails, and the others run without it.
func (g *group) apply() (changes []change, missing [][]byte, err error) {
	for careful := false; ; {
		v, err := g.view()
		if err != nil {
			return nil, nil, err
		}
		changes, failed := g.applyTo(v, careful)
		switch {
		case len(v.missing) > 0:
			return nil, v.missing, nil
		case failed == nil:
			return changes, nil, nil
		case v.undone:
			failed.Err = v.err
		case careful:
			failed.Err = fault.ErrLargeCollection
		}
		careful = careful || !v.undone
	}
}

// applyTo runs the functions on a view. It returns the edit that must not be: one that
// undid itself, or by which an entry became too large: the right one only if it is
// careful and looks after each.
func (g *group) applyTo(v *View, careful bool) (changes []change, failed *Edit) {
	var last *Edit
	for _, e := range g.edits {
		if e.Err != nil {
			continue
		}
		e.run(v)
		if len(v.missing) > 0 {
			return nil, nil
		}
		if v.undone {
			return nil, e
		}
		last = e
		if careful {
			if _, large := g.changes(v); large {
				return nil, e
			}
		}
	}
	g.grows = v.Grows
	changes, large := g.changes(v)
	if large {
		return nil, last
	}
	return changes, nil
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
	e.Run(v)
}

// view decodes the loaded entries. Error: ErrUnavailable for bytes that are no
// packed value.
func (g *group) view() (*View, error) {
	v := &View{Now: g.table.now(), MaxString: int64(g.table.engine.MaxValueBytes()), Locked: g.locked, Full: g.full || g.table.engine.Table().Full}
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
		c := change{index: i, delete: e.Value == nil, expiry: v.expiry(l, e)}
		if c.delete && !l.found {
			continue // it came and went
		}
		if !c.delete {
			c.kind = int16(e.Value.Kind())
			c.value = values.Encode(nil, e.Value)
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
	return verb.ExpireAt(time.UnixMilli(e.ExpiresAt))
}
