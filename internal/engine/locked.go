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
	"github.com/howdah/howdah/internal/verb"
)

// OwnTx is a transaction whose end its owner sees.
type OwnTx struct {
	pgx.Tx
	parkings []*near.Parking
}

// Keep implements Keeper.
func (tx *OwnTx) Keep(p *near.Parking) { tx.parkings = append(tx.parkings, p) }

// Release has memory serve again what the transaction wrote. Call it when the
// transaction has ended.
func (tx *OwnTx) Release() {
	for _, p := range tx.parkings {
		p.Release()
	}
}

// Locked runs fn in a transaction (READ COMMITTED) in which no other can change the
// keys, absent ones included, and commits it if fn returns nil. The locks are taken
// in the order of the hashes. Errors: fn's, ErrUnknownOutcome if the connection was
// lost during the commit, and those of a call that was not applied.
func (e *Engine) Locked(ctx context.Context, keys [][]byte, fn func(pgx.Tx) error) error {
	conn, err := e.set.Acquire(ctx)
	if err != nil {
		return fault.From(err, false, false)
	}
	defer conn.Release()
	if e.Table().Loaded.IsZero() { // the last transaction has met a table that is gone
		if err := e.Reload(ctx, conn); err != nil {
			return err
		}
	}
	left := e.set.Timeout
	if d, ok := ctx.Deadline(); ok {
		left = time.Until(d)
	}
	begin := fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '%dms'", max(1, left.Milliseconds()/2))
	if e.Table().Durability == "async" {
		begin += "; SET LOCAL synchronous_commit = off"
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		return fault.From(err, false, false)
	}
	own := &OwnTx{Tx: tx}
	defer own.Release() // after the rollback, if there is one
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err := e.lock(ctx, own, keys); err != nil {
		return err
	}
	if err := fn(own); err != nil {
		return err
	}
	err = tx.Commit(ctx)
	if err != nil && !errors.Is(err, pgx.ErrTxCommitRollback) && fault.State(err) == "" {
		return fmt.Errorf("%w: %w", fault.ErrUnknownOutcome, err)
	}
	return fault.From(err, false, false)
}

// lock takes the rows of keys.
func (e *Engine) lock(ctx context.Context, tx pgx.Tx, keys [][]byte) error {
	return e.DoIn(ctx, tx, []*verb.Call{{Verb: statement.Lock, Keys: slices.Clone(keys)}})
}
