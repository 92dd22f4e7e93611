package edit

import (
	"container/list"
	"errors"
	"math"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/internal/values"
)

// ErrNothingCame is the error of a waiter whose time is up.
var ErrNothingCame = errors.New("edit: nothing came in time")

// Waiter is a caller that is blocked until one of its keys holds something for it. It
// costs neither a goroutine nor a connection. The package comment says how it is served.
type Waiter struct {
	// All is the waiters of its database.
	All *Waiters
	// Keys are those that it waits for, in the order in which it wants them, and Kind is
	// what it takes from them. They and their bytes must not change before its end.
	Keys [][]byte
	Kind values.Kind
	// Target is a key that Run changes besides. Default: none.
	Target []byte
	// Bytes and Room are those of the edit that looks first whether there is something.
	Bytes int
	Room  bool
	// Writer is the client that waits, if it tracks keys: what the edit takes that looks
	// first is its own change. Default: none.
	Writer *tracking.Client
	// Caller is that of the edit that looks first.
	Caller observe.Caller
	// Timeout is how long it waits. Default: without end.
	Timeout time.Duration
	// Run takes from the first of keys, which are some of Keys, that holds something. It
	// reports false if none does. It may run again, as [Edit.Run]; the last run counts.
	Run func(v *View, keys [][]byte) (served bool)

	// Locked is set when the waiter is done: another transaction held what it needed
	// before it waited.
	Locked bool

	// Err is set when the waiter is done: nil if the last Run has served it,
	// ErrNothingCame, what was given to Leave, or an error of [Edit.Err]. After
	// ErrUnknownOutcome something may have been taken for it.
	Err error

	done     func(*Waiter)
	table    *Table
	edit     Edit
	answered bool // what Run returned last in edit

	// Guarded by Waiters.mu.
	state    waiterState
	by       *group  // that has it pinned
	fresh    bool    // by has put it in line, and has not ended
	served   bool    // by has served it
	parked   bool    // it was in line when its edit ended
	passed   bool    // another group came to it while it was pinned
	leaving  error   // with what it ends instead of being in line unpinned
	left     bool    // it is not even to try
	places   []place // one for each of its keys
	deadline int64   // by coalesce.Now; 0: none
	index    int     // in Waiters.timeouts, from 1 on; 0: it is not there
}

// waiterState says whether a waiter may be served, or end otherwise.
type waiterState uint8

const (
	trying  waiterState = iota // its edit has not ended
	blocked                    // it is in line
	pinned                     // it is in line, and what a group does with it is not decided
	over
)

// place is that of a waiter in the line of a key.
type place struct {
	line    *line
	element *list.Element
}

// Wait begins a waiter: an edit looks whether one of its keys holds something, and if
// none does it stands in line until an edit leaves something there. done is called
// exactly once, on another goroutine or before Wait returns. It must be quick and must
// not block.
func (t *Table) Wait(w *Waiter, done func(*Waiter)) {
	w.begin(t, done)
	if w.Timeout > 0 && w.deadline == 0 {
		now := coalesce.Now()
		w.deadline = now + min(int64(w.Timeout), math.MaxInt64-now)
	}
	keys := w.Keys
	if w.Target != nil {
		keys = append(append([][]byte(nil), keys...), w.Target)
	}
	w.edit = Edit{Keys: keys, Bytes: w.Bytes, Room: w.Room, Writer: w.Writer, Caller: w.Caller, Part: true, Run: w.try}
	t.Start(t.own(&w.edit), w.tried)
}

// begin readies a waiter, also one that has ended because its keys are elsewhere: then it
// keeps its deadline, and what it was told to leave with.
func (w *Waiter) begin(t *Table, done func(*Waiter)) {
	w.All.mu.Lock()
	defer w.All.mu.Unlock()
	if w.state == over && w.leaving == w.Err {
		w.leaving = nil
	}
	w.table, w.done, w.state, w.parked, w.Err = t, done, trying, false, nil
}

// try is the function of the edit that begins a waiter.
func (w *Waiter) try(v *View) {
	w.answered = false
	if w.All.hasLeft(w) {
		return
	}
	if w.answered = w.Run(v, w.Keys); !w.answered && !v.Missed() && !v.undone {
		v.group.park(w)
	}
}

// tried ends a waiter that is not in line when its edit has ended.
func (w *Waiter) tried(e *Edit) {
	ws := w.All
	ws.mu.Lock()
	if w.parked {
		ws.mu.Unlock()
		return
	}
	w.state, w.Locked = over, e.Locked
	if w.Err = e.Err; e.Err == nil && !w.answered {
		w.Err = w.leaving
	}
	ws.mu.Unlock()
	w.done(w)
}

// Leaving says which waiters Waiter.Leave ends.
type Leaving uint8

// The values of Leaving.
const (
	IfInLine  Leaving = iota // one that is in line, and that nothing is being stored for
	IfItWaits                // as IfInLine, at once or when it comes to that
	InAnyCase                // as IfItWaits, and one that has not tried does not try
)

// Leave ends a waiter with an error, and reports whether it does, at once or when the edit
// has ended that put it in line.
func (w *Waiter) Leave(err error, which Leaving) bool {
	ws := w.All
	ws.mu.Lock()
	if w.state == blocked {
		ws.remove(w, err)
		ws.mu.Unlock()
		w.done(w)
		return true
	}
	defer ws.mu.Unlock()
	entered := w.state == pinned && w.fresh && !w.served
	if (entered || which != IfInLine) && w.leaving == nil {
		w.leaving = err
	}
	w.left = w.left || entered || which == InAnyCase
	return entered && w.leaving == err
}

// IsInLine reports whether a waiter waits.
func (w *Waiter) IsInLine() bool {
	w.All.mu.Lock()
	defer w.All.mu.Unlock()
	return w.state == blocked || w.state == pinned
}

// HasWaited reports whether a waiter was in line when its edit had ended.
func (w *Waiter) HasWaited() bool {
	w.All.mu.Lock()
	defer w.All.mu.Unlock()
	return w.parked
}
