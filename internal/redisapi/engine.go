package redisapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/verb"
)

// CompatibleVersion is the Redis version whose commands, replies and error
// texts are kept, and which HELLO and INFO tell.
const CompatibleVersion = "7.0.15"

// Databases is the number of databases that SELECT knows.
const Databases = 16

// Options tune an Engine. The zero value of every field but DB is its default.
type Options struct {
	// DB holds the caches. Required.
	DB *core.DB

	// Password that clients must give with AUTH or HELLO, as user "default".
	// Default: none is asked for.
	Password string

	// MaxBulk bounds one argument, in bytes. A client that announces more gets
	// a protocol error and is disconnected, as Redis does beyond
	// proto-max-bulk-len. Default verb.DefaultMaxValueBytes; keep it equal to
	// the MaxValueBytes of DB.
	MaxBulk int

	// MaxPending bounds the commands of one connection that are started and
	// not yet answered. Default 1024.
	MaxPending int

	// MaxPendingBytes bounds the arguments and replies that one connection
	// holds in memory, the commands queued by MULTI, and the keys of WATCH; one
	// command may exceed it alone. Default 64 MiB.
	MaxPendingBytes int

	// MaxClients is what INFO and CONFIG GET tell; the server enforces it.
	// Default 10000.
	MaxClients int

	// TaskTimeout bounds an EXEC of more than 100 commands or of such that
	// work on a whole cache, and the creation of a database. Other commands
	// have the bounds of DB. Default 30 s.
	TaskTimeout time.Duration

	// Database names the cache of each database number. Default "db0" to
	// "db15", which are created when first selected, if the role may.
	Database func(number int) string

	// Version of Howdah, for INFO. Default "dev".
	Version string

	// Logger hears of failed authentication and of failing databases.
	// Default: none.
	Logger *slog.Logger
}

func (o *Options) validate() error {
	if o.DB == nil {
		return errors.New("redisapi: Options.DB is required")
	}
	if o.MaxBulk < 0 || o.MaxPending < 0 || o.MaxPendingBytes < 0 || o.MaxClients < 0 || o.TaskTimeout < 0 {
		return errors.New("redisapi: limits must not be negative; use 0 for the default")
	}
	setDefault(&o.MaxBulk, verb.DefaultMaxValueBytes)
	setDefault(&o.MaxPending, 1024)
	setDefault(&o.MaxPendingBytes, 64<<20)
	setDefault(&o.MaxClients, 10000)
	setDefault(&o.TaskTimeout, 30*time.Second)
	setDefault(&o.Version, "dev")
	if o.Database == nil {
		o.Database = func(number int) string { return fmt.Sprintf("db%d", number) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Engine is what all connections share: the caches, the command table, the
// registry of clients, the counters. It is safe for concurrent use.
type Engine struct {
	options  Options
	password [sha256.Size]byte
	limits   resp.Limits
	commands *table
	caches   [Databases]*core.Cache
	exists   [Databases]atomic.Bool // the cache was seen, or made
	requests *sync.Pool
	stats    counters
	started  time.Time
	runID    string
	keyspace keyspaceCache
	failures authFailures
	logged   atomic.Int64 // engine clock of the last entry in the log

	ctx    context.Context // of every task; ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	slots  chan struct{} // of tasks on the database

	mu      sync.Mutex
	closed  bool
	clients map[int64]*Conn
	lastID  int64
}

// New makes an Engine over a database. It asks the database nothing.
func New(options Options) (*Engine, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	e := &Engine{
		options:  options,
		password: sha256.Sum256([]byte(options.Password)),
		limits:   resp.Limits{MaxBulk: options.MaxBulk},
		commands: newTable(),
		requests: newRequestPool(),
		started:  time.Now(),
		clients:  make(map[int64]*Conn),
	}
	e.keyspace.lock = make(chan struct{}, 1)
	e.stats.since.Store(e.started.UnixNano())
	for n := range e.caches {
		e.caches[n] = options.DB.Cache(options.Database(n))
	}
	e.exists[0].Store(true) // migrate makes it; if not, the first call says so
	var id [20]byte
	rand.Read(id[:]) // never fails
	e.runID = hex.EncodeToString(id[:])
	// Tasks leave half of the connections to the calls.
	e.slots = make(chan struct{}, max(1, options.DB.Pool().Config().MaxConns/2))
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Close stops the commands that run in goroutines of their own and waits for
// them. Close the connections first.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.tasks.Wait()
}

// Info is what the server knows of a connection.
type Info struct {
	RemoteAddr string // host:port of the client
	LocalAddr  string // host:port it connected to
}

// Connect registers a connection. wake is called, from any goroutine, when
// replies have become ready or input is welcome again: call Output, then Feed
// with the input that was not consumed, then Output again. wake must not block
// and must not call the connection itself, but for Killed; it is not called
// again before Output has been, unless the connection is killed.
func (e *Engine) Connect(info Info, wake func()) *Conn {
	c := newConn(e, info, wake)
	e.mu.Lock()
	e.lastID++
	c.id = e.lastID
	e.clients[c.id] = c
	e.mu.Unlock()
	e.stats.connections.Add(1)
	return c
}

func (e *Engine) forget(c *Conn) {
	e.mu.Lock()
	delete(e.clients, c.id)
	e.mu.Unlock()
}

// connections returns every connection, in the order they came.
func (e *Engine) connections() []*Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.clients), func(a, b *Conn) int {
		return cmp.Compare(a.id, b.id)
	})
}

// log writes to the log, at most once a second.
func (e *Engine) log(message string, args ...any) {
	now, last := e.clock(), e.logged.Load()
	if (last == 0 || now-last > int64(time.Second)) && e.logged.CompareAndSwap(last, now) {
		e.options.Logger.Warn(message, args...)
	}
}

// begin counts a task in, unless the engine is closed.
func (e *Engine) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.tasks.Add(1)
	return true
}
