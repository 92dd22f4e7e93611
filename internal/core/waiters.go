package core

import (
	"encoding/binary"
	"sync"

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
	a := &announcements{bus: db.bus, look: db.Waiters().Look}
	db.Waiters().Connect(edit.Others{
		Elsewhere: func() bool { return db.bus.Elsewhere(bus.Ready) },
		Announce: func(cache string, hash int64) {
			// If it cannot be sent, the others find what is there within a second.
			_, _ = db.bus.Start(bus.Message{
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

// announcements has other processes announce what they leave, while callers of this one
// wait.
type announcements struct {
	bus interface {
		Join(bus.Kind, func(error)) (joined bool, err error)
		Leave(bus.Kind)
	}
	look func() // finds what is there already

	mu      sync.Mutex
	wanted  bool // callers wait
	asking  bool // others are being told
	arrives bool // others know
}

// want says whether callers wait. If others could not be told, the next call tries again:
// while callers wait, there is one each second.
func (a *announcements) want(wanted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted = wanted
	a.settle()
}

// settle joins or leaves, unless an answer is due that will call it again. a.mu is held.
func (a *announcements) settle() {
	switch {
	case a.asking || a.wanted == a.arrives:
	case a.wanted:
		joined, err := a.bus.Join(bus.Ready, a.answered)
		a.arrives, a.asking = joined, !joined && err == nil
	default:
		a.arrives = false
		a.bus.Leave(bus.Ready)
	}
}

// answered is called when others know that callers wait, or could not be told. They have
// not announced what came before.
func (a *announcements) answered(err error) {
	a.mu.Lock()
	a.asking, a.arrives = false, err == nil
	if a.arrives {
		a.settle() // they may have left
	}
	a.mu.Unlock()
	if err == nil {
		a.look()
	}
}
