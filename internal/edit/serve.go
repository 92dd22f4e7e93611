package edit

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// pin is what a group has done with a waiter that is not decided yet.
type pin struct {
	waiter *Waiter
	parked bool // it was put in line; otherwise it was served
}

// park puts a waiter in line.
func (g *group) park(w *Waiter) {
	ws := g.table.waiters
	ws.mu.Lock()
	ws.enter(w, g)
	ws.mu.Unlock()
	g.pins = append(g.pins, pin{w, true})
}

// serve lets the waiters for the keys of a group take what the function that has just
// run left there: as in Redis, after each command, and after all of a script or of
// a transaction. What a waiter moves to its target is there for those who wait for that.
// In a transaction of the caller it keeps the keys for Edit.Left instead.
func (g *group) serve(v *View) {
	if g.table.inLine.Load() == 0 && !g.servesLater {
		return
	}
	ready := v.written
	if v.written = nil; ready == nil {
		ready = append(ready, g.keys...)
	}
	if g.servesLater {
		g.wrote = ready
		return
	}
	for len(ready) > 0 && !v.Missed() && !v.undone {
		ready = append(ready[1:], g.serveKey(v, ready[0])...)
	}
}

// serveKey lets the waiters for a key take what is there, and returns the keys that they
// have moved something to.
func (g *group) serveKey(v *View, key []byte) (targets [][]byte) {
	e := v.find(key)
	for e != nil {
		e.Expire(v.Now)
		if e.Value == nil || !isWaitable(e.Value.Kind()) {
			return targets
		}
		kind := e.Value.Kind()
		claimed := g.table.waiters.claim(g.table, key, kind, e.Value.Len(), g)
		if len(claimed) == 0 {
			return targets
		}
		if targets = g.pinAll(v, claimed, targets); v.Missed() {
			return targets
		}
		for i, w := range claimed {
			if e.Value == nil || e.Value.Kind() != kind {
				g.unserve(len(g.pins) - len(claimed) + i) // those before have taken all
				return targets
			}
			if g.serveOne(w, v, key); v.Missed() || v.undone {
				return targets
			}
		}
	}
	return targets
}

// pinAll notes waiters that are to be served, and appends the keys that they move
// something to, which are to be loaded.
func (g *group) pinAll(v *View, claimed []*Waiter, targets [][]byte) [][]byte {
	for _, w := range claimed {
		g.pins = append(g.pins, pin{w, false})
		if w.Target != nil && v.Has(w.Target) {
			targets = append(targets, w.Target)
		}
	}
	return targets
}

// serveOne serves a waiter for one of its keys. If its function panics, the edit before it
// is undone.
func (g *group) serveOne(w *Waiter, v *View, key []byte) {
	if g.refused[w] {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			v.missing = nil
			v.Undo(fmt.Errorf("howdah: internal error: %v\n%s", p, debug.Stack()))
		}
	}()
	w.Run(v, [][]byte{key})
}

// isWaitable reports whether callers wait for entries of a kind.
func isWaitable(kind values.Kind) bool {
	return kind == values.KindList || kind == values.KindSortedSet
}

// unserve takes back what a group has done with waiters, from the given pin on: they have
// their places again, and those that it has put in line are out.
func (g *group) unserve(from int) {
	if from >= len(g.pins) {
		return
	}
	ws := g.table.waiters
	var ended, again []*Waiter
	ws.mu.Lock()
	for i := len(g.pins) - 1; i >= from; i-- {
		w := g.pins[i].waiter
		switch {
		case g.pins[i].parked:
			ws.leave(w)
			w.state = trying
		case w.fresh:
			w.served = false
		default:
			ended, again = ws.unpin(w, ended, again)
		}
	}
	ws.mu.Unlock()
	g.pins = g.pins[:from]
	finishWaiters(ended)
	lookAgain(again)
}

// refuse has the waiters that a group has served, from the given pin on, and that move
// something to another key, end with ErrLargeCollection. It reports whether there are any.
func (g *group) refuse(from int) (any bool) {
	for _, p := range g.pins[from:] {
		if p.parked || p.waiter.Target == nil || g.refused[p.waiter] {
			continue
		}
		if g.refused == nil {
			g.refused = make(map[*Waiter]bool)
		}
		g.refused[p.waiter], any = true, true
	}
	return any
}

