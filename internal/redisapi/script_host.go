package redisapi

import (
	"context"
	"errors"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/verb"
)

// scriptHost runs the commands of one run of a script over the values that are
// loaded. It implements lua.Host.
type scriptHost struct {
	engine   *Engine
	ctx      context.Context // of the run
	survey   *survey
	view     *edit.View
	readOnly bool
	earlier  func() bool        // whether what the client began before is over
	messages []core.Publication // that the run has published: they are sent when it is committed
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
	cmd, err := h.engine.commands.find(args)
	switch {
	case err != nil:
		return resp.AppendError(dst, errScriptUnknown), nil
	case !cmd.takes(len(args)):
		return resp.AppendError(dst, errScriptArity), nil
	case cmd.has("noscript"):
		return resp.AppendError(dst, errScriptForbidden), nil
	case (cmd.writes || cmd.publishes) && h.readOnly:
		return resp.AppendError(dst, errScriptReadOnly), nil
	case cmd.long(args):
		return resp.AppendError(dst, string(errKeyTooLong)), nil
	case cmd.has("denyoom") && h.view.Full:
		return resp.AppendError(dst, statusError(verb.CacheFull)), nil
	case h.survey.knows(cmd):
		if h.view.Quick { // it waits for PostgreSQL
			return dst, edit.ErrSlow
		}
		return h.survey.run(h.ctx, cmd, args, proto, dst)
	case cmd.publishes:
		if err := h.awaitEarlier(); err != nil {
			return dst, err
		}
		return h.publish(cmd, args, dst), nil
	case cmd.figures != nil:
		return cmd.figures(h.engine, args, dst), nil
	case cmd.value == nil:
		return h.other(cmd, args, dst), nil
	}
	keys := cmd.value.Keys(nil, args)
	if !h.view.Has(keys...) {
		h.expect(keys[0])
		return dst, errNotLoaded
	}
	if cmd.has("denyoom") {
		h.view.Grows = true
	}
	dst = evaluate(dst, cmd.value, proto, callOver(h.view, args))
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

// other runs a command that needs no values.
func (h *scriptHost) other(cmd *Command, args [][]byte, dst []byte) []byte {
	switch cmd.fullName {
	case "ping":
		if len(args) > 1 {
			return resp.AppendBulk(dst, args[1])
		}
		return resp.AppendSimple(dst, "PONG")
	case "echo":
		return resp.AppendBulk(dst, args[1])
	case "time":
		return appendTime(dst, h.view.Now*1000)
	}
	return resp.AppendError(dst, "ERR "+cmd.fullName+" is not available in scripts")
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
