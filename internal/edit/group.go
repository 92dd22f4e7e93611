package edit

import (
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
type group struct {
	table *Table
	hold  coalesce.Op
	keys  [][]byte

	edits  []*Edit // guarded by Table.mu until the group is sealed
	sealed bool    // guarded by Table.mu: nobody joins any more
	asked  int     // how many edits there were when the load began
	late   bool    // more have joined since

	call   verb.Call
	loaded []loaded // one for each of keys
	tries  int
	spent  int64 // nanoseconds that the functions have taken
	grows  bool  // a function may have made the cache larger
	full   bool  // the cache refused to grow
	locked bool  // in a transaction that holds the rows
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
	g.table.mu.Unlock()
	g.call = g.loadCall()
	g.call.Held = true
	g.table.engine.Start(&g.call, g.onLoad)
}

// loadCall is the call that reads the entries of all keys, in one snapshot.
func (g *group) loadCall() verb.Call {
	if len(g.keys) == 1 {
		return verb.Call{Verb: statement.GetEntry, Key: g.keys[0], AnyKind: true, Fresh: true}
	}
	return verb.Call{Verb: statement.GetMany, Keys: g.keys, AnyKind: true, Fresh: true}
}

// largeLoad is from how many bytes on values are not decoded on the goroutine that
// carries the answers of others.
const largeLoad = 32 << 10

func (g *group) onLoad(c *verb.Call) {
	g.table.seal(g)
	if c.Err != nil {
		g.release(c.Err)
		return
	}
	g.late = len(g.edits) > g.asked
	slow := g.take(c) > largeLoad
	for _, e := range g.edits {
		slow = slow || e.Slow
	}
	if slow {
		go g.run()
	} else {
		g.run()
	}
}

// take keeps what a load has found, and returns its bytes.
func (g *group) take(c *verb.Call) (size int) {
	g.loaded = g.loaded[:0]
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
	g.dropLeft()
	if len(g.edits) == 0 {
		g.release(nil)
		return
	}
	full := g.table.engine.Table().Full
	for _, e := range g.edits {
		if full && e.Room {
			e.Err = fault.ErrCacheFull
		}
	}
	g.runAll()
}

// runAll runs the functions of the edits that have not failed.
func (g *group) runAll() {
	began := coalesce.Now()
	changes, missing, err := g.apply()
	g.spend(coalesce.Now() - began)
	switch {
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
func (g *group) spend(took int64) {
	took = min(took, int64(maxSpent)-g.spent)
	g.spent += took
	for _, e := range g.edits {
		e.deadline += took
	}
}

var errLate = fault.Timeout("the entries keep changing, or functions before it took long; nothing was changed", nil)

// dropLeft ends the edits whose callers have left, or whose time is up.
func (g *group) dropLeft() {
	kept := g.edits[:0]
	for _, e := range g.edits {
		switch {
		case !e.begin():
			e.end(g.table)
		case e.late():
			e.Err = errLate
			e.end(g.table)
		default:
			kept = append(kept, e)
		}
	}
	g.edits = kept
}

// onCommit ends the group, or begins it again if somebody was faster.
func (g *group) onCommit(c *verb.Call) {
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
	g.runAll()
}

// release frees the keys and ends the group.
func (g *group) release(err error) {
	g.table.engine.Release(&g.hold)
	g.finish(err)
}

// finish answers the callers.
func (g *group) finish(err error) {
	for _, e := range g.edits {
		if e.Err == nil {
			e.Err = err
		}
		e.end(g.table)
	}
}
