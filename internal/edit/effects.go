package edit

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/verb"
)

// hasEffects reports whether the commit of the group needs a transaction, to which its edits
// add something.
func (g *group) hasEffects() bool {
	for _, e := range g.edits {
		if e.Err == nil && e.Effect != nil && e.Effect.Set == g.table.engine.Set() && e.Effect.Due() {
			return true
		}
	}
	return false
}

// beginEffects prepares a transaction for what the edits, as they have run last, add to it.
func (g *group) beginEffects(ctx context.Context) error {
	for _, e := range g.edits {
		if e.Err == nil && e.Effect != nil && e.Effect.Set == g.table.engine.Set() && e.Effect.Due() {
			if err := e.Effect.Begin(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeEffects adds what the edits have besides their changes to the transaction that
// stores these.
func (g *group) writeEffects(ctx context.Context, tx pgx.Tx) error {
	for _, e := range g.edits {
		if e.Err != nil || e.Effect == nil || e.Effect.Set != g.table.engine.Set() {
			continue
		}
		if err := e.Effect.Write(ctx, tx); err != nil {
			return fault.From(err, false, false) // the transaction is rolled back
		}
	}
	return nil
}

// errNotStored rolls a transaction back whose commit of the changes had another status than OK.
var errNotStored = errors.New("not stored")

// commitWithEffects is commit in a transaction. No function runs in it.
func (g *group) commitWithEffects(changes []change) {
	patience := g.table.engine.Timeout()
	for i := range changes {
		patience += time.Duration(len(changes[i].value)) * time.Second / (32 << 20) // as messages have
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := g.beginEffects(ctx); err != nil {
		g.release(err)
		return
	}
	if !g.hasEffects() { // as is known by now
		g.commitAlone(changes)
		return
	}
	call := &verb.Call{Part: true}
	err := g.table.engine.Within(ctx, func(tx pgx.Tx) error {
		g.commitBy(call, changes)
		if err := g.table.engine.DoIn(ctx, tx, []*verb.Call{call}); err != nil {
			return err
		}
		if call.Status != verb.OK {
			return errNotStored
		}
		return g.writeEffects(ctx, tx)
	})
	switch {
	case fault.IsMoved(err):
		g.runLocked()
	case err == errNotStored && call.Status == verb.NotStored:
		g.again()
	case err == errNotStored && call.Status == verb.CacheFull:
		g.refuseRoom()
	case err == errNotStored:
		g.release(call.Status.Err())
	default:
		g.release(err)
	}
}
