package redisapi

import (
	"sync"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/verb"
)

// A request is one command that is one verb.Call, from its start until its
// reply is written. Requests are pooled with the memory of their arguments.
type request struct {
	pipeline.Place
	conn  *Conn
	cmd   *Command
	call  verb.Call
	reply func(dst []byte, r *request) []byte
	proto resp.Proto
	mute  bool // CLIENT REPLY OFF or SKIP

	// A command of the room of values: its words, its keys if it only reads, what
	// runs it if it writes, and its reply.
	words    [][]byte
	readKeys [][]byte
	tracked  tracked
	edit     edit.Edit
	answer   []byte
	messages []core.Publication // that a script in EXEC will send
	outbox   *core.Outbox       // what a script sends; nil: nothing
	ended    *scriptEnd         // of the last run of a script; nil: none has run
	blind    bool               // it is a script that has never read a key, and none is registered for it
	alone    bool               // what comes behind it on the connection waits for its end
	task     *task              // that the edit is a step of, if it is

	// prepare completes the edit where that needs PostgreSQL. The request is alone.
	prepare func(t *task) error

	// What the reply needs besides the call.
	from, to    int64 // GETRANGE: the range; TTL: the unit and whether absolute
	otherIsNull bool  // MGET: what is no string is null, not an error

	out     *pipeline.Output // while the reply is encoded for a connection
	size    int              // bytes that the arguments take
	started int64            // nanoseconds of the engine's clock

	arguments []byte // what keys and values point into
	keys      [][]byte
	values    [][]byte
	done      func(*verb.Call) // finish, made once
}

// Memory that a pooled request keeps.
const (
	keepArguments = 16 << 10
	keepKeys      = 256
)

// newRequestPool makes the pool of an engine.
func newRequestPool() *sync.Pool {
	return &sync.Pool{New: func() any {
		r := new(request)
		r.done = func(*verb.Call) { r.conn.finish(r) }
		return r
	}}
}

// newRequest makes room for the arguments, so that own never moves them.
func newRequest(c *Conn, cmd *Command, args [][]byte) *request {
	r := c.engine.requests.Get().(*request)
	r.conn, r.cmd, r.proto = c, cmd, c.proto
	r.call.Caller = c.by(cmd)
	size := 0
	for _, arg := range args {
		size += len(arg)
	}
	if cap(r.arguments) < size {
		r.arguments = make([]byte, 0, size)
	}
	r.size = size + argumentOverhead*len(args)
	return r
}

// cache is the one that the command works on.
func (r *request) cache() *core.Cache {
	if r.task != nil {
		return r.task.cache(r.conn.database)
	}
	return r.conn.engine.caches[r.conn.database]
}

// own copies an argument out of the input.
func (r *request) own(arg []byte) []byte {
	start := len(r.arguments)
	r.arguments = append(r.arguments, arg...)
	return r.arguments[start:len(r.arguments):len(r.arguments)]
}

// ownWords copies a whole command line.
func (r *request) ownWords(args [][]byte) [][]byte {
	words := make([][]byte, len(args))
	for i, arg := range args {
		words[i] = r.own(arg)
	}
	return words
}

// ownKeys copies arguments that are all keys.
func (r *request) ownKeys(args [][]byte) [][]byte {
	for _, arg := range args {
		r.keys = append(r.keys, r.own(arg))
	}
	return r.keys
}

// ownPairs copies arguments that are keys and values in turn.
func (r *request) ownPairs(args [][]byte) (keys, values [][]byte) {
	for i := 0; i < len(args); i += 2 {
		r.keys = append(r.keys, r.own(args[i]))
		r.values = append(r.values, r.own(args[i+1]))
	}
	return r.keys, r.values
}

