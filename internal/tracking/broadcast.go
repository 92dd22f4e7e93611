package tracking

import (
	"maps"
	"slices"
	"time"
)

// Key is a key that has changed.
type Key struct {
	Name   string
	Writer *Client // whose command changed it; nil: none that tracks, or several
}

// Broadcast lets the client track all keys with one of the prefixes, besides those that
// it has asked for before; without any, all keys. It begins, or goes on, as Begin says. A
// client that has begun otherwise must End first.
//
// A blind client is one that nobody can tell of keys: it is told to drop everything all the
// time.
func (c *Client) Broadcast(sink Sink, noLoop, blind bool, names ...string) {
	c.begin(sink, noLoop, func(t *Table) {
		if len(names) == 0 {
			names = []string{""}
		}
		if len(c.prefixes) == 0 {
			t.broadcasting.Add(1)
		}
		c.broadcasts.Store(true)
		c.setBlind(blind)
		c.prefixes = append(c.prefixes, names...)
		slices.Sort(c.prefixes)
		c.prefixes = slices.Compact(c.prefixes)
		for _, name := range names {
			t.prefixes.add(name, c)
		}
	})
}

// endBroadcast ends what Broadcast has begun. The caller holds the table's lock.
func (c *Client) endBroadcast() {
	if len(c.prefixes) > 0 {
		c.table.broadcasting.Add(-1)
		c.table.prefixes.remove(c)
		c.prefixes = nil
	}
	c.broadcasts.Store(false)
	c.setBlind(false)
}

// setBlind is called under the table's lock.
func (c *Client) setBlind(blind bool) {
	switch {
	case blind && !c.blind:
		c.table.blind.Add(1)
	case !blind && c.blind:
		c.table.blind.Add(-1)
	}
	c.blind = blind
}

// blindPeriod is how often blind clients are told to drop everything.
const blindPeriod = 100 * time.Millisecond

// tellBlind tells the blind clients to drop everything, if it is time.
func (t *Table) tellBlind(now time.Time) {
	if t.blind.Load() == 0 {
		return
	}
	var clients []*Client
	t.mu.Lock()
	if age := now.Sub(t.cleared); age < 0 || age >= blindPeriod {
		t.cleared = now
		for c := range t.clients {
			if c.blind {
				clients = append(clients, c)
			}
		}
	}
	t.mu.Unlock()
	for _, c := range clients {
		c.invalidateAll(false)
	}
}

// Broadcasts reports whether a client wants to know of keys by their prefixes, so that
// ChangedKeys must be called. A nil table has none.
func (t *Table) Broadcasts() bool { return t != nil && t.broadcasting.Load() > 0 }

// ChangedKeys says that keys have changed, all those that are known at this moment.
// Clients that broadcast get one message for each of their prefixes that some of the
// keys have.
func (t *Table) ChangedKeys(keys []Key) {
	if len(keys) == 0 || !t.Broadcasts() {
		return
	}
	changed := make(map[string]map[string]*Client) // by prefix and key: its writer
	type message struct {
		prefix string
		client *Client
		sink   Sink
		noLoop bool
	}
	var messages []message
	t.mu.Lock()
	for _, key := range keys {
		t.prefixes.of(key.Name, func(prefix string) {
			if changed[prefix] == nil {
				changed[prefix] = make(map[string]*Client)
			}
			if writer, twice := changed[prefix][key.Name]; twice && writer != key.Writer {
				changed[prefix][key.Name] = nil // each of the writers is told
			} else {
				changed[prefix][key.Name] = key.Writer
			}
		})
	}
	for _, prefix := range slices.Sorted(maps.Keys(changed)) {
		for _, c := range t.prefixes.listed(prefix) {
			if sink := c.sink.Load(); sink != nil {
				messages = append(messages, message{prefix, c, *sink, c.noLoop.Load()})
			}
		}
	}
	t.mu.Unlock()
	for _, m := range messages {
		own, others := split(changed[m.prefix], m.client)
		if m.noLoop {
			own = nil
		}
		m.client.reads.changed(own, others)
		if len(own) > 0 {
			m.sink.InvalidateKeys(m.prefix, own, true)
		}
		if len(others) > 0 {
			m.sink.InvalidateKeys(m.prefix, others, false)
		}
	}
}

// split returns the keys that a client has changed itself, and the others, both sorted.
func split(changed map[string]*Client, c *Client) (own, others []string) {
	for key, writer := range changed {
		if writer == c {
			own = append(own, key)
		} else {
			others = append(others, key)
		}
	}
	slices.Sort(own)
	slices.Sort(others)
	return own, others
}

// MissedKeys says that keys have changed that are not known. Clients that broadcast are
// told to drop everything.
func (t *Table) MissedKeys() {
	if !t.Broadcasts() {
		return
	}
	for _, c := range t.list() {
		if c.broadcasts.Load() {
			c.invalidateAll(false)
		}
	}
}
