package edit

import (
	"bytes"
	"container/list"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
)

// Others are the other servers of the database, as far as waiters need them. All
// functions are called on goroutines that must not be held up.
type Others struct {
	// Elsewhere reports whether another server may have waiters.
	Elsewhere func() bool
	// Announce tells the other servers that an entry of a cache has become a list or a
	// sorted set. They call Waiters.Ready.
	Announce func(cache string, hash int64)
	// Waits is told when this server gets its first waiter, each second while it has any,
	// and when it has lost its last one. It must not call methods of Waiters. Default:
	// none.
	Waits func(bool)
	// Events has the events of an edit published that this package begins itself: for a
	// caller that waits, or to serve those that do. Default: they are not.
	Events func(cache string, e *Edit)
}

// Waiters is what the waiters of all caches of a database share.
type Waiters struct {
	sets   atomic.Pointer[[]*engine.Set] // one for each server of the database
	others atomic.Pointer[Others]
	first  chan struct{} // gets a value when there is a waiter after a time without

	mu       sync.Mutex
	closed   bool
	count    int // of waiters in line
	timeouts timeouts
}

// WaitersOf returns the waiters of all caches of a set of engines.
func WaitersOf(set *engine.Set) *Waiters {
	return set.Companion(func() any {
		ws := &Waiters{first: make(chan struct{}, 1)}
		ws.sets.Store(&[]*engine.Set{set})
		ws.timeouts.expire = ws.expire
		return ws
	}).(*Waiters)
}

// Include makes the waiters of another set of engines, of which none was used, some of
// these: that of another server of PostgreSQL with partitions of the same caches.
func (ws *Waiters) Include(set *engine.Set) {
	set.Companion(func() any { return ws })
	ws.mu.Lock()
	defer ws.mu.Unlock()
	sets := append(slices.Clone(*ws.sets.Load()), set)
	ws.sets.Store(&sets)
}

// Exclude ends what Include began. Waiters end with fault.ErrElsewhere, also those that are in
// line only later.
func (ws *Waiters) Exclude(set *engine.Set) {
	ws.mu.Lock()
	sets := slices.DeleteFunc(slices.Clone(*ws.sets.Load()), func(s *engine.Set) bool { return s == set })
	ws.sets.Store(&sets)
	ws.mu.Unlock()
	for _, e := range set.All() {
		ws.End(e, fault.ErrElsewhere)
	}
}

// includes reports whether the waiters of a set of engines are some of these.
func (ws *Waiters) includes(set *engine.Set) bool { return slices.Contains(*ws.sets.Load(), set) }

// End ends the waiters of one engine with an error. What is pinned ends with its group.
func (ws *Waiters) End(e *engine.Engine, err error) {
	ws.mu.Lock()
	ended := ws.endAll(Of(e).inLines(), err)
	ws.mu.Unlock()
	finishWaiters(ended)
}

// inLines are the waiters of a table. Waiters.mu is held.
func (t *Table) inLines() (list []*Waiter) {
	for _, l := range t.lines {
		for at := l.waiters.Front(); at != nil; at = at.Next() {
			list = append(list, at.Value.(*Waiter))
		}
	}
	return list
}

// engines are those of all servers.
func (ws *Waiters) engines() (all []*engine.Engine) {
	for _, set := range *ws.sets.Load() {
		all = append(all, set.All()...)
	}
	return all
}

// known calls fn with the engines of a cache, or of a partition: it may have moved from one
// server to another.
func (ws *Waiters) known(cache string, fn func(*Table)) {
	for _, set := range *ws.sets.Load() {
		if e := set.Known(cache); e != nil {
			fn(Of(e))
		}
	}
}

// Connect names the other servers. Default: there are none, and what they leave is found
// by Run alone.
func (ws *Waiters) Connect(o Others) { ws.others.Store(&o) }

// Count is how many callers wait.
func (ws *Waiters) Count() int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.count
}

// Timed is how many of them have a timeout.
func (ws *Waiters) Timed() int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return len(ws.timeouts.list)
}

// Close ends all waiters with ErrClosed. What is pinned ends with its group.
func (ws *Waiters) Close() {
	ws.mu.Lock()
	ws.closed = true
	ws.timeouts.stop()
	var ended []*Waiter
	for _, e := range ws.engines() {
		ended = append(ended, Of(e).inLines()...)
	}
	ended = ws.endAll(ended, fault.ErrClosed)
	ws.mu.Unlock()
	finishWaiters(ended)
}

// endAll ends those of the waiters that are in line, and returns them. The others end
// when they are pinned no more. ws.mu is held.
func (ws *Waiters) endAll(list []*Waiter, err error) (ended []*Waiter) {
	for _, w := range list {
		switch w.state {
		case blocked:
			ws.remove(w, err)
			ended = append(ended, w)
		case pinned:
			w.leaving = err
		}
	}
	return ended
}

// expire ends the waiters whose time is up.
func (ws *Waiters) expire() {
	ws.mu.Lock()
	ended := ws.endAll(ws.timeouts.due(), ErrNothingCame)
	ws.mu.Unlock()
	finishWaiters(ended)
}

// finishWaiters answers waiters that are over.
func finishWaiters(list []*Waiter) {
	for _, w := range list {
		w.done(w)
	}
}

// hasLeft reports whether a waiter is not to try.
func (ws *Waiters) hasLeft(w *Waiter) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return w.left
}

// line is the waiters for one key, in the order in which they came.
type line struct {
	key     string
	hash    int64
	waiters list.List
}

