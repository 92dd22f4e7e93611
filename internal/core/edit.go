package core

import (
	"context"

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
	e.Writer, e.Part = c.writer, c.part
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
	engine, err := c.unasked()
	if err != nil {
		e.Err = err
		done(e)
		return
	}
	c.announceEdit(e)
	edit.Of(engine).Start(e, done)
}

// Wait begins a waiter, for which holds what StartEdit says of an edit.
func (c *Cache) Wait(w *edit.Waiter, done func(*edit.Waiter)) {
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
	engine, err := c.usable(ctx)
	if err != nil {
		return nil, err
	}
	return edit.ServeIn(ctx, engine, c.tx, keys)
}
