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
					Note: "On every server of the database.", run: scriptLoad},
				{Name: "exists", Arity: -3, Flags: "noscript", ACL: "scripting", Since: "2.6.0", Syntax: "sha1 [sha1 ...]",
					Tips:    "request_policy:all_shards response_policy:agg_logical_and",
					Summary: "Tells which scripts are kept", Complexity: "O(N) where N is the number of scripts", run: scriptExists},
				{Name: "flush", Arity: -2, Flags: "noscript", ACL: "scripting", Since: "2.6.0", Syntax: "[ASYNC | SYNC]",
					Tips:    "request_policy:all_nodes response_policy:all_succeeded",
					Summary: "Forgets all scripts", Complexity: "O(N) where N is the number of scripts",
					Note: "On every server of the database; the others may run those in their memory for two more seconds.", run: scriptFlush},
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
func (cmd *Command) takesScript() bool {
	switch cmd.fullName {
	case "script|load", "function|load", "function|restore":
		return true
	}
	return cmd.edit != nil
}

func eval(r *request, args [][]byte) error            { return r.evalSource(args, false) }
func evalReadOnly(r *request, args [][]byte) error    { return r.evalSource(args, true) }
func evalSHA(r *request, args [][]byte) error         { return r.evalKept(args, false) }
func evalSHAReadOnly(r *request, args [][]byte) error { return r.evalKept(args, true) }

func (r *request) evalSource(args [][]byte, readOnly bool) error {
	if err := checkScriptKeys(args); err != nil {
		return err
	}
	call := newScriptCall(r.ownWords(args), readOnly)
	call.source = call.words[1]
	if script := r.conn.engine.scripts.kept(call.source); script != nil {
		call.script = script
	}
	r.runCall(call)
	return nil
}

func (r *request) evalKept(args [][]byte, readOnly bool) error {
	if err := checkScriptKeys(args); err != nil {
		return err
	}
	e, call := r.conn.engine, newScriptCall(r.ownWords(args), readOnly)
	if script := e.scripts.find(args[1]); script != nil && e.scriptsAreRecent() {
		call.script = script
	} else {
		r.prepare = func(t *task) error { return t.findScript(call, call.words[1]) }
	}
	r.runCall(call)
	return nil
}

const errNoScript = refusal("NOSCRIPT No matching script. Please use EVAL.")

const (
	errManyKeys     = refusal("ERR Number of keys can't be greater than number of args")
	errNegativeKeys = refusal("ERR Number of keys can't be negative")
)

// checkScriptKeys refuses a number of keys that cannot be.
func checkScriptKeys(args [][]byte) error {
	n, err := parseInt(args[2])
	switch {
	case err != nil:
		return errNotInteger
	case n > int64(len(args)-3):
		return errManyKeys
	case n < 0:
		return errNegativeKeys
	}
	return nil
}

// scriptCall is what one command runs.
type scriptCall struct {
	words      [][]byte // of the command
	keys, args [][]byte
	readOnly   bool
	function   string // its name; "": it is a script

	script  runnable // nil: source is compiled
	source  []byte
	stored  bool  // PostgreSQL has answered the source
	flushes int64 // how often scripts had been flushed before it did
}

// newScriptCall makes the call of a command whose number of keys, words[2], is checked.
func newScriptCall(words [][]byte, readOnly bool) *scriptCall {
	n, _ := parseInt(words[2])
	rest := words[3:]
	return &scriptCall{words: words, keys: rest[:n:n], args: rest[n:], readOnly: readOnly}
}

// runCall makes the edit of a call. What is to be compiled may take long, so that is not
// done on the event loop.
func (r *request) runCall(call *scriptCall) {
	r.alone = call.script == nil || call.script.alone() || call.script.sends() && r.conn.pipe.InFlight() > 0
	r.blind = !r.alone && !call.script.reads()
	scripts, info := &r.conn.engine.scripts, scriptRun{function: call.function}
	if call.function != "" {
		info.words = call.words
	}
	r.runScript(call.keys, info, func(ctx context.Context, host *scriptHost, run *lua.Run) ([]byte, error) {
		if call.script == nil {
			if err := scripts.compileCall(call); err != nil {
				return nil, err
			}
		}
		flags := call.script.flags()
		if call.readOnly && flags&(lua.NoWrites|lua.CompatibilityMode) == 0 {
			return nil, errMayWrite
		}
		host.readOnly = call.readOnly || flags&lua.NoWrites != 0
		run.Keys, run.Args = call.keys, call.args
		reply, err := call.script.run(ctx, run)
		if host.view.Quick && (errors.Is(err, lua.ErrSteps) || errors.Is(err, edit.ErrSlow)) {
			call.script.noteSlow()
			return nil, edit.ErrSlow
		}
		call.script.note(runNotes{host.view.Missed(), len(host.messages) > 0, host.reads}, err)
		return reply, err
	})
	r.edit.Slow = call.script == nil || !call.script.quick()
}

