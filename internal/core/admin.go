package core

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/schema"
)

// CacheConfig are the settings of a cache, as howdah.create_cache takes them.
// Package howdah documents the fields.
type CacheConfig struct {
	Name        string
	Durability  string
	DefaultTTL  time.Duration
	MaxTTL      time.Duration
	TTLJitter   int
	MaxBytes    int64
	MaxEntries  int64
	Eviction    string
	Fillfactor  int
	PrefixIndex bool
	Near        bool
	LogKeys     bool
}

// CreateCache makes a cache. Only the owner of the schema may. Errors:
// ErrCacheExists, ErrInvalidName, ErrInvalidSetting, ErrPermission, ErrUnknownOutcome.
func (db *DB) CreateCache(ctx context.Context, config CacheConfig) error {
	if err := statement.CheckName(config.Name); err != nil {
		return err
	}
	return db.change(ctx, cluster.Change{Query: "create_cache", Makes: true, Args: []any{
		config.Name, config.Durability, interval(config.DefaultTTL), interval(config.MaxTTL), config.MaxBytes, config.MaxEntries,
		config.Eviction, config.PrefixIndex, integer(config.TTLJitter), integer(config.Fillfactor), config.Near, config.LogKeys}})
}

// EnsureCache makes a cache if there is none of that name. See
// howdah.DB.EnsureCache.
func (db *DB) EnsureCache(ctx context.Context, config CacheConfig) error {
	if err := statement.CheckName(config.Name); err != nil {
		return err
	}
	// Asked first: a role that may not make caches may use those that exist.
	if exists, err := db.exists(ctx, config.Name); err != nil || exists {
		return err
	}
	err := db.CreateCache(ctx, config)
	if errors.Is(err, fault.ErrCacheExists) {
		return nil // made at the same moment
	}
	return err
}

// exists tells whether there is a cache of a name.
func (db *DB) exists(ctx context.Context, cache string) (exists bool, err error) {
	rows, err := db.engines.Query(ctx, schema.Query("cache_exists"), cache)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&exists}, func() error { return nil })
	}
	return exists, fault.From(err, false, false)
}

// change changes a cache, on all servers if there are several.
func (db *DB) change(ctx context.Context, change cluster.Change) error {
	if db.servers() == nil {
		return fault.FromChange(db.exec(ctx, change.Query, change.Args...))
	}
	conn, err := db.engines.Acquire(ctx)
	if err != nil {
		return fault.From(err, false, false)
	}
	config := conn.Conn().Config()
	conn.Release()
	return cluster.Do(ctx, config, change)
}

// exec runs a query of schema that changes caches.
func (db *DB) exec(ctx context.Context, query string, args ...any) error {
	return db.engines.Change(ctx, func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, schema.Query(query), args...)
		return err
	})
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

// AlterOptions say what AlterCache changes.
type AlterOptions struct {
	Only  []string
	Empty bool
}

// AlterCache gives a cache the settings of config. See howdah.DB.AlterCache.
func (db *DB) AlterCache(ctx context.Context, config CacheConfig, opts AlterOptions) error {
	if err := statement.CheckName(config.Name); err != nil {
		return err
	}
	settings := config.settings()
	args, reset := []any{config.Name}, []string{}
	for _, s := range settings {
		value := s.value
		switch {
		case len(opts.Only) > 0 && !slices.Contains(opts.Only, s.name):
			value = nil
		case s.unset:
			value = nil
			reset = append(reset, s.name)
		}
		args = append(args, value)
	}
	for _, name := range opts.Only {
		if !slices.ContainsFunc(settings, func(s setting) bool { return s.name == name }) {
			return fmt.Errorf("%w: there is no setting %q", fault.ErrInvalidSetting, name)
		}
	}
	change := cluster.Change{Query: "alter_cache", Args: append(args, reset, opts.Empty)}
	if opts.Empty {
		change.Emptied = config.Name
	}
	err := db.change(ctx, change)
	if err == nil {
		db.changed(config.Name)
		if opts.Empty {
			db.Cache(config.Name).noteWhole(ctx, "alter", observe.Flushed, observe.Unknown, "", nil)
		}
	}
	return err
}

// changed has the settings of a cache read again, and its entries.
func (db *DB) changed(cache string) {
	db.eachEngine(cache, func(e *engine.Engine) {
		e.Forget()
		e.DropMemory()
	})
}

// eachEngine calls fn with the engine of a cache, or those of its partitions, if they were
// used before.
func (db *DB) eachEngine(cache string, fn func(*engine.Engine)) {
	_ = db.Cache(cache).each(context.Background(), func(c *Cache) error {
		if e := c.db.engines.Known(c.settings()); e != nil {
			fn(e)
		}
		return nil
	})
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
		{"near", config.Near, false},
		{"log_keys", config.LogKeys, false},
	}
}

// DropCache removes a cache with all it holds. Only the owner of the schema
// may. It waits for transactions that use the cache for two seconds. Errors:
// ErrCacheNotFound, ErrInvalidName, ErrPermission, ErrCacheInUse, ErrUnknownOutcome.
func (db *DB) DropCache(ctx context.Context, name string) error {
	if err := statement.CheckName(name); err != nil {
		return err
	}
	err := db.change(ctx, cluster.Change{Query: "drop_cache", Args: []any{name}})
	if err == nil {
		db.changed(name)
		db.Cache(name).noteWhole(ctx, "drop", observe.Dropped, observe.Unknown, "", nil)
	}
	return err
}

// SwapCaches exchanges the entries of two caches at one moment for all who use them, by
// the function howdah.swap_caches. Errors: ErrCacheNotFound, ErrInvalidName,
// ErrInvalidSetting (their tables differ, or have watches), ErrPermission, ErrCacheInUse
// (a transaction has used one of them for two seconds; nothing was changed), ErrUnknownOutcome.
func (db *DB) SwapCaches(ctx context.Context, first, second string) error {
	for _, name := range []string{first, second} {
		if err := statement.CheckName(name); err != nil {
			return err
		}
	}
	err := db.exec(ctx, "swap_caches", first, second)
	if err == nil {
		for _, name := range []string{first, second} {
			db.changed(name)
			db.eachEngine(name, func(e *engine.Engine) { edit.Of(e).Look() })
		}
		db.Cache(first).noteWhole(ctx, "swap", observe.Swapped, observe.Unknown, second, nil)
		db.Cache(second).noteWhole(ctx, "swap", observe.Swapped, observe.Unknown, first, nil)
	}
	return fault.FromChange(err)
}

// Caches returns the settings of all caches, by name. A TTL that was set by SQL
// and is longer than a time.Duration can say is given as 292 years, and one of
// 1000 years or more as none, which it is.
func (db *DB) Caches(ctx context.Context) ([]CacheConfig, error) {
	rows, err := db.engines.Query(ctx, schema.Query("caches"), math.MaxInt64/time.Microsecond.Nanoseconds())
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	configs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c CacheConfig, err error) {
		var defaultTTL, maxTTL int64
		err = row.Scan(&c.Name, &c.Durability, &defaultTTL, &maxTTL, &c.MaxBytes, &c.MaxEntries,
			&c.Eviction, &c.Fillfactor, &c.PrefixIndex, &c.TTLJitter, &c.Near, &c.LogKeys)
		c.DefaultTTL = time.Duration(defaultTTL) * time.Microsecond
		c.MaxTTL = time.Duration(maxTTL) * time.Microsecond
		return c, err
	})
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	return configs, nil
}
