package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/redisapi"
	"github.com/howdah/howdah/internal/resp"
)

// Bounds of the Redis commands that a page runs.
const (
	commandTime   = 10 * time.Second // of all commands of a page
	taskTime      = 5 * time.Second  // of one that works on a whole cache
	commandMemory = 8 << 20          // for commands and replies, but for one that is larger alone
)

// commands is a connection of this process to one cache, as its only database. Its commands are
// remembered as those of the visitor.
type commands struct {
	engine *redisapi.Engine
	conn   *redisapi.Local
}

// commands opens a connection; close it. It asks nothing of the database.
func (r *request) commands(cache string) (*commands, error) {
	c := r.console
	engine, err := redisapi.New(redisapi.Options{
		DB: c.db, Database: func(int) string { return cache }, NoScripts: c.noScripts, TaskTimeout: taskTime,
		MaxPendingBytes: commandMemory, Version: c.version, Logger: c.log,
	})
	if err != nil {
		return nil, err
	}
	return &commands{engine, engine.ConnectLocal(*r.client())}, nil
}

// close ends what is still running.
func (c *commands) close() {
	c.conn.Close()
	c.engine.Close()
}

// do runs one command. The error says what is not known if its answer did not come in time.
func (c *commands) do(ctx context.Context, words ...string) (resp.Reply, error) {
	reply, err := c.conn.Do(ctx, words...)
	if err != nil && ctx.Err() != nil {
		return reply, &refusal{http.StatusGatewayTimeout, "The answer did not come in time",
			"The command " + strings.ToUpper(words[0]) + " was stopped. Whether it has changed anything is not known: look."}
	}
	return reply, err
}

// errChanged refuses a change of an entry that is not the one which the page has shown.
var errChanged = &refusal{http.StatusConflict, "The entry has changed",
	"Nothing was changed: the entry was written or removed after the page was loaded. Look at it again."}

// errAborted says that another client was faster.
var errAborted = errors.New("the transaction was aborted")

// changeEntry runs a command on a key if its entry still has a version. WATCH sees what is written
// between that look and the change, by anybody.
func (r *request) changeEntry(cache string, key []byte, version int64, command ...string) error {
	ctx, cancel := context.WithTimeout(r.Context(), commandTime)
	defer cancel()
	c, err := r.commands(cache)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.changeIf(ctx, r.console.db.Cache(cache), key, version, command); errors.Is(err, errAborted) {
		return errChanged
	} else if err != nil {
		return err
	}
	return nil
}

func (c *commands) changeIf(ctx context.Context, cache *core.Cache, key []byte, version int64, command []string) error {
	if reply, err := c.do(ctx, "WATCH", string(key)); err != nil || reply.Err() != nil {
		return errors.Join(err, refused(reply))
	}
	entry, err := statOf(ctx, cache.Fresh(), key) // memory may show an older version
	switch {
	case err != nil:
		return err
	case entry == nil || entry.Version != version:
		return errAborted
	}
	for _, words := range [][]string{{"MULTI"}, command} {
		if reply, err := c.do(ctx, words...); err != nil || reply.Err() != nil {
			return errors.Join(err, refused(reply))
		}
	}
	reply, err := c.do(ctx, "EXEC")
	switch {
	case err != nil || reply.Err() != nil:
		return errors.Join(err, refused(reply))
	case reply.Kind == resp.Null:
		return errAborted
	case len(reply.Elems) == 1:
		return refused(reply.Elems[0])
	}
	return nil
}

// refused makes a page of an error reply; nil if it is none.
func refused(reply resp.Reply) error {
	err := reply.Err()
	if err == nil {
		return nil
	}
	return &refusal{http.StatusUnprocessableEntity, "The change was refused", "Nothing was changed. " + visible(strings.TrimPrefix(err.Error(), "ERR ")) + "."}
}
