package edit

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/verb"
)

// errAgain ends a locked run after which the group has to go on: there are keys that
// it has not locked.
var errAgain = errors.New("run again")

// runLocked loads, runs and commits in a transaction that holds the rows of all keys.
func (g *group) runLocked() {
	g.locked, g.quick = true, false
	for {
		g.dropLeft()
		if len(g.edits) == 0 {
			g.release(nil)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), g.table.engine.Timeout())
		err := g.beginEffects(ctx)
		if err == nil {
			err = g.table.engine.Locked(ctx, g.keys, func(tx pgx.Tx) error { return g.runIn(ctx, tx) })
		}
		cancel()
		if !errors.Is(err, errAgain) && !fault.IsMoved(err) {
			g.release(err)
			return
		}
	}
}

// runIn is one run in a transaction that holds the rows.
func (g *group) runIn(ctx context.Context, tx pgx.Tx) error {
	again, err := g.tryIn(ctx, tx)
	if err == nil && again {
		err = errAgain
	}
	return err
}

// tryIn loads, runs and stores once in a transaction. It is to be called again if
// somebody has changed an entry meanwhile, or keys were missing.
func (g *group) tryIn(ctx context.Context, tx pgx.Tx) (again bool, err error) {
	e := g.table.engine
	g.call = verb.Call{Part: true}
	g.loadBy(&g.call)
	if err := e.DoIn(ctx, tx, []*verb.Call{&g.call}); err != nil {
		return false, err
	}
	g.take(&g.call)
	changes, missing, err := g.apply()
	switch {
	case err != nil:
		return false, err
	case len(missing) > 0:
		g.keys = distinct(append(append([][]byte(nil), g.keys...), missing...))
		return true, nil
	case len(changes) == 0:
		return false, nil
	}
	call := &verb.Call{Part: true}
	g.commitBy(call, changes)
	if err := e.DoIn(ctx, tx, []*verb.Call{call}); err != nil {
		return false, err
	}
	if call.Status == verb.NotStored {
		return true, nil
	}
	if err := call.Status.Err(); err != nil || g.servesLater {
		return false, err
	}
	return false, g.writeEffects(ctx, tx)
}
