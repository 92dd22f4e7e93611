package howdah

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/schema"
)

// CacheConfig are the settings of a cache, as howdah.create_cache takes them.
// The zero value of every field but Name is its default.
type CacheConfig struct {
	// Name is lower-case letters, digits and underscores, at most 48.
	Name string
	// Durability is "unlogged" (default; empty after a crash or failover),
	// "async" (a crash loses at most the last moments) or "sync".
	Durability string
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
	// Eviction is what gives way beyond the budget, by the names of Redis.
	// Default "allkeys-lru".
	Eviction string
	// Fillfactor is the share of a page that inserts fill, 10 to 100 per cent.
	// Default 85.
	Fillfactor int
	// PrefixIndex adds a second index, for caches that live by DeletePrefix.
	PrefixIndex bool
}

// CreateCache makes a cache. Only the owner of the schema may. Errors:
// ErrCacheExists, ErrInvalidName, ErrInvalidSetting, ErrPermission.
func (db *DB) CreateCache(ctx context.Context, config CacheConfig) error {
	if err := checkName(config.Name); err != nil {
		return err
	}
	_, err := db.pool.Exec(ctx, schema.Query("create_cache"),
		config.Name, config.Durability, interval(config.DefaultTTL), interval(config.MaxTTL), config.MaxBytes, config.MaxEntries,
		config.Eviction, config.PrefixIndex, integer(config.TTLJitter), integer(config.Fillfactor))
	return schemaFailure(err)
}

// checkName refuses names that PostgreSQL would refuse, and those that it could
// not even read.
func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%w: %q must be lower-case letters, digits and underscores, begin with a letter, and be at most 48 long", ErrInvalidName, name)
	}
	return nil
}

// interval is a duration as a parameter; 0 is NULL.
func interval(d time.Duration) *time.Duration {
	if d == 0 {
		return nil
	}
	return &d
}

