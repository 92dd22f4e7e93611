package edit

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
)

// maxTries is how often an edit in a transaction may lose against others.
const maxTries = 10

// DoIn runs an edit in the caller's transaction. Waiters are not served: Edit.Left says
// for which keys ServeIn is to be called before the commit. Errors: those of Edit.Err;
// after one of PostgreSQL the transaction is over.
func DoIn(ctx context.Context, e *engine.Engine, tx pgx.Tx, edit *Edit) error {
	edit.Err, edit.began, edit.deadline, edit.Left = nil, coalesce.Now(), 0, nil
	g := &group{table: &Table{engine: e}, keys: distinct(edit.Keys), edits: []*Edit{edit}, servesLater: true}
	err := cmp.Or(g.doIn(ctx, tx), edit.Err)
	g.sent, g.waited = edit.began, fault.IsLocked(err)
	g.noteSlow(edit)
	if err != nil {
		return err
	}
	edit.Left = g.left()
	return nil
}

// left returns copies of the keys under which the group has stored a list or a sorted
// set, in the order of group.wrote.
func (g *group) left() (keys [][]byte) {
	waitable := make(map[string]bool)
	for i := range g.stored {
		if c := &g.stored[i]; !c.delete && isWaitable(values.Kind(c.kind)) {
			waitable[string(g.keys[c.index])] = true
		}
	}
	for _, key := range g.wrote {
		if waitable[string(key)] {
			delete(waitable, string(key))
			keys = append(keys, bytes.Clone(key))
		}
	}
	return keys
}

// doIn runs a group in the caller's transaction.
func (g *group) doIn(ctx context.Context, tx pgx.Tx) error {
	for tries := 0; tries < maxTries; {
		known := len(g.keys)
		again, err := g.tryIn(ctx, tx)
		if err != nil || !again {
			return err
		}
		if len(g.keys) == known { // else it only asked for more keys
			tries++
		}
	}
	return fault.Timeout("other transactions keep changing the entries", nil)
}

// Served is what waiters have taken in a transaction that has not ended.
type Served struct{ g *group }

// ServeIn lets the waiters for keys take, in the caller's transaction, what it has left
// there, those for the first key first. It returns nil where there are no waiters. Otherwise
// Settle must follow. Errors: as of DoIn; nothing is to be settled then.
func ServeIn(ctx context.Context, e *engine.Engine, tx pgx.Tx, keys [][]byte) (*Served, error) {
	t := Of(e)
	keys = slices.DeleteFunc(distinct(keys), func(key []byte) bool { return !t.isAwaited(key) })
	if len(keys) == 0 {
		return nil, nil
	}
	g := &group{table: t, keys: keys, edits: []*Edit{t.own(&Edit{Run: func(*View) {}})}}
	err := cmp.Or(g.doIn(ctx, tx), g.edits[0].Err)
	if err != nil {
		g.unserve(0)
		return nil, err
	}
	return &Served{g}, nil
}

// Settle says how the transaction has ended, with nil if it was committed: who was served
// is answered, or waits again. After ErrUnknownOutcome it ends with that.
func (s *Served) Settle(err error) {
	if s == nil {
		return
	}
	if err == nil {
		s.g.publish()
	}
	finishWaiters(s.g.settle(err))
	s.g.announce(s.g.made(err))
}
