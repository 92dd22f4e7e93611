package redisapi

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// watchedKey is a key that WATCH was given.
type watchedKey struct {
	database int
	key      string
}

// watchState is what WATCH saw of a key.
type watchState struct {
	version int64       // 0 if the key was absent
	found   atomic.Bool // the key was found or written after WATCH
}

// watchSet holds the keys that one connection watches.
//
// Every write gives a key a new version, so a version shows whether an entry has
// changed. Absence has no version: a key that is created and removed again leaves
// no row. So keys that were absent stay in the registry of the engine, which marks
// them when a command of any of its clients finds or writes them.
type watchSet struct {
	registry *watchRegistry

	mu       sync.Mutex // Close may release the set while WATCH fills it
	released bool
	states   map[watchedKey]*watchState
	size     int // bytes
}

// add registers a key, before its version is read. It returns nil if the key is
// watched already: what the first WATCH saw counts.
func (w *watchSet) add(database int, key []byte) *watchState {
	w.mu.Lock()
	defer w.mu.Unlock()
	watched := watchedKey{database, string(key)}
	if w.states[watched] != nil {
		return nil
	}
	state := new(watchState)
	w.states[watched] = state
	w.size += watchedOverhead + len(key)
	if !w.released {
		w.registry.add(watched, state)
	}
	return state
}

// seen notes the version that WATCH read, 0 for an absent key.
func (w *watchSet) seen(database int, key []byte, state *watchState, version int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	state.version = version
	if version != 0 {
		w.registry.remove(watchedKey{database, string(key)}, state)
	}
}

// forget takes back an add: the version could not be read.
func (w *watchSet) forget(database int, key []byte, state *watchState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	watched := watchedKey{database, string(key)}
	delete(w.states, watched)
	w.size -= watchedOverhead + len(key)
	w.registry.remove(watched, state)
}

// changed reports whether a key that was absent was found after WATCH.
func (w *watchSet) changed() bool {
	if w == nil {
		return false
	}
	for _, state := range w.states {
		if state.version == 0 && state.found.Load() {
			return true
		}
	}
	return false
}

// has reports whether the key is watched already.
func (w *watchSet) has(database int, key []byte) bool {
	return w != nil && w.states[watchedKey{database, string(key)}] != nil
}

// bytes is the memory that the set takes.
func (w *watchSet) bytes() int {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

// release takes the keys out of the registry. A nil set has none.
func (w *watchSet) release() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.released = true
	for key, state := range w.states {
		if state.version == 0 {
			w.registry.remove(key, state)
		}
	}
}

// watchRegistry knows which connections of an engine watch absent keys.
type watchRegistry struct {
	count  atomic.Int64 // of states, so that commands need no lock while there are none
	mu     sync.RWMutex
	states map[watchedKey][]*watchState
}

func (r *watchRegistry) newSet() *watchSet {
	return &watchSet{registry: r, states: make(map[watchedKey]*watchState)}
}

func (r *watchRegistry) add(key watchedKey, state *watchState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.states == nil {
		r.states = make(map[watchedKey][]*watchState)
	}
	r.states[key] = append(r.states[key], state)
	r.count.Add(1)
}

func (r *watchRegistry) remove(key watchedKey, state *watchState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	states := r.states[key]
	i := slices.Index(states, state)
	if i < 0 {
		return
	}
	if states = slices.Delete(states, i, i+1); len(states) > 0 {
		r.states[key] = states
	} else {
		delete(r.states, key)
	}
	r.count.Add(-1)
}

// inUse reports whether a connection watches an absent key.
func (r *watchRegistry) inUse() bool { return r.count.Load() > 0 }

// found marks a key that a command has found or written.
func (r *watchRegistry) found(database int, key []byte) {
	if !r.inUse() {
		return
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, state := range r.states[watchedKey{database, string(key)}] {
		state.found.Store(true)
	}
}

// eachFound visits the keys of a finished call that it found or wrote. A write
// of unknown outcome counts as one.
func (r *request) eachFound(visit func(key []byte)) {
	call := &r.call
	if call.Err != nil {
		if !r.cmd.writes || !errors.Is(call.Err, fault.ErrUnknownOutcome) {
			return
		}
		if call.Keys == nil {
			visit(call.Key)
		}
		visitAll(call.Keys, visit)
		return
	}
	switch call.Verb {
	case statement.GetMany, statement.StatMany:
		for i := range call.Entries {
			if entry := &call.Entries[i]; entry.Found || entry.Kind != 0 {
				visit(call.Keys[i])
			}
		}
	case statement.SetMany, statement.SetManyIfAbsent:
		if call.Status == verb.OK {
			visitAll(call.Keys, visit)
		}
	case statement.DeleteMany: // returns how many keys existed, not which
	case statement.Release: // changes no value
	case statement.SetRange:
		if call.Status == verb.OK && call.Int > 0 {
			visit(call.Key)
		}
	default:
		refused := call.Status == verb.NotStored && call.Condition == verb.IfAbsent
		if call.Status == verb.OK || call.Status == verb.WrongType || refused {
			visit(call.Key)
		}
	}
}

func visitAll(keys [][]byte, visit func(key []byte)) {
	for _, key := range keys {
		visit(key)
	}
}
