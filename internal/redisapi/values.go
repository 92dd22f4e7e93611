package redisapi

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// valueReply writes the reply of a function of the room of values. It implements
// values.Reply.
type valueReply struct {
	proto resp.Proto
	out   []byte
}

func (r *valueReply) RESP3() bool      { return r.proto == resp.RESP3 }
func (r *valueReply) Status(s string)  { r.out = resp.AppendSimple(r.out, s) }
func (r *valueReply) Int(n int64)      { r.out = resp.AppendInt(r.out, n) }
func (r *valueReply) Bulk(s string)    { r.out = resp.AppendBulkString(r.out, s) }
func (r *valueReply) Double(f float64) { r.out = resp.AppendDouble(r.out, r.proto, f) }
func (r *valueReply) Null()            { r.out = resp.AppendNull(r.out, r.proto) }
func (r *valueReply) NullArray()       { r.out = resp.AppendNullArray(r.out, r.proto) }
func (r *valueReply) Array(n int)      { r.out = resp.AppendArray(r.out, n) }
func (r *valueReply) Map(n int)        { r.out = resp.AppendMap(r.out, r.proto, n) }
func (r *valueReply) Set(n int)        { r.out = resp.AppendSet(r.out, r.proto, n) }

// anySource is the source of random choices that is safe for concurrent use.
type anySource struct{}

func (anySource) Uint64() uint64 { return rand.Uint64() }

var choices = rand.New(anySource{})

// callOver is a call of a command over the entries of an edit.
func callOver(v *edit.View, args [][]byte) values.Call {
	return values.Call{Args: args, Keys: v, Now: v.Now, MaxString: v.MaxString, Notify: v.Notify()}
}

// evaluate runs a call of a command over loaded entries and appends its reply.
func evaluate(dst []byte, cmd *values.Command, proto resp.Proto, call values.Call) []byte {
	start := len(dst)
	reply := valueReply{proto: proto, out: dst}
	call.Reply, call.Rand = &reply, choices
	call.ReadOnly = call.Notify != nil && !cmd.Writes()
	if err := cmd.Run(&call); err != nil {
		return resp.AppendError(reply.out[:start], err.Error())
	}
	return reply.out
}

// valueCommands gives the commands of a family the complexity that they share. What
// they do is in the room of values, as are arity, flags, group and version.
func valueCommands(complexity string, list []*Command) []*Command {
	for _, cmd := range list {
		cmd.Complexity = complexity
	}
	return list
}

// bind gives each command its function of the room of values. It panics if one of
// the two rooms lacks a command of the other.
func bind(list []*Command) {
	known := make(map[string]*values.Command)
	for _, vc := range values.Commands() {
		known[vc.Name] = vc
	}
	take := func(cmd *Command, name string) {
		cmd.value = known[name]
		delete(known, name)
	}
	for _, cmd := range list {
		take(cmd, cmd.Name)
		for _, sub := range cmd.Sub {
			take(sub, cmd.Name+"|"+sub.Name)
		}
		if cmd.Arity != 0 {
			continue
		}
		vc := cmd.value
		if vc == nil {
			panic("redisapi: no function for command " + cmd.Name)
		}
		cmd.Arity, cmd.Flags, cmd.Group, cmd.Since = vc.Arity, vc.Flags, vc.Group, vc.Since
	}
	for name := range known {
		panic("redisapi: no row for command " + name)
	}
}

// startValue begins a command of the room of values.
func (c *Conn) startValue(r *request, args [][]byte) {
	r.words = r.words[:0]
	for _, arg := range args {
		r.words = append(r.words, r.own(arg))
	}
	vc := r.cmd.value
	keys := vc.Keys(nil, r.words)
	switch {
	case len(keys) == 0: // the command will say what is wrong
		r.answer = evaluate(r.answer[:0], vc, r.proto, values.Call{Args: r.words, Keys: noKeys{}})
		r.reply = replyAnswer
		if c.pipe.Start(r, r.size) {
			c.pipe.Finish(r)
		}
	case vc.Writes():
		r.change(keys)
		c.startEdit(r)
	default:
		r.read(keys)
		r.call.Fresh = c.watched != nil
		c.start(r)
	}
}

