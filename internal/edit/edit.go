package edit

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// Edit is a function over the entries of some keys.
type Edit struct {
	// Keys are those that Run will certainly ask for. They and their bytes must not
	// change until the edit is done.
	Keys [][]byte
	// Bytes is what the arguments take, the keys included. Edits that wait count it
	// towards the bound of the queue, as writes do.
	Bytes int
	// Room says that the edit may make a cache larger. One that is full refuses it.
	Room bool
	// Slow says that Run may take long: it then has a goroutine of its own. Set too
	// when Run has said so with ErrSlow.
	Slow bool
	// Earlier reports whether what its caller began before this edit is over; nil: it
	// is. Keys that Run asks for besides Keys are not loaded before.
	Earlier func() bool
	// Writer is the client whose command this is, if it tracks keys; nil: none.
	Writer *tracking.Client
	// Caller is who calls, and by which command, for what is remembered of it.
	Caller observe.Caller
	// Part says that the edit is a part of something that is timed as a whole.
	Part bool
	// Run is the function. It runs again, over fresh entries, if somebody else
	// changed one meanwhile, or if it asked for a key that was not loaded. Nothing
	// that it learnt counts until the edit is done without an error.
	Run func(*View)

	// Traces is verb.Call.Traces.
	Traces []context.Context

	// Wants are the classes of the events that Run is to name; 0: none.
	Wants values.Class
	// Events are what Run has named. They have happened when the edit is done without an
	// error.
	Events []values.Event
	// Committed is called before another call of this process can use the keys, if the
	// edit ended without an error and has named events. It must be quick.
	Committed func(*Edit)

	// Effect is set by Run, which has none at its beginning: what else happens if, and only if,
	// what Run has changed is stored. DoIn leaves it to its caller.
	Effect *Effect

	// Stored is set when the edit is done: it, or another one of its group, was stored.
	Stored bool

	// Left is set by DoIn: the keys under which Run has left a list or a sorted set, in the
	// order in which waiters are to be served from them.
	Left [][]byte

	// Locked is set when the edit is done: another transaction held what it needed.
	Locked bool

	// Err is set when the edit is done. Errors: ErrTimeout (nothing was changed),
	// ErrUnknownOutcome, ErrUnavailable, ErrCacheFull, ErrCollision,
	// ErrValueTooLarge, ErrLargeCollection, ErrOverloaded, ErrClosed,
	// ErrKeyTooLong, and what the function gave to View.Undo.
	Err error

	done     func(*Edit)
	began    int64
	deadline int64
	state    atomic.Int32
}

// Effect is what an edit adds to the transaction that stores it.
type Effect struct {
	Set *engine.Set // where Write can be used; an edit that is stored elsewhere is stored without it
	Due func() bool // whether Write is needed now. It does not block

	// Begin is called before a transaction in which Write is called.
	Begin func(context.Context) error

	// Write is called in the transaction, before its commit; again if that is repeated.
	Write func(context.Context, pgx.Tx) error
}

// The states of an edit: whether its caller may still leave without effect.
const (
	waiting int32 = iota
	running
	left
)

// begin reports whether Run may be called: its caller has not left.
func (e *Edit) begin() bool {
	return e.state.CompareAndSwap(waiting, running) || e.state.Load() == running
}

// leave reports that the edit will never run.
func (e *Edit) leave() bool { return e.state.CompareAndSwap(waiting, left) }

// end answers the caller.
func (e *Edit) end(g *group) {
	t := g.table
	g.noteSlow(e)
	t.engine.Unreserve(e.Bytes)
	e.done(e)
}

// late reports that the time of the edit is up. In a transaction its context has a deadline.
func (e *Edit) late() bool { return e.deadline != 0 && e.deadline <= coalesce.Now() }

// View is what an edit sees while it runs: the entries of its keys, and what the
// edits before it in its group did to them. It implements values.Keyspace.
type View struct {
	// Now is the time at which the edit runs, in milliseconds since 1970.
	Now int64
	// MaxString is the longest string that may be stored, in bytes.
	MaxString int64
	// Locked says that PostgreSQL holds the entries for this run: it must be short.
	Locked bool
	// Quick says that the run is on the goroutine that carries the answers of others:
	// what takes longer than commands do is to be undone with ErrSlow.
	Quick bool
	// Full says that the cache has no room: what would make it larger is to be refused.
	Full bool
	// Grows is set by a function that may have made the cache larger, where Edit.Room
	// does not say so.
	Grows bool

	group   *group
	entries map[string]*values.Entry
	single  bool         // there is one key, whose entry needs no map
	key     string       // it
	one     values.Entry // and its entry
	missing [][]byte
	running *Edit
	undone  bool
	err     error    // why, if undone
	written [][]byte // see Wrote

	expiries map[*values.Entry]expiry // that SetExpiry was given
}

