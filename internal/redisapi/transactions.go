package redisapi

import (
	"context"
	"errors"
	"slices"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

const noteWatch = "The version of a key shows whether it has changed, wherever it was written. WATCH of an absent key leaves a row in its place " +
	"for ten minutes: after that, or after FLUSHDB or SWAPDB, EXEC fails."

func transactionCommands() []*Command {
	return []*Command{
		{Name: "multi", Arity: 1, Flags: "noscript loading stale fast allow_busy", Group: "transactions", ACL: "transaction", Since: "1.2.0",
			Summary: "Begins to queue commands for EXEC", Complexity: "O(1)", now: multi},
		{Name: "exec", Arity: 1, Flags: "noscript loading stale skip_slowlog", Group: "transactions", ACL: "transaction", Since: "1.2.0",
			Summary: "Runs the queued commands in one PostgreSQL transaction", Complexity: "Depends on the queued commands",
			Note: "The replies are written after COMMIT.", run: exec},
		{Name: "discard", Arity: 1, Flags: "noscript loading stale fast allow_busy", Group: "transactions", ACL: "transaction", Since: "2.0.0",
			Summary: "Forgets the queued commands and the watched keys", Complexity: "O(N) where N is the number of queued commands", now: discard},
		{Name: "watch", Arity: -2, Flags: "noscript loading stale fast allow_busy", Keys: allKeys("RO"), Group: "transactions", ACL: "transaction", Since: "2.2.0",
			Summary: "Makes the next EXEC fail if one of the keys has changed by then", Complexity: "O(1) for every key",
			Syntax: "key [key ...]", Note: noteWatch, run: watch},
		{Name: "unwatch", Arity: 1, Flags: "noscript loading stale fast allow_busy", Group: "transactions", ACL: "transaction", Since: "2.2.0",
			Summary: "Forgets the watched keys", Complexity: "O(1)", now: unwatch},
	}
}

// queuedCommand is one command between MULTI and EXEC.
type queuedCommand struct {
	cmd  *Command
	args [][]byte
}

// Memory that counts towards the bound of a connection besides the bytes of the
// arguments: the slice header of each, a queued command, a watched key.
const (
	argumentOverhead = 24
	commandOverhead  = 64
	watchedOverhead  = 128
)

// sizeOf returns the memory of copied arguments, in bytes.
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
	if !c.pipe.Exclusively() { // inside EXEC the watched keys are checked already
		c.set((*session).unwatch)
	}
	return append(reply, resp.OK...)
}

// enqueue keeps a command for EXEC. As in Redis, only its name and the number of
// its arguments have been checked.
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
		c.pipe.Append([]byte(resp.Queued))
	}
}

func watch(t *task, args [][]byte) error {
	c := t.conn
	if c.multi {
		return refusal("ERR WATCH inside MULTI is not allowed")
	}
	size := c.watched.bytes()
	for _, key := range args[1:] {
		if !c.watched.has(c.database, key) {
			size += watchedOverhead + len(key)
		}
	}
	if size > c.engine.options.MaxPendingBytes && c.watched.bytes() > 0 {
		return errWatchTooBig
	}
	var calls []*verb.Call
	for _, key := range args[1:] {
		if !c.watched.has(c.database, key) {
			calls = append(calls, &verb.Call{Verb: statement.Watch, Key: key})
		}
	}
	if err := t.cache(c.database).Do(t.ctx, calls...); err != nil {
		return err
	}
	c.set(func(s *session) {
		if s.watched == nil {
			s.watched = &watchSet{states: make(map[watchedKey]watchState)}
		}
		for _, call := range calls {
			s.watched.add(c.database, call.Key, watchState{call.Result.Version, !call.Result.Found})
		}
	})
	t.out = append(t.out, resp.OK...)
	return nil
}

func exec(t *task, _ [][]byte) error {
	c := t.conn
	if !c.multi {
		return refusal("ERR EXEC without MULTI")
	}
	t.multi, t.queue = true, c.queue
	x := execution{task: t, queue: c.queue, watched: c.watched, held: pipeline.NewAccount(c.engine.options.Memory)}
	defer x.held.Set(0)
	dirty := c.dirty
	defer c.set(func(s *session) { s.tracking.spent = s.tracking.caching })
	c.set((*session).endMulti)
	if dirty {
		return refusal("EXECABORT Transaction discarded because of previous errors.")
	}
	committed, err := x.run()
	if committed {
		t.subscribeStaged()
	} else {
		c.staged = nil
	}
	return err
}