// read makes the call of a command that only reads.
func (r *request) read(keys [][]byte) {
	r.reply, r.readKeys = replyAnswer, keys
	if len(keys) == 1 {
		r.call.Verb, r.call.Key, r.call.Recall = statement.GetEntry, keys[0], true
	} else {
		r.call.Verb, r.call.Keys = statement.GetMany, keys
	}
	r.call.AnyKind = true
	r.call.Silent = true // the function names what it does not find
}

// evaluate makes the answer of a command that only reads, when its call is done.
func (r *request) evaluate() {
	ks, err := decode(r.readKeys, &r.call)
	if err != nil {
		r.call.Err = err
		return
	}
	call := values.Call{Args: r.words, Keys: ks, Now: r.now() / 1000, Notify: r.cache().NotifyMisses()}
	r.answer = evaluate(r.answer[:0], r.cmd.value, r.proto, call)
	if r.tracked.cache != nil {
		r.conn.noteFieldExpiries(r.readKeys, ks, call.Now)
	}
	r.call.Status = verb.OK
	r.call.Result, r.call.Entries = verb.Entry{}, nil // not needed any more
}

// now is the time of a finished read in microseconds, by the clock that its expiries
// go by.
func (r *request) now() int64 {
	now := r.call.Result.Now
	for i := range r.call.Entries {
		now = max(now, r.call.Entries[i].Now)
	}
	if now == 0 { // there is nothing
		return time.Now().UnixMicro()
	}
	return now
}

// change makes the edit of a command that changes the values of its keys.
func (r *request) change(keys [][]byte) {
	r.reply = replyAnswer
	r.edit.Keys, r.edit.Bytes = keys, r.size
	r.edit.Room = r.cmd.has("denyoom")
	r.edit.Run = func(v *edit.View) {
		r.answer = evaluate(r.answer[:0], r.cmd.value, r.proto, callOver(v, r.words))
	}
}

// startEdit puts a request in the queue and begins its edit, or gives it the
// connection to itself.
func (c *Conn) startEdit(r *request) {
	if r.alone {
		cmd, keys := r.cmd, ownArgs(r.edit.Keys) // the request is used again when it has ended
		tracks := c.tracking.remembers(cmd)
		c.block(c.engine.ctx, func(t *task) {
			if tracks {
				t.track(c.database, r.edit.Keys)
			}
			start := c.engine.clock()
			t.answer(cmd, t.doEdit(r))
			if t.unread && tracks {
				t.tracked[0].unread = true
			}
			took := c.engine.clock() - start
			t.count(cmd, took, t.out)
			if c.engine.slowLog().IsSlow(took) {
				t.noteSlow(cmd, keys, took)
			}
		})
		return
	}
	r.edit.Writer, r.edit.Caller = c.tracker, c.by(r.cmd)
	if c.pipe.Start(r, r.size) {
		tracks := c.tracking.remembers(r.cmd)
		r.blind = r.blind && tracks
		if tracks && !r.blind {
			r.tracked.keys = append(r.tracked.keys, r.edit.Keys...)
			c.track(&r.tracked, c.database, false)
		}
		c.engine.caches[c.database].StartEdit(&r.edit, func(e *edit.Edit) {
			if r.tracked.cache != nil {
				c.checkFollowed(&r.tracked)
				if !r.tracked.broadcast {
					c.askExpiries(&r.tracked)
				}
			}
			r.call.Err, r.call.Status = e.Err, verb.OK
			if r.outbox != nil && e.Err != nil || r.outbox != nil && !r.outbox.Delivered() {
				c.finishScript(r)
				return
			}
			c.editAnswered(r)
		})
	}
}

// finishScript answers a script when its messages are sent, or when it is known whether they
// were.
func (c *Conn) finishScript(r *request) {
	if !c.engine.begin() {
		c.answered(r)
		return
	}
	go func() {
		defer c.engine.tasks.Done()
		r.call.Err = r.outbox.Finish(c.engine.ctx, r.edit.Err, r.edit.Stored)
		c.editAnswered(r)
	}()
}

// editAnswered is answered, for a request whose edit has ended.
func (c *Conn) editAnswered(r *request) {
	if r.scriptCounted() {
		r.countScript()
		if r.blind && r.ended.reads { // for the first time
			for _, key := range r.edit.Keys {
				c.endCopy(key)
			}
		}
	}
	c.answered(r)
}

