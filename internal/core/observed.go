package core

import (
	"bytes"
	"cmp"
	"context"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/verb"
)

// Observe has the DB note which entries its calls end, and what they read.
func (db *DB) Observe(o engine.Observed) {
	for _, server := range db.all() {
		server.engines.Observe(o)
	}
}

// Removals remembers the entries that this DB has ended; nil: nothing does.
func (db *DB) Removals() *observe.Removals { return db.engines.Removals() }

// Prefixes counts the reads of this DB by prefix; nil: nothing does.
func (db *DB) Prefixes() *observe.Prefixes { return db.engines.Prefixes() }

// NamedPrefixes counts the reads of this DB by prefixes that were named; nil: nothing does.
func (db *DB) NamedPrefixes() *observe.Named { return db.engines.NamedPrefixes() }

// As returns the same cache, whose calls are those of a client: by a command, or, if that
// is "", by their verbs.
func (c *Cache) As(client *observe.Client, command string) *Cache {
	if client == nil {
		return c
	}
	d := c.derive()
	d.caller = observe.Caller{Client: client, Command: command}
	d.known.Store(c.known.Load())
	return d
}

// nameCaller names the client in calls. The command of a call stays, if it has one.
func (c *Cache) nameCaller(calls []*verb.Call) {
	if c.caller.Client == nil {
		return
	}
	for _, call := range calls {
		call.Caller = c.named(call.Caller)
	}
}

// named is a caller with the client of the cache. Its command stays, if it has one.
func (c *Cache) named(by observe.Caller) observe.Caller {
	if c.caller.Client != nil {
		by.Client, by.Command = c.caller.Client, cmp.Or(by.Command, c.caller.Command)
	}
	return by
}

// callerOf is the caller of what concerns all of a cache: that of the cache, or of the
// context. command stands in for one that it does not name.
func (c *Cache) callerOf(ctx context.Context, command string) observe.Caller {
	by := c.caller
	if by.Client == nil {
		by.Client = observe.FromContext(ctx)
	}
	by.Command = cmp.Or(by.Command, command)
	return by
}

// noteWhole remembers what has ended entries of the cache together.
func (c *Cache) noteWhole(ctx context.Context, command string, reason observe.Reason, count int64, detail string, prefix []byte) {
	removals, by := c.db.Removals(), c.callerOf(ctx, command)
	if removals == nil {
		return
	}
	if c.tx == nil {
		removals.Whole(by, c.name, reason, count, detail, prefix)
		return
	}
	prefix = bytes.Clone(prefix)
	engine.WhenCommitted(c.tx, func(bool) { removals.Whole(by, c.name, reason, count, detail, prefix) })
}