// compileCall compiles the source of a call.
func (s *scripts) compileCall(call *scriptCall) error {
	var script *keptScript
	var err error
	if call.stored {
		script, err = s.compileStored(call.source, call.flushes)
	} else {
		script, err = s.compile(call.source)
	}
	if err == nil {
		call.script = script
	}
	return err
}

const errMayWrite = refusal("ERR Can not execute a script with write flag using *_ro command.")

// How long a script may run: while PostgreSQL holds its keys, and otherwise.
const (
	scriptTime       = 5 * time.Second
	lockedScriptTime = 250 * time.Millisecond
)

const (
	errScriptTime   = refusal("ERR the script ran for more than 5 s; nothing of it was stored")
	errScriptLocked = refusal("TRYAGAIN The keys keep changing, try again")
)

// runScript makes the edit of a script.
func (r *request) runScript(keys [][]byte, info scriptRun, run func(context.Context, *scriptHost, *lua.Run) ([]byte, error)) {
	r.reply = replyAnswer
	scripts := &r.conn.engine.scripts
	outer := context.Background()
	if r.task != nil {
		outer = r.task.ctx // EXEC holds rows, and has its own time
	}
	r.edit = edit.Edit{Keys: keys, Bytes: r.size, Slow: true, Earlier: func() bool { return r.conn.pipe.IsNext(r) }}
	begin := r.scriptBegins()
	var killed error // the reply, if an earlier run was killed
	r.edit.Run = func(v *edit.View) {
		if v.Quick {
			host, luaRun := begin(outer, v)
			luaRun.Limits = lua.Limits{Steps: quickSteps}
			reply, err := run(outer, host, luaRun)
			r.endScript(host, luaRun, reply, err)
			return
		}
		if killed != nil {
			v.Undo(killed)
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
		ctx, end := scripts.begin(ctx, info)
		host, luaRun := begin(ctx, v)
		reply, err := run(ctx, host, luaRun)
		if killed = end(); killed != nil {
			v.Undo(scriptError(killed))
			return
		}
		r.endScript(host, luaRun, reply, err)
	}
}

// scriptBegins returns what makes the host of each run of a script. They share what the
// script has seen of the server, and the numbers of math.random.
func (r *request) scriptBegins() func(context.Context, *edit.View) (*scriptHost, *lua.Run) {
	e, protocol := r.conn.engine, 2
	if r.proto == resp.RESP3 {
		protocol = 3
	}
	seen := &survey{cache: r.cache()}
	if r.task != nil {
		seen.tx = r.task.tx
	}
	numbers := e.scripts.random.Numbers()
	caller := scriptCaller{r.conn.info, r.call.Caller.Client, r.conn.database}
	return func(ctx context.Context, v *edit.View) (*scriptHost, *lua.Run) {
		host := &scriptHost{engine: e, ctx: ctx, survey: seen, caller: caller, view: v, earlier: r.edit.Earlier}
		return host, &lua.Run{Host: host, Protocol: protocol, Numbers: numbers, Failed: host.calls.fail}
	}
}

// endScript keeps the reply and the messages of a run, or says why it does not count.
func (r *request) endScript(host *scriptHost, run *lua.Run, reply []byte, err error) {
	r.answer, r.messages, r.outbox = append(r.answer[:0], reply...), host.messages, nil
	r.ended = &scriptEnd{host.calls, run.Numbers, host.reads}
	switch v := host.view; {
	case v.Missed():
		v.Undo(nil)
	case err == edit.ErrSlow:
		v.Undo(err)
	case err != nil:
		v.Undo(scriptError(err))
	case len(host.messages) > 0 && r.task == nil:
		r.outbox = r.conn.engine.options.DB.Outbox(host.messages)
		r.edit.Effect = r.outbox.Effect()
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
		return fault.Timeout("the script ran too long, for all the time that was left to its transaction; nothing was changed", err)
	case errors.As(err, &memory):
		return refusal("ERR Script used more than 64 MiB")
	}
	return refusal(err.Error())
}
