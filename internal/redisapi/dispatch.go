package redisapi

import (
	"fmt"
	"strings"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/verb"
)

// A refusal is an error reply that a command gives before it has done
// anything, code included.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	errSyntax      = refusal("ERR syntax error")
	errNotInteger  = refusal("ERR value is not an integer or out of range")
	errNotFloat    = refusal("ERR value is not a valid float")
	errInfinite    = refusal("ERR increment would produce NaN or Infinity")
	errNotInMulti  = refusal("ERR Command not allowed inside a transaction")
	errNoAuth      = refusal("NOAUTH Authentication required.")
	errKeyTooLong  = refusal("ERR key is longer than 65536 bytes; use a shorter key")
	errWatchTooBig = refusal("ERR too many keys are watched; EXEC or UNWATCH first")
	errQueueTooBig = refusal("ERR transaction holds too much data; EXEC it in parts")
	errNoScripts   = refusal("NOPERM this server is set to run no scripts")
	errDebug       = refusal(`ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.`)
	errMemory      = refusal("OOM the clients of this server hold all the memory that it has for requests and replies; try again, or raise max-clients-memory")
)

// dispatch checks a command as Redis's processCommand does, in the same
// order, and starts, queues or refuses it. It returns false if a pause holds the command,
// which is then to come again.
func (c *Conn) dispatch(args [][]byte, now int64) (taken bool) {
	skips := c.skipNext
	c.startCommand()
	cmd, err := c.engine.commands.find(args)
	spent := c.tracking.spent
	c.spendCaching(cmd)
	if err != nil {
		c.countUnknown(cmd, args)
		c.reject(nil, err) // as in Redis the parent of a subcommand that there is not counts nothing
		return true
	}
	if refused := c.check(cmd, args); refused != "" {
		c.reject(cmd, refused)
		return true
	}
	if c.pauseStops(cmd, args) {
		c.set(func(s *session) { s.skipNext, s.tracking.spent = skips, spent })
		c.pipe.Exclusive(func() { c.engine.pause.hold(c) })
		return false
	}
	c.lastCmd.Store(cmd)
	c.worked = c.worked || cmd.Group != "connection"
	c.begin(cmd, args, now)
	if c.engine.monitors.any() {
		c.engine.monitors.show(c, cmd, args)
	}
	return true
}

// check returns why a command is not begun, "" if it is.
func (c *Conn) check(cmd *Command, args [][]byte) refusal {
	switch {
	case !cmd.takes(len(args)):
		return wrongArity(cmd.fullName)
	case cmd.refused != "":
		return cmd.refused
	case !c.authenticated && !cmd.noAuth:
		return errNoAuth
	case cmd.long(args):
		return errKeyTooLong
	case c.engine.options.NoScripts && cmd.takesScript():
		return errNoScripts
	case c.multi && cmd.has("no_multi"):
		return errNotInMulti
	case !cmd.listens && c.subs != nil && c.onlySubscribes():
		return notForSubscribers(cmd)
	case c.monitoring && cmd.usesKeyspace():
		return errMonitors
	}
	return ""
}

// begin starts or queues a command.
func (c *Conn) begin(cmd *Command, args [][]byte, now int64) {
	switch {
	case c.multi && !cmd.controls:
		if size := sizeOf(args); !c.pipe.Fits(c.queueLen+size, size) {
			c.reject(cmd, errMemory)
			return
		}
		c.enqueue(cmd, args)
	case cmd.blocks():
		c.startBlocking(cmd, args, now)
	case cmd.isOpen(args):
		c.blockOn(cmd, args, (*task).runValue)
	case c.runsAsValue(cmd, args):
		r := newRequest(c, cmd, args)
		r.started, r.mute = now, c.muted
		c.startValue(r, args)
	case cmd.call != nil:
		r := newRequest(c, cmd, args)
		r.started = now
		r.mute = c.muted
		if err := cmd.call(r, args); err != nil {
			r.Release()
			c.answer(cmd, resp.AppendError(nil, err.Error()))
			return
		}
		c.start(r)
	case cmd.edit != nil:
		r := newRequest(c, cmd, args)
		r.started, r.mute = now, c.muted
		if err := cmd.edit(r, args); err != nil {
			r.Release()
			c.answer(cmd, resp.AppendError(nil, err.Error()))
			return
		}
		c.startEdit(r)
	case cmd.subscribes != nil:
		if !cmd.begins || c.listen(cmd, args) {
			c.changeSubscriptions(cmd, args)
		}
	case cmd.publishes && c.onlyPublishes():
		c.publishNow(cmd, args)
	case cmd.now != nil:
		c.scratch = shrink(c.scratch, keepReplies)
		c.scratch = cmd.now(c, args, c.scratch)
		c.answer(cmd, c.scratch)
	default:
		c.blockOn(cmd, args, (*task).runInTurn)
	}
}

