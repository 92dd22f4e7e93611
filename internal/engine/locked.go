package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/internal/verb"
)

// ownTx is a transaction whose end its owner sees.
type ownTx struct {
	pgx.Tx
	parkings []*near.Parking
	changes  []change
	names    []tracking.Key // that were changed, of all caches
	tracking *tracking.Table
	applied  bool // it was committed, or may have been
	unsure   bool // which of them is not known

	committed []func(unsure bool) // see WhenCommitted
}

// Keep implements Keeper.
func (tx *ownTx) Keep(p *near.Parking) { tx.parkings = append(tx.parkings, p) }

// release has memory serve again what the transaction wrote, when it has ended, and
// tells the clients that track it.
func (tx *ownTx) release() {
	for _, p := range tx.parkings {
		p.Release()
	}
	for _, c := range tx.changes {
		c.engine.changed(c.keys, c.writer)
	}
	if tx.applied {
		tx.tracking.ChangedKeys(tx.names)
		for _, fn := range tx.committed {
			fn(tx.unsure)
		}
	}
}

// InTransaction runs fn in a transaction that begins with a statement, and commits it if
// fn returns nil. A statement waits for a lock half of the time that is left, so that
// PostgreSQL answers before the caller leaves. Errors: fn's, pgx.ErrTxCommitRollback,
// conflicts with other transactions as they are (fault.IsConflict), ErrUnknownOutcome if
// the connection was lost during the commit, and those of a call that was not applied.
func (s *Set) InTransaction(ctx context.Context, begin string, fn func(pgx.Tx) error) error {
	conn, err := s.Acquire(ctx)
	if err != nil {
		return fault.From(err, false, false)
	}
	defer conn.Release()
	left := s.Timeout
	if d, ok := ctx.Deadline(); ok {
		left = time.Until(d)
	}
	if err := s.orphans.await(ctx, conn.Conn(), unlimited); err != nil {
		return err
	}
	// Several statements in one text are one round trip.
	begin += fmt.Sprintf("; SET LOCAL lock_timeout = '%dms'", max(1, left.Milliseconds()/2))
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		return fault.From(err, false, false)
	}
	own := &ownTx{Tx: tx, tracking: s.Tracking}
	defer own.release() // after the rollback, if there is one
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err := fn(own); err != nil {
		return err
	}
	err = tx.Commit(ctx)
	own.unsure = err != nil && fault.State(err) == "" && !errors.Is(err, pgx.ErrTxCommitRollback)
	own.applied = err == nil || own.unsure
	switch {
	case errors.Is(err, pgx.ErrTxCommitRollback), fault.IsConflict(err):
		return err
	case err != nil && fault.State(err) == "":
		s.orphans.add(conn.Conn(), nil)
		s.renewOrigin()
		return fmt.Errorf("%w: %w", fault.ErrUnknownOutcome, err)
	}
	return fault.From(err, false, false)
}

// Locked is Within a transaction in which no other can change the keys, absent ones
// included. The locks are taken in the order of the hashes.
func (e *Engine) Locked(ctx context.Context, keys [][]byte, fn func(pgx.Tx) error) error {
	return e.Within(ctx, func(tx pgx.Tx) error {
		if err := e.lock(ctx, tx, keys); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Within runs fn in a transaction (READ COMMITTED) that commits as the cache's durability
// says, if fn returns nil. Errors: as of InTransaction.
func (e *Engine) Within(ctx context.Context, fn func(pgx.Tx) error) error {
	if e.Table().Loaded.IsZero() { // the last transaction has met a table that is gone
		if err := e.Reload(ctx, e.set); err != nil {
			return err
		}
	}
	begin := "BEGIN ISOLATION LEVEL READ COMMITTED"
	if e.Table().Durability == "async" {
		begin += "; SET LOCAL synchronous_commit = off"
	}
	var inner error
	err := e.set.InTransaction(ctx, begin, func(tx pgx.Tx) error {
		inner = fn(tx)
		return inner
	})
	if inner == nil && (errors.Is(err, pgx.ErrTxCommitRollback) || fault.IsConflict(err)) {
		return fault.From(err, false, false) // of the commit
	}
	return err
}

// lock takes the rows of keys.
func (e *Engine) lock(ctx context.Context, tx pgx.Tx, keys [][]byte) error {
	return e.DoIn(ctx, tx, []*verb.Call{{Verb: statement.Lock, Keys: slices.Clone(keys)}})
}
