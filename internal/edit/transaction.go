package edit

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/verb"
)

// maxTries is how often an edit in a transaction runs before it gives up.
const maxTries = 10

// DoIn runs an edit in the caller's transaction. Errors: those of Edit.Err; after
// one of PostgreSQL the transaction is over.
func DoIn(ctx context.Context, e *engine.Engine, tx pgx.Tx, edit *Edit) error {
	edit.Err = nil
	g := &group{table: &Table{engine: e}, keys: distinct(edit.Keys), edits: []*Edit{edit}}
	for range maxTries {
		again, err := g.tryIn(ctx, tx)
		if err != nil || !again {
			return err
		}
	}
	return fmt.Errorf("%w: other transactions keep changing the entries", fault.ErrTimeout)
}

// tryIn loads, runs and stores once. It is to be called again if somebody has
// changed an entry meanwhile, or keys were missing.
func (g *group) tryIn(ctx context.Context, tx pgx.Tx) (again bool, err error) {
	e, edit := g.table.engine, g.edits[0]
	g.call = g.loadCall()
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
		return false, edit.Err
	}
	call := g.commitCall(changes)
	if err := e.DoIn(ctx, tx, []*verb.Call{&call}); err != nil {
		return false, err
	}
	if call.Status == verb.NotStored {
		return true, nil
	}
	return false, call.Status.Err()
}