// Release gives the request back. A call that failed may still be in the hands
// of the library; its request is left to the garbage collector.
func (r *request) Release() {
	if r.call.Err != nil {
		return
	}
	pool := r.conn.engine.requests
	r.Place.Reset()
	r.conn, r.cmd, r.reply = nil, nil, nil
	r.mute = false
	r.from, r.to, r.otherIsNull = 0, 0, false
	r.readKeys, r.edit, r.alone, r.blind, r.task, r.prepare, r.messages, r.outbox, r.ended = nil, edit.Edit{}, false, false, nil, nil, nil, nil, nil
	r.tracked.reset()
	clear(r.words)
	r.words = shrink(r.words, keepKeys)
	r.answer = shrink(r.answer, keepReplies)
	r.call = verb.Call{}
	r.arguments = shrink(r.arguments, keepArguments)
	clear(r.keys)
	clear(r.values)
	r.keys = shrink(r.keys, keepKeys)
	r.values = shrink(r.values, keepKeys)
	pool.Put(r)
}

func shrink[T any](s []T, keep int) []T {
	if cap(s) > keep {
		return nil
	}
	return s[:0]
}

// Encode implements pipeline.Reply.
func (r *request) Encode(dst []byte, out *pipeline.Output) []byte {
	r.out = out
	dst, failed := r.encode(dst)
	r.out = nil
	r.cmd.stats.add(r.conn.encodedAt-r.started, failed)
	return dst
}

// encode appends the reply and reports whether it is an error.
func (r *request) encode(dst []byte) ([]byte, bool) {
	start := len(dst)
	if err := r.call.Err; err != nil {
		dst = resp.AppendError(dst, r.conn.engine.errorText(err, r.cmd.hasEffect()))
	} else if text := statusError(r.call.Status); text != "" && !(r.otherIsNull && r.call.Status == verb.WrongType) {
		dst = resp.AppendError(dst, text)
	} else {
		dst = r.reply(dst, r)
	}
	failed := dst[start] == '-'
	if failed && !r.scriptCounted() {
		r.conn.engine.stats.countError(dst[start:])
	}
	if r.mute {
		dst = dst[:start]
	}
	return dst, failed
}

// bulk appends a value as a bulk string.
func (r *request) bulk(dst, value []byte) []byte {
	if r.out == nil {
		return resp.AppendBulk(dst, value)
	}
	return appendValue(dst, value, r.out)
}

// appendValue appends a value as a bulk string. A large one is not copied where the
// reply goes to a connection at once: thousands of requests may ask for it.
func appendValue(dst, value []byte, out *pipeline.Output) []byte {
	if len(value) < pipeline.Large {
		return resp.AppendBulk(dst, value)
	}
	dst = resp.AppendBulkHeader(dst, len(value))
	out.Insert(len(dst), value)
	return append(dst, '\r', '\n')
}

// isLarge tells whether the finished call brought more than any connection may
// hold.
func (r *request) isLarge() bool {
	var values pipeline.Values
	r.Hold(&values)
	return values.Bytes() > pipeline.Free
}

// found is how many bytes the finished call has read.
func (r *request) found() int {
	size := len(r.call.Result.Value)
	for i := range r.call.Entries {
		size += len(r.call.Entries[i].Value)
	}
	return size
}

// entryOverhead is the memory of a verb.Entry apart from its value.
const entryOverhead = 96

// Hold implements pipeline.Reply: it counts what the finished call holds for
// its reply.
func (r *request) Hold(values *pipeline.Values) {
	values.Hold(r.call.Result.Value)
	values.Hold(r.answer)
	values.HoldSize(entryOverhead * len(r.call.Entries))
	for i := range r.call.Entries {
		values.Hold(r.call.Entries[i].Value)
	}
}

// Drop implements pipeline.Reply: it takes Hold back.
func (r *request) Drop(values *pipeline.Values) {
	values.Drop(r.call.Result.Value)
	values.Drop(r.answer)
	values.DropSize(entryOverhead * len(r.call.Entries))
	for i := range r.call.Entries {
		values.Drop(r.call.Entries[i].Value)
	}
}
