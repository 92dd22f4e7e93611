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
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/throttle"
	"github.com/howdah/howdah/internal/verb"
)

// CompatibleVersion is the version of Redis whose commands, replies and error
// texts this package reproduces. HELLO and INFO report it unless Options.RedisVersion
// says another one; scripts always see it.
const CompatibleVersion = "7.0.15"

// CheckRedisVersion says what is wrong with a version for Options.RedisVersion.
func CheckRedisVersion(version string) error {
	if !redisVersion.MatchString(version) {
		return errors.New("is not a version of Redis that clients can read: write three numbers, such as 7.4.0")
	}
	return nil
}

var redisVersion = regexp.MustCompile(`^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){2}$`)

// Databases is the number of databases that SELECT accepts.
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

	// Memory bounds what all connections hold together. Default: no bound.
	Memory *pipeline.Budget

	// MaxClients is the connection limit that INFO and CONFIG GET report. The
	// server enforces it.
	// Default 10000.
	MaxClients int

	// TaskTimeout bounds an EXEC that has more than 100 commands or one that
	// works on a whole cache, and the creation of a database. The timeout of DB
	// bounds all other commands. Default 30 s.
	TaskTimeout time.Duration

	// NoScripts refuses EVAL, FCALL and their relatives, SCRIPT LOAD and FUNCTION LOAD.
	// Default: they run.
	NoScripts bool

	// NoMonitor refuses MONITOR. Default: it shows commands and keys, without values and
	// without the secrets in keys.
	NoMonitor bool

	// Cluster is how the server shows itself to clients of a Redis cluster. Default: it
	// refuses their commands, as Redis does outside of cluster mode.
	Cluster Cluster

	// IdleTimeout is what CONFIG GET shows as timeout. Engine.IdleTimeout follows CONFIG SET; the server
	// obeys it. Default 0: none.
	IdleTimeout time.Duration

	// Database returns the name of the cache for a database number. Default:
	// "db0" to "db15"; SELECT creates these when they are first used, if the
	// database role may.
	Database func(number int) string

	// Version of Howdah, for INFO. Default "dev".
	Version string

	// RedisVersion is the version of Redis that HELLO and INFO report, for clients that
	// refuse an older one. It changes nothing else. Default CompatibleVersion.
	RedisVersion string

	// Logger receives failed authentication, unexpected errors of commands, and
	// the names of commands that Howdah lacks. Default: nothing is logged.
	Logger *slog.Logger
}

func (o *Options) validate() error {
	if o.DB == nil {
		return errors.New("redisapi: Options.DB is required")
	}
	if o.MaxBulk < 0 || o.MaxPending < 0 || o.MaxPendingBytes < 0 || o.MaxClients < 0 || o.TaskTimeout < 0 || o.IdleTimeout < 0 {
		return errors.New("redisapi: limits must not be negative; use 0 for the default")
	}
	if announce := o.Cluster.Announce; announce != "" {
		if err := CheckAnnounce(announce); err != nil {
			return fmt.Errorf("redisapi: Options.Cluster.Announce %q %w", announce, err)
		}
	}
	setDefault(&o.MaxBulk, verb.DefaultMaxValueBytes)
	setDefault(&o.MaxPending, 1024)
	setDefault(&o.MaxPendingBytes, 64<<20)
	setDefault(&o.MaxClients, 10000)
	setDefault(&o.TaskTimeout, 30*time.Second)
	setDefault(&o.Version, "dev")
	setDefault(&o.RedisVersion, CompatibleVersion)
	if err := CheckRedisVersion(o.RedisVersion); err != nil {
		return fmt.Errorf("redisapi: Options.RedisVersion %q %w", o.RedisVersion, err)
	}
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
	settings *settings
	budgets  budgets
	caches   [Databases]*core.Cache
	exists   [Databases]atomic.Bool // the cache is known to exist
	get      *Command
	memory   bool // the database keeps entries in memory
	maxKey   int  // bytes; more is refused, by the codec or by dispatch
	requests *sync.Pool
	recalled *sync.Pool
	stats    counters
	scripts  scripts
	shared   sharedScripts
	started  time.Time
	saved    atomic.Int64 // Unix time of the last SAVE, or of the start
	runID    string
	keyspace keyspaceCache
	failures throttle.Failures
	pause    pause
	monitors monitors
	logged   atomic.Int64 // engine clock of the last entry in the log

	outputLimit atomic.Pointer[outputLimit]
	idleTimeout atomic.Int64 // nanoseconds
	keepAlive   atomic.Int64 // nanoseconds
	silent      atomic.Bool  // no more messages are pushed

	ctx    context.Context // parent of every task; Close cancels it
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	slots  chan struct{} // one for each task that uses the database

	slotWait time.Duration // how long a task waits for its turn on the database

	mu      sync.Mutex
	closed  bool
	clients map[int64]*Conn
	lastID  int64
}

