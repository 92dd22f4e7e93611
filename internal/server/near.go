package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/redisapi"
)

// Near says what the server keeps in memory of the caches that have a change
// log.
type Near struct {
	// Bound is the greatest age of what is read from memory, from 10 ms to
	// 10 s. Less than 0: every read asks PostgreSQL. Default:
	// DefaultNearBound with the embedded PostgreSQL, less than 0 with a
	// DatabaseURL.
	Bound time.Duration

	// Bytes bounds the memory. Default DefaultNearBytes, at least 1 MiB.
	Bytes int64

	// Exclude are prefixes of keys that are never kept in memory.
	Exclude []string
}

// The defaults of Near.
const (
	DefaultNearBound = 100 * time.Millisecond
	DefaultNearBytes = 64 << 20
)

// CheckNearBound says in a sentence what is wrong with a bound.
func CheckNearBound(bound time.Duration) error {
	if bound < near.MinBound || bound > near.MaxBound {
		return fmt.Errorf("must be from %v to %v", near.MinBound, near.MaxBound)
	}
	return nil
}

// check says in a sentence what is wrong. option names the options.
func (n *Near) check(option func(name string) string) error {
	if n.Bound > 0 {
		if err := CheckNearBound(n.Bound); err != nil {
			return fmt.Errorf("%s %w", option("near"), err)
		}
	}
	switch {
	case n.Bytes != 0 && n.Bytes < near.MinBytes:
		return fmt.Errorf("%s must be at least 1 MiB; give %s off to keep nothing in memory", option("near-bytes"), option("near"))
	case slices.Contains(n.Exclude, ""):
		return fmt.Errorf("%s must not be empty, which every key begins with; give %s off to keep nothing in memory", option("near-exclude"), option("near"))
	}
	return nil
}

// complete fills in the defaults.
func (n *Near) complete(embedded bool) {
	if n.Bound == 0 && embedded {
		n.Bound = DefaultNearBound
	}
	setDefault(&n.Bytes, DefaultNearBytes)
}

// on reports whether entries are kept in memory.
func (n *Near) on() bool { return n.Bound > 0 }

// options are those of the library.
func (n *Near) options() howdah.NearOptions {
	if !n.on() {
		return howdah.NearOptions{}
	}
	return howdah.NearOptions{Bound: n.Bound, Bytes: n.Bytes, Exclude: n.Exclude}
}

// prepareLogs sees to the change logs without which nothing is kept in memory.
// The databases of the embedded PostgreSQL get them here. Those of another
// PostgreSQL are their owner's, whose writers pay for a log.
func (d *database) prepareLogs(ctx context.Context, c *Config) error {
	if !c.Near.on() {
		return nil
	}
	db := (*core.DB)(d.db)
	caches, err := db.Caches(ctx)
	if err != nil {
		return explain(err, c)
	}
	for _, cache := range caches {
		if cache.Near {
			continue
		}
		if d.embedded != nil && redisapi.IsDatabase(cache.Name) {
			config := core.CacheConfig{Name: cache.Name, Near: true}
			if err = db.AlterCache(ctx, config, core.AlterOptions{Only: []string{"near"}}); err == nil {
				continue
			}
			c.Logger.Warn("cannot give the cache a change log", "cache", cache.Name, "error", err)
		}
		c.Logger.Warn(fmt.Sprintf("nothing of the cache %[1]s is kept in memory, because it has no change log: "+
			"let the owner of the schema run SELECT howdah.alter_cache('%[1]s', near => true)", cache.Name))
	}
	return nil
}

// announce says what bound holds, and how to do without.
func (n *Near) announce(c *Config) {
	if n.on() {
		c.Logger.Info(fmt.Sprintf("reads from memory are at most %v old; %s off lets every read ask PostgreSQL", n.Bound, c.option("near")),
			slog.Int64("bytes", n.Bytes))
	}
}
