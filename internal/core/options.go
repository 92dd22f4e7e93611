package core

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

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgurl"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/internal/verb"
)

// Options tune a DB. Package howdah documents the fields.
type Options struct {
	MaxConns          int
	Timeout           time.Duration
	LockTimeout       time.Duration
	MaxValueBytes     int
	MaxBatchKeys      int
	MaxBatchBytes     int
	MaxQueueBytes     int
	Pooler            string
	ListenURL         string
	MaxReplicationLag int64
	Near              NearOptions
	SlowCall          time.Duration
	MaskKeys          []string
	Tracer            trace.Tracer // nil: none
	Logger            *slog.Logger
}

// PoolerTransaction is the Pooler that gives each transaction any server
// connection.
const PoolerTransaction = "transaction"

// applicationName is how connections are named in pg_stat_activity, unless the URL names
// them.
const applicationName = "howdah"

// withDefaults validates and fills in.
func (o Options) withDefaults() (out Options, err error) {
	out = o
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		name        string
		field       *int
		def, lo, hi int
	}{
		{"MaxConns", &out.MaxConns, 8, 2, 1000},
		{"MaxValueBytes", &out.MaxValueBytes, verb.DefaultMaxValueBytes, 1, 512 << 20},
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
	if out.SlowCall < 0 {
		return out, fmt.Errorf("howdah: Options.SlowCall is %v; it must not be negative, and 0 turns it off", out.SlowCall)
	}
	out.Near.Bytes = cmp.Or(out.Near.Bytes, defaultNearBytes)
	out.MaxReplicationLag = cmp.Or(out.MaxReplicationLag, 64<<20)
	if out.Pooler != "" && out.Pooler != PoolerTransaction {
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
		config.ConnConfig.ConnectTimeout = engine.ConnectTimeout
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
	if o.Pooler == PoolerTransaction {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		config.ConnConfig.StatementCacheCapacity = 0
		config.ConnConfig.DescriptionCacheCapacity = 0
		return config, nil
	}
	params := config.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = applicationName
	}
	// A write that waited for a row must see what the other transaction left,
	// whatever a role or a database has as its default.
	params["default_transaction_isolation"] = "read committed"
	params["lock_timeout"] = strconv.FormatInt(o.LockTimeout.Milliseconds(), 10)
	config.AfterConnect = endWithClient
	// A generic plan made while a cache was still small would scan it for ever.
	params["enable_seqscan"] = "off"
	params["enable_bitmapscan"] = "off"
	params["plan_cache_mode"] = "force_generic_plan"
	params["jit"] = "off"
	return config, nil
}

// endWithClient has PostgreSQL look each second, while a statement runs, whether this process
// still has the connection. Otherwise a statement of a process that was killed runs to its end,
// beside those of its successor. A platform where PostgreSQL cannot look refuses.
func endWithClient(ctx context.Context, conn *pgx.Conn) error {
	const setting = "client_connection_check_interval"
	if _, own := conn.Config().RuntimeParams[setting]; own {
		return nil
	}
	_, err := conn.Exec(ctx, "SET "+setting+" = '1s'")
	if fault.State(err) != "" {
		return nil
	}
	return err
}