// integer is a number as a parameter of that type. What does not fit into it is
// beyond the bounds of every setting, as its last number is: PostgreSQL refuses it.
func integer(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// AlterCache gives a cache the settings of config: all of them, or only those
// that are named as howdah.alter_cache names them ("max_bytes"), and keeps the
// others. It is one statement: of two at once neither undoes what the other did.
// Other processes know of it within seconds.
//
// A change of Durability from or to "unlogged" rewrites the table, and locks it
// for about a second for each hundred megabytes; AlterAndEmptyCache has nothing
// to rewrite. The wait for the lock, in which all other users of the cache wait
// too, ends after two seconds with ErrCacheInUse, and then nothing was changed.
//
// Errors: ErrCacheNotFound, ErrInvalidName, ErrInvalidSetting, ErrPermission,
// ErrCacheInUse.
func (db *DB) AlterCache(ctx context.Context, config CacheConfig, only ...string) error {
	return db.alterCache(ctx, config, only, false)
}

// AlterAndEmptyCache is AlterCache for a cache that may lose its entries: it
// removes them all, and its lock is short however large the cache was.
func (db *DB) AlterAndEmptyCache(ctx context.Context, config CacheConfig, only ...string) error {
	return db.alterCache(ctx, config, only, true)
}

func (db *DB) alterCache(ctx context.Context, config CacheConfig, only []string, empty bool) error {
	if err := checkName(config.Name); err != nil {
		return err
	}
	settings := config.settings()
	args, reset := []any{config.Name}, []string{}
	for _, s := range settings {
		value := s.value
		switch {
		case len(only) > 0 && !slices.Contains(only, s.name):
			value = nil
		case s.unset:
			value = nil
			reset = append(reset, s.name)
		}
		args = append(args, value)
	}
	for _, name := range only {
		if !slices.ContainsFunc(settings, func(s setting) bool { return s.name == name }) {
			return fmt.Errorf("%w: there is no setting %q", ErrInvalidSetting, name)
		}
	}
	_, err := db.pool.Exec(ctx, schema.Query("alter_cache"), append(args, reset, empty)...)
	if err == nil {
		db.mu.RLock()
		e := db.engines[config.Name]
		db.mu.RUnlock()
		if e != nil {
			e.forget()
		}
	}
	return schemaFailure(err)
}

// setting is one field of a CacheConfig; unset: it is to be the default.
type setting struct {
	name  string
	value any
	unset bool
}

// settings are the fields but the name, in the order of AlterCache's statement.
func (config CacheConfig) settings() []setting {
	return []setting{
		{"durability", config.Durability, config.Durability == ""},
		{"default_ttl", interval(config.DefaultTTL), config.DefaultTTL == 0},
		{"max_ttl", interval(config.MaxTTL), config.MaxTTL == 0},
		{"max_bytes", config.MaxBytes, config.MaxBytes == 0},
		{"max_entries", config.MaxEntries, config.MaxEntries == 0},
		{"eviction", config.Eviction, config.Eviction == ""},
		{"prefix_index", config.PrefixIndex, false},
		{"ttl_jitter", integer(config.TTLJitter), false},
		{"fillfactor", integer(config.Fillfactor), config.Fillfactor == 0},
	}
}

// DropCache removes a cache with all it holds. Only the owner of the schema
// may. It waits for transactions that use the cache for two seconds. Errors:
// ErrCacheNotFound, ErrInvalidName, ErrPermission, ErrCacheInUse.
func (db *DB) DropCache(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	_, err := db.pool.Exec(ctx, schema.Query("drop_cache"), name)
	return schemaFailure(err)
}

// Caches returns the settings of all caches, by name. A TTL that was set by SQL
// and is longer than a time.Duration can say is given as 292 years, and one of
// 1000 years or more as none, which it is.
func (db *DB) Caches(ctx context.Context) ([]CacheConfig, error) {
	rows, err := db.pool.Query(ctx, schema.Query("caches"), math.MaxInt64/time.Microsecond.Nanoseconds())
	if err != nil {
		return nil, failure(err, false, false)
	}
	configs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c CacheConfig, err error) {
		var defaultTTL, maxTTL int64
		err = row.Scan(&c.Name, &c.Durability, &defaultTTL, &maxTTL, &c.MaxBytes, &c.MaxEntries,
			&c.Eviction, &c.Fillfactor, &c.PrefixIndex, &c.TTLJitter)
		c.DefaultTTL = time.Duration(defaultTTL) * time.Microsecond
		c.MaxTTL = time.Duration(maxTTL) * time.Microsecond
		return c, err
	})
	if err != nil {
		return nil, failure(err, false, false)
	}
	return configs, nil
}

// schemaErrors are the SQLSTATEs that our functions raise.
var schemaErrors = map[string]error{
	"HW001": ErrCacheNotFound,
	"HW002": ErrInvalidName,
	"HW003": ErrCacheExists,
	"HW004": ErrInvalidSetting,
	"HW005": ErrNotInteger,
	"HW006": ErrOverflow,
	"HW007": ErrKeyTooLong,
	"HW008": ErrValueTooLarge,
	"HW009": ErrInvalidTTL,
	"HW010": ErrCollision,
	"HW011": ErrOutOfMemory,
	// With a hint, these are ours too.
	"42501": ErrPermission,
	"55P03": ErrCacheInUse,
}

// schemaFailure turns an error of one of our functions into one of ours, with
// the function's own hint.
func schemaFailure(err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		if pgErr.Code == "22021" { // character_not_in_repertoire
			return fmt.Errorf("%w: a setting holds a zero byte, or is not UTF-8", ErrInvalidSetting)
		}
		if sentinel, ok := schemaErrors[pgErr.Code]; ok && pgErr.Hint != "" {
			return fmt.Errorf("%w: %s %s", sentinel, pgErr.Message, pgErr.Hint)
		}
	}
	return failureOrNil(err)
}