// settle decides what a group has done with waiters: those that it has served are over if
// that is stored, and have their places again if it is not. If the outcome is unknown,
// they are over too: nothing may be given out twice. It returns those to be answered.
func (g *group) settle(err error) (ended []*Waiter) {
	if len(g.pins) == 0 {
		return nil
	}
	if err != nil && !errors.Is(err, fault.ErrUnknownOutcome) {
		g.unserve(0)
		return nil
	}
	ws := g.table.waiters
	var again []*Waiter
	ws.mu.Lock()
	for _, p := range g.pins {
		w := p.waiter
		switch {
		case p.parked && err != nil: // its edit tells it
			ws.leave(w)
			w.state = trying
		case p.parked && !w.served:
			w.parked = true
			ended, again = ws.unpin(w, ended, again)
		case p.parked:
			w.parked = true // the pin that has served it follows
		case w.state == pinned:
			result := err
			if result == nil && g.refused[w] {
				result = fault.ErrLargeCollection
			}
			ws.remove(w, result)
			ended = append(ended, w)
		}
	}
	ws.mu.Unlock()
	g.pins = nil
	lookAgain(again)
	return ended
}

// lookAgain serves waiters that another group came to while they were pinned.
func lookAgain(list []*Waiter) {
	for _, w := range list {
		w.table.serveKeys(w.Keys)
	}
}

// serveKeys lets the waiters for keys take what is there.
func (t *Table) serveKeys(keys [][]byte) {
	t.Start(t.own(&Edit{Keys: keys, Part: true, Run: func(*View) {}}), func(*Edit) {})
}

// own has the events of an edit published that this package begins itself. Those of the
// waiters that it serves are among them.
func (t *Table) own(e *Edit) *Edit {
	if o := t.waiters.others.Load(); o != nil && o.Events != nil {
		o.Events(t.engine.Name(), e)
	}
	return e
}

// isAwaited reports whether there is a waiter for a key.
func (t *Table) isAwaited(key []byte) bool {
	if t.inLine.Load() == 0 {
		return false
	}
	t.waiters.mu.Lock()
	defer t.waiters.mu.Unlock()
	return t.lines[string(key)] != nil
}

// isAwaitedFor reports whether a waiter for a key takes what an entry of a kind holds.
func (t *Table) isAwaitedFor(key []byte, kind values.Kind) bool {
	t.waiters.mu.Lock()
	defer t.waiters.mu.Unlock()
	l := t.lines[string(key)]
	if l == nil {
		return false
	}
	for at := l.waiters.Front(); at != nil; at = at.Next() {
		if at.Value.(*Waiter).Kind == kind {
			return true
		}
	}
	return false
}

// ready is Waiters.Ready.
func (t *Table) ready(hash int64) {
	if t.inLine.Load() == 0 {
		return
	}
	t.waiters.mu.Lock()
	var keys [][]byte
	for _, l := range t.byHash[hash] {
		keys = append(keys, []byte(l.key))
	}
	t.waiters.mu.Unlock()
	for _, key := range keys {
		t.serveKeys([][]byte{key})
	}
}

// lookKeys bounds the keys of one statement of Look.
const lookKeys = 256

// Look asks which of the keys that are waited for hold something, and serves those.
func (t *Table) Look() {
	if t.inLine.Load() == 0 {
		return
	}
	t.waiters.mu.Lock()
	keys := make([][]byte, 0, len(t.lines))
	for key := range t.lines {
		keys = append(keys, []byte(key))
	}
	t.waiters.mu.Unlock()
	for len(keys) > 0 {
		n := min(len(keys), lookKeys)
		call := &verb.Call{Verb: statement.Probe, Keys: keys[:n:n], Held: true, Fresh: true}
		t.engine.Start(call, t.found)
		keys = keys[n:]
	}
}

// found serves the keys of which a probe has found something. If the table is on another
// server by now, its waiters end: one that was looking when it left is in line here since.
func (t *Table) found(c *verb.Call) {
	if fault.IsElsewhere(c.Err) || t.moves() && fault.IsMoved(c.Err) {
		t.waiters.End(t.engine, c.Err)
	}
	if c.Err != nil {
		return // the next one asks again
	}
	for i := range c.Entries {
		if entry := &c.Entries[i]; entry.Found && t.isAwaitedFor(c.Keys[i], values.Kind(entry.Kind)) {
			t.serveKeys([][]byte{c.Keys[i]})
		}
	}
}

// moves reports whether the table is that of a partition that may move to another server.
func (t *Table) moves() bool { return t.engine.Partition() >= 0 && len(*t.waiters.sets.Load()) > 1 }

// made returns the hashes of the entries that the group has made lists or sorted sets, if
// other servers are to know.
func (g *group) made(err error) (hashes []int64) {
	o := g.table.waiters.others.Load()
	if err != nil || o == nil || len(g.stored) == 0 || !o.Elsewhere() {
		return nil
	}
	for i := range g.stored {
		c := &g.stored[i]
		l := &g.loaded[c.index]
		if !c.delete && isWaitable(values.Kind(c.kind)) && (!l.found || l.kind != c.kind) {
			hashes = append(hashes, g.table.engine.Set().Hash(g.keys[c.index]))
		}
	}
	return hashes
}

// announce tells the other servers what made has returned.
func (g *group) announce(hashes []int64) {
	for _, hash := range hashes {
		g.table.waiters.others.Load().Announce(g.table.engine.Name(), hash)
	}
}
