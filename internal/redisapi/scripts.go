package redisapi

import (
	"context"
	"errors"
	"time"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/lua"
	"github.com/howdah/howdah/internal/resp"
)

// scriptSpec is where the keys of EVAL and its relatives are.
func scriptSpec(flags, notes string) []KeySpec {
	spec := counted(2, 1, flags)
	spec[0].Notes = notes
	return spec
}

const noteScript = "A script stores all or nothing: what it did before its own error counts, as in Redis, but one that is killed or exceeds its time has done nothing. " +
	"It runs over loaded values, and again from its beginning if another client changed one meanwhile. It may use keys that it does not declare."

func scriptCommands() []*Command {
	const unknown = "We cannot tell how the keys will be used so we assume the worst, "
	const flags, readOnly = "noscript stale skip_monitor no_mandatory_keys movablekeys", "readonly noscript stale skip_monitor no_mandatory_keys movablekeys"
	return []*Command{
		{Name: "eval", Arity: -3, Flags: flags, Keys: scriptSpec("RW access update", unknown+"RW and UPDATE"), Group: "scripting", ACL: "scripting", Since: "2.6.0",
			Summary: "Runs a Lua script", Complexity: "Depends on the script",
			Syntax: "script numkeys [key [key ...]] [arg [arg ...]]", Note: noteScript, edit: eval},
		{Name: "eval_ro", Arity: -3, Flags: readOnly, Keys: scriptSpec("RO access", unknown+"RO and ACCESS"), Group: "scripting", ACL: "scripting", Since: "7.0.0",
			Summary: "Runs a Lua script that only reads", Complexity: "Depends on the script",
			Syntax: "script numkeys [key [key ...]] [arg [arg ...]]", edit: evalReadOnly},
		{Name: "evalsha", Arity: -3, Flags: flags, Keys: scriptSpec("RW access update", ""), Group: "scripting", ACL: "scripting", Since: "2.6.0",
			Summary: "Runs a Lua script by its SHA-1", Complexity: "Depends on the script",
			Syntax: "sha1 numkeys [key [key ...]] [arg [arg ...]]", edit: evalSHA},
		{Name: "evalsha_ro", Arity: -3, Flags: readOnly, Keys: scriptSpec("RO access", ""), Group: "scripting", ACL: "scripting", Since: "7.0.0",
			Summary: "Runs a Lua script that only reads by its SHA-1", Complexity: "Depends on the script",
			Syntax: "sha1 numkeys [key [key ...]] [arg [arg ...]]", edit: evalSHAReadOnly},
		{Name: "script", Arity: -2, Group: "scripting", Since: "2.6.0", Summary: "Keeps Lua scripts", Complexity: "Depends on the subcommand",
			Sub: []*Command{
				{Name: "load", Arity: 3, Flags: "noscript stale", ACL: "scripting", Since: "2.6.0", Syntax: "script",
					Tips:    "request_policy:all_nodes response_policy:all_succeeded",
					Summary: "Keeps a script for EVALSHA", Complexity: "O(N) where N is the length of the script",
					run: scriptLoad, free: func(*Engine, [][]byte) bool { return true }},
				{Name: "exists", Arity: -3, Flags: "noscript", ACL: "scripting", Since: "2.6.0", Syntax: "sha1 [sha1 ...]",
					Tips:    "request_policy:all_shards response_policy:agg_logical_and",
					Summary: "Tells which scripts are kept", Complexity: "O(N) where N is the number of scripts", now: scriptExists},
				{Name: "flush", Arity: -2, Flags: "noscript", ACL: "scripting", Since: "2.6.0", Syntax: "[ASYNC | SYNC]",
					Tips:    "request_policy:all_nodes response_policy:all_succeeded",
					Summary: "Forgets all scripts", Complexity: "O(N) where N is the number of scripts", now: scriptFlush},
				{Name: "kill", Arity: 2, Flags: "noscript allow_busy", ACL: "scripting", Since: "2.6.0",
					Tips:    "request_policy:all_shards response_policy:one_succeeded",
					Summary: "Ends the scripts that run on this server", Complexity: "O(N) where N is the number of scripts that run",
					Note: "A script that has written can be killed too: nothing of it is stored.", now: scriptKill},
				help("5.0.0", "scripting", "SCRIPT",
					"EXISTS <sha1> [<sha1> ...]", "    Tell which of the scripts are kept.",
					"FLUSH [ASYNC|SYNC]", "    Forget all scripts.",
					"KILL", "    End the scripts that run on this server.",
					"LOAD <script>", "    Keep a script without running it."),
			}},
	}
}

// takesScript reports whether a command runs a script or keeps one.
func (cmd *Command) takesScript() bool { return cmd.edit != nil || cmd.fullName == "script|load" }

func eval(r *request, args [][]byte) error            { return r.evalSource(args, false) }
func evalReadOnly(r *request, args [][]byte) error    { return r.evalSource(args, true) }
func evalSHA(r *request, args [][]byte) error         { return r.evalKept(args, false) }
func evalSHAReadOnly(r *request, args [][]byte) error { return r.evalKept(args, true) }

