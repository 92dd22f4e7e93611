package near

import (
	"math/rand/v2"
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
	Expires time.Time // by the wall clock of this process; zero: never
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
func (it *item) entry() Entry {
	e := Entry{Value: it.value, Version: it.version, Kind: it.kind, Absent: it.absent}
	if it.expires != (Instant{}) {
		e.Expires = time.Unix(0, it.expires.wall)
	}
	return e
}

func (it *item) expired(now Instant) bool {
	return it.expires != Instant{} && !now.before(it.expires)
}

// Get returns the entry of a key. It allocates nothing, and keeps nothing of
// key.
func (c *Cache) Get(key []byte) (Entry, bool) {
	m := c.m
	v := m.view.Load() // first: see the package comment
	m.want()
	it := c.lookup(key)
	if it == nil || !it.valid(c, v) {
		m.counts.misses.Add(1)
		return Entry{}, false
	}
	now := m.clock() // after the call has begun
	if !now.before(v.end) {
		m.counts.misses.Add(1)
		m.counts.lapsed.Add(1)
		return Entry{}, false
	}
	if it.expired(now) {
		m.counts.misses.Add(1)
		return Entry{}, false
	}
	m.counts.hit(it, now.since(v.asked))
	return it.entry(), true
}

// Batch is how many keys GetBatch takes at most.
const Batch = 16

// GetBatch is Get for keys that were all received before it is called: one
// reading of the clock serves them all. It writes the entries that it finds to
// entries, at the places of their keys, and returns their places as bits. Run is how
// many of them, from the first key on, the caller is to serve now: those before the
// first miss, up to the one whose value brings them to room bytes. Only they are
// counted. The caller asks for the others in their turn.
//
// Where entries do not fit into the processor's caches, a hit is mostly waiting for
// them. The processor waits for several keys at the same time as long as nothing in
// the loops takes a lock or counts.
func (c *Cache) GetBatch(keys [][]byte, entries *[Batch]Entry, room int) (hits uint32, run int) {
	m := c.m
	v := m.view.Load() // first: see the package comment
	m.want()
	var items [Batch]*item
	for i, key := range keys {
		items[i] = c.lookup(key)
	}
	now := m.clock() // after the call has begun
	if !now.before(v.end) {
		return 0, 0
	}
	for i, it := range items[:len(keys)] {
		if it != nil && it.valid(c, v) && !it.expired(now) {
			entries[i] = it.entry()
			hits |= 1 << i
			if run == i && room > 0 {
				run++
				room -= len(entries[i].Value)
			}
		}
	}
	m.counts.hitBatch(items[:run], now.since(v.asked))
	return hits, run
}

// hitSample is how many hits one stands for of which the policy of eviction
// learns while nothing has to be evicted: that costs as much as the rest of a hit.
const hitSample = 16

// lookup returns what memory holds of a key, valid or not, or nil.
func (c *Cache) lookup(key []byte) *item {
	if c.m.crowded.Load() || rand.Uint32()%hitSample == 0 {
		it, _ := c.m.entries.GetIfPresent(keyOf(c.id, key))
		return it
	}
	entry, _ := c.m.entries.GetEntryQuietly(keyOf(c.id, key))
	return entry.Value
}

// want says that polls are wanted.
func (m *Memory) want() {
	if !m.asked.Load() {
		m.ask()
	}
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
