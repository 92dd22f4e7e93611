package edit

import (
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// commit stores the changes, if nobody has changed an entry since it was loaded.
func (g *group) commit(changes []change) {
	g.call = g.commitCall(changes)
	g.call.Held = true
	g.table.engine.Start(&g.call, g.onCommit)
}

// commitCall is the call that stores changes, all or nothing.
func (g *group) commitCall(changes []change) verb.Call {
	var call verb.Call
	if len(g.keys) == 1 {
		call = commitOne(g.keys[0], &g.loaded[0], &changes[0])
	} else {
		call = g.commitMany(changes)
	}
	call.NoRoom = !g.needsRoom()
	return call
}

// commitOne is the call that stores the change of one entry.
func commitOne(key []byte, l *loaded, c *change) verb.Call {
	call := verb.Call{Key: key, Condition: verb.IfVersion, IfVersion: l.version}
	switch {
	case c.delete:
		call.Verb = statement.CompareDelete
		return call
	case !l.found:
		call.Condition, call.IfVersion = verb.IfAbsent, 0
	}
	call.Verb, call.Kind, call.Value, call.Expiry = statement.Set, c.kind, c.value, c.expiry
	return call
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

// commitMany is the call that stores the changes of a group of several keys. Those
// that were only read must be unchanged too.
func (g *group) commitMany(changes []change) verb.Call {
	call := verb.Call{Verb: statement.Commit, Keys: g.keys, Values: make([][]byte, len(g.keys)), Group: make([]verb.Edit, len(g.keys))}
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
	return call
}
