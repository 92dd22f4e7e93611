package tracking

import "sync/atomic"

// Sink is where the invalidations of a client go. Its methods must be quick, must not
// block, and may be called from any goroutine. own says that a command of the client
// itself changed the key.
type Sink interface {
	// Invalidate ends the client's copy of a key.
	Invalidate(key string, own bool)
	// InvalidateKeys ends the copies of keys with a prefix, for a client that broadcasts.
	// The keys are sorted, and must not be modified.
	InvalidateKeys(prefix string, keys []string, own bool)
	// InvalidateAll ends all copies that the client has.
	InvalidateAll(own bool)
	// Unheard says that a command of a client with NOLOOP has changed a key that it
	// tracks: it is not told.
	Unheard(key string)
}

// Client is a connection that tracks, or has tracked. It keeps its registrations when it
// stops, as in Redis: they are void unless it begins again. They are freed when it leaves.
type Client struct {
	table  *Table
	number int64 // clients are told in this order
	noLoop atomic.Bool

	broadcasts atomic.Bool // it is told of keys by their prefixes, and not of those that it reads
	blind      bool        // nobody can tell it of keys; guarded by table.mu
	prefixes   []string    // sorted; guarded by table.mu

	sink atomic.Pointer[Sink] // nil: it does not track
	left atomic.Bool          // Leave was called
	held bool                 // it may have registrations; guarded by table.mu

	reads reads
}

// NewClient makes a client that does not track yet. number is its place in the order in
// which clients are told that everything has changed.
func (t *Table) NewClient(number int64) *Client { return &Client{table: t, number: number} }

// Begin lets the client track. NoLoop says that it is not told of keys that its own
// commands change. It may be called again, to change that.
func (c *Client) Begin(sink Sink, noLoop bool) { c.begin(sink, noLoop, func(*Table) {}) }

// begin is Begin, and runs more under the lock of the table.
func (c *Client) begin(sink Sink, noLoop bool, more func(*Table)) {
	c.noLoop.Store(noLoop)
	c.enter(sink, more)
	if c.table.begun != nil {
		c.table.begun()
	}
}

func (c *Client) enter(sink Sink, more func(*Table)) {
	t := c.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.left.Load() {
		return
	}
	if !c.held {
		c.held = true
		t.holders++
	}
	if _, tracks := t.clients[c]; !tracks {
		t.clients[c] = struct{}{}
		t.active.Add(1)
	}
	more(t)
	c.sink.Store(&sink)
}

// End ends the tracking. It may be called of a client that does not track.
func (c *Client) End() {
	t := c.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, tracks := t.clients[c]; tracks {
		delete(t.clients, c)
		t.active.Add(-1)
	}
	c.endBroadcast()
	c.sink.Store(nil)
}

func (c *Client) invalidate(key string, own bool) {
	sink := c.sink.Load()
	switch {
	case sink == nil || c.broadcasts.Load():
	case own && c.noLoop.Load():
		(*sink).Unheard(key)
	default:
		(*sink).Invalidate(key, own)
	}
}

// invalidateAll also tells a client that has asked for NOLOOP, as Redis does.
func (c *Client) invalidateAll(own bool) {
	c.reads.changedAll()
	if sink := c.sink.Load(); sink != nil {
		(*sink).InvalidateAll(own)
	}
}
