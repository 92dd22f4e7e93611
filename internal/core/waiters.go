package core

import (
	"encoding/binary"

	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/statement"
)

// Waiters returns the callers of blocking commands, of all caches.
func (db *DB) Waiters() *edit.Waiters { return edit.WaitersOf(db.engines) }

// Came has waiters served for a key of a cache under which a list or a sorted set may have
// come without an edit. See edit.Waiters.Came.
func (c *Cache) Came(key []byte) {
	c = c.of(key)
	c.db.Waiters().Came(c.settings(), key)
}

// connectWaiters has waiters served by what other processes leave, and those of others by
// what this one leaves.
func (db *DB) connectWaiters() {
	a := &interest{bus: db.bus, kind: bus.Ready, joined: db.Waiters().Look}
	db.Waiters().Connect(edit.Others{
		Elsewhere: func() bool { return db.bus.Elsewhere(bus.Ready) },
		Announce: func(cache string, hash int64) {
			// If it cannot be sent, the others find what is there within a second.
			_ = db.bus.Start(bus.Message{
				Kind: bus.Ready, Channel: []byte(cache), Payload: binary.BigEndian.AppendUint64(nil, uint64(hash)),
			}, nil)
		},
		Waits:  a.want,
		Events: func(cache string, e *edit.Edit) { db.Cache(statement.CacheOf(cache)).announceEdit(e) },
	})
}

// ready serves the waiters for an entry that another process has announced.
func (db *DB) ready(m bus.Message) {
	if len(m.Payload) == 8 {
		db.Waiters().Ready(string(m.Channel), int64(binary.BigEndian.Uint64(m.Payload)))
	}
}