// transaction is what the commands of an EXEC need of the transaction around
// them.
type transaction struct {
	join  func(*core.Cache) *core.Cache // makes the calls of a cache part of it
	query func(ctx context.Context, sql string, result any) error

	scripts core.Scripts
	tx      core.Tx
}

// execution is one EXEC.
type execution struct {
	*task
	queue   []queuedCommand
	watched *watchSet
	batch   []execCall
	held    pipeline.Account // for the values of the reply
	served  []*edit.Served   // waiters that took of it
}

// maxBatch is how many calls of an EXEC are sent together: their values are in
// memory before they can be counted.
const maxBatch = 128

// execCall is a queued command that is one call. refused is the error of arguments
// that are not valid.
type execCall struct {
	request *request
	refused error
}

// run runs the queue. Without an error it may still not be committed: a watched key has changed.
// With one it may be, and its messages are lost.
func (x *execution) run() (committed bool, err error) {
	c := x.conn
	if !x.usesDatabase() {
		return x.runWithoutDatabase()
	}
	release, err := x.takeSlot()
	if err != nil {
		return false, err
	}
	defer release()
	ctx := x.ctx
	if x.takesLong() {
		var cancel context.CancelFunc
		ctx, cancel = x.bounded()
		defer cancel()
	}
	x.prepareDatabases(ctx)
	x.trackQueue()
	if err := x.learnQueued(ctx); err != nil {
		return false, err
	}
	before, again := c.session, false
	var outbox *core.Outbox
	options := x.options()
	if x.mayPublish() {
		options.Outbox = func() *core.Outbox {
			outbox = c.engine.options.DB.Outbox(x.messages)
			return outbox
		}
	}
	err = c.engine.options.DB.Transact(ctx, options, func(ctx context.Context, tx core.Tx) error {
		if again { // PostgreSQL has undone an attempt
			c.set(func(s *session) { *s = before })
			x.resumeTracking()
		}
		again = true
		if err := x.attempt(ctx, &transaction{
			join:  func(cache *core.Cache) *core.Cache { return cache.With(tx) },
			query: func(ctx context.Context, sql string, result any) error { return tx.QueryRow(ctx, sql).Scan(result) },

			scripts: c.engine.options.DB.Scripts(tx),
			tx:      tx,
		}); err != nil {
			return err
		}
		return x.serveWaiters(ctx)
	})
	x.tx = nil
	x.settle(err)
	committed = err == nil
	if outbox != nil {
		err = outbox.Finish(c.engine.ctx, err, true)
	}
	switch {
	case err == nil:
		return true, nil
	case committed:
		x.resetReply()
		return true, err
	}
	c.set(func(s *session) { *s = before })
	x.resumeTracking()
	x.resetReply()
	if errors.Is(err, fault.ErrWatch) {
		x.out = resp.AppendNullArray(x.out, c.proto)
		return false, nil
	}
	return false, err
}

// mayPublish reports whether the queue has a command that publishes, or runs a script.
func (x *execution) mayPublish() bool {
	return slices.ContainsFunc(x.queue, func(q queuedCommand) bool { return q.cmd.publishes || q.cmd.edit != nil })
}

// runWithoutDatabase is run for a queue that reads and stores nothing.
func (x *execution) runWithoutDatabase() (done bool, err error) {
	before := x.conn.session
	err = x.attempt(x.ctx, nil)
	if outbox := x.conn.engine.options.DB.Outbox(x.messages); err == nil && outbox != nil {
		err = outbox.Finish(x.ctx, nil, false)
	}
	if err != nil {
		x.conn.set(func(s *session) { *s = before })
		x.resetReply()
	}
	return err == nil, err
}

