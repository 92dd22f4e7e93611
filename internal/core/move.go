package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

// Rename gives an entry another key. See howdah.Cache.Rename.
func (c *Cache) Rename(ctx context.Context, from, to string, onlyIfAbsent bool) error {
	return c.transfer(ctx, from, c, to, !onlyIfAbsent, true)
}

// Copy copies an entry, perhaps to another cache. See howdah.Cache.Copy.
func (c *Cache) Copy(ctx context.Context, from string, target *Cache, to string, replace bool) error {
	err := c.transfer(ctx, from, target, to, replace, false)
	if errors.Is(err, fault.ErrMiss) && c.db.WantedEvents()&values.KeyMissEvent != 0 {
		missed := values.Event{Class: values.KeyMissEvent, Name: "keymiss", Key: from}
		if failed := c.announceIn(ctx, []values.Event{missed}); failed != nil {
			return failed
		}
	}
	return err
}

// Move puts an entry into another cache. See howdah.Cache.Move.
func (c *Cache) Move(ctx context.Context, key string, target *Cache) error {
	return c.transfer(ctx, key, target, key, false, true)
}

func (c *Cache) transfer(ctx context.Context, from string, target *Cache, to string, replace, remove bool) error {
	if len(from) > verb.MaxKeyBytes || len(to) > verb.MaxKeyBytes {
		return fmt.Errorf("%w: at most %d bytes", fault.ErrKeyTooLong, verb.MaxKeyBytes)
	}
	if _, err := c.ofAll([][]byte{[]byte(from), []byte(to)}); err != nil {
		return err
	}
	if c.tx != nil {
		return c.transferIn(ctx, c.tx, from, target, to, replace, remove)
	}
	opts := TxOptions{Cache: c.name, Keys: [][]byte{[]byte(from)}}
	if c.name == target.name {
		opts.Keys = append(opts.Keys, []byte(to))
	}
	err := c.db.Transact(ctx, opts, func(ctx context.Context, tx Tx) error {
		return c.transferIn(ctx, tx, from, target, to, replace, remove)
	})
	if err == nil {
		target.Came([]byte(to))
	}
	return err
}

// transferIn is transfer in a transaction.
func (c *Cache) transferIn(ctx context.Context, tx Tx, from string, target *Cache, to string, replace, remove bool) error {
	c, target = c.of([]byte(from)), target.of([]byte(to))
	source, err := c.With(tx).current(ctx)
	if err != nil {
		return err
	}
	goal, err := target.With(tx).current(ctx)
	if err != nil {
		return err
	}
	if c.tx != nil { // a transaction of the application: nothing holds the partition yet
		if err := source.StayIn(ctx, tx); err != nil {
			return txFailure(err)
		}
	}
	if err = c.transferRow(ctx, tx, source, from, goal, to, replace, remove); err == nil {
		err = c.With(tx).nameTransfer(ctx, from, target.With(tx), to, remove)
	}
	return err
}

// transferRow looks at both places under lock, writes the target from the
// source within the database, and removes the source.
func (c *Cache) transferRow(ctx context.Context, tx Tx, source *engine.Engine, from string, goal *engine.Engine, to string, replace, remove bool) error {
	fromHash, toHash := c.db.engines.Hash([]byte(from)), c.db.engines.Hash([]byte(to))
	// By table and hash, as everybody locks: two transfers in opposite
	// directions do not wait for each other.
	places := map[string][]int64{source.Name(): {fromHash}}
	places[goal.Name()] = append(places[goal.Name()], toHash)
	rows := map[string]map[string]lockedRow{}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		e := source
		if name == goal.Name() {
			e = goal
		}
		var err error
		if rows[name], err = lockRows(ctx, tx, e.Table().Name(), places[name]); err != nil {
			return txFailure(err)
		}
	}
	if !rows[source.Name()][from].live {
		return fault.ErrMiss
	}
	if goal.Table().Full && (source != goal || !remove) {
		return fault.ErrCacheFull
	}
	if rows[goal.Name()][to].live && !replace {
		return fault.ErrNotStored
	}
	if source == goal && from == to {
		return nil
	}
	if remove {
		source.Writes(tx, c.writer, fromHash, from)
	}
	goal.Writes(tx, c.writer, toHash, to)
	err := goal.WriteIn(ctx, tx, func() error {
		transfer := goal.ShapeIn(tx)
		transfer.Source = source.Table().Name()
		tag, err := tx.Exec(ctx, schema.Statement("transfer", transfer), fromHash, []byte(from), toHash, []byte(to), goal.Table().Sync())
		if err == nil && tag.RowsAffected() == 0 {
			return fault.ErrCollision
		}
		if err == nil {
			_, err = tx.Exec(ctx, schema.Statement("transfer_tags", transfer), fromHash, toHash)
		}
		return txFailure(err)
	}, toHash)
	if err != nil || !remove {
		return err
	}
	err = source.WriteIn(ctx, tx, func() error {
		_, err := tx.Exec(ctx, schema.Statement("remove", source.ShapeIn(tx)), fromHash, []byte(from))
		return txFailure(err)
	}, fromHash)
	if err == nil {
		source.EndsIn(tx, c.callerOf(ctx, "rename"), []byte(from), observe.Renamed)
	}
	return err
}
