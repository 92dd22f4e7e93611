package edit

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
)

// maxTries is how often an edit in a transaction may lose against others.
const maxTries = 10

// DoIn runs an edit in the caller's transaction. Errors: those of Edit.Err; after
// one of PostgreSQL the transaction is over.
func DoIn(ctx context.Context, e *engine.Engine, tx pgx.Tx, edit *Edit) error {
	edit.Err, edit.deadline = nil, 0
	g := &group{table: &Table{engine: e}, keys: distinct(edit.Keys), edits: []*Edit{edit}}
	for tries := 0; tries < maxTries; {
		known := len(g.keys)
		again, err := g.tryIn(ctx, tx)
		if err != nil || !again {
			return cmp.Or(err, edit.Err)
		}
		if len(g.keys) == known { // else it only asked for more keys
			tries++
		}
	}
	return fault.Timeout("other transactions keep changing the entries", nil)
}
