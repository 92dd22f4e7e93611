package core

import (
	"context"
	"errors"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/engine"
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
	part, err := c.ofAll(e.Keys)
	if err != nil {
		e.Err = err
		return err
	}
	if err = part.editNow(ctx, e); e.Err != nil && c.follows(e) {
		err = c.edit(ctx, e)
	}
	return err
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
	var engine *engine.Engine
	if err == nil {
		engine, err = part.unasked()
	}
	if err != nil {
		e.Err = err
		done(e)
		return
	}
	c.announceEdit(e)
	if c.isDivided() && len(e.Keys) == 0 {
		edit.Of(engine).Start(e, func(e *edit.Edit) {
			if c.follows(e) {
				c.StartEdit(e, done)
				return
			}
			done(e)
		})
		return
	}
	edit.Of(engine).Start(e, done)
}

// Wait begins a waiter, for which holds what StartEdit says of an edit.
func (c *Cache) Wait(w *edit.Waiter, done func(*edit.Waiter)) {
	c, err := c.ofAll(w.Keys)
	var engine *engine.Engine
	if err == nil {
		engine, err = c.unasked()
	}
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
