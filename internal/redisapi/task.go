package redisapi

import (
	"context"
	"errors"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/verb"
)

// A task is a command that needs several steps, or a whole cache. It has the
// connection to itself: earlier calls are done when it begins, later commands
// start when it has ended.
type task struct {
	conn *Conn
	cmd  *Command      // that runs; nil: none that has begun
	do   func(t *task) // appends its reply to out
	mute bool

	ctx     context.Context // without a deadline: the library bounds each of its calls
	tracked []tracked       // keys, for each database that they are read in

	tx  *transaction // EXEC: the transaction around it
	out []byte

	queue  []queuedCommand // EXEC: what it runs
	waited int64           // nanoseconds that it waited for its turn on the database
	locked bool            // another transaction held what it needed

	counted bool // the errors in the reply of the command that runs are counted already
	unread  bool // that command is a script that has read nothing

	multi    bool               // EXEC: messages are a part of it
	messages []core.Publication // that EXEC will send
	written  []written          // EXEC: in the order in which it was

	large pipeline.Output // EXEC: the large values in out, which are not copied into it
}

// block gives the connection to a task, at once or when the calls in flight
// are done. Feed starts nothing before it ends.
func (c *Conn) block(ctx context.Context, do func(t *task)) {
	t := &task{conn: c, do: do, mute: c.muted, ctx: ctx}
	c.pipe.Exclusive(t.start)
}

func (t *task) start() {
	if !t.conn.engine.begin() {
		t.conn.Close()
		return
	}
	go func() {
		defer t.conn.engine.tasks.Done()
		if t.conn.tracker != nil {
			t.conn.holdInvalidations()
		}
		t.do(t)
		if t.mute {
			t.out = nil
			t.large.Release()
		}
		var due dues
		tracks := t.conn.tracker != nil // EXEC may have made it
		if tracks {
			t.dropUnread()
			due = t.takeOwed()
		}
		t.conn.resume(t)
		if tracks {
			t.conn.sendDues(t.tracked, due)
		}
	}()
}

// slotWait is Engine.slotWait, unless a test says otherwise.
const slotWait = 2 * time.Second

// takeSlot waits until few enough other tasks use the database. Without an
// error the caller gives the slot back.
func (t *task) takeSlot() (release func(), err error) {
	slots := t.conn.engine.slots
	release = func() { <-slots }
	timer := time.NewTimer(t.conn.engine.slotWait)
	defer timer.Stop()
	began := t.conn.engine.clock()
	defer func() { t.waited += t.conn.engine.clock() - began }()
	select {
	case slots <- struct{}{}:
		return release, nil
	case <-t.ctx.Done():
	case <-timer.C:
	}
	return nil, fault.ErrOverloaded
}

// bounded is a context for statements of our own.
func (t *task) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.ctx, t.conn.engine.options.TaskTimeout)
}

// cache returns a database's cache, in the transaction if there is one.
func (t *task) cache(number int) *core.Cache {
	cache := t.conn.engine.caches[number].By(t.conn.tracker).As(t.conn.client, t.commandName()).Part()
	if t.tx != nil {
		return t.tx.join(cache)
	}
	return cache
}

// commandName is that of the command that runs.
func (t *task) commandName() string {
	if t.cmd == nil {
		return ""
	}
	return t.cmd.fullName
}

// call runs one call and waits for it.
func (t *task) call(number int, call *verb.Call) error {
	return t.cache(number).Do(t.ctx, call)
}

// runInTurn waits for a slot, unless the command is part of a transaction,
// which has one, or EXEC, which takes it, or needs no database this time.
func (t *task) runInTurn(cmd *Command, args [][]byte) error {
	t.cmd = cmd
	free := cmd.free != nil && cmd.free(t.conn.engine, args)
	if t.tx == nil && !cmd.controls && !free {
		release, err := t.takeSlot()
		if err != nil {
			return err
		}
		defer release()
	}
	if cmd.edit != nil {
		return t.runEdit(cmd, args)
	}
	return cmd.run(t, args)
}

// run runs one command that is not a call, and appends its reply. The error is
// one that its transaction, if there is one, does not survive.
func (t *task) run(cmd *Command, args [][]byte) error {
	start := len(t.out)
	err := t.runInTurn(cmd, args)
	if err != nil {
		t.out = t.out[:start]
	}
	return t.answer(cmd, err)
}

// count counts a command that was run, and its reply.
func (t *task) count(cmd *Command, nanos int64, reply []byte) {
	if t.counted {
		t.counted, t.unread = false, false
		cmd.stats.add(nanos, isError(reply))
		return
	}
	t.conn.engine.stats.count(cmd, nanos, reply)
}

// answer appends the reply of a command that failed, unless its transaction fails
// with it.
func (t *task) answer(cmd *Command, err error) error {
	var refused refusal
	if err == nil || t.tx != nil && !errors.As(err, &refused) {
		return err
	}
	t.out = resp.AppendError(t.out, t.conn.engine.errorText(err, cmd.hasEffect()))
	return nil
}
