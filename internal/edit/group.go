package edit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// group is edits that share a load and a commit: those of one key that waited at the
// same time, or a single one of several keys.
//
// Its life is a chain of callbacks, one at a time:
//
//	granted ── load ──> loaded ── run ──> commit ──> committed ──> finish
//	              ^                                      │
//	              └──────────── somebody was faster ─────┘
//
// Where all of that is quick, one call does it from the load to the commit: see alter.
type group struct {
	table *Table
	hold  coalesce.Op
	keys  [][]byte

	edits  []*Edit // guarded by Table.mu until the group is sealed
	sealed bool    // guarded by Table.mu: nobody joins any more
	asked  int     // how many edits there were when the load began
	late   bool    // more have joined since

	call    verb.Call
	loaded  []loaded  // one for each of keys
	first   [1]loaded // backs loaded
	ended   func()    // what alter has found out, if that is nothing to store
	stores  bool      // alter has made the call a commit
	apart   bool      // the load and the commit are calls of their own
	tries   int
	spent   int64            // nanoseconds that the functions have taken
	ran     int64            // since when they have taken more, by coalesce.Now
	pins    []pin            // what it has done with waiters
	refused map[*Waiter]bool // that are to end without being served
	stored  []change         // what it has sent since its last load
	wrote   [][]byte         // the keys that its functions may have written, in their order; if servesLater
	remover *Edit            // the last one whose function has ended the entry; nil: none has
	grows   bool             // a function may have made the cache larger
	full    bool             // the cache refused to grow
	locked  bool             // in a transaction that holds the rows
	quick   bool             // the functions run on the goroutine of a flight

	sent   int64 // when its first statement was sent; 0: none was
	waited bool  // another transaction held what it needs

	servesLater bool // in a transaction of the caller, which has waiters served at its end
}

// loaded is what was found under a key.
type loaded struct {
	found   bool
	version int64
	kind    int16
	value   []byte
	expires int64 // milliseconds since 1970; 0: never
}

// granted begins the work of a group that holds its keys.
func (g *group) granted(err error) {
	if err != nil {
		g.table.seal(g)
		g.finish(err)
		return
	}
	if len(g.keys) == 0 {
		g.table.seal(g)
		go g.run() // it asks for its keys as it goes
		return
	}
	g.load()
}

// How often a group looks whether what its callers began before is over, and for how
// long.
const (
	earlierStep = 200 * time.Microsecond
	maxEarlier  = 50 * time.Millisecond
)

// loadLater loads when what the callers began before their edits is over: a write of
// a key that has not been named may be among it. Where that lasts, it may wait for
// this group.
func (g *group) loadLater(began time.Time) {
	waits := slices.ContainsFunc(g.edits, func(e *Edit) bool { return e.Earlier != nil && !e.Earlier() })
	switch {
	case !waits:
		g.load()
	case time.Since(began) > maxEarlier:
		g.release(fault.ErrOverloaded)
	default:
		time.AfterFunc(earlierStep, func() { g.loadLater(began) })
	}
}

// load asks for the entries of all keys, past what is in memory.
func (g *group) load() {
	g.table.mu.Lock()
	g.asked = len(g.edits)
	slow := g.isSlow()
	traces := g.traces()
	g.table.mu.Unlock()
	g.call = verb.Call{Held: true, Traces: traces}
	g.loadBy(&g.call)
	g.ended, g.stores = nil, false
	if len(g.keys) == 1 && !slow && !g.apart {
		g.call.Alter = g.alter
	}
	g.table.engine.Start(&g.call, g.onLoad)
}

// traces are those of all edits.
func (g *group) traces() (all []context.Context) {
	for _, e := range g.edits {
		all = append(all, e.Traces...)
	}
	return all
}

// isSlow reports whether one of the functions may take long.
func (g *group) isSlow() bool {
	return slices.ContainsFunc(g.edits, func(e *Edit) bool { return e.Slow })
}

// loadBy makes a call the one that reads the entries of all keys, in one snapshot.
func (g *group) loadBy(call *verb.Call) {
	call.AnyKind, call.Fresh = true, true
	if len(g.keys) == 1 {
		call.Verb, call.Key = statement.GetEntry, g.keys[0]
	} else {
		call.Verb, call.Keys = statement.GetMany, g.keys
	}
}

// smallCommit is up to how many bytes a value is stored by the flight that has loaded
// it. Nobody has counted them when the flight took its calls.
const smallCommit = 4 << 10

// alter runs the functions of a group of one key on the goroutine of the flight that has
// loaded the entry, and makes the call the one that stores what they changed. Flights
// are so as full as those of plain sets are, and a group has to wait for one. It returns
// false if there is nothing to store, or if that is not so quick.
func (g *group) alter(c *verb.Call) bool {
	g.table.seal(g)
	g.late = len(g.edits) > g.asked
	if g.take(c) > smallCommit || g.isSlow() || !g.prepare() {
		return false
	}
	g.quick = true
	changes, missing, err := g.apply()
	if err != nil || len(missing) > 0 || len(changes) == 0 || len(changes[0].value) > smallCommit || g.hasEffects() {
		g.ended = func() { g.conclude(changes, missing, err) }
		return false
	}
	c.AnyKind, c.Fresh = false, false
	g.commitBy(c, changes)
	g.stores = true
	return true
}

// largeLoad is from how many bytes on values are not decoded on the goroutine that
// carries the answers of others.
const largeLoad = 32 << 10

