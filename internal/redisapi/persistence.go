package redisapi

import (
	"fmt"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

const noteSave = "Every acknowledged write is in PostgreSQL. " +
	"When this answers, PostgreSQL has on disk what caches of the classes async and sync hold. " +
	"A cache of class unlogged cannot be saved: while a database has one, the answer is an error that names it. " +
	"A backup is one of PostgreSQL."

func persistenceCommands() []*Command {
	const flags = "admin noscript no_async_loading"
	return []*Command{
		{Name: "save", Arity: 1, Flags: flags + " no_multi", Group: "server", Since: "1.0.0",
			Summary: "Has PostgreSQL write to disk what it has acknowledged", Complexity: "O(1)", Note: noteSave, run: save},
		{Name: "bgsave", Arity: -1, Flags: flags, Group: "server", Since: "1.0.0", Summary: "As SAVE",
			Complexity: "O(1)", Syntax: "[SCHEDULE]", Note: "What SAVE does is done when this answers. " + noteSave, run: backgroundSave},
		{Name: "bgrewriteaof", Arity: 1, Flags: flags, Group: "server", Since: "1.0.0",
			Summary: "Accepted: PostgreSQL keeps its log short by itself", Complexity: "O(1)",
			now: fixed("+Background append only file rewriting started\r\n")},
		{Name: "lastsave", Arity: 1, Flags: "loading stale fast", Group: "server", ACL: "admin dangerous", Since: "1.0.0",
			Tips:    "nondeterministic_output",
			Summary: "Returns when SAVE or BGSAVE last succeeded here, or the server started", Complexity: "O(1)",
			Note: "As a Unix time in seconds. INFO shows it as rdb_last_save_time, " +
				"and rdb_changes_since_last_save is 0: no acknowledged write waits to be saved.",
			now: lastSave},
	}
}

func lastSave(c *Conn, _ [][]byte, reply []byte) []byte {
	return resp.AppendInt(reply, c.engine.saved.Load())
}

func save(t *task, _ [][]byte) error {
	if err := t.save(); err != nil {
		return err
	}
	t.out = append(t.out, resp.OK...)
	return nil
}

func backgroundSave(t *task, args [][]byte) error {
	if len(args) > 2 || len(args) == 2 && !is(args[1], "SCHEDULE") {
		return errSyntax
	}
	if err := t.save(); err != nil {
		return err
	}
	t.out = resp.AppendSimple(t.out, "Background saving started")
	return nil
}

// save has PostgreSQL write its log to disk, if that keeps what all databases hold.
func (t *task) save() error {
	e := t.conn.engine
	ctx, cancel := t.bounded()
	defer cancel()
	configs, err := e.options.DB.Caches(ctx)
	if err != nil {
		return err
	}
	var unlogged []string
	for _, config := range configs {
		for _, cache := range e.caches {
			if cache.Name() == config.Name && config.Durability == "unlogged" {
				unlogged = append(unlogged, config.Name)
			}
		}
	}
	if len(unlogged) > 0 {
		return refusal(fmt.Sprintf("ERR nothing can save %s: a crash of PostgreSQL empties caches of class unlogged; "+
			"run howdah caches alter %s --durability async",
			strings.Join(unlogged, ", "), unlogged[0]))
	}
	if err := e.options.DB.Sync(ctx); err != nil {
		return err
	}
	e.saved.Store(time.Now().Unix())
	return nil
}
