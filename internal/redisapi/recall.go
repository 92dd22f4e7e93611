package redisapi

import (
	"math/bits"
	"sync"

	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
)

// recalled is a run of GETs that memory has answered, and is one reply to the
// pipeline. A hit takes less time than a request and its verb.Call: they are for
// what has to wait.
type recalled struct {
	pipeline.Place
	conn    *Conn
	proto   resp.Proto
	started int64 // nanoseconds of the engine's clock
	n       int
	values  [near.Batch][]byte
	absent  [near.Batch]bool
}

// newRecalledPool makes the pool of an engine.
func newRecalledPool() *sync.Pool { return &sync.Pool{New: func() any { return new(recalled) }} }

// recalls reports whether a GET that comes now may be answered from memory by
// recall. All that a GET cannot change may be asked once for many of them.
func (c *Conn) recalls() bool {
	e := c.engine
	return e.memory && !e.monitors.any() && c.wants&namedByReads == 0 && c.authenticated && !c.multi && c.watched == nil && !c.silent && !c.skipNext && !c.tracking.caching &&
		c.parser.Idle() && e.pause.mode.Load() == pauseNone && !c.pipe.Exceeded() && (c.subs == nil || !c.onlySubscribes())
}

// recall answers the GETs at the start of data, as far as they are in memory, and
// returns how many bytes these commands take. misses is how many commands from
// there on are to be dispatched one by one before recall may find something again.
func (c *Conn) recall(data []byte, now int64) (consumed, misses int) {
	var keys [near.Batch][]byte
	var ends [near.Batch]int
	n, end := 0, 0
	for n < near.Batch {
		key, size := resp.CutPair(data[end:], "get", c.engine.maxKey)
		if size == 0 {
			break
		}
		end += size
		keys[n], ends[n] = key, end
		n++
	}
	if n == 0 {
		return 0, 1
	}
	var entries [near.Batch]near.Entry
	var registered *tracked
	if c.tracking.on {
		registered = c.trackRun(keys[:n])
	}
	// Large values, of which few are enough for a connection, come one by one.
	hits, run := c.engine.caches[c.database].Recall(keys[:n], &entries, pipeline.Free)
	if run == 0 {
		if registered != nil {
			c.forgetRun(registered, 0)
		}
		return 0, min(bits.TrailingZeros32(hits), n)
	}
	c.answerRun(entries[:run], now)
	if registered != nil {
		c.confirmRun(registered, entries[:run])
	}
	return ends[run-1], 0
}

// answerRun puts entries among the replies.
func (c *Conn) answerRun(entries []near.Entry, now int64) {
	r := c.engine.recalled.Get().(*recalled)
	r.conn, r.proto, r.started, r.n = c, c.proto, now, len(entries)
	for i := range entries {
		r.values[i], r.absent[i] = entries[i].Value, entries[i].Absent
	}
	c.lastCmd.Store(c.engine.get)
	c.worked = true
	c.pipe.Answer(r)
}

// Encode implements pipeline.Reply.
func (r *recalled) Encode(dst []byte, out *pipeline.Output) []byte {
	for i, value := range r.values[:r.n] {
		if r.absent[i] {
			dst = resp.AppendNull(dst, r.proto)
		} else {
			dst = appendValue(dst, value, out)
		}
	}
	r.conn.engine.get.stats.addCalls(uint64(r.n), r.conn.encodedAt-r.started)
	return dst
}

// Hold implements pipeline.Reply.
func (r *recalled) Hold(values *pipeline.Values) {
	for _, value := range r.values[:r.n] {
		values.Hold(value)
	}
}

// Drop implements pipeline.Reply.
func (r *recalled) Drop(values *pipeline.Values) {
	for _, value := range r.values[:r.n] {
		values.Drop(value)
	}
}

// Release implements pipeline.Reply.
func (r *recalled) Release() {
	pool := r.conn.engine.recalled
	r.Place.Reset()
	clear(r.values[:r.n])
	r.conn = nil
	pool.Put(r)
}
