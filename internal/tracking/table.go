package tracking

import (
	"cmp"
	"container/heap"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultMaxKeys is how many keys a Table holds unless SetMaxKeys was called.
const DefaultMaxKeys = 1_000_000

// maxBytes bounds the memory of a Table, in bytes: keys may be long.
const maxBytes = 256 << 20

// What an entry and an item take besides the key, in bytes.
const (
	entryOverhead = 160
	itemOverhead  = 80
)

// shards divide a Table, so that connections seldom wait for each other.
const shards = 64

// Table knows which clients track which keys. It is safe for concurrent use. While no
// client tracks, all that it costs is Wanted.
type Table struct {
	active       atomic.Int64 // clients that track
	broadcasting atomic.Int64 // those of them that broadcast
	blind        atomic.Int64 // those of them that nobody can tell of keys
	maxKeys      atomic.Int64
	keys         atomic.Int64
	items        atomic.Int64
	bytes        atomic.Int64
	used         atomic.Bool   // something was tracked since all clients were told to drop everything
	told         atomic.Uint64 // how often they were

	shards [shards]shard

	mu       sync.Mutex
	clients  map[*Client]struct{} // that track
	holders  int                  // clients that have tracked, and have not left
	cleared  time.Time            // when the blind clients were told last
	prefixes prefixes             // of those that broadcast
	begun    func()               // see OnBegin; may be nil

	sweeping sweeping
}

// New makes an empty table.
func New() *Table {
	t := &Table{clients: make(map[*Client]struct{})}
	t.maxKeys.Store(DefaultMaxKeys)
	for i := range t.shards {
		t.shards[i].entries = make(map[int64]*entry)
	}
	return t
}

// OnBegin says what to call when a client begins to track, once Wanted reports it. It must be quick, and is set before
// the first client begins.
func (t *Table) OnBegin(begun func()) { t.begun = begun }

// shard holds the keys of some hashes.
type shard struct {
	mu       sync.Mutex
	entries  map[int64]*entry
	expiries expiries
	swept    uint64 // sweeping.left when it was swept
}

// entry is what is tracked under a hash.
type entry struct {
	hash    int64
	items   []item
	index   map[item]struct{} // of items; nil: they are few
	bytes   int64             // of memory
	expires int64             // Unix nanoseconds; 0: not known, or never
	place   int               // in shard.expiries, if it expires
}

// item is a client and the key that it tracks. Two keys may have one hash.
type item struct {
	client *Client
	key    string
}

func (t *Table) shard(hash int64) *shard { return &t.shards[uint64(hash)%shards] }

// Wanted reports whether a client tracks, so that the table must be told of changes. A nil
// table never is.
func (t *Table) Wanted() bool { return t != nil && t.active.Load() > 0 }

// SetMaxKeys bounds the keys of the table; 0 is no bound. Beyond it other keys are
// invalidated for each new one. A few more than n may stay, one for each shard.
func (t *Table) SetMaxKeys(n int64) {
	if n == 0 {
		n = math.MaxInt64
	}
	t.maxKeys.Store(n)
}

// Track registers that a client is about to read a key with this hash. It is called
// before the read begins. added reports whether it was not registered yet.
func (t *Table) Track(c *Client, hash int64, key []byte) (added bool) {
	s := t.shard(hash)
	s.mu.Lock()
	if c.left.Load() {
		s.mu.Unlock()
		return false
	}
	e := s.entries[hash]
	if e == nil {
		e = &entry{hash: hash, bytes: entryOverhead}
		s.entries[hash] = e
		t.keys.Add(1)
		t.bytes.Add(e.bytes)
	}
	if added = !e.has(c, key); added {
		before := e.bytes
		e.add(c, key)
		t.items.Add(1)
		t.bytes.Add(e.bytes - before)
	}
	evicted := t.evict(s, e)
	s.mu.Unlock()
	if !t.used.Load() {
		t.used.Store(true)
	}
	for _, e := range evicted {
		e.tell(nil)
	}
	return added
}

// Untrack takes back what Track has registered: the client has not read the key.
func (t *Table) Untrack(c *Client, hash int64, key []byte) {
	s := t.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[hash]
	if e == nil || !e.has(c, key) {
		return
	}
	if len(e.items) == 1 {
		t.take(s, e)
		return
	}
	taken := func(i item) bool { return i.client == c && i.key == string(key) }
	before := e.bytes
	e.bytes -= itemOverhead
	e.items = slices.DeleteFunc(e.items, taken)
	if !slices.ContainsFunc(e.items, func(i item) bool { return i.key == string(key) }) {
		e.bytes -= int64(len(key))
	}
	if e.index != nil {
		delete(e.index, item{c, string(key)})
	}
	t.items.Add(-1)
	t.bytes.Add(e.bytes - before)
}

// indexed is from how many items on an entry has an index of them.
const indexed = 32

func (e *entry) has(c *Client, key []byte) bool {
	if e.index != nil {
		_, ok := e.index[item{c, string(key)}]
		return ok
	}
	for i := range e.items {
		if e.items[i].client == c && e.items[i].key == string(key) {
			return true
		}
	}
	return false
}

// add adds an item. Clients share the memory of a key.
func (e *entry) add(c *Client, key []byte) {
	added, shared := item{client: c}, false
	for _, i := range e.items {
		if shared = i.key == string(key); shared {
			added.key = i.key
			break
		}
	}
	if !shared {
		added.key = string(key)
		e.bytes += int64(len(key))
	}
	e.bytes += itemOverhead
	e.items = append(e.items, added)
	if e.index != nil {
		e.index[added] = struct{}{}
	} else if len(e.items) >= indexed {
		e.makeIndex()
	}
}

func (e *entry) makeIndex() {
	e.index = make(map[item]struct{}, 2*len(e.items))
	for _, i := range e.items {
		e.index[i] = struct{}{}
	}
}

func (t *Table) full() bool { return t.keys.Load() > t.maxKeys.Load() || t.bytes.Load() > maxBytes }

// evict takes entries other than kept out of a shard while the table has too much.
func (t *Table) evict(s *shard, kept *entry) (evicted []*entry) {
	if !t.full() {
		return nil
	}
	for _, e := range s.entries { // begins at some entry
		if e == kept {
			continue
		}
		t.take(s, e)
		evicted = append(evicted, e)
		if !t.full() {
			break
		}
	}
	return evicted
}

// take removes an entry. The caller holds the lock of the shard.
func (t *Table) take(s *shard, e *entry) {
	delete(s.entries, e.hash)
	t.forget(e)
	if e.expires != 0 {
		heap.Remove(&s.expiries, e.place)
	}
}

// forget takes an entry out of the counts.
func (t *Table) forget(e *entry) {
	t.keys.Add(-1)
	t.items.Add(-int64(len(e.items)))
	t.bytes.Add(-e.bytes)
}

// Tracks reports whether the client still tracks the key: no invalidation was sent since
// Track.
func (t *Table) Tracks(c *Client, hash int64, key []byte) bool {
	s := t.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[hash]
	return e != nil && e.has(c, key)
}

// Changed says that a key with this hash has changed. writer is the client whose
// command changed it, nil if that is not one that tracks.
func (t *Table) Changed(hash int64, writer *Client) {
	s := t.shard(hash)
	s.mu.Lock()
	e := s.entries[hash]
	if e != nil {
		t.take(s, e)
	}
	s.mu.Unlock()
	if e != nil {
		e.tell(writer)
	}
}

// tell sends the invalidations of an entry that was taken out of the table.
func (e *entry) tell(writer *Client) {
	for _, i := range e.items {
		i.client.invalidate(i.key, i.client == writer)
	}
}

// Told returns how often all clients were told to drop everything.
func (t *Table) Told() uint64 {
	if t == nil {
		return 0
	}
	return t.told.Load()
}

// Flushed says that all keys have changed, by a command of this process. told is what
// Told was before. Every client that tracks is told, unless the change log was quicker.
func (t *Table) Flushed(writer *Client, told uint64) {
	if t.Wanted() && (t.Told() == told || t.used.Load() || t.Broadcasts()) {
		t.dropAll(writer)
	}
}

func (t *Table) dropAll(writer *Client) {
	t.told.Add(1)
	t.used.Store(false) // before the entries go: what is tracked now sets it again
	for i := range t.shards {
		t.clear(&t.shards[i])
	}
	for _, c := range t.list() {
		c.invalidateAll(c == writer)
	}
}

// list returns the clients that track, in the order in which they are told.
func (t *Table) list() []*Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Keys(t.clients), func(a, b *Client) int { return cmp.Compare(a.number, b.number) })
}

