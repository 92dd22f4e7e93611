package near

import (
	"time"
	"unsafe"
)

// Entry is what memory holds of a key. Value is shared: it must not be
// changed.
type Entry struct {
	Value   []byte
	Version int64
	Kind    int16
	Absent  bool      // there is no such entry
	Expires time.Time // by the clock of this process; zero: never
}

type entryKey struct {
	cache int32
	key   string
}

// keyOf is for looking up: it shares the memory of key.
func keyOf(cache int32, key []byte) entryKey {
	return entryKey{cache, unsafe.String(unsafe.SliceData(key), len(key))}
}

// item is an Entry with what its validity depends on. It is never changed. It
// has 80 bytes, so that a hit touches little memory.
type item struct {
	value   []byte
	version int64
	expires Instant // zero: never
	slot    uint32
	mark    uint32 // of the slot, before the read was sent
	gen     uint32 // of everything, likewise
	own     uint32 // generation of the cache, likewise
	since   uint32 // answers of the slot before the first one of these equal ones
	kind    int16
	absent  bool
	kept    bool // may be served; otherwise it only records an answer, see decide
}

// valid tells whether it may be served under a view, apart from the time.
// The view must have been loaded before everything else.
func (it *item) valid(c *Cache, v *view) bool {
	return it.mark == c.m.slots.load(it.slot).mark() && it.gen == v.gen && it.own == c.gen.Load() && it.kept &&
		!(v.stranded && c.durable.Load())
}

// entry is what the caller gets.
func (it *item) entry(m *Memory) Entry {
	e := Entry{Value: it.value, Version: it.version, Kind: it.kind, Absent: it.absent}
	if it.expires != (Instant{}) {
		e.Expires = m.base.Add(time.Duration(it.expires.mono))
	}
	return e
}

func (it *item) expired(now Instant) bool {
	return it.expires != Instant{} && !now.before(it.expires)
}

// Get returns the entry of a key. It allocates nothing, and keeps nothing of
// key.
func (c *Cache) Get(key []byte) (Entry, bool) {
	v := c.m.view.Load() // first: see the package comment
	it := c.find(v, key)
	if it == nil {
		return Entry{}, false
	}
	return c.serve(v, it, c.m.clock()) // the clock last
}

// GetAt is Get for a caller that reads the clock once for many requests, with
// Memory.Now, after it has received them all.
func (c *Cache) GetAt(now Instant, key []byte) (Entry, bool) {
	v := c.m.view.Load()
	it := c.find(v, key)
	if it == nil {
		return Entry{}, false
	}
	return c.serve(v, it, now)
}

// find returns the valid item of a key, or nil.
func (c *Cache) find(v *view, key []byte) *item {
	if !c.m.asked.Load() {
		c.m.ask()
	}
	it, ok := c.m.entries.GetIfPresent(keyOf(c.id, key))
	if !ok || !it.valid(c, v) {
		c.m.counts.misses.Add(1)
		return nil
	}
	return it
}

// serve checks the time.
func (c *Cache) serve(v *view, it *item, now Instant) (Entry, bool) {
	if !now.before(v.end) {
		c.m.counts.misses.Add(1)
		c.m.counts.lapsed.Add(1)
		return Entry{}, false
	}
	if it.expired(now) {
		c.m.counts.misses.Add(1)
		return Entry{}, false
	}
	c.m.counts.hit(it, now.since(v.asked))
	return it.entry(c.m), true
}

// ask says that polls are wanted, and wakes a follower that waits.
func (m *Memory) ask() {
	m.asked.Store(true)
	if m.idle.Load() {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}