// enter puts a waiter in line for its keys, pinned by a group. ws.mu is held.
func (ws *Waiters) enter(w *Waiter, by *group) {
	t := w.table
	w.state, w.by, w.fresh, w.served, w.passed = pinned, by, true, false, false
	for _, key := range distinct(w.Keys) {
		l := t.lines[string(key)]
		if l == nil {
			l = &line{key: string(key), hash: t.engine.Set().Hash(key)}
			if t.lines == nil {
				t.lines, t.byHash = make(map[string]*line), make(map[int64][]*line)
			}
			t.lines[l.key] = l
			t.byHash[l.hash] = append(t.byHash[l.hash], l)
		}
		w.places = append(w.places, place{l, l.waiters.PushBack(w)})
	}
	t.inLine.Add(1)
	ws.counted(1)
}

// leave takes a waiter out of all lines. ws.mu is held.
func (ws *Waiters) leave(w *Waiter) {
	t := w.table
	for _, p := range w.places {
		if p.line.waiters.Remove(p.element); p.line.waiters.Len() > 0 {
			continue
		}
		delete(t.lines, p.line.key)
		left := slices.DeleteFunc(t.byHash[p.line.hash], func(l *line) bool { return l == p.line })
		if t.byHash[p.line.hash] = left; len(left) == 0 {
			delete(t.byHash, p.line.hash)
		}
	}
	w.places, w.by, w.fresh, w.served = nil, nil, false, false
	ws.timeouts.remove(w)
	t.inLine.Add(-1)
	ws.counted(-1)
}

// remove ends a waiter. done must follow, without ws.mu, which is held.
func (ws *Waiters) remove(w *Waiter, err error) {
	ws.leave(w)
	w.state, w.Err = over, err
}

// counted counts those in line, and tells who wants to know. ws.mu is held.
func (ws *Waiters) counted(n int) {
	before := ws.count
	ws.count += n
	if (before == 0) == (ws.count == 0) {
		return
	}
	if ws.count > 0 {
		select {
		case ws.first <- struct{}{}:
		default:
		}
	}
	if o := ws.others.Load(); o != nil && o.Waits != nil {
		o.Waits(ws.count > 0)
	}
}

// claim pins up to n waiters for a key for a group, the longest waiting first. Those
// that another group has pinned are passed over, and will look again.
func (ws *Waiters) claim(t *Table, key []byte, kind values.Kind, n int, by *group) (claimed []*Waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	l := t.lines[string(key)]
	if l == nil {
		return nil
	}
	for at := l.waiters.Front(); at != nil && len(claimed) < n; at = at.Next() {
		w := at.Value.(*Waiter)
		switch {
		case w.Kind != kind:
		case w.state == blocked:
			w.state, w.by, w.served = pinned, by, true
			claimed = append(claimed, w)
		case w.by == by && !w.served && w.leaving == nil:
			w.served = true
			claimed = append(claimed, w)
		case w.by != by:
			w.passed = true
		}
	}
	return claimed
}

// unpin puts a waiter that was not served back into its place, and appends it to ended
// or to again if it ends, or has to look again. ws.mu is held.
func (ws *Waiters) unpin(w *Waiter, ended, again []*Waiter) (_, _ []*Waiter) {
	w.state, w.by, w.fresh, w.served = blocked, nil, false, false
	err := w.leaving
	switch {
	case ws.closed:
		err = fault.ErrClosed
	case err == nil && !ws.includes(w.table.engine.Set()):
		err = fault.ErrElsewhere
	}
	switch {
	case err != nil:
		ws.remove(w, err)
		return append(ended, w), again
	case w.deadline != 0 && w.index == 0:
		ws.timeouts.add(w)
	}
	if w.passed {
		w.passed = false
		again = append(again, w)
	}
	return ended, again
}

// Run asks, each second while there are waiters, for the keys that are waited for, until ctx
// ends: something may have come from SQL, from a transaction, or from a server that
// could not say so.
func (ws *Waiters) Run(ctx context.Context) {
	ws.look(ctx) // they may have come before
	for {
		select {
		case <-ctx.Done():
			return
		case <-ws.first:
			ws.look(ctx)
		}
	}
}

// lookEvery is how long something stays unnoticed at most.
const lookEvery = time.Second

// look calls Look each second until there are no waiters.
func (ws *Waiters) look(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for ws.Count() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		ws.remind()
		ws.Look()
	}
}

// remind tells others again that there are waiters: they could not be told, perhaps.
func (ws *Waiters) remind() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if o := ws.others.Load(); ws.count > 0 && o != nil && o.Waits != nil {
		o.Waits(true)
	}
}

// Look asks which of the keys that are waited for hold something, and serves those.
func (ws *Waiters) Look() {
	for _, e := range ws.engines() {
		Of(e).Look()
	}
}

// Came has waiters served for a key under which a list or a sorted set may have come
// without an edit, those of other servers included. The waiters of this one are before
// those who use the key from now on.
func (ws *Waiters) Came(cache string, key []byte) {
	ws.known(cache, func(t *Table) {
		if t.isAwaited(key) {
			t.serveKeys([][]byte{bytes.Clone(key)})
		}
	})
	if o := ws.others.Load(); o != nil && o.Elsewhere() {
		o.Announce(cache, (*ws.sets.Load())[0].Hash(key))
	}
}

// Ready serves the waiters for an entry that another server has changed.
func (ws *Waiters) Ready(cache string, hash int64) {
	ws.known(cache, func(t *Table) { t.ready(hash) })
}
