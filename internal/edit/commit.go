package edit

import (
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/internal/verb"
)

// commit stores the changes, if nobody has changed an entry since it was loaded.
func (g *group) commit(changes []change) {
	if g.hasEffects() {
		go g.commitWithEffects(changes)
		return
	}
	g.commitAlone(changes)
}

// commitAlone is commit by a shared statement.
func (g *group) commitAlone(changes []change) {
	g.call = verb.Call{Held: true, Traces: g.traces()}
	g.commitBy(&g.call, changes)
	g.table.engine.Start(&g.call, g.onCommit)
}

// commitBy makes a call the one that stores changes, all or nothing.
func (g *group) commitBy(call *verb.Call, changes []change) {
	g.stored = changes
	if len(g.keys) == 1 {
		commitOne(call, g.keys[0], &g.loaded[0], &changes[0])
	} else {
		g.commitMany(call, changes)
	}
	call.NoRoom = !g.needsRoom()
	call.Writer, call.Caller = g.writer(), g.caller()
}

// caller is whose command it is that ends an entry, if one does: all edits of a group with
// one key may share a commit.
func (g *group) caller() observe.Caller {
	if g.remover == nil {
		return observe.Caller{}
	}
	return g.remover.Caller
}

// writer is the client whose edits are stored, nil if there is none or several.
func (g *group) writer() *tracking.Client {
	for _, e := range g.edits {
		if e.Writer != g.edits[0].Writer {
			return nil
		}
	}
	return g.edits[0].Writer
}

// commitOne makes a call the one that stores the change of one entry.
func commitOne(call *verb.Call, key []byte, l *loaded, c *change) {
	call.Key, call.Condition, call.IfVersion = key, verb.IfVersion, l.version
	switch {
	case c.delete:
		call.Verb = statement.CompareDelete
		return
	case !l.found:
		call.Condition, call.IfVersion = verb.IfAbsent, 0
	}
	call.Verb, call.Kind, call.Value, call.Expiry = statement.Set, c.kind, c.value, c.expiry
}

// needsRoom reports whether an edit of the group may make the cache larger.
func (g *group) needsRoom() bool {
	for _, e := range g.edits {
		if e.Room && e.Err == nil {
			return true
		}
	}
	return g.grows
}

// commitMany is commitOne for the changes of a group of several keys. Those that were
// only read must be unchanged too.
func (g *group) commitMany(call *verb.Call, changes []change) {
	call.Verb, call.Keys = statement.Commit, g.keys
	call.Values, call.Group = make([][]byte, len(g.keys)), make([]verb.Edit, len(g.keys))
	for i := range g.loaded {
		call.Group[i].Version = g.loaded[i].version
	}
	for i := range changes {
		c := &changes[i]
		e := &call.Group[c.index]
		e.Act = verb.Remove
		if !c.delete {
			e.Act, e.Kind, e.Expiry = verb.Put, c.kind, c.expiry
			call.Values[c.index] = c.value
		}
	}
}