// New returns an Engine for a database. It sends nothing to the database.
func New(options Options) (*Engine, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	e := &Engine{
		options:  options,
		password: sha256.Sum256([]byte(options.Password)),
		limits:   resp.Limits{MaxBulk: options.MaxBulk},
		commands: newTable(),
		settings: newSettings(),
		memory:   options.DB.Near() != nil,
		maxKey:   min(verb.MaxKeyBytes, options.MaxBulk),
		requests: newRequestPool(),
		recalled: newRecalledPool(),
		started:  time.Now(),
		clients:  make(map[int64]*Conn),
	}
	e.get = e.commands.byName["get"]
	e.scripts.random = newScriptRandom()
	e.scripts.slots = make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	e.shared.turn = make(chan struct{}, 1)
	e.shared.functions.Store(newFunctions("", nil))
	e.failures.Pace, e.failures.Burst, e.failures.Most = authPace, authBurst, maxAuthDelay
	e.keyspace.lock = make(chan struct{}, 1)
	e.outputLimit.Store(defaultOutputLimits().pubsub())
	e.stats.errors.limit, e.stats.unknown.limit, e.stats.unknownBy.limit = maxErrorPrefixes, maxUnknownNames, maxUnknownPairs
	e.saved.Store(e.started.Unix())
	e.idleTimeout.Store(int64(options.IdleTimeout))
	e.keepAlive.Store(int64(DefaultKeepAlive))
	e.stats.since.Store(e.started.UnixNano())
	for n := range e.caches {
		e.caches[n] = options.DB.Cache(options.Database(n))
	}
	e.exists[0].Store(true) // migrate creates it; if it did not, the first call fails
	var id [20]byte
	rand.Read(id[:]) // never fails
	e.runID = hex.EncodeToString(id[:])
	// Tasks use at most half of the connections; calls use the others.
	e.slots = make(chan struct{}, max(1, options.DB.Pool().Config().MaxConns/2))
	e.slotWait = slotWait
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Close cancels the commands that run in goroutines of their own and waits until
// they have ended. Close the connections first.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.pause.stop()
	e.cancel()
	e.tasks.Wait()
}

// DefaultKeepAlive is the interval of TCP keepalive until CONFIG SET tcp-keepalive.
const DefaultKeepAlive = 5 * time.Minute

// IdleTimeout is after how long the server closes a connection that sends nothing; 0: never.
func (e *Engine) IdleTimeout() time.Duration { return time.Duration(e.idleTimeout.Load()) }

// KeepAlive is after how long without a byte the server probes whether a client is still there, on connections
// that come from now on; 0: never.
func (e *Engine) KeepAlive() time.Duration { return time.Duration(e.keepAlive.Load()) }

// Info is what the server knows of a connection.
type Info struct {
	RemoteAddr string // host:port of the client
	LocalAddr  string // host:port it connected to
	FD         int    // file descriptor, for CLIENT LIST. Default 0: not known, shown as -1
	Door       string // as in observe.Client. Default observe.DoorRedis
}

// Connect registers a connection. The engine calls wake, from any goroutine, when
// replies are ready or more input can be consumed: then call Output, Feed with the
// input that was not consumed, and Output again. wake must not block, and must not
// call methods of the connection except Killed. After wake, it is not called again
// until Output was called, unless the connection is killed.
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

// connection returns the connection of a number, nil if there is none.
func (e *Engine) connection(id int64) *Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.clients[id]
}

// connections returns all connections, in the order of their numbers.
func (e *Engine) connections() []*Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.clients), func(a, b *Conn) int {
		return cmp.Compare(a.id, b.id)
	})
}

// log writes a warning to the log, at most one a second.
func (e *Engine) log(message string, args ...any) {
	now, last := e.clock(), e.logged.Load()
	if (last == 0 || now-last > int64(time.Second)) && e.logged.CompareAndSwap(last, now) {
		e.options.Logger.Warn(message, args...)
	}
}

// begin registers a task with Close. It reports false if the engine is closed.
func (e *Engine) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.tasks.Add(1)
	return true
}
