package redisapi

import (
	"bytes"
	"errors"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

// blocked is a command that waits until a key holds something for it. It has the
// connection to itself, as a task has, but no goroutine.
type blocked struct {
	waiter  edit.Waiter
	conn    *Conn
	cmd     *Command
	words   [][]byte
	proto   resp.Proto
	mute    bool
	started int64
	answer  []byte // of the last run
}

// How a command that waits ends before there is something for it.
var (
	errUnblocked = refusal("UNBLOCKED client unblocked via CLIENT UNBLOCK")
	errHungUp    = errors.New("redisapi: the connection ends")
)

// blocks reports whether a command waits where there is nothing for it.
func (cmd *Command) blocks() bool { return cmd.value != nil && cmd.value.Waits != nil }

// startBlocking begins a command that may wait.
func (c *Conn) startBlocking(cmd *Command, args [][]byte, now int64) {
	words := ownArgs(args)
	waits, err := cmd.value.Waits(words)
	if err != nil {
		c.answer(cmd, resp.AppendError(nil, err.Error()))
		return
	}
	b := &blocked{conn: c, cmd: cmd, words: words, proto: c.proto, mute: c.muted, started: now}
	b.waiter = edit.Waiter{
		All:  c.engine.options.DB.Waiters(),
		Keys: waits.Keys, Kind: waits.Kind, Target: waits.Target, Timeout: waits.Timeout,
		Bytes: sizeOf(words), Room: cmd.has("denyoom"), Writer: c.tracker, Caller: c.by(cmd), Run: b.run,
	}
	cache := c.engine.caches[c.database]
	c.pipe.Exclusive(func() {
		c.blocked.Store(b)
		switch ended := c.ended.Load(); {
		case ended && c.ctx.Err() != nil: // closed
			b.waiter.Err = errHungUp
			b.finish(&b.waiter)
			return
		case ended: // the client may still read what is there for it
			b.waiter.Leave(errHungUp, edit.IfItWaits)
		}
		cache.Wait(&b.waiter, b.finish)
	})
}

// run runs the command over some of the keys that it waits for.
func (b *blocked) run(v *edit.View, keys [][]byte) (served bool) {
	reply := valueReply{proto: b.proto, out: b.answer[:0]}
	call := callOver(v, b.words)
	call.Keys, call.Reply, call.Rand = &someKeys{v, b.waiter.Keys, keys, b.waiter.Target}, &reply, choices
	err := b.cmd.value.Run(&call)
	if err != nil {
		reply.out = resp.AppendError(reply.out[:0], err.Error())
	}
	b.answer = reply.out
	return err != nil || !call.Nothing
}

// someKeys is a view in which those of all that are not among some are absent.
type someKeys struct {
	*edit.View
	all, some [][]byte
	target    []byte
}

// Entry implements values.Keyspace.
func (k *someKeys) Entry(key []byte) *values.Entry {
	if contains(k.some, key) || !contains(k.all, key) || k.target != nil && bytes.Equal(key, k.target) {
		return k.View.Entry(key)
	}
	return new(values.Entry)
}

func contains(keys [][]byte, key []byte) bool {
	for _, k := range keys {
		if bytes.Equal(k, key) {
			return true
		}
	}
	return false
}

// finish answers the command. If it is unknown whether something was taken for it, the
// connection ends after the error: what is lost is lost with it.
func (b *blocked) finish(w *edit.Waiter) {
	c, reply := b.conn, b.answer
	c.blocked.Store(nil)
	switch err := w.Err; {
	case err == nil:
	case err == edit.ErrNothingCame:
		reply = resp.AppendNullArray(nil, b.proto)
	case err == errHungUp:
		reply = nil
		c.hangUp()
	default:
		reply = resp.AppendError(nil, c.engine.errorText(err, true))
		if errors.Is(err, fault.ErrUnknownOutcome) {
			c.hangUp()
		}
	}
	spent := c.engine.clock() - b.started
	if w.HasWaited() { // Redis counts the time in which a command runs
		spent = 0
	}
	c.engine.stats.count(b.cmd, spent, reply)
	if c.engine.slowLog().IsSlow(spent) && !w.HasWaited() {
		c.noteSlow(slowCall(spent, 0, w.Locked, isError(reply)), b.cmd, b.waiter.Keys)
	}
	if b.mute {
		reply = nil
	}
	c.pipe.Resume(reply, new(pipeline.Output))
}

// Ended says that no more input will come: a command that waits for what others do is
// given up, as Redis does when a client leaves, and so is one that CLIENT PAUSE holds.
func (c *Conn) Ended() {
	c.ended.Store(true)
	if b := c.blocked.Load(); b != nil {
		b.waiter.Leave(errHungUp, edit.IfItWaits)
	}
	if c.engine.pause.forget(c) {
		c.hangUp()
		c.pipe.Resume(nil, new(pipeline.Output))
	}
}

// isBlocked reports whether the connection waits, for a key or for the end of a pause.
func (c *Conn) isBlocked() bool {
	b := c.blocked.Load()
	return b != nil && b.waiter.IsInLine() || c.engine.pause.holds(c)
}

// blockedSize is the memory of a command that waits.
func (c *Conn) blockedSize() int {
	if b := c.blocked.Load(); b != nil {
		return b.waiter.Bytes
	}
	return 0
}

// clientUnblock runs CLIENT UNBLOCK. A client for which something is being stored at this
// moment is served, and counts as not blocked.
func clientUnblock(c *Conn, args [][]byte, reply []byte) []byte {
	end := edit.ErrNothingCame
	switch {
	case len(args) > 4:
		return resp.AppendError(reply, string(wrongUse("CLIENT", args[1])))
	case len(args) == 4 && is(args[3], "ERROR"):
		end = errUnblocked
	case len(args) == 4 && !is(args[3], "TIMEOUT"):
		return resp.AppendError(reply, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	}
	id, err := parseInt(args[2])
	if err != nil {
		return resp.AppendError(reply, err.Error())
	}
	other := c.engine.connection(id)
	if other == nil {
		return append(reply, resp.Zero...)
	}
	b := other.blocked.Load()
	return appendFlag(reply, b != nil && b.waiter.Leave(end, edit.IfInLine))
}