// takesLong reports whether the transaction needs more time than the library
// allows for one call.
func (x *execution) takesLong() bool {
	return len(x.queue) > 100 || slices.ContainsFunc(x.queue, func(q queuedCommand) bool {
		return q.cmd.run != nil && !q.cmd.publishes || q.cmd.isValue(q.args)
	})
}

// usesDatabase reports whether a transaction is needed.
func (x *execution) usesDatabase() bool {
	for _, q := range x.queue {
		if q.cmd.now == nil && q.cmd.subscribes == nil && !q.cmd.publishes {
			return true
		}
	}
	return x.watched != nil
}

// prepareDatabases creates the databases that the queue selects, which cannot be
// done inside the transaction. After a failure the queued SELECT returns an error.
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

// options returns the versions to check, and the keys that the calls of other
// connections of this process do not use until the end of the transaction.
func (x *execution) options() core.TxOptions {
	e, number := x.conn.engine, x.conn.database
	options := core.TxOptions{Cache: e.caches[number].Name()}
	if x.watched != nil {
		for w, state := range x.watched.states {
			options.Watch = append(options.Watch, core.Watch{
				Cache: e.caches[w.database].Name(), Key: []byte(w.key),
				Version: state.version, Absent: state.absent && state.version != 0,
			})
		}
	}
	keys := &options.Keys
	for _, q := range x.queue {
		if q.cmd.Name == "select" {
			keys = &options.Beside // Keys are of one cache; in other caches row locks have to do
		}
		*keys = q.cmd.appendKeys(*keys, q.args)
	}
	return options
}

// attempt runs the queue from its beginning. Consecutive calls are sent together.
func (x *execution) attempt(ctx context.Context, tx *transaction) error {
	x.tx, x.ctx = tx, ctx
	x.settle(errAgain)
	x.resetReply()
	x.messages, x.conn.staged = nil, nil
	x.out = resp.AppendArray(x.out, len(x.queue))
	x.release()
	for i, q := range x.queue {
		x.noteTransfer(q)
		asValue := x.runsAsValue(q)
		if q.cmd.call != nil && !asValue {
			r := newRequest(x.conn, q.cmd, q.args)
			err := q.cmd.call(r, q.args)
			x.batch = append(x.batch, execCall{r, err})
			if len(x.batch) == maxBatch {
				if err := x.flush(); err != nil {
					return err
				}
			}
			continue
		}
		if err := x.flush(); err != nil {
			return err
		}
		if asValue {
			if err := x.runValue(q); err != nil {
				return err
			}
			continue
		}
		if q.cmd.subscribes != nil {
			x.out = x.conn.stageSubscriptions(q.cmd, q.args, x.out)
			continue
		}
		if q.cmd.now != nil {
			start := len(x.out)
			x.out = q.cmd.now(x.conn, q.args, x.out)
			x.conn.engine.stats.count(q.cmd, 0, x.out[start:])
			continue
		}
		start, begin := len(x.out), x.conn.engine.clock()
		if err := x.task.run(q.cmd, q.args); err != nil {
			return err
		}
		if q.cmd.edit != nil {
			x.noteReads(i, !x.unread)
		}
		x.count(q.cmd, x.conn.engine.clock()-begin, x.out[start:])
	}
	return x.flush()
}

// flush runs the calls of the batch and appends their replies.
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
			start := len(x.out)
			x.out = resp.AppendError(x.out, b.refused.Error())
			x.conn.engine.stats.countError(x.out[start:])
		} else {
			b.request.out = &x.large
			x.out, failed = b.request.encode(x.out)
			b.request.out = nil
		}
		b.request.cmd.stats.add(spent/int64(len(x.batch)), failed)
	}
	return x.checkMemory()
}

// checkMemory refuses a transaction whose reply no longer fits into the memory of
// the server. It is rolled back.
func (x *execution) checkMemory() error {
	size := cap(x.out) + x.large.Held()
	x.held.Set(size)
	if size > pipeline.Free && x.conn.pipe.Exceeded() {
		return errMemory
	}
	return nil
}

// resetReply empties the reply, which is written again or replaced by an error.
func (x *execution) resetReply() {
	x.out = x.out[:0]
	x.large.Reset()
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
		b.request.Release()
	}
	x.batch = x.batch[:0]
}
