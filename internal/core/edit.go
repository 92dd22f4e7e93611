package core

import (
	"context"
	"errors"
	"slices"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/trace"
)

// Edit runs a function over decoded entries and stores what it changed: in the
// transaction that the cache is bound to, if it is. Errors: see edit.Edit.Err; if the
// context ends before the edit, the edit must not be used again.
func (c *Cache) Edit(ctx context.Context, e *edit.Edit) error {
	e.Caller = c.named(e.Caller)
	ctx, span := c.traced(ctx, "edit", len(e.Keys), true)
	e.Traces = span.Contexts()
	err := c.edit(ctx, e)
	span.End(trace.Result{Err: err})
	return err
}

func (c *Cache) edit(ctx context.Context, e *edit.Edit) error {
	for tries := 0; ; tries++ {
		part, err := c.ofAll(e.Keys)
		if err != nil {
			e.Err = err
			return err
		}
		err = part.editNow(ctx, e)
		switch {
		case err == nil:
			return nil
		case c.follows(e): // where its key is
		case !c.movesOn(ctx, err, tries):
			return c.db.naming(part.number, err)
		}
	}
}

// movesOn reports whether what has failed is to be tried again: its partition was on another
// server, and the map was read since.
func (c *Cache) movesOn(ctx context.Context, err error, tries int) bool {
	s := c.db.servers()
	switch {
	case s == nil || c.tx != nil:
		return false
	case isElsewhere(err):
		return tries < maxReroute && s.reroute(ctx) == nil
	}
	c.db.missing(err)
	return false
}

// follows makes an edit without keys one of the key that it has asked for first, and reports
// whether it is to run again, where that key is. The edit must be over.
func (c *Cache) follows(e *edit.Edit) bool {
	var elsewhere *edit.ElsewhereError
	if len(e.Keys) > 0 || !errors.As(e.Err, &elsewhere) {
		return false
	}
	e.Keys, e.Err, e.Events = [][]byte{elsewhere.Key}, nil, nil
	return true
}

// editNow is edit in the table of the cache, or of its partition.
func (c *Cache) editNow(ctx context.Context, e *edit.Edit) error {
	e.Writer, e.Part = c.writer, c.piece
	engine, err := c.usable(ctx)
	c.announceEdit(e)
	switch {
	case err != nil:
		e.Err = err
		return err
	case c.tx != nil:
		if err = edit.DoIn(ctx, engine, c.tx, e); err == nil {
			err = c.announceIn(ctx, e.Events)
		}
		return err
	}
	return edit.Of(engine).Do(ctx, e)
}

// StartEdit begins an edit without waiting for it and calls done exactly once, on
// another goroutine or before it returns. It is meant for servers and event loops,
// and not for a cache bound to a transaction, where it panics.
func (c *Cache) StartEdit(e *edit.Edit, done func(*edit.Edit)) {
	part, err := c.ofAll(e.Keys)
	if err != nil {
		e.Err = err
		done(e)
		return
	}
	if c.isDivided() {
		c.startDividedEdit(e, part.number, done)
		return
	}
	c.startEdit(e, done)
}

// startEdit is StartEdit in the table of the cache, or of its partition.
func (c *Cache) startEdit(e *edit.Edit, done func(*edit.Edit)) {
	engine, err := c.unasked()
	if err != nil {
		e.Err = err
		done(e)
		return
	}
	c.announceEdit(e)
	edit.Of(engine).Start(e, done)
}

// startDividedEdit is StartEdit for a cache in partitions.
func (c *Cache) startDividedEdit(e *edit.Edit, number int, done func(*edit.Edit)) {
	servers := c.db.servers()
	ended := func(e *edit.Edit, end func(elsewhere bool) (again bool)) {
		switch {
		case c.follows(e):
			c.StartEdit(e, done)
			end(false)
		case end(isElsewhere(e.Err)):
		default:
			c.db.missing(e.Err)
			e.Err = c.db.naming(number, e.Err)
			done(e)
		}
	}
	if servers == nil {
		c.part(number).startEdit(e, func(e *edit.Edit) { ended(e, func(bool) bool { return false }) })
		return
	}
	servers.start(number, func(at *DB, end func(elsewhere bool) (again bool)) {
		c.partAt(number, at).startEdit(e, func(e *edit.Edit) { ended(e, end) })
	})
}

// Wait begins a waiter, for which holds what StartEdit says of an edit.
func (c *Cache) Wait(w *edit.Waiter, done func(*edit.Waiter)) {
	keys := w.Keys
	if w.Target != nil {
		keys = append(slices.Clone(keys), w.Target)
	}
	part, err := c.ofAll(keys)
	if err != nil {
		w.Err = err
		done(w)
		return
	}
	if !c.isDivided() || c.db.servers() == nil {
		part.wait(w, done)
		return
	}
	c.waitDivided(w, part.number, 0, done)
}

// waitDivided is Wait for a partition that may move: the waiter then begins again where it
// is, with the time that it has left.
func (c *Cache) waitDivided(w *edit.Waiter, number, tries int, done func(*edit.Waiter)) {
	servers := c.db.servers()
	servers.start(number, func(at *DB, end func(elsewhere bool) (again bool)) {
		c.partAt(number, at).wait(w, func(w *edit.Waiter) {
			if !isElsewhere(w.Err) || tries == maxReroute {
				c.db.missing(w.Err)
				w.Err = c.db.naming(number, w.Err)
				done(w)
				return
			}
			go func() {
				_ = servers.reroute(context.Background()) // if it fails, so does the waiter
				c.waitDivided(w, number, tries+1, done)
			}()
		})
		end(false) // nobody waits for one that waits
	})
}

// wait is Wait in the table of the cache, or of its partition.
func (c *Cache) wait(w *edit.Waiter, done func(*edit.Waiter)) {
	engine, err := c.unasked()
	if err != nil {
		w.Err = err
		done(w)
		return
	}
	edit.Of(engine).Wait(w, done)
}

// ServeIn lets waiters take what the transaction that the cache is bound to has left
// under keys. See edit.ServeIn.
func (c *Cache) ServeIn(ctx context.Context, keys [][]byte) (*edit.Served, error) {
	c, err := c.ofAll(keys)
	if err != nil {
		return nil, err
	}
	engine, err := c.usable(ctx)
	if err != nil {
		return nil, err
	}
	return edit.ServeIn(ctx, engine, c.tx, keys)
}
