package near

import (
	"context"
	"log/slog"
	"time"
)

// Options of a Memory.
type Options struct {
	// Bound is the greatest staleness of a hit, from 10 ms to 10 s.
	Bound time.Duration

	// Bytes is the budget of keys and values, with an overhead per entry; at
	// least 1 MiB. Absent keys take an eighth of it at most.
	Bytes int64

	// Poll asks PostgreSQL for the changes since a cursor. It must return soon
	// after its context ends. Calls do not overlap.
	Poll func(ctx context.Context, since Cursor) (Answer, error)

	// Logger is told when polls begin to fail for longer than the bound, and
	// when they succeed again. Default: nothing is logged.
	Logger *slog.Logger

	// Now is the clock. Default: time.Now.
	Now func() time.Time
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
	Tick, Floor int64    // see the package comment on trims

	// Stranded says that a prepared transaction is older than the change log,
	// so that its changes will never appear there. Durable caches are neither
	// filled nor served meanwhile.
	Stranded bool

	Changes  []Change
	Overflow bool // there are more changes than Changes holds
}

// Change is a row of the change log.
type Change struct {
	Cache  int32
	Hashes []int64 // nil: all of the cache
}

// Entry is what memory holds of a key. Value is shared: it must not be
// changed.
type Entry struct {
	Value   []byte
	Version int64
	Kind    int16
	Absent  bool      // there is no such entry
	Expires time.Time // by the clock of this process; zero: never
}

// Memory holds entries of the caches of one database. It is safe for
// concurrent use.
type Memory struct{}

// New makes an empty Memory, which serves nothing before Run is called. An
// error is a sentence that says which option is wrong.
func New(o Options) (*Memory, error) { return &Memory{}, nil }

// Run polls until ctx ends, and returns nil then. It gives an error if Memory
// runs already. It starts one more goroutine, which has ended when it returns.
func (m *Memory) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Stats returns a copy of the counters.
func (m *Memory) Stats() Stats { return Stats{} }

// Cache returns the handle of a cache, the same one for the same id. Durable
// says whether its entries survive a crash of the server.
func (m *Memory) Cache(id int32, durable bool) *Cache { return &Cache{} }

// Cache is the part of a Memory that belongs to one cache of the database.
type Cache struct{}

// Instant is a reading of the clock.
type Instant struct{ mono, wall int64 }

// Now reads the clock, for GetAt.
func (m *Memory) Now() Instant { return Instant{} }

// Get returns the entry of a key. It allocates nothing, and keeps nothing of
// key.
func (c *Cache) Get(key []byte) (Entry, bool) { return Entry{}, false }

// GetAt is Get for a caller that reads the clock once for many keys. The
// reading must be later than the request that it serves.
func (c *Cache) GetAt(now Instant, key []byte) (Entry, bool) { return Entry{}, false }

// Token is the state of memory before a read.
type Token struct{}

// Begin is called before a read is submitted.
func (c *Cache) Begin(hash int64) Token { return Token{} }

// Fill is called with the answer of a read, before its caller is answered.
// Start is that of the server that answered. Value must not change any more.
func (c *Cache) Fill(t Token, key []byte, e Entry, start int64) {}

// Bump invalidates what memory holds under a hash. It is called for each write
// of this process before it is sent and when it is answered, whatever the
// outcome, and for each read that answers a caller without Fill.
func (c *Cache) Bump(hash int64) {}

// DropAll invalidates all of the cache. It is called for a flush by this
// process before it is sent and when it is answered.
func (c *Cache) DropAll() {}

// Parking bypasses memory for a write in an open transaction of this process.
type Parking struct{}

// Park is called before such a write is sent. It must be followed by Until or
// Release.
func (c *Cache) Park(hash int64) *Parking { return &Parking{} }

// Until says in which transaction the write was made. Reads bypass memory until
// a poll finds it finished.
func (p *Parking) Until(xid uint64) {}

// Release says that the write was not made, or that its transaction is over.
func (p *Parking) Release() {}