// blockOn gives the connection to a command that is not a call.
func (c *Conn) blockOn(cmd *Command, args [][]byte, run func(*task, *Command, [][]byte) error) {
	owned := ownArgs(args)
	tracks := c.tracking.remembers(cmd)
	ctx := c.ctx
	if cmd.writes || cmd.publishes {
		ctx = c.engine.ctx // as in Redis it goes on when the client leaves
	}
	c.block(ctx, func(t *task) {
		start := c.engine.clock()
		if tracks {
			t.track(c.database, cmd.appendKeys(nil, owned))
		}
		t.answer(cmd, run(t, cmd, owned)) // without a transaction: the error is in the reply
		took := c.engine.clock() - start
		c.engine.stats.count(cmd, took, t.out)
		if c.engine.slowLog().IsSlow(took) {
			t.noteSlow(cmd, cmd.appendKeys(nil, owned), took)
		}
	})
}

// startCommand settles whether the next command gets a reply.
func (c *Conn) startCommand() {
	c.muted = c.silent || c.skipNext
	c.skipNext = false
	c.endCaching()
}

// answer gives the reply of a command that needs no database.
func (c *Conn) answer(cmd *Command, reply []byte) {
	c.engine.stats.count(cmd, 0, reply)
	if c.messageProto != c.proto { // HELLO: messages change with its reply
		c.mu.Lock()
		defer c.mu.Unlock()
		c.messageProto = c.proto
	}
	if !c.muted {
		c.pipe.Append(reply)
	}
}

// reject refuses a command before it has begun; inside MULTI that aborts the
// transaction. cmd is nil if there is no such command.
func (c *Conn) reject(cmd *Command, err error) {
	text := err.Error()
	switch {
	case cmd != nil && cmd.fullName == "exec":
		text = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(text, "ERR ")
		c.set((*session).endMulti)
	case c.multi:
		c.set(func(s *session) { s.dirty = true })
	}
	if cmd != nil {
		cmd.stats.rejected.Add(1)
	}
	c.engine.stats.rejected.Add(1)
	reply := resp.AppendError(nil, text)
	c.engine.stats.countError(reply)
	if !c.muted {
		c.pipe.Append(reply)
	}
}

func notForSubscribers(cmd *Command) refusal {
	return refusal("ERR Can't execute '" + cmd.fullName + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}

func wrongArity(name string) refusal {
	return refusal("ERR wrong number of arguments for '" + name + "' command")
}

// wrongUse is for a subcommand whose arguments are too many.
func wrongUse(command string, subcommand []byte) refusal {
	return refusal("ERR unknown subcommand or wrong number of arguments for '" + string(cString(subcommand, 128)) + "'. Try " + command + " HELP.")
}

// unknownCommand is Redis's text: 128 bytes of the name, and arguments until
// they are 128 bytes or more. Redis prints C strings, which end at a NUL.
func unknownCommand(args [][]byte) refusal {
	var rest strings.Builder
	for _, arg := range args[1:] {
		if rest.Len() >= 128 {
			break
		}
		fmt.Fprintf(&rest, "'%s' ", cString(arg, 128-rest.Len()))
	}
	return refusal(fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s",
		cString(args[0], 128), rest.String()))
}

func cString(b []byte, limit int) []byte {
	for i, c := range b {
		if i == limit || c == 0 {
			return b[:i]
		}
	}
	return b
}

// ownArgs copies arguments out of the input.
func ownArgs(args [][]byte) [][]byte {
	size := 0
	for _, arg := range args {
		size += len(arg)
	}
	memory := make([]byte, 0, size)
	owned := make([][]byte, len(args))
	for i, arg := range args {
		start := len(memory)
		memory = append(memory, arg...)
		owned[i] = memory[start:len(memory):len(memory)]
	}
	return owned
}

// long tells whether one of a command's keys is longer than a key may be.
func (cmd *Command) long(args [][]byte) bool {
	for _, spec := range cmd.Keys {
		if !spec.isKeys() {
			continue
		}
		first, last := spec.bounds(args)
		for i := first; i <= last && i < len(args); i += spec.Step {
			if len(args[i]) > verb.MaxKeyBytes {
				return true
			}
		}
	}
	return false
}

func isError(reply []byte) bool { return len(reply) > 0 && reply[0] == '-' }
