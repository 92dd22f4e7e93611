package howdah

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Rename gives an entry another key, with its TTL, replacing what was there;
// with onlyIfAbsent nothing may be there. Errors: ErrMiss, ErrNotStored.
func (c *Cache) Rename(ctx context.Context, from, to string, onlyIfAbsent bool) error {
	return c.transfer(ctx, from, c, to, !onlyIfAbsent, true)
}

// Copy copies an entry, with its TTL, to another key, of the same cache or of
// another of the same database. If the key exists it is replaced where replace
// says so; otherwise ErrNotStored. ErrMiss if there is nothing to copy.
func (c *Cache) Copy(ctx context.Context, from string, target *Cache, to string, replace bool) error {
	return c.transfer(ctx, from, target, to, replace, false)
}

// Move puts an entry, with its TTL, into another cache of the same database
// under the same key. ErrMiss if there is none, ErrNotStored if the key exists
// there.
func (c *Cache) Move(ctx context.Context, key string, target *Cache) error {
	return c.transfer(ctx, key, target, key, false, true)
}

func (c *Cache) transfer(ctx context.Context, from string, target *Cache, to string, replace, remove bool) error {
	if len(from) > MaxKeyBytes || len(to) > MaxKeyBytes {
		return fmt.Errorf("%w: at most %d bytes", ErrKeyTooLong, MaxKeyBytes)
	}
	source, err := c.current(ctx)
	if err != nil {
		return err
	}
	goal, err := target.current(ctx)
	if err != nil {
		return err
	}
	if c.tx != nil {
		return c.transferIn(ctx, c.tx, source, from, goal, to, replace, remove)
	}
	opts := TxOptions{Cache: c.name, Keys: [][]byte{[]byte(from)}}
	if source == goal {
		opts.Keys = append(opts.Keys, []byte(to))
	}
	return c.db.Transact(ctx, opts, func(ctx context.Context, tx pgx.Tx) error {
		return c.transferIn(ctx, tx, source, from, goal, to, replace, remove)
	})
}

// transferIn looks at both places under lock, writes the target from the
// source within the database, and removes the source.
func (c *Cache) transferIn(ctx context.Context, tx pgx.Tx, source *engine, from string, goal *engine, to string, replace, remove bool) error {
	fromHash, toHash := c.db.keyHash([]byte(from)), c.db.keyHash([]byte(to))
	// By table and hash, as everybody locks: two transfers in opposite
	// directions do not wait for each other.
	places := map[string][]int64{source.name: {fromHash}}
	places[goal.name] = append(places[goal.name], toHash)
	live := map[string]map[string]int64{}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		e := source
		if name == goal.name {
			e = goal
		}
		var err error
		if live[name], err = lockEntries(ctx, tx, e.tableName(), places[name]); err != nil {
			return txFailure(err)
		}
	}
	if _, ok := live[source.name][from]; !ok {
		return ErrMiss
	}
	if goal.table.Load().full && (source != goal || !remove) {
		return ErrOutOfMemory
	}
	if _, ok := live[goal.name][to]; ok && !replace {
		return ErrNotStored
	}
	if source == goal && from == to {
		return nil
	}
	tag, err := tx.Exec(ctx, schema.Statement("transfer", schema.Table{Name: goal.tableName(), Source: source.tableName()}),
		fromHash, []byte(from), toHash, []byte(to), goal.table.Load().sync())
	if err != nil {
		return txFailure(err)
	}
	if tag.RowsAffected() == 0 {
		return ErrCollision
	}
	if remove {
		_, err = tx.Exec(ctx, schema.Statement("remove", schema.Table{Name: source.tableName()}), fromHash, []byte(from))
	}
	return txFailure(err)
}
