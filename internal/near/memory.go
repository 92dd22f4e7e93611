package near

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

// The limits of Options.
const (
	MinBound = 10 * time.Millisecond
	MaxBound = 10 * time.Second
	MinBytes = 1 << 20
)

// Options of a Memory.
type Options struct {
	// Bound is the greatest staleness of a hit, from 10 ms to 10 s.
	Bound time.Duration

	// Bytes is the budget of keys and values, with an overhead per entry; at
	// least 1 MiB. Absent keys take an eighth of it at most. The slots take
	// 8 MiB more. 0: nothing is kept, and polls are made for the Listener alone.
	Bytes int64

	// Listener learns of changes that others have made. Default: nobody does.
	Listener Listener

	// Poll asks PostgreSQL for the changes since a cursor. It must return soon
	// after its context ends. Calls do not overlap.
	Poll func(ctx context.Context, since Cursor) (Answer, error)

	// Logger gets one line when a lease has ended because polls fail, and one
	// when they succeed again. Default: nothing is logged.
	Logger *slog.Logger

	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

func (o Options) check() error {
	switch {
	case o.Bound < MinBound || o.Bound > MaxBound:
		return fmt.Errorf("near: a bound of %v is not possible; choose one from %v to %v", o.Bound, MinBound, MaxBound)
	case o.Bytes == 0 && o.Listener != nil:
	case o.Bytes < MinBytes:
		return fmt.Errorf("near: a budget of %d bytes is too small; give at least %d", o.Bytes, MinBytes)
	}
	if o.Poll == nil {
		return errors.New("near: Options.Poll is missing; it asks PostgreSQL for changes")
	}
	return nil
}

// Cursor is what Poll needs of the snapshot of the poll before: changes of
// transactions from Xmax on, and of those in Xip, were not visible to it. The
// zero Cursor stands for no poll before.
type Cursor struct {
	Xmax uint64
	Xip  []uint64
}

// Answer is what a poll saw, all of it in one snapshot.
type Answer struct {
	Snapshot    string   // pg_current_snapshot() as text
	Start       int64    // pg_postmaster_start_time() in microseconds
	Lit         bool     // the change log has its state row
	Incarnation [16]byte // of the change log
	Tick, Floor int64    // of its trims; see the package comment

	// Stranded says that a prepared transaction is older than the change log,
	// so that its changes will never appear there. Durable caches are neither
	// filled nor served meanwhile.
	Stranded bool

	Changes  []Change
	Overflow bool // there are more changes than Changes holds
}

// Change is a row of the change log.
type Change struct {
	Xid    uint64 // of the transaction that wrote it
	Cache  int32
	Hashes []int64 // nil: all of the cache
	// Keys are those of Hashes, for the Listener. nil: the log of the cache has none;
	// empty: they are too many, or were not asked for.
	Keys [][]byte
	// Own says that this process wrote it, and tells of its keys, or of the whole cache,
	// itself.
	Own bool
}

// Memory holds entries of the caches of one database. It is safe for
// concurrent use.
type Memory struct {
	options Options
	base    time.Time // of monotonic readings
	clock   func() Instant

	bytes   atomic.Int64 // the budget
	view    atomic.Pointer[view]
	asked   atomic.Bool                   // somebody read since the follower last looked
	idle    atomic.Bool                   // the follower waits for wake
	resumed atomic.Int64                  // monotonic reading of when it had last waited for wake
	used    atomic.Bool                   // a cache is kept; see Used
	crowded atomic.Bool                   // entries may have to be evicted soon; as of the last poll
	entries *otter.Cache[entryKey, *item] // nil, as slots: nothing is kept
	slots   *slots
	absents absents
	counts  counts
	wake    chan struct{}
	sweep   chan struct{}
	hurry   chan struct{} // ends the pause before the next poll
	own     ownRows
	follow  follower // used by Run alone

	mu       sync.Mutex // guards what is below
	caches   map[int32]*Cache
	parked   map[*Parking]struct{}
	parking  map[uint32]int // parked writes of each slot
	catching map[*catching]struct{}
	signals  map[uint32]*signal // of slots, to those who wait for a change
	sent     uint64             // polls

	running  bool    // Run
	ran      Instant // when it was called
	unpolled uint64  // highest xid that wrote while it did not run; 0: none is open
}

// view is what the last poll found. It is replaced as a whole, so that a
// reader sees a lease together with what the lease is about.
type view struct {
	asked    Instant // just before the poll was sent
	end      Instant // of the lease; zero: none
	gen      uint32  // of all entries; it changes where everything is dropped
	lit      bool    // there is a change log, and a cursor in it
	stranded bool    // see Answer.Stranded
	start    int64   // of the server
}

// New makes an empty Memory, which serves nothing before Run is called. An
// error is a sentence that says which option is wrong. A Memory without Run has
// no goroutine and needs no closing.
func New(o Options) (*Memory, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	m := &Memory{
		options:  o,
		base:     now(),
		wake:     make(chan struct{}, 1),
		sweep:    make(chan struct{}, 1),
		hurry:    make(chan struct{}, 1),
		caches:   map[int32]*Cache{},
		parked:   map[*Parking]struct{}{},
		parking:  map[uint32]int{},
		signals:  map[uint32]*signal{},
		catching: map[*catching]struct{}{},
		own:      ownRows{rows: map[ownRow]uint64{}},
	}
	m.used.Store(true)
	m.clock = func() Instant { return m.instant(now()) }
	m.bytes.Store(o.Bytes)
	m.absents.budget = o.Bytes / 8
	m.counts.bound = o.Bound
	m.view.Store(&view{})
	if o.Bytes == 0 {
		return m, nil
	}
	m.slots = new(slots)
	entries, err := otter.New(&otter.Options[entryKey, *item]{
		MaximumWeight: uint64(o.Bytes),
		Weigher:       func(key entryKey, it *item) uint32 { return uint32(min(it.weight(key), math.MaxUint32)) },
		// Maintenance on the caller's goroutine: none outlives its caller.
		Executor: func(maintain func()) { maintain() },
	})
	if err != nil {
		return nil, fmt.Errorf("near: %w", err)
	}
	m.entries = entries
	return m, nil
}

// Resize changes the budget, to at least 1 byte; MinBytes does not bound it. What exceeds it
// leaves memory. A Memory that was made with none keeps nothing still.
func (m *Memory) Resize(bytes int64) {
	bytes = max(1, bytes)
	if m.entries == nil || m.bytes.Swap(bytes) == bytes {
		return
	}
	m.absents.resize(bytes / 8)
	m.entries.SetMaximum(uint64(bytes))
}

// Budget is what Resize has set, at first Options.Bytes.
func (m *Memory) Budget() int64 { return m.bytes.Load() }

// Cache returns the handle of a cache, the same one for the same id. Durable
// says whether its entries survive a crash of the server; the last call for an
// id decides.
func (m *Memory) Cache(id int32, durable bool) *Cache {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.caches[id]
	if c == nil {
		c = &Cache{m: m, id: id}
		m.caches[id] = c
	}
	c.durable.Store(durable)
	m.used.Store(true)
	return c
}

// SetUnused says that there is no cache of which entries are kept, until Cache is called.
func (m *Memory) SetUnused() { m.used.Store(false) }

// Used reports whether there may be a cache of which entries are kept; see SetUnused.
func (m *Memory) Used() bool { return m.used.Load() }

// Cache is the part of a Memory that belongs to one cache of the database.
type Cache struct {
	m       *Memory
	id      int32
	durable atomic.Bool
	gen     atomic.Uint32 // of the entries of this cache; odd: see ParkAll
	parked  int           // writes by ParkAll; guarded by m.mu
}

// ID returns the number of the cache, as Memory.Cache was given it.
func (c *Cache) ID() int32 { return c.id }

// Bump invalidates what memory holds under a hash. It is called for each write
// of this process when it has its place in the order of writes and reads (at the
// latest when the call that submits it returns) and again before its caller is
// answered, whatever the outcome. A read that answers a caller without Fill
// calls it too, before the answer.
func (c *Cache) Bump(hash int64) { c.m.slots.bump(slotOf(c.id, hash)) }

// Saw is called instead of Bump for a read that says which version of a key there
// is, or that there is none. What memory holds stays if it is the same.
func (c *Cache) Saw(hash int64, key []byte, version int64, absent bool) {
	v := c.m.view.Load()
	it, ok := c.m.entries.GetIfPresent(keyOf(c.id, key))
	if ok && it.valid(c, v) && it.absent == absent && (absent || it.version == version) {
		return
	}
	c.Bump(hash)
}

// nextGeneration keeps the generation of a cache odd or even.
const nextGeneration = 2

// DropAll invalidates all of the cache. It is called for a flush by this
// process as Bump is for a write.
func (c *Cache) DropAll() {
	c.gen.Add(nextGeneration)
	c.m.counts.drops[dropFlush].Add(1)
	c.m.sweepSoon()
}
