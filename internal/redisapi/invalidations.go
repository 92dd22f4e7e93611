package redisapi

import (
	"bytes"
	"maps"
	"slices"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/tracking"
)

// invalidations are those of a connection. It implements tracking.Sink.
type invalidations struct{ *Conn }

// Invalidate implements tracking.Sink.
func (i invalidations) Invalidate(key string, own bool) { i.invalidate(key, own) }

// InvalidateKeys implements tracking.Sink.
func (i invalidations) InvalidateKeys(prefix string, keys []string, own bool) {
	i.invalidateKeys(prefix, keys, own)
}

// InvalidateAll implements tracking.Sink.
func (i invalidations) InvalidateAll(own bool) { i.invalidateAll(own) }

// Unheard implements tracking.Sink.
func (i invalidations) Unheard(key string) {
	i.owes(true, func(o *owed) { o.unheard = append(o.unheard, key) })
}

var _ tracking.Sink = invalidations{}

// owed are invalidations for what a task of the connection has changed. They come right
// behind its reply, as in Redis: before anything that comes of the client's next command.
type owed struct {
	holding bool
	keys    []string
	unheard []string            // that it has changed itself, and is not told of
	named   map[string][]string // by the prefix that the client has asked for
	all     bool
}

// holdInvalidations begins to hold them.
func (c *Conn) holdInvalidations() {
	c.mu.Lock()
	c.owed.holding = true
	c.mu.Unlock()
}

// dues are invalidations that a task has taken over from its connection.
type dues struct {
	keys      []string // that they end, and those that the client has changed without being told
	elsewhere [][]byte // what those say that go to another connection
}

// takeOwed ends the holding of invalidations. It puts those that go to the same connection
// behind the reply.
func (t *task) takeOwed() dues {
	c := t.conn
	c.mu.Lock()
	held, mode, proto := c.owed, c.session.tracking, c.session.proto
	c.owed = owed{}
	c.mu.Unlock()
	keys, messages := held.messages(proto)
	keys = append(keys, held.unheard...)
	if !mode.on || mode.redirect != 0 || proto != resp.RESP3 {
		return dues{keys, messages}
	}
	for _, what := range messages {
		t.out = append(appendInvalidation(t.out), what...)
	}
	return dues{keys: keys}
}

// messages returns the keys, and what the invalidations say.
func (o *owed) messages(proto resp.Proto) (keys []string, messages [][]byte) {
	for _, key := range o.keys {
		keys, messages = append(keys, key), append(messages, appendKeys(nil, []string{key}))
	}
	for _, prefix := range slices.Sorted(maps.Keys(o.named)) {
		named := o.named[prefix]
		slices.Sort(named)
		named = slices.Compact(named)
		keys, messages = append(keys, named...), append(messages, appendKeys(nil, named))
	}
	if o.all {
		messages = append(messages, resp.AppendNull(nil, proto))
	}
	return keys, messages
}

// appendInvalidation begins the message for a client that gets it itself.
func appendInvalidation(dst []byte) []byte {
	return resp.AppendBulkString(resp.AppendPush(dst, resp.RESP3, 2), "invalidate")
}

// dropUnread forgets the registrations for scripts that have read nothing, and what is
// owed for these.
func (t *task) dropUnread() {
	if !slices.ContainsFunc(t.tracked, func(read tracked) bool { return read.unread }) {
		return
	}
	c, wanted := t.conn, func(cache *core.Cache, key []byte) bool {
		return slices.ContainsFunc(t.tracked, func(other tracked) bool {
			return !other.unread && other.cache == cache && slices.ContainsFunc(other.keys, func(k []byte) bool { return bytes.Equal(k, key) })
		})
	}
	dropped := make(map[string]bool)
	for _, read := range t.tracked {
		for i, key := range read.keys {
			if read.unread && read.broadcast {
				c.tracker.HasRead(key) // it is over
			}
			if read.unread && i < len(read.added) && read.added[i] && !wanted(read.cache, key) {
				c.engine.options.DB.Tracking().Untrack(c.tracker, read.hashes[i], key)
				dropped[string(key)] = true
			}
		}
	}
	t.tracked = slices.DeleteFunc(t.tracked, func(read tracked) bool { return read.unread })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed.keys = slices.DeleteFunc(c.owed.keys, func(key string) bool { return dropped[key] })
}

