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
	do   func(t *task) // appends its reply to out
	mute bool

	ctx context.Context // without a deadline: the library bounds each of its calls
	tx  *transaction    // EXEC: the transaction around it
	out []byte

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
		t.do(t)
		if t.mute {
			t.out = nil
			t.large.Release()
		}
		t.conn.pipe.Resume(t.out, &t.large)
	}()
}

// slotWait is how long a task waits for its turn on the database.
const slotWait = 2 * time.Second

// takeSlot waits until few enough other tasks use the database. Without an
// error the caller gives the slot back.
func (t *task) takeSlot() (release func(), err error) {
	slots := t.conn.engine.slots
	release = func() { <-slots }
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
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
	cache := t.conn.engine.caches[number]
	if t.tx != nil {
		return t.tx.join(cache)
	}
	return cache
}

// call runs one call and waits for it.
func (t *task) call(number int, call *verb.Call) error {
	return t.cache(number).Do(t.ctx, call)
}

// runInTurn waits for a slot, unless the command is part of a transaction,
// which has one, or EXEC, which takes it, or needs no database this time.
func (t *task) runInTurn(cmd *Command, args [][]byte) error {
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

// answer appends the reply of a command that failed, unless its transaction fails
// with it.
func (t *task) answer(cmd *Command, err error) error {
	var refused refusal
	if err == nil || t.tx != nil && !errors.As(err, &refused) {
		return err
	}
	t.out = resp.AppendError(t.out, t.conn.engine.errorText(err, cmd.writes))
	return nil
}