func (t *Table) clear(s *shard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) == 0 {
		return
	}
	for _, e := range s.entries {
		t.forget(e)
	}
	s.entries, s.expiries = make(map[int64]*entry), nil // a map that was cleared keeps its memory
}

// Missed says that all keys may have changed. The clients are told, if something was
// tracked since they were told last. What clients have that broadcast is not known, so
// they are told in any case.
func (t *Table) Missed() {
	if t.used.Load() || t.Broadcasts() {
		t.dropAll(nil)
	}
}

// Expires says when the value that a tracked key has now expires: at is what was found
// by a read before which Track was called.
func (t *Table) Expires(hash int64, at time.Time) {
	s := t.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[hash]
	if e == nil || e.expires != 0 && e.expires <= at.UnixNano() {
		return
	}
	known := e.expires != 0
	e.expires = at.UnixNano()
	if known {
		heap.Fix(&s.expiries, e.place)
	} else {
		heap.Push(&s.expiries, e)
	}
}

// Tick invalidates the keys that have expired by now, and frees what clients that have
// left leave behind.
func (t *Table) Tick(now time.Time) {
	t.tellBlind(now)
	if t.items.Load() == 0 {
		return
	}
	t.sweep(now)
	for i := range t.shards {
		s := &t.shards[i]
		var expired []*entry
		s.mu.Lock()
		for len(s.expiries) > 0 && s.expiries[0].expires <= now.UnixNano() {
			e := s.expiries[0]
			t.take(s, e)
			expired = append(expired, e)
		}
		s.mu.Unlock()
		for _, e := range expired {
			e.tell(nil)
		}
	}
}

// Stats are what a table holds now.
type Stats struct {
	Clients  int64 // that track
	Keys     int64
	Items    int64 // pairs of a client and a key
	Prefixes int64 // that clients have asked for
}

// Stats returns what the table holds.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{Clients: t.active.Load(), Keys: t.keys.Load(), Items: t.items.Load(), Prefixes: int64(len(t.prefixes.clients))}
}

// expiries is a heap of the entries that expire, the next one first.
type expiries []*entry

// Len implements heap.Interface.
func (x expiries) Len() int { return len(x) }

// Less implements heap.Interface.
func (x expiries) Less(i, j int) bool { return x[i].expires < x[j].expires }

// Swap implements heap.Interface.
func (x expiries) Swap(i, j int) {
	x[i], x[j] = x[j], x[i]
	x[i].place, x[j].place = i, j
}

// Push implements heap.Interface.
func (x *expiries) Push(e any) {
	e.(*entry).place = len(*x)
	*x = append(*x, e.(*entry))
}

// Pop implements heap.Interface.
func (x *expiries) Pop() any {
	last := len(*x) - 1
	e := (*x)[last]
	(*x)[last] = nil
	*x = (*x)[:last]
	return e
}
