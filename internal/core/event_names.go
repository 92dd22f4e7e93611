package core

import (
	"bytes"
	"context"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// watchEvents has the events of a call published when it has taken effect; in a
// transaction, nameEvents does so. What may be events is asked of PostgreSQL, not of
// memory.
func (c *Cache) watchEvents(e *engine.Engine, call *verb.Call, wants values.Class) {
	if call.Verb == nil || call.Held {
		return
	}
	call.WantRemoved = wants&values.GenericEvent != 0 && call.Verb == statement.DeleteMany
	if !call.Verb.Writes {
		if wants&(values.KeyMissEvent|values.ExpiredEvent) == 0 {
			return
		}
		call.Fresh = true
	}
	if c.tx != nil {
		return
	}
	names := c.namesOf(e, call, wants)
	call.Landed = func(answer *verb.Call) {
		names.name(answer)
		c.announce(names.events...)
		c.removeExpired(e, names.missed)
	}
}

// nameEvents names the events of calls that have been run in the cache's transaction.
func (c *Cache) nameEvents(ctx context.Context, e *engine.Engine, calls []*verb.Call, wants values.Class) error {
	var list []values.Event
	for _, call := range calls {
		if call.Err == nil && call.Verb != nil {
			names := c.namesOf(e, call, wants)
			names.name(call)
			list = append(list, names.events...)
		}
	}
	return c.announceIn(ctx, list)
}

// eventNames names the events of one call. It has copies of the keys: they belong to the
// caller again when the call is done.
type eventNames struct {
	cache  *Cache
	wants  values.Class
	now    int64 // by the clock of the database, in microseconds since 1970
	call   *verb.Call
	keys   [][]byte
	events []values.Event
	missed [][]byte // keys that were read in vain
}

func (c *Cache) namesOf(e *engine.Engine, call *verb.Call, wants values.Class) *eventNames {
	n := &eventNames{cache: c, wants: wants, call: call, now: e.Now()}
	if call.Keys == nil {
		n.keys = [][]byte{bytes.Clone(call.Key)}
		return n
	}
	for _, key := range call.Keys {
		n.keys = append(n.keys, bytes.Clone(key))
	}
	return n
}

func (n *eventNames) add(class values.Class, name string, key []byte) {
	if n.wants&class != 0 {
		n.events = append(n.events, values.Event{Class: class, Name: name, Key: string(key)})
	}
}

// name names the events of the call, whose results are those of answer.
func (n *eventNames) name(answer *verb.Call) {
	if !n.call.Verb.Writes {
		n.nameReads(answer)
		return
	}
	done := answer.Status == verb.OK
	key := n.keys
	switch v := n.call.Verb; {
	case v == statement.Set:
		if n.call.WantOld && !answer.Result.Found && answer.Status != verb.WrongType {
			n.miss(n.keys[0])
		}
		if done {
			n.nameSets()
		}
	case v == statement.GetDelete || v == statement.GetExpire:
		if answer.Status == verb.Miss {
			n.miss(n.keys[0])
		}
		if done && v == statement.GetDelete {
			n.add(values.GenericEvent, "del", n.keys[0])
		} else if done {
			n.nameExpiry(n.keys[0])
		}
	case v == statement.Watch: // its row, which upkeep no longer finds, is that of an absent key
		n.nameRemoved("expired", values.ExpiredEvent, answer.Removed)
	case v == statement.DeleteMany:
		n.nameRemoved("del", values.GenericEvent, answer.Removed)
	case !done:
	case v == statement.SetMany, v == statement.SetManyIfAbsent, v == statement.Fulfil && !n.call.Absent:
		n.nameSets()
	case v == statement.Delete, v == statement.CompareDelete:
		n.add(values.GenericEvent, "del", key[0])
	case v == statement.Expire, v == statement.Touch:
		n.nameExpiry(key[0])
	case v == statement.Append:
		n.add(values.StringEvent, "append", key[0])
	case v == statement.SetRange && len(n.call.Value) > 0:
		n.add(values.StringEvent, "setrange", key[0])
	case v == statement.Increment:
		n.add(values.StringEvent, "incrby", key[0])
	case v == statement.IncrementFloat:
		n.add(values.StringEvent, "incrbyfloat", key[0])
	}
}

// nameReads names the keys that were not found.
func (n *eventNames) nameReads(answer *verb.Call) {
	if n.call.Keys == nil {
		if answer.Status == verb.Miss {
			n.miss(n.keys[0])
		}
		return
	}
	for i, key := range n.keys {
		if e := &answer.Entries[i]; !e.Found && e.Kind == 0 {
			n.miss(key)
		}
	}
}

func (n *eventNames) miss(key []byte) {
	if !n.call.Silent {
		n.add(values.KeyMissEvent, "keymiss", key)
	}
	if n.wants&values.ExpiredEvent != 0 {
		n.missed = append(n.missed, key)
	}
}

// nameSets names that all keys were stored.
func (n *eventNames) nameSets() {
	for _, key := range n.keys {
		n.add(values.StringEvent, "set", key)
		if kind := n.call.Expiry.Kind; kind == verb.In || kind == verb.At {
			n.nameExpiry(key)
		}
	}
}

// nameExpiry names what was done to the expiry of a key. One in the past is a removal.
func (n *eventNames) nameExpiry(key []byte) {
	switch x := n.call.Expiry; {
	case x.Kind == verb.Never:
		n.add(values.GenericEvent, "persist", key)
	case x.Kind == verb.In && x.Value <= 0, x.Kind == verb.At && x.Value <= n.now:
		n.add(values.GenericEvent, "del", key)
	default:
		n.add(values.GenericEvent, "expire", key)
	}
}

// nameRemoved names the keys whose hashes are among those that were removed.
func (n *eventNames) nameRemoved(name string, class values.Class, removed []int64) {
	gone := make(map[int64]bool, len(removed))
	for _, hash := range removed {
		gone[hash] = true
	}
	for _, key := range n.keys {
		if hash := n.cache.db.engines.Hash(key); gone[hash] {
			delete(gone, hash) // a key that is named twice is removed once
			n.add(class, name, key)
		}
	}
}

// removeExpired removes those of the keys that have expired, and publishes that for each
// one that it was the one to remove.
func (c *Cache) removeExpired(e *engine.Engine, keys [][]byte) {
	if len(keys) == 0 {
		return
	}
	call := &verb.Call{Verb: statement.RemoveExpired, Keys: keys}
	call.Landed = func(*verb.Call) {
		names := eventNames{cache: c, wants: values.ExpiredEvent, keys: keys}
		names.nameRemoved("expired", values.ExpiredEvent, call.Removed)
		c.announce(names.events...)
	}
	e.Start(call, func(*verb.Call) {}) // if it fails, upkeep removes them
}

// nameTransfer names that an entry was copied, renamed, or moved to another cache, where
// it is a new key.
func (c *Cache) nameTransfer(ctx context.Context, from string, target *Cache, to string, removed bool) error {
	wants := c.db.WantedEvents()
	if wants == 0 || c.name == target.name && from == to {
		return nil
	}
	var err error
	announce := func(cache *Cache, class values.Class, name, key string) {
		if wants&class != 0 && err == nil {
			err = cache.announceIn(ctx, []values.Event{{Class: class, Name: name, Key: key}})
		}
	}
	announce(target, values.NewEvent, "new", to)
	switch {
	case !removed:
		announce(target, values.GenericEvent, "copy_to", to)
	case c.name == target.name:
		announce(c, values.GenericEvent, "rename_from", from)
		announce(c, values.GenericEvent, "rename_to", to)
	default:
		announce(c, values.GenericEvent, "move_from", from)
		announce(target, values.GenericEvent, "move_to", to)
	}
	return err
}

// announceDeleted publishes that keys were deleted.
func (c *Cache) announceDeleted(ctx context.Context, keys [][]byte) error {
	list := make([]values.Event, len(keys))
	for i, key := range keys {
		list[i] = values.Event{Class: values.GenericEvent, Name: "del", Key: string(key)}
	}
	return c.announceIn(ctx, list)
}
