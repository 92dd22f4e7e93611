package redisapi

import (
	"context"
	"errors"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/verb"
)

// scriptHost runs the commands of one run of a script over the values that are
// loaded. It implements lua.Host.
type scriptHost struct {
	engine   *Engine
	ctx      context.Context // of the run
	survey   *survey
	caller   scriptCaller
	view     *edit.View
	readOnly bool
	earlier  func() bool        // whether what the client began before is over
	messages []core.Publication // that the run has published: they are sent when it is committed
	calls    scriptCalls
	reads    bool // a command that reads was called
}

// errNotLoaded ends a run that needs keys which are not loaded yet.
var errNotLoaded = errors.New("redisapi: a key of the script is not loaded")

// The errors of commands in scripts.
const (
	errScriptUnknown   = "ERR Unknown Redis command called from script"
	errScriptArity     = "ERR Wrong number of args calling Redis command from script"
	errScriptForbidden = "ERR This Redis command is not allowed from script"
	errScriptReadOnly  = "ERR Write commands are not allowed from read-only scripts."
)

// Call implements lua.Host.
func (h *scriptHost) Call(args [][]byte, protocol int, dst []byte) ([]byte, error) {
	proto := resp.RESP2
	if protocol == 3 {
		proto = resp.RESP3
	}
	start, begin := len(dst), h.engine.clock()
	cmd, refused := h.check(args)
	if refused != "" {
		dst = resp.AppendError(dst, refused)
		h.calls.reject(cmd, dst[start:])
		return dst, nil
	}
	h.reads = h.reads || cmd.has("readonly")
	dst, err := h.run(cmd, args, proto, dst)
	if err == nil {
		h.calls.add(cmd, h.engine.clock()-begin, dst[start:])
	}
	return dst, err
}

// check returns the command of a command line, nil if there is none, and why it is not
// run, "" if it is.
func (h *scriptHost) check(args [][]byte) (cmd *Command, refused string) {
	cmd, err := h.engine.commands.find(args)
	switch {
	case err != nil:
		return nil, errScriptUnknown
	case !cmd.takes(len(args)):
		return cmd, errScriptArity
	case cmd.has("noscript"):
		return cmd, errScriptForbidden
	case (cmd.writes || cmd.publishes) && h.readOnly:
		return cmd, errScriptReadOnly
	case cmd.long(args):
		return cmd, string(errKeyTooLong)
	case cmd.has("denyoom") && h.view.Full:
		return cmd, statusError(verb.CacheFull)
	}
	return cmd, ""
}

// run runs a command that check allows.
func (h *scriptHost) run(cmd *Command, args [][]byte, proto resp.Proto, dst []byte) ([]byte, error) {
	switch {
	case cmd.publishes:
		if err := h.awaitEarlier(); err != nil {
			return dst, err
		}
		return h.publish(cmd, args, dst), nil
	case cmd.value == nil:
		return h.other(cmd, args, proto, dst)
	}
	if cmd.fullName == "copy" {
		var err error
		if args, err = h.copyHere(args); err != nil {
			return resp.AppendError(dst, err.Error()), nil
		}
	}
	keys := cmd.value.Keys(nil, args)
	if !h.view.Has(keys...) {
		h.expect(keys[0])
		return dst, errNotLoaded
	}
	if cmd.has("denyoom") {
		h.view.Grows = true
	}
	call := callOver(h.view, args)
	call.Script = true
	dst = evaluate(dst, cmd.value, proto, call)
	if h.view.Missed() {
		return dst, errNotLoaded
	}
	if cmd.writes {
		h.view.Wrote(keys...)
	}
	return dst, nil
}

// How often a script that publishes looks whether its client's commands before it are over,
// and for how long.
const (
	earlierStep = 200 * time.Microsecond
	maxEarlier  = 50 * time.Millisecond
)

// awaitEarlier waits until the commands before the script are over, so that no message
// overtakes one of theirs. That is for a script of which it is not known yet that it publishes;
// others begin behind those commands. One that lasts may wait for this script, as one
// does whose edit is stored together with it, in their order.
func (h *scriptHost) awaitEarlier() error {
	for began := time.Now(); !h.earlier() && time.Since(began) < maxEarlier; {
		if h.view.Quick {
			return edit.ErrSlow
		}
		select {
		case <-time.After(earlierStep):
		case <-h.ctx.Done():
			return context.Cause(h.ctx)
		}
	}
	return nil
}

// publish takes note of a message.
func (h *scriptHost) publish(cmd *Command, args [][]byte, dst []byte) []byte {
	p, err := newPublication(cmd, ownArgs(args))
	if err != nil {
		return resp.AppendError(dst, err.Error())
	}
	h.messages = append(h.messages, p)
	return resp.AppendInt(dst, int64(h.engine.options.DB.Receivers(p.Kind, p.Channel)))
}

// other runs a command that needs no values of keys.
func (h *scriptHost) other(cmd *Command, args [][]byte, proto resp.Proto, dst []byte) ([]byte, error) {
	switch {
	case cmd.fullName == "time": // it stands still
		return appendTime(dst, h.view.Now*1000), nil
	case cmd.now != nil:
		return cmd.now(h.caller.client(h.engine, proto), args, dst), nil
	case !cmd.surveys():
		return resp.AppendError(dst, "ERR "+cmd.fullName+" is not available in scripts"+errOneDatabase), nil
	case h.view.Quick: // it waits for PostgreSQL
		return dst, edit.ErrSlow
	}
	return h.survey.run(h.ctx, h.caller.client(h.engine, proto), cmd, args, dst)
}

const errOneDatabase = ": a script works on the database of its connection"

// copyHere returns a command line of COPY without the database, which must be that of the
// script.
func (h *scriptHost) copyHere(args [][]byte) ([][]byte, error) {
	o, err := parseCopy(args, h.caller.database)
	switch {
	case err != nil:
		return nil, err
	case o.database != h.caller.database:
		return nil, refusal("ERR copy to another database is not available in scripts" + errOneDatabase)
	case o.replace:
		return append(args[:3:3], []byte("REPLACE")), nil
	}
	return args[:3], nil
}

// scriptCaller is what the commands of a script know of the client that has sent it.
type scriptCaller struct {
	info     Info
	identity *observe.Client
	database int
}

// client is the one that commands of a script belong to. As in Redis it is not the one
// that has sent the script, and has its own protocol.
func (s *scriptCaller) client(e *Engine, proto resp.Proto) *Conn {
	c := &Conn{engine: e, info: s.info}
	c.session.reset(e)
	c.authenticated, c.proto, c.database, c.session.client = true, proto, s.database, s.identity
	return c
}

// Allowed implements lua.Host.
func (h *scriptHost) Allowed(args [][]byte) (allowed, known bool) {
	cmd, err := h.engine.commands.find(args)
	return err == nil && !cmd.has("noscript"), err == nil
}

// Log implements lua.Host: a script writes to the log of the server.
func (h *scriptHost) Log(level int, message string) {
	levels := []func(string, ...any){h.engine.options.Logger.Debug, h.engine.options.Logger.Debug, h.engine.options.Logger.Info, h.engine.options.Logger.Warn}
	levels[min(max(level, 0), len(levels)-1)]("a script wrote to the log", "message", message)
}
