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
	if len(g.keys) > 1 {
		return g.commitMany(changes)
	}
	call := commitOne(g.keys[0], &g.loaded[0], &changes[0])
	if call.Verb == statement.Set && !g.needsRoom() {
		call.Verb = statement.Rewrite
	}
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
	return false
}

func (g *group) commitMany(changes []change) verb.Call { panic("wait for the verb Commit") }