func (g *group) onLoad(c *verb.Call) {
	g.noteTiming(c)
	switch {
	case g.stores:
		g.onCommit(c)
		return
	case g.ended != nil && c.Err == nil:
		g.ended()
		return
	case errors.Is(c.Err, fault.ErrUnavailable) && !g.apart:
		g.apart = true // a flight of reads asks again if its connection was dead
		g.load()
		return
	}
	g.table.seal(g)
	if c.Err != nil {
		g.release(c.Err)
		return
	}
	g.late = len(g.edits) > g.asked
	if g.quick = g.take(c) <= largeLoad && !g.isSlow(); g.quick {
		g.run()
	} else {
		go g.run()
	}
}

// take keeps what a load has found, and returns its bytes.
func (g *group) take(c *verb.Call) (size int) {
	g.loaded, g.stored = g.loaded[:0], nil
	if g.loaded == nil {
		g.loaded = g.first[:0]
	}
	for i := range g.keys {
		entry := &c.Result
		if c.Entries != nil {
			entry = &c.Entries[i]
		}
		l := loaded{found: entry.Found, version: entry.Version, kind: entry.Kind, value: entry.Value}
		if !entry.ExpiresAt.IsZero() {
			l.expires = entry.ExpiresAt.UnixMilli()
		}
		g.table.engine.NoteTime(entry.Now)
		size += len(l.value)
		g.loaded = append(g.loaded, l)
	}
	return size
}

// run runs the functions and commits what they changed.
func (g *group) run() {
	if !g.prepare() {
		g.release(nil)
		return
	}
	g.runAll()
}

// prepare ends the edits that are not to run, and reports whether any is.
func (g *group) prepare() bool {
	g.dropLeft()
	full := g.table.engine.Table().Full
	for _, e := range g.edits {
		if full && e.Room {
			e.Err = fault.ErrCacheFull
		}
	}
	return len(g.edits) > 0
}

// runAll runs the functions of the edits that have not failed.
func (g *group) runAll() {
	changes, missing, err := g.apply()
	g.spend()
	g.conclude(changes, missing, err)
}

// conclude goes on with what the functions left, or asked for.
func (g *group) conclude(changes []change, missing [][]byte, err error) {
	switch {
	case err == ErrSlow:
		g.quick = false
		go g.runAll()
	case err != nil:
		g.release(err)
	case len(missing) > 0:
		g.keys = distinct(append(append([][]byte(nil), g.keys...), missing...))
		g.loadLater(time.Now())
	case len(changes) == 0 && g.late:
		g.load() // an edit has joined since, and must see what was there when it came
	case len(changes) == 0:
		g.release(nil) // all entries were read at one moment
	default:
		g.commit(changes)
	}
}

// maxSpent bounds the time that the functions of a group take in all, beside the time
// of their edits: that of three scripts which run as long as they may.
const maxSpent = 15 * time.Second

// spend gives the edits the time that their functions have taken: their own time is for
// PostgreSQL and for others who change the entries.
func (g *group) spend() {
	now := coalesce.Now()
	took := min(now-g.ran, int64(maxSpent)-g.spent)
	g.ran = now
	g.spent += took
	for _, e := range g.edits {
		if e.deadline != 0 {
			e.deadline += took
		}
	}
}

var errLate = fault.Timeout("others keep changing the entries, or earlier calls for the same keys took the time; nothing was changed", nil)

// dropLeft ends the edits whose callers have left, or whose time is up. What the run before
// did with waiters is taken back first: an edit that is dropped may have put one in line.
func (g *group) dropLeft() {
	g.unserve(0)
	kept := g.edits[:0]
	for _, e := range g.edits {
		switch {
		case !e.begin():
			e.end(g)
		case e.late():
			e.Err = errLate
			e.end(g)
		default:
			kept = append(kept, e)
		}
	}
	g.edits = kept
}

// onCommit ends the group, or begins it again if somebody was faster.
func (g *group) onCommit(c *verb.Call) {
	g.noteTiming(c)
	switch {
	case c.Err != nil:
		g.release(c.Err)
	case c.Status == verb.OK:
		g.release(nil)
	case c.Status == verb.NotStored:
		g.again()
	case c.Status == verb.CacheFull:
		g.refuseRoom()
	default:
		g.release(c.Status.Err())
	}
}

// maxRaces is how often a group may lose against others before it locks its keys.
const maxRaces = 3

// again loads and runs once more. A group that has lost several times keeps others
// away: where many processes change one key, it would else lose for long.
func (g *group) again() {
	if g.tries++; g.tries < maxRaces {
		g.load()
		return
	}
	go g.runLocked()
}

// refuseRoom ends the edits that need room in a cache that has none, and runs the
// others.
func (g *group) refuseRoom() {
	if g.full { // its functions know, and change nothing that needs room
		g.release(fault.ErrCacheFull)
		return
	}
	g.full = true
	for _, e := range g.edits {
		if e.Room {
			e.Err = fault.ErrCacheFull
		}
	}
	if g.quick {
		g.runAll()
	} else {
		go g.runAll()
	}
}

// release frees the keys and ends the group. Who has begun to wait is in line before
// another group has the keys.
func (g *group) release(err error) {
	if err == nil {
		g.publish()
	}
	served, made := g.settle(err), g.made(err)
	g.table.engine.Release(&g.hold)
	g.finish(err) // from here on the keys are their callers' again
	finishWaiters(served)
	g.announce(made)
}

// publish hands on the events of the edits that have ended well.
func (g *group) publish() {
	for _, e := range g.edits {
		if e.Err == nil && len(e.Events) > 0 && e.Committed != nil {
			e.Committed(e)
		}
	}
}

// finish answers the callers.
func (g *group) finish(err error) {
	for _, e := range g.edits {
		if e.Err == nil {
			e.Err = err
			e.Stored = err == nil && len(g.stored) > 0
		}
		e.end(g)
	}
}
