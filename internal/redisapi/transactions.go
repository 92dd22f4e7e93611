package redisapi

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

func transactionCommands() []*Command {
	return []*Command{
		{Name: "multi", Arity: 1, Flags: "noscript loading stale fast allow_busy", Group: "transactions", ACL: "transaction", Since: "1.2.0",
			Summary: "Begins to queue commands for EXEC", Complexity: "O(1)", now: multi},
		{Name: "exec", Arity: 1, Flags: "noscript loading stale skip_slowlog", Group: "transactions", ACL: "transaction", Since: "1.2.0",
			Summary: "Runs the queued commands in one PostgreSQL transaction", Complexity: "Depends on the queued commands",
			Note: "The replies are written after COMMIT.", now: nil, run: exec},
		{Name: "discard", Arity: 1, Flags: "noscript loading stale fast allow_busy", Group: "transactions", ACL: "transaction", Since: "2.0.0",
			Summary: "Forgets the queued commands and the watched keys", Complexity: "O(N) where N is the number of queued commands", now: discard},
		{Name: "watch", Arity: -2, Flags: "noscript loading stale fast allow_busy", Keys: allKeys("RO"), Group: "transactions", ACL: "transaction", Since: "2.2.0",
			Summary: "Lets the next EXEC run only if the keys do not change until then", Complexity: "O(1) for every key",
			Syntax: "key [key ...]", Note: "A key that was absent, was created and removed again counts as unchanged.", run: watch},
		{Name: "unwatch", Arity: 1, Flags: "noscript loading stale fast allow_busy", Group: "transactions", ACL: "transaction", Since: "2.2.0",
			Summary: "Forgets the watched keys", Complexity: "O(1)", now: unwatch},
	}
}

// queuedCommand is one command between MULTI and EXEC.
type queuedCommand struct {
	cmd  *Command
	args [][]byte
}

// watchedKey is a key that WATCH was given.
type watchedKey struct {
	database int
	key      string
}

// What a connection's bound counts besides the bytes of the arguments: the slice
// header of each, a queued command, an entry of the map of watched keys.
const (
	argumentOverhead = 24
	commandOverhead  = 64
	watchedOverhead  = 64
)

// sizeOf is the memory that copied arguments take.
func sizeOf(args [][]byte) int {
	size := argumentOverhead * len(args)
	for _, arg := range args {
		size += len(arg)
	}
	return size
}

func multi(c *Conn, _ [][]byte, reply []byte) []byte {
	if c.multi {
		return resp.AppendError(reply, "ERR MULTI calls can not be nested")
	}
	c.set(func(s *session) { s.multi = true })
	return append(reply, resp.OK...)
}

func discard(c *Conn, _ [][]byte, reply []byte) []byte {
	if !c.multi {
		return resp.AppendError(reply, "ERR DISCARD without MULTI")
	}
	c.set((*session).endMulti)
	return append(reply, resp.OK...)
}

func unwatch(c *Conn, _ [][]byte, reply []byte) []byte {
	if c.task == nil { // queued by MULTI it comes too late to matter
		c.set(func(s *session) { s.watched, s.watchedLen = nil, 0 })
	}
	return append(reply, resp.OK...)
}

// enqueue keeps a command for EXEC. As in Redis only its name and the number
// of its arguments have been checked.
func (c *Conn) enqueue(cmd *Command, args [][]byte) {
	size := commandOverhead + sizeOf(args)
	if c.queueLen+size > c.engine.options.MaxPendingBytes && len(c.queue) > 0 {
		c.reject(cmd, errQueueTooBig)
		return
	}
	owned := ownArgs(args)
	c.set(func(s *session) {
		s.queue = append(s.queue, queuedCommand{cmd, owned})
		s.queueLen += size
	})
	if !c.muted {
		c.append([]byte(resp.Queued))
	}
}

func watch(t *task, args [][]byte) error {
	c := t.conn
	if c.multi {
		return refusal("ERR WATCH inside MULTI is not allowed")
	}
	// The first version of a key that is watched twice is kept.
	var calls []*verb.Call
	size := c.watchedLen
	for _, key := range args[1:] {
		if _, known := c.watched[watchedKey{c.database, string(key)}]; !known {
			calls = append(calls, &verb.Call{Verb: statement.Stat, Key: key})
			size += watchedOverhead + len(key)
		}
	}
	if size > c.engine.options.MaxPendingBytes && len(c.watched) > 0 {
		return errWatchTooBig
	}
	if err := t.cache(c.database).Do(t.ctx, calls...); err != nil {
		return err
	}
	// Only the task touches the map while it runs: no lock, which the event
	// loop might wait for.
	watched := c.watched
	if watched == nil {
		watched = make(map[watchedKey]int64, len(calls))
	}
	for _, call := range calls {
		watched[watchedKey{c.database, string(call.Key)}] = call.Result.Version
	}
	c.set(func(s *session) { s.watched, s.watchedLen = watched, size })
	t.out = append(t.out, resp.OK...)
	return nil
}

func exec(t *task, _ [][]byte) error {
	c := t.conn
	if !c.multi {
		return refusal("ERR EXEC without MULTI")
	}
	x := execution{task: t, queue: c.queue, watched: c.watched, dirty: c.dirty}
	c.set((*session).endMulti)
	if x.dirty {
		return refusal("EXECABORT Transaction discarded because of previous errors.")
	}
	return x.run()
}

