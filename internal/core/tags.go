package core

import (
	"context"
	"strings"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

// InvalidateTags removes the entries that have any of these tags, all or none, and
// returns how many live ones that were. It voids the loads of such entries that are
// under way. See howdah.Cache.InvalidateTags.
func (c *Cache) InvalidateTags(ctx context.Context, tags []string) (removed int64, err error) {
	for _, tag := range tags {
		if err := verb.CheckTag(tag); err != nil {
			return 0, err
		}
	}
	ctx, span := c.traced(ctx, "invalidate_tags", 0, true)
	defer func() { span.End(trace.Result{Err: err}) }()
	ctx, cancel := engine.Bounded(ctx, wholeCacheTimeout)
	defer cancel()
	err = c.each(ctx, func(c *Cache) error {
		n, err := c.invalidateTags(ctx, tags)
		removed += n
		if fault.IsLocked(err) {
			return fault.From(err, true, false)
		}
		return c.written(err)
	})
	if err == nil && removed > 0 {
		c.noteWhole(ctx, "invalidate_tags", observe.Invalidated, removed, strings.Join(tags, ", "), nil)
	}
	return removed, err
}

// CountTag returns how many live entries have a tag. It looks at so many entries of each
// partition at most: atLeast says that there may be more.
func (c *Cache) CountTag(ctx context.Context, tag string, most int) (total int64, atLeast bool, err error) {
	if err := verb.CheckTag(tag); err != nil {
		return 0, false, err
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	err = c.each(ctx, func(c *Cache) error {
		var looked, live int64
		err := c.whole(ctx, func(ctx context.Context, tx Tx, table schema.Table) error {
			return tx.QueryRow(ctx, schema.Statement("count_tagged", table), c.db.engines.Hash([]byte(tag)), most).Scan(&looked, &live)
		})
		total, atLeast = total+live, atLeast || looked >= int64(most)
		return err
	})
	return total, atLeast, err
}

// invalidateTags is InvalidateTags for the table of the cache, or of its partition.
func (c *Cache) invalidateTags(ctx context.Context, tags []string) (removed int64, err error) {
	e, err := c.engine(ctx)
	if err != nil {
		return 0, err
	}
	err = c.writeAll(ctx, e, func() error {
		for {
			err := c.changeOne(ctx, &removed, schema.Query("invalidate_tags"), c.settings(), tags)
			// Somebody holds one of the entries, or stores one, for a moment.
			if !fault.IsLocked(err) || c.tx != nil || ctx.Err() != nil {
				return err
			}
		}
	})
	return removed, err
}