// sendDues sends the invalidations that go to another connection, and those that the keys
// which the task has read need besides.
func (c *Conn) sendDues(read []tracked, due dues) {
	for i := range read {
		c.confirm(&read[i], due.keys)
		if !read[i].broadcast {
			c.askExpiries(&read[i])
		}
	}
	for _, what := range due.elsewhere {
		c.mu.Lock()
		mode := c.session.tracking
		c.mu.Unlock()
		c.tell(mode, what)
	}
}

// owes reports whether an invalidation is held until the reply of a task; hold notes it.
// Otherwise it is told as mode says.
func (c *Conn) owes(own bool, hold func(*owed)) (held bool, mode trackingMode, proto resp.Proto) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own && c.owed.holding {
		hold(&c.owed)
		return true, mode, proto
	}
	return false, c.session.tracking, c.messageProto
}

// invalidate tells the client that its copy of a key is not valid any more.
func (c *Conn) invalidate(key string, own bool) {
	held, mode, _ := c.owes(own, func(o *owed) { o.keys = append(o.keys, key) })
	if !held {
		c.tell(mode, appendKeys(nil, []string{key}))
	}
}

// invalidateKeys tells the client that its copies of keys with a prefix are not valid any
// more.
func (c *Conn) invalidateKeys(prefix string, keys []string, own bool) {
	held, mode, _ := c.owes(own, func(o *owed) {
		if o.named == nil {
			o.named = make(map[string][]string)
		}
		o.named[prefix] = append(o.named[prefix], keys...)
	})
	if !held {
		c.tell(mode, appendKeys(nil, keys))
	}
}

// invalidateAll tells the client that none of its copies are.
func (c *Conn) invalidateAll(own bool) {
	held, mode, proto := c.owes(own, func(o *owed) { o.all = true })
	if !held {
		c.tell(mode, resp.AppendNull(nil, proto))
	}
}

// appendKeys appends an array of keys.
func appendKeys(dst []byte, keys []string) []byte {
	dst = resp.AppendArray(dst, len(keys))
	for _, key := range keys {
		dst = resp.AppendBulkString(dst, key)
	}
	return dst
}

// invalidationChannel is the one by which clients of RESP2 get what is redirected to them.
const invalidationChannel = "__redis__:invalidate"

// tell sends what an invalidation says to the connection that gets it.
func (c *Conn) tell(mode trackingMode, what []byte) {
	if !mode.on {
		return
	}
	target := c
	if mode.redirect != 0 {
		if target = c.engine.connection(mode.redirect); target == nil {
			c.tellBroken(mode.redirect)
			return
		}
	}
	target.takeInvalidation(mode.redirect != 0, what)
}

// takeInvalidation sends the client what an invalidation says. redirected says that REDIRECT
// has named this connection.
func (c *Conn) takeInvalidation(redirected bool, what []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	proto := c.messageProto
	var message []byte
	switch {
	case proto == resp.RESP3:
		message = appendInvalidation(nil)
	case redirected && c.subs != nil && c.subs.total > 0:
		message = resp.AppendBulkString(resp.AppendArray(nil, 3), "message")
		message = resp.AppendBulkString(message, invalidationChannel)
	default: // no way to tell a client of RESP2
		return
	}
	c.checkBacklog(c.pipe.Push(append(message, what...)))
}

// tellBroken tells the client that the connection which got its invalidations is gone.
func (c *Conn) tellBroken(redirect int64) {
	c.redirectBroken.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if proto := c.messageProto; proto == resp.RESP3 {
		message := resp.AppendBulkString(resp.AppendPush(nil, proto, 2), "tracking-redir-broken")
		c.checkBacklog(c.pipe.Push(resp.AppendInt(message, redirect)))
	}
}