// expiry is one that the database is to work out.
type expiry struct {
	at int64 // about when that is, in milliseconds since 1970; 0: never
	verb.Expiry
}

// SetExpiry says when an entry expires by the clock of the database. Entry.ExpiresAt
// becomes about that time, for the functions that run after this one.
func (v *View) SetExpiry(e *values.Entry, x verb.Expiry) {
	e.ExpiresAt = 0
	switch x.Kind {
	case verb.In:
		e.ExpiresAt = v.Now + x.Value/1000
	case verb.At:
		e.ExpiresAt = x.Value / 1000
	}
	v.give(e, expiry{e.ExpiresAt, x})
}

func (v *View) give(e *values.Entry, x expiry) {
	if v.expiries == nil {
		v.expiries = make(map[*values.Entry]expiry)
	}
	v.expiries[e] = x
}

// Notify returns what takes the events of the edit that runs, nil if nobody wants any. The
// key is copied.
func (v *View) Notify() func(class values.Class, name string, key []byte) {
	if v.running == nil || v.running.Wants == 0 {
		return nil
	}
	return v.running.name
}

// name takes an event, if somebody wants it.
func (e *Edit) name(class values.Class, name string, key []byte) {
	if e.Wants&class != 0 {
		e.Events = append(e.Events, values.Event{Class: class, Name: name, Key: string(key)})
	}
}

// Missed reports whether the function has asked for a key that is not loaded, and so
// runs again.
func (v *View) Missed() bool { return len(v.missing) > 0 }

// ErrSlow is given to View.Undo by a function that would take too long where View.Quick
// is set: it runs again, on a goroutine of its own.
var ErrSlow = errors.New("howdah: the function takes too long here")

// Undo ends the edit that runs with an error: nothing of what it did is stored. Where
// keys are missing (see Missed), err does not matter: the function runs again.
func (v *View) Undo(err error) {
	if _, away := v.err.(*ElsewhereError); away {
		return // what the function makes of the empty entry does not matter
	}
	v.undone, v.err = true, err
}

// ElsewhereError is the error of an edit that has asked for a key of another partition
// than that of its first key.
type ElsewhereError struct{ Key []byte }

func (e *ElsewhereError) Error() string { return fault.ErrCrossPartition.Error() }
func (e *ElsewhereError) Unwrap() error { return fault.ErrCrossPartition }

// ask notes a key that was not loaded.
func (v *View) ask(key []byte) {
	key = bytes.Clone(key)
	if !v.group.table.engine.Holds(key) {
		v.Undo(&ElsewhereError{key})
		return
	}
	v.missing = append(v.missing, key)
}

// find returns the entry of a key, nil if it was not loaded.
func (v *View) find(key []byte) *values.Entry {
	if v.single && string(key) == v.key {
		return &v.one
	}
	return v.entries[string(key)]
}

// Entry returns the entry of a key. For a key that was not loaded it returns an
// entry without a value; the function then runs again, and what it did is void.
func (v *View) Entry(key []byte) *values.Entry {
	if e := v.find(key); e != nil {
		return e
	}
	v.ask(key)
	return new(values.Entry)
}

// Wrote says that the function may have left something in the entries of keys, which it
// may change afterwards. Those who
// wait for several of them are served from the first one. Default: it left things in the
// order of Edit.Keys.
func (v *View) Wrote(keys ...[]byte) {
	if v.group.table.inLine.Load() == 0 && !v.group.servesLater {
		return
	}
	for _, key := range keys {
		v.written = append(v.written, bytes.Clone(key))
	}
}

// Version returns the version of a loaded entry, 0 if the key is absent or an edit
// before this one has changed it.
func (v *View) Version(key []byte) int64 {
	for i, k := range v.group.keys {
		if bytes.Equal(k, key) && !v.find(key).Changed {
			return v.group.loaded[i].version
		}
	}
	return 0
}

// Has reports whether the entries of all these keys are loaded. If it returns false,
// the function is to return: it runs again when they are.
func (v *View) Has(keys ...[]byte) bool {
	has := true
	for _, key := range keys {
		if v.find(key) == nil {
			v.ask(key)
			has = false
		}
	}
	return has
}
