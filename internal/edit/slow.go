package edit

import (
	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/verb"
)

// noteTiming keeps of a call of the group what says where the time of its edits went.
func (g *group) noteTiming(c *verb.Call) {
	sent, _, locked := c.Timing()
	if g.sent == 0 {
		g.sent = sent
	}
	g.waited = g.waited || locked
}

// noteSlow notes an edit that took long.
func (g *group) noteSlow(e *Edit) {
	e.Locked = g.waited
	slow := g.table.engine.SlowLog()
	if e.Part || !slow.On() {
		return
	}
	if elapsed := coalesce.Now() - e.began; slow.IsSlow(elapsed) {
		g.table.engine.NoteEdit(engine.Slow{Began: e.began, Sent: g.sent, Locked: g.waited, Elapsed: elapsed}, e.Caller, e.Keys, e.Err != nil)
	}
}