// runEdit runs a command that is an edit as a step of a task, and appends its reply.
func (t *task) runEdit(cmd *Command, args [][]byte) error {
	r := newRequest(t.conn, cmd, args)
	r.task = t
	if err := cmd.edit(r, args); err != nil {
		r.Release()
		return err
	}
	return t.doEdit(r)
}

// doEdit runs the edit of a request as a step of a task. An edit that failed may still
// be in the hands of the library; its request is left to the garbage collector.
func (t *task) doEdit(r *request) error {
	if r.prepare != nil {
		if err := r.prepare(t); err != nil {
			r.Release()
			return err
		}
	}
	r.edit.Caller = t.conn.by(r.cmd)
	err := t.cache(t.conn.database).Edit(t.ctx, &r.edit)
	t.locked = t.locked || t.ctx.Err() == nil && r.edit.Locked
	if t.ctx.Err() == nil && r.outbox != nil { // else the edit may go on
		err = r.outbox.Finish(t.ctx, err, r.edit.Stored)
	}
	if err != nil {
		return err
	}
	t.left(r.edit.Left)
	if r.scriptCounted() {
		t.counted, t.unread = true, !r.ended.reads
		r.countScript()
	}
	if t.multi {
		t.messages = append(t.messages, r.messages...)
	}
	t.out = append(t.out, r.answer...)
	r.Release()
	return nil
}

// runValue runs a command of the room of values as a step of a task, and appends its
// reply.
func (t *task) runValue(cmd *Command, args [][]byte) error {
	change := edit.Edit{Keys: cmd.value.Keys(nil, args), Bytes: sizeOf(args), Room: cmd.has("denyoom"), Caller: t.conn.by(cmd)}
	var answer []byte // of its own: the edit may go on when the task has ended
	change.Run = func(v *edit.View) {
		answer = evaluate(answer[:0], cmd.value, t.conn.proto, callOver(v, args))
		if len(t.tracked) > 0 {
			t.conn.noteFieldExpiries(change.Keys, v, v.Now)
		}
	}
	if len(change.Keys) == 0 { // the command says what is wrong
		change.Run(&edit.View{})
	} else if err := t.cache(t.conn.database).Edit(t.ctx, &change); err != nil {
		return err
	}
	t.locked = t.locked || change.Locked
	t.left(change.Left)
	t.out = append(t.out, answer...)
	return nil
}

// runValue runs a command of the room of values inside EXEC. The error is one that
// the transaction does not survive.
func (x *execution) runValue(q queuedCommand) error {
	e, start, begin := x.conn.engine, len(x.out), x.conn.engine.clock()
	switch err := x.task.runValue(q.cmd, q.args); {
	case isRefusal(err) || errors.Is(err, fault.ErrCacheFull) || errors.Is(err, fault.ErrCollision):
		x.out = resp.AppendError(x.out, e.errorText(err, q.cmd.writes))
	case err != nil:
		return err
	}
	e.stats.count(q.cmd, e.clock()-begin, x.out[start:])
	return x.checkMemory()
}

func replyAnswer(dst []byte, r *request) []byte { return append(dst, r.answer...) }

// noKeys is a keyspace without entries.
type noKeys struct{}

func (noKeys) Entry([]byte) *values.Entry { return new(values.Entry) }

// oneEntry is a keyspace of one key.
type oneEntry struct{ entry values.Entry }

func (o *oneEntry) Entry([]byte) *values.Entry { return &o.entry }

// manyEntries is a keyspace of several keys.
type manyEntries map[string]*values.Entry

func (m manyEntries) Entry(key []byte) *values.Entry { return m[string(key)] }

// decode makes a keyspace of what a call has read.
func decode(keys [][]byte, call *verb.Call) (values.Keyspace, error) {
	if len(keys) == 1 {
		one := new(oneEntry)
		return one, decodeEntry(&one.entry, &call.Result)
	}
	many := make(manyEntries, len(keys))
	for i, key := range keys {
		e := new(values.Entry)
		if err := decodeEntry(e, &call.Entries[i]); err != nil {
			return nil, err
		}
		many[string(key)] = e
	}
	return many, nil
}

func decodeEntry(e *values.Entry, found *verb.Entry) error {
	if !found.Found {
		return nil
	}
	value, err := edit.Decode(found.Kind, found.Value)
	if err != nil {
		return err
	}
	e.Value = value
	if !found.ExpiresAt.IsZero() {
		e.ExpiresAt = found.ExpiresAt.UnixMilli()
	}
	return nil
}
