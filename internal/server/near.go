package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
	// 10 s. Less than 0: every read asks PostgreSQL. Default: DefaultNearBound.
	Bound time.Duration

	// wanted says that somebody counts on memory: Bound was given, or the PostgreSQL
	// is the embedded one. Otherwise the server uses the change logs that there are.
	wanted bool

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
	n.wanted = n.Bound > 0 || n.Bound == 0 && embedded
	setDefault(&n.Bound, DefaultNearBound)
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

// prepareLogs sees to the change logs without which nothing is kept in memory, and says what
// is kept. The databases of the embedded PostgreSQL get a log here. Those of another PostgreSQL
// are their owner's, whose writers pay for it.
func (d *database) prepareLogs(ctx context.Context, c *Config) error {
	if !c.Near.on() {
		return nil
	}
	db := (*core.DB)(d.db)
	caches, err := db.Caches(ctx)
	if err != nil {
		return explain(err, c)
	}
	var without []string
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
		without = append(without, cache.Name)
	}
	logs := len(caches) > len(without)
	if !logs && !c.Near.wanted {
		db.SetMemoryUnused()
	}
	c.Near.announce(c, logs, without)
	return nil
}

// advice is how the owner of a schema gives caches a change log.
const advice = `let the owner of the schema run "howdah migrate --near" for all caches, or SELECT howdah.alter_cache('%s', near => true) for one`

// announce says, before clients come, which bound holds and how to do without, or how to do with.
// logs says that a cache has a change log, without names those that have none.
func (n *Near) announce(c *Config, logs bool, without []string) {
	if logs || n.wanted {
		c.Logger.Info(fmt.Sprintf("reads from memory are at most %v old; %s off lets every read ask PostgreSQL", n.Bound, c.option("near")),
			slog.Int64("bytes", n.Bytes))
	}
	switch {
	case len(without) == 0:
	case n.wanted:
		c.Logger.Warn("nothing is kept in memory of the caches that have no change log: "+fmt.Sprintf(advice, without[0]),
			"caches", strings.Join(without[:min(len(without), 10)], ", "), "number", len(without))
	case !logs:
		c.Logger.Info("every read asks PostgreSQL, because no cache has a change log. To answer hot keys from memory, " +
			fmt.Sprintf(advice, without[0]))
	}
}