// execution is one EXEC.
type execution struct {
	*task
	queue   []queuedCommand
	watched map[watchedKey]int64
	dirty   bool
	batch   []execCall
}

// execCall is a queued command that is a call, or was refused.
type execCall struct {
	request *request
	refused error
}

func (x *execution) run() error {
	c := x.conn
	if !x.usesDatabase() {
		return x.attempt(x.ctx, nil)
	}
	release, err := x.takeSlot()
	if err != nil {
		return err
	}
	defer release()
	ctx := x.ctx
	if x.takesLong() {
		var cancel context.CancelFunc
		ctx, cancel = x.bounded()
		defer cancel()
	}
	x.prepareDatabases(ctx)
	before := c.session
	err = c.engine.options.DB.Transact(ctx, x.options(), func(ctx context.Context, tx pgx.Tx) error {
		c.set(func(s *session) { *s = before }) // an attempt may be the second
		return x.attempt(ctx, tx)
	})
	x.tx = nil
	if err == nil {
		return nil
	}
	c.set(func(s *session) { *s = before })
	x.out = x.out[:0]
	if errors.Is(err, fault.ErrWatch) {
		x.out = resp.AppendNullArray(x.out, c.proto)
		return nil
	}
	return err
}

// takesLong tells whether the library's bound for a call is too short for the
// whole.
func (x *execution) takesLong() bool {
	return len(x.queue) > 100 || slices.ContainsFunc(x.queue, func(q queuedCommand) bool { return q.cmd.run != nil })
}

// usesDatabase tells whether a transaction is needed at all.
func (x *execution) usesDatabase() bool {
	for _, q := range x.queue {
		if q.cmd.now == nil {
			return true
		}
	}
	return len(x.watched) > 0
}

// prepareDatabases makes the databases that the queue selects, which cannot be
// done inside the transaction. A failure is told by SELECT.
func (x *execution) prepareDatabases(ctx context.Context) {
	for _, q := range x.queue {
		if q.cmd.Name != "select" {
			continue
		}
		if number, err := parseDatabase(q.args[1]); err == nil {
			x.conn.engine.ensure(ctx, number)
		}
	}
}

// options are the versions to check, and the keys that other connections of
// this process leave alone meanwhile.
func (x *execution) options() core.TxOptions {
	e, number := x.conn.engine, x.conn.database
	options := core.TxOptions{Cache: e.caches[number].Name()}
	for w, version := range x.watched {
		options.Watch = append(options.Watch, core.Watch{
			Cache: e.caches[w.database].Name(), Key: []byte(w.key), Version: version,
		})
	}
	for _, q := range x.queue {
		if q.cmd.Name == "select" {
			break // keys of one cache only; the others wait for row locks
		}
		options.Keys = q.cmd.appendKeys(options.Keys, q.args)
	}
	return options
}

// attempt runs the queue from its beginning. Calls that follow each other are
// sent together.
func (x *execution) attempt(ctx context.Context, tx pgx.Tx) error {
	x.tx, x.ctx = tx, ctx
	x.out = resp.AppendArray(x.out[:0], len(x.queue))
	x.release()
	for _, q := range x.queue {
		if q.cmd.call != nil {
			r := newRequest(x.conn, q.cmd, q.args)
			err := q.cmd.call(r, q.args)
			x.batch = append(x.batch, execCall{r, err})
			continue
		}
		if err := x.flush(); err != nil {
			return err
		}
		if q.cmd.now != nil {
			start := len(x.out)
			x.out = q.cmd.now(x.conn, q.args, x.out)
			q.cmd.stats.add(0, isError(x.out[start:]))
			continue
		}
		start, begin := len(x.out), x.conn.engine.clock()
		if err := x.task.run(q.cmd, q.args); err != nil {
			return err
		}
		q.cmd.stats.add(x.conn.engine.clock()-begin, isError(x.out[start:]))
	}
	return x.flush()
}

// flush runs the calls that have gathered and writes their replies.
func (x *execution) flush() error {
	defer x.release()
	var calls []*verb.Call
	for _, b := range x.batch {
		if b.refused == nil {
			calls = append(calls, &b.request.call)
		}
	}
	begin := x.conn.engine.clock()
	if err := x.do(calls); err != nil {
		return err
	}
	spent := x.conn.engine.clock() - begin
	for _, b := range x.batch {
		failed := true
		if b.refused != nil {
			x.out = resp.AppendError(x.out, b.refused.Error())
		} else {
			x.out, failed = b.request.encode(x.out)
		}
		b.request.cmd.stats.add(spent/int64(len(x.batch)), failed)
	}
	return nil
}

// do runs calls in the transaction. A call that the library refuses keeps its
// error; the others are run without it.
func (x *execution) do(calls []*verb.Call) error {
	for len(calls) > 0 {
		err := x.cache(x.conn.database).Do(x.ctx, calls...)
		if err == nil {
			return nil
		}
		refused := slices.IndexFunc(calls, func(call *verb.Call) bool { return isRefusal(call.Err) })
		if refused < 0 {
			return err
		}
		calls = slices.Delete(calls, refused, refused+1)
	}
	return nil
}

func (x *execution) release() {
	for _, b := range x.batch {
		b.request.release()
	}
	x.batch = x.batch[:0]
}
