package howdah

import (
	"log/slog"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/trace"
)

// Pooler says what stands between this program and PostgreSQL.
type Pooler string

// The values of Pooler.
const (
	// PoolerNone is nothing, or a pooler in session mode. It is the default.
	PoolerNone Pooler = ""
	// PoolerTransaction is a pooler that gives each transaction any server
	// connection, such as pgbouncer with pool_mode = transaction.
	PoolerTransaction Pooler = core.PoolerTransaction
)

// Options tune a DB. The zero value of every field is its default.
type Options struct {
	// MaxConns bounds the connections that Open makes. Default 8, at least 2.
	// If PostgreSQL allows fewer, calls share those that it allows. With
	// OpenPool the pool's own bound holds.
	MaxConns int

	// Timeout bounds a call whose context has no earlier deadline, waiting
	// included. Default 500 ms. A call that stores more than 64 KiB gets the
	// time to send its bytes at 32 MiB/s in addition.
	Timeout time.Duration

	// LockTimeout bounds how long a shared statement waits for a row that
	// another transaction holds, before the calls for that row go on alone.
	// Default 20 ms.
	LockTimeout time.Duration

	// MaxValueBytes bounds a value. Default 64 MiB, at most 512 MiB.
	MaxValueBytes int

	// MaxBatchKeys bounds the keys of one statement; a single larger call goes
	// by itself. Default 256, at most 100,000.
	MaxBatchKeys int

	// MaxBatchBytes bounds the keys and values of one statement likewise.
	// Default 1 MiB, at most 512 MiB.
	MaxBatchBytes int

	// MaxQueueBytes bounds what waits to be sent, for each cache; beyond it
	// calls fail with ErrOverloaded. Default 256 MiB.
	MaxQueueBytes int

	// Pooler says what stands between this program and PostgreSQL. Default
	// PoolerNone.
	Pooler Pooler

	// ListenURL is the URL of the same database for the one connection by which a
	// program with subscribers is notified of messages, where the URL of Open leads
	// through a pooler in transaction mode: notifications do not pass it. Default: the
	// URL of Open, or the settings of the pool; with PoolerTransaction there is no such
	// connection, and messages are polled for each 50 ms.
	ListenURL string

	// MaxReplicationLag is how many bytes of WAL the slowest standby or
	// replication slot may be behind before upkeep leaves it time: expired
	// entries of caches of class async or sync, and expired sessions, are then
	// removed at 1,000 a second at most. Default 64 MiB; negative: upkeep does
	// not look. Only members of pg_read_all_stats see standbys; every role sees
	// slots. A standby with recovery_min_apply_delay needs a larger value.
	MaxReplicationLag int64

	// Near keeps hot entries in the memory of this process. Default: it does not.
	Near NearOptions

	// SlowCall is from which duration on a call is slow: the Logger gets a line about it,
	// at most one a second, with the time that it waited, that its statement took, and that
	// another transaction held its row. Default 0: no call is.
	SlowCall time.Duration

	// MaskKeys are texts after which keys hold a secret, such as "invite:". The Logger
	// gets such keys only up to there. Those of session stores and of tokens are masked
	// in any case; "*" masks every key.
	MaskKeys []string

	// Tracer follows the calls of the application and the statements that they share.
	// Default: none.
	Tracer Tracer

	// Logger gets what goes wrong where no caller gets an error, and slow calls. Default:
	// none.
	Logger *slog.Logger
}

// NearOptions tune the entries that a DB keeps in memory. It keeps those of caches
// with a change log (CacheConfig.Near), as long as DB.Run runs, which reads the
// log. docs/near.md says what is promised.
type NearOptions struct {
	// Bound is the age limit of what Get answers from memory: a change that was
	// acknowledged longer ago is seen. This process sees its own changes at
	// once. 10 ms to 10 s; 0: nothing is kept in memory.
	Bound time.Duration

	// Bytes bounds the memory. Default 64 MiB, at least 1 MiB. Of several servers each has
	// the share of the partitions that it holds.
	Bytes int64

	// Exclude are prefixes of keys that are never kept in memory.
	Exclude []string
}

// core is the options as package core takes them; o may be nil.
func (o *Options) core() core.Options {
	if o == nil {
		return core.Options{}
	}
	var followed trace.Tracer
	if o.Tracer != nil {
		followed = tracer{o.Tracer}
	}
	return core.Options{
		MaxConns: o.MaxConns, Timeout: o.Timeout, LockTimeout: o.LockTimeout, MaxValueBytes: o.MaxValueBytes,
		MaxBatchKeys: o.MaxBatchKeys, MaxBatchBytes: o.MaxBatchBytes, MaxQueueBytes: o.MaxQueueBytes,
		Pooler: string(o.Pooler), ListenURL: o.ListenURL, MaxReplicationLag: o.MaxReplicationLag, Near: core.NearOptions(o.Near),
		SlowCall: o.SlowCall, MaskKeys: o.MaskKeys, Tracer: followed, Logger: o.Logger,
	}
}
