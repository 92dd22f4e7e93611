package core

import (
	"context"

	"github.com/howdah/howdah/internal/edit"
)

// Edit runs a function over decoded entries and stores what it changed: in the
// transaction that the cache is bound to, if it is. Errors: see edit.Edit.Err; if the
// context ends before the edit, the edit must not be used again.
func (c *Cache) Edit(ctx context.Context, e *edit.Edit) error {
	engine, err := c.usable(ctx)
	switch {
	case err != nil:
		e.Err = err
		return err
	case c.tx != nil:
		return edit.DoIn(ctx, engine, c.tx, e)
	}
	return edit.Of(engine).Do(ctx, e)
}

// StartEdit begins an edit without waiting for it and calls done exactly once, on
// another goroutine or before it returns. It is meant for servers and event loops,
// and not for a cache bound to a transaction, where it panics.
func (c *Cache) StartEdit(e *edit.Edit, done func(*edit.Edit)) {
	if c.tx != nil {
		panic("howdah: StartEdit on a cache that is bound to a transaction")
	}
	engine := c.ready()
	if engine == nil {
		var err error
		if engine, err = c.db.engines.Unasked(c.name); err != nil {
			e.Err = err
			done(e)
			return
		}
		if engine.Table().Known() {
			c.known.Store(engine)
		}
	}
	edit.Of(engine).Start(e, done)
}