func (r *request) evalSource(args [][]byte, readOnly bool) error {
	if err := checkScriptKeys(args); err != nil {
		return err
	}
	source := r.own(args[1])
	r.script(args, readOnly, r.conn.engine.scripts.kept(source), source)
	return nil
}

func (r *request) evalKept(args [][]byte, readOnly bool) error {
	if err := checkScriptKeys(args); err != nil {
		return err
	}
	script := r.conn.engine.scripts.find(args[1])
	if script == nil {
		return errNoScript
	}
	r.script(args, readOnly, script, nil)
	return nil
}

const errNoScript = refusal("NOSCRIPT No matching script. Please use EVAL.")

// checkScriptKeys refuses a number of keys that cannot be.
func checkScriptKeys(args [][]byte) error {
	n, err := parseInt(args[2])
	switch {
	case err != nil:
		return errNotInteger
	case n > int64(len(args)-3):
		return refusal("ERR Number of keys can't be greater than number of args")
	case n < 0:
		return refusal("ERR Number of keys can't be negative")
	}
	return nil
}

// script makes the edit of a command that runs a script, or, if it is nil, a source that
// is to be compiled: that may take long, so it is not done on the event loop. args[2] is
// the number of keys behind it.
func (r *request) script(args [][]byte, readOnly bool, script *keptScript, source []byte) {
	n, _ := parseInt(args[2])
	words := make([][]byte, len(args)-3)
	for i, arg := range args[3:] {
		words[i] = r.own(arg)
	}
	keys, rest := words[:n:n], words[n:]
	r.alone = script == nil || script.alone()
	r.runScript(keys, func(ctx context.Context, host *scriptHost, run *lua.Run) ([]byte, error) {
		if script == nil {
			var err error
			if script, err = r.conn.engine.scripts.compile(source); err != nil {
				return nil, err
			}
		}
		flags := script.program.Flags()
		if readOnly && flags&(lua.NoWrites|lua.CompatibilityMode) == 0 {
			return nil, errMayWrite
		}
		host.readOnly = readOnly || flags&lua.NoWrites != 0
		run.Keys, run.Args = keys, rest
		reply, err := script.program.Run(ctx, run)
		script.note(host.view.Missed(), err)
		return reply, err
	})
}

const errMayWrite = refusal("ERR Can not execute a script with write flag using *_ro command.")

// How long a script may run: while PostgreSQL holds its keys, and otherwise.
const (
	scriptTime       = 5 * time.Second
	lockedScriptTime = 50 * time.Millisecond
)

const (
	errScriptTime   = refusal("ERR the script ran for more than 5 s; nothing of it was stored")
	errScriptLocked = refusal("TRYAGAIN The keys keep changing, try again")
	errScriptKilled = refusal("ERR Error running script: Script killed by user with SCRIPT KILL...")
)

// runScript makes the edit of a script.
func (r *request) runScript(keys [][]byte, run func(context.Context, *scriptHost, *lua.Run) ([]byte, error)) {
	r.reply = replyAnswer
	scripts, proto := &r.conn.engine.scripts, r.proto
	outer := context.Background()
	if r.task != nil {
		outer = r.task.ctx // EXEC holds rows, and has its own time
	}
	r.edit = edit.Edit{Keys: keys, Bytes: r.size, Slow: true, Earlier: func() bool { return r.conn.pipe.IsNext(r) }}
	survey, killed := &survey{cache: r.cache()}, false
	r.edit.Run = func(v *edit.View) {
		if killed { // in an earlier run
			v.Undo(errScriptKilled)
			return
		}
		if !v.Locked && r.task == nil { // others wait for those
			leave, err := scripts.enter()
			if err != nil {
				v.Undo(err)
				return
			}
			defer leave()
		}
		limit, late := scriptTime, errScriptTime
		if v.Locked {
			limit, late = lockedScriptTime, errScriptLocked
		}
		ctx, cancel := context.WithTimeoutCause(outer, limit, late)
		defer cancel()
		ctx, end := scripts.begin(ctx)
		host := &scriptHost{engine: r.conn.engine, ctx: ctx, survey: survey, view: v}
		protocol := 2
		if proto == resp.RESP3 {
			protocol = 3
		}
		reply, err := run(ctx, host, &lua.Run{Host: host, Protocol: protocol})
		r.answer = append(r.answer[:0], reply...)
		if killed = end(); killed {
			err = errScriptKilled
		}
		switch {
		case v.Missed() && !killed:
			v.Undo(nil)
		case err != nil:
			v.Undo(scriptError(err))
		}
	}
}

// scriptError is the error reply for a run that ended early.
func scriptError(err error) error {
	var memory *lua.MemoryError
	var survey *surveyError
	switch {
	case errors.As(err, &survey):
		return survey.error
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Timeout("a script took the time of its transaction; nothing was changed", err)
	case errors.As(err, &memory):
		return refusal("ERR Script used more than 64 MiB")
	}
	return refusal(err.Error())
}
