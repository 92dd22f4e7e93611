package howdah

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/core"
)

// Durability says what survives a crash of PostgreSQL.
type Durability string

// The classes of durability.
const (
	// Unlogged caches are the fastest, and empty after a crash or failover. It
	// is the default.
	Unlogged Durability = "unlogged"
	// Async caches lose at most the last moments before a crash.
	Async Durability = "async"
	// Sync caches lose nothing that was acknowledged.
	Sync Durability = "sync"
)

// Eviction says which entries a cache removes beyond its budget, by the names of
// Redis's maxmemory-policy.
type Eviction string

// The policies of eviction.
const (
	AllKeysLRU     Eviction = "allkeys-lru" // the least recently used; the default
	AllKeysLFU     Eviction = "allkeys-lfu" // the least frequently used
	AllKeysRandom  Eviction = "allkeys-random"
	VolatileLRU    Eviction = "volatile-lru" // volatile: only entries with a TTL
	VolatileLFU    Eviction = "volatile-lfu"
	VolatileRandom Eviction = "volatile-random"
	VolatileTTL    Eviction = "volatile-ttl" // those that expire soonest
	NoEviction     Eviction = "noeviction"   // none: writes are refused with ErrCacheFull
)

// CacheConfig are the settings of a cache, as howdah.create_cache takes them.
// The zero value of every field but Name is its default.
type CacheConfig struct {
	// Name is lower-case letters, digits and underscores, at most 48.
	Name string
	// Durability is Unlogged (default), Async or Sync.
	Durability Durability
	// DefaultTTL is the TTL of entries stored without one. 0: none.
	DefaultTTL time.Duration
	// MaxTTL caps every TTL. 0: no cap.
	MaxTTL time.Duration
	// TTLJitter is by how many per cent, at most, the TTL of a stored value is
	// shortened at random, so that what is stored together does not expire
	// together: 0 (default) to 90. TTLs that are set without a value (Expire,
	// Touch, GETEX), and times of day, are exact.
	TTLJitter int
	// MaxBytes and MaxEntries are the budget. 0: none.
	MaxBytes   int64
	MaxEntries int64
	// Eviction is what is removed beyond the budget. Default AllKeysLRU.
	Eviction Eviction
	// Fillfactor is the share of a page that inserts fill, 10 to 100 per cent.
	// Default 85.
	Fillfactor int
	// PrefixIndex adds a second index, for caches that often use DeletePrefix.
	PrefixIndex bool
	// Near notes every write in the change log, so that programs may keep entries
	// in their own memory (Options.Near) and learn what has changed. A write costs
	// a little more. To turn it on or off, AlterCache takes the same lock as for a
	// change of Durability, for a moment.
	Near bool
	// LogKeys notes the keys of writes in the change log too, for clients of the Redis
	// protocol with CLIENT TRACKING ON BCAST. It needs Near, and a write then leaves its
	// key in the log for half a minute. To turn it on or off takes the lock of Near.
	LogKeys bool
}

func (config CacheConfig) core() core.CacheConfig {
	return core.CacheConfig{
		Name: config.Name, Durability: string(config.Durability), DefaultTTL: config.DefaultTTL, MaxTTL: config.MaxTTL,
		TTLJitter: config.TTLJitter, MaxBytes: config.MaxBytes, MaxEntries: config.MaxEntries,
		Eviction: string(config.Eviction), Fillfactor: config.Fillfactor, PrefixIndex: config.PrefixIndex, Near: config.Near, LogKeys: config.LogKeys,
	}
}

// CreateCache makes a cache. Only the owner of the schema may. Errors:
// ErrCacheExists, ErrInvalidName, ErrInvalidSetting, ErrPermission, ErrUnknownOutcome.
func (db *DB) CreateCache(ctx context.Context, config CacheConfig) error {
	return db.core().CreateCache(ctx, config.core())
}

// EnsureCache makes a cache if there is none of that name, and leaves an existing
// one as it is. Every role may call it where the cache exists, only the owner
// of the schema where it does not. Errors: ErrInvalidName, ErrInvalidSetting,
// ErrPermission.
func (db *DB) EnsureCache(ctx context.Context, config CacheConfig) error {
	return db.core().EnsureCache(ctx, config.core())
}

// AlterOptions say what AlterCache changes. The zero value gives the cache all
// settings of the config.
type AlterOptions struct {
	// Only names the settings to change, as howdah.alter_cache names them
	// ("max_bytes"); the others stay as they are. Default: all.
	Only []string
	// Empty removes all entries. A change of durability then has nothing to
	// rewrite, and its lock is short however large the cache was.
	Empty bool
}

// AlterCache gives a cache the settings of config: all of them, or those that
// opts names. It is one statement: of two at once neither undoes what the other
// did. Other processes follow within seconds.
//
// A change of Durability from or to Unlogged rewrites the table, and locks it
// for about a second for each hundred megabytes (see AlterOptions.Empty). The
// wait for the lock, in which all other users of the cache wait too, ends after
// two seconds with ErrCacheInUse, and then nothing was changed.
//
// Errors: ErrCacheNotFound, ErrInvalidName, ErrInvalidSetting, ErrPermission,
// ErrCacheInUse, ErrUnknownOutcome.
func (db *DB) AlterCache(ctx context.Context, config CacheConfig, opts AlterOptions) error {
	return db.core().AlterCache(ctx, config.core(), core.AlterOptions(opts))
}

// DropCache removes a cache with all it holds. Only the owner of the schema
// may. It waits for transactions that use the cache for two seconds. Errors:
// ErrCacheNotFound, ErrInvalidName, ErrPermission, ErrCacheInUse, ErrUnknownOutcome.
func (db *DB) DropCache(ctx context.Context, name string) error {
	return db.core().DropCache(ctx, name)
}

// Caches returns the settings of all caches, by name. A TTL that was set by SQL
// and is longer than a time.Duration can say is given as 292 years, and one of
// 1000 years or more as none, which it is.
func (db *DB) Caches(ctx context.Context) ([]CacheConfig, error) {
	found, err := db.core().Caches(ctx)
	var configs []CacheConfig
	for _, c := range found {
		configs = append(configs, CacheConfig{
			Name: c.Name, Durability: Durability(c.Durability), DefaultTTL: c.DefaultTTL, MaxTTL: c.MaxTTL,
			TTLJitter: c.TTLJitter, MaxBytes: c.MaxBytes, MaxEntries: c.MaxEntries,
			Eviction: Eviction(c.Eviction), Fillfactor: c.Fillfactor, PrefixIndex: c.PrefixIndex, Near: c.Near, LogKeys: c.LogKeys,
		})
	}
	return configs, err
}
