package howdah

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/pgurl"
)

// connectTimeout bounds what is done once, not once a call: connecting,
// checking the schema, reading a cache's settings.
const connectTimeout = 5 * time.Second

// Options tune a DB. The zero value of every field is its default.
type Options struct {
	// MaxConns bounds the connections that Open makes. Default 8, at least 2.
	// With OpenPool the pool's own bound holds.
	MaxConns int

	// Timeout bounds a call whose context has no earlier deadline, waiting
	// included. Default 500 ms.
	Timeout time.Duration

	// LockTimeout bounds how long a shared statement waits for a row that a
	// foreign transaction holds, before the calls for that row go on alone.
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

	// Pooler says what stands between this program and PostgreSQL: "" for
	// nothing (or a pooler in session mode), "transaction" for a pooler that
	// gives each transaction any server connection.
	Pooler string

	// MaxReplicationLag is how many bytes of WAL the slowest standby or
	// replication slot may be behind before upkeep leaves it time: expired
	// entries of caches of class async or sync, and expired sessions, then go
	// at 1,000 a second at most. Default 64 MiB; negative: upkeep does not
	// look. Standbys are seen only by members of pg_read_all_stats, slots by
	// every role. A standby with recovery_min_apply_delay wants more.
	MaxReplicationLag int64

	// Logger hears of what goes wrong where no caller is to be told.
	// Default: nobody.
	Logger *slog.Logger
}

// withDefaults validates and fills in. It accepts nil.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	for _, d := range []struct {
		name        string
		field       *int
		def, lo, hi int
	}{
		{"MaxConns", &out.MaxConns, 8, 2, 1000},
		{"MaxValueBytes", &out.MaxValueBytes, DefaultMaxValueBytes, 1, 512 << 20},
		{"MaxBatchKeys", &out.MaxBatchKeys, 256, 1, 100_000},
		{"MaxBatchBytes", &out.MaxBatchBytes, 1 << 20, 1, 512 << 20},
		{"MaxQueueBytes", &out.MaxQueueBytes, 256 << 20, 1, 1 << 40},
	} {
		if *d.field == 0 {
			*d.field = d.def
		}
		if *d.field < d.lo || *d.field > d.hi {
			return out, fmt.Errorf("howdah: Options.%s is %d; it must be between %d and %d", d.name, *d.field, d.lo, d.hi)
		}
	}
	for _, d := range []struct {
		name  string
		field *time.Duration
		def   time.Duration
	}{
		{"Timeout", &out.Timeout, 500 * time.Millisecond},
		{"LockTimeout", &out.LockTimeout, 20 * time.Millisecond},
	} {
		if *d.field == 0 {
			*d.field = d.def
		}
		if *d.field < time.Millisecond {
			return out, fmt.Errorf("howdah: Options.%s is %v; it must be at least a millisecond", d.name, *d.field)
		}
	}
	out.MaxReplicationLag = cmp.Or(out.MaxReplicationLag, 64<<20)
	if out.Pooler != "" && out.Pooler != "transaction" {
		return out, fmt.Errorf("howdah: Options.Pooler is %q; it must be empty or \"transaction\"", out.Pooler)
	}
	return out, nil
}

// poolConfig reads the URL and sets up connections that suit short keyed
// statements. Behind a transaction pooler nothing may be set on a connection,
// nor named on it.
func poolConfig(dsn string, o *Options) (*pgxpool.Config, error) {
	dsn, pooler, err := pgurl.SplitPooler(dsn)
	if err != nil {
		return nil, fmt.Errorf("howdah: %w", err)
	}
	if pooler != "" {
		o.Pooler = pooler
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("howdah: the database URL is not valid (want postgres://user@host:5432/database): %w", err)
	}
	config.MaxConns = int32(o.MaxConns)
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if config.ConnConfig.ValidateConnect == nil {
		// After a promotion, the old primary answers but cannot write.
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	// A connection that idled may have died with its server; asking costs one
	// round trip, and only callers rarer than this pay it.
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > 250*time.Millisecond
	}
	if o.Pooler == "transaction" {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		config.ConnConfig.StatementCacheCapacity = 0
		config.ConnConfig.DescriptionCacheCapacity = 0
		return config, nil
	}
	params := config.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "howdah"
	}
	params["lock_timeout"] = strconv.FormatInt(o.LockTimeout.Milliseconds(), 10)
	// A generic plan made while a cache was still small would scan it for ever.
	params["enable_seqscan"] = "off"
	params["enable_bitmapscan"] = "off"
	params["plan_cache_mode"] = "force_generic_plan"
	params["jit"] = "off"
	return config, nil
}
