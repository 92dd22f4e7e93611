package redisapi

// watchedKey is a key that WATCH was given.
type watchedKey struct {
	database int
	key      string
}

// watchState is what WATCH saw of a key. Every write gives a key a new version, so
// a version shows whether an entry has changed. Absence has one too, that of the row
// which statement.Watch leaves in the place of the key.
type watchState struct {
	version int64
	absent  bool
}

// watchSet holds the keys that one connection watches. It is changed as the session
// is, under the lock of the connection.
type watchSet struct {
	states map[watchedKey]watchState
	size   int // bytes
}

// add notes what WATCH saw of a key. If the key is watched already, what the first
// WATCH saw counts.
func (w *watchSet) add(database int, key []byte, state watchState) {
	if w.has(database, key) {
		return
	}
	w.states[watchedKey{database, string(key)}] = state
	w.size += watchedOverhead + len(key)
}

// has reports whether the key is watched already.
func (w *watchSet) has(database int, key []byte) bool {
	if w == nil {
		return false
	}
	_, watched := w.states[watchedKey{database, string(key)}]
	return watched
}

// bytes is the memory that the set takes.
func (w *watchSet) bytes() int {
	if w == nil {
		return 0
	}
	return w.size
}
