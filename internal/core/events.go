package core

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/schema"
)

// events publishes what happens to keys, as the setting notify-keyspace-events of the
// database says. Its zero value publishes nothing.
type events struct {
	active  atomic.Uint32 // values.Class; 0 if nothing is to be published
	setting atomic.Uint32 // values.Class, as it was set

	mu      sync.Mutex // of changes of the setting
	changes uint64     // how often this process has set it

	open sync.Map // Tx -> *transactionEvents, of transactions that DB.Transact runs

	publish  func(channel, message []byte) // does not block
	reported atomic.Int64                  // Unix time of the last report that some were lost, in nanoseconds
}

// WantedEvents returns the classes of the events that are published, 0 for none.
func (db *DB) WantedEvents() values.Class { return values.Class(db.events.active.Load()) }

// EventSetting returns the value of notify-keyspace-events that this process obeys.
func (db *DB) EventSetting() values.Class { return values.Class(db.events.setting.Load()) }

// SetEvents stores the value of notify-keyspace-events in the database. Processes that run
// DB.Run obey within a second, this one at once. A transaction makes it a part of it; nil
// is none. Errors: ErrPermission, ErrTimeout, ErrUnavailable, ErrUnknownOutcome.
func (db *DB) SetEvents(ctx context.Context, tx Tx, classes values.Class) error {
	db.events.change(func() {})       // what is being read now may be older
	for _, server := range db.all() { // SQL functions look on their own
		if server != db {
			tx = nil
		}
		if err := (settings{server, tx}).change(ctx, "set_events", []any{classes.Letters()}, []any{nil}); err != nil {
			return err
		}
	}
	db.events.change(func() { db.events.use(classes) })
	return nil
}

// change calls fn, after which what was asked for before is out of date.
func (s *events) change(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	fn()
}

// ask is called before the setting is read. What it returns takes what was read, and
// reports whether events of expired keys are published.
func (s *events) ask() (answer func(setting string) (expired bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.changes
	return func(setting string) (expired bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if classes, ok := values.ParseClasses(setting); ok && s.changes == before {
			s.use(classes)
		}
		return values.Class(s.active.Load())&values.ExpiredEvent != 0
	}
}

// known is ask for a server beside the coordinator, whose setting counts.
func (s *events) known() (answer func(setting string) (expired bool)) {
	return func(string) bool { return values.Class(s.active.Load())&values.ExpiredEvent != 0 }
}

func (s *events) use(classes values.Class) {
	s.setting.Store(uint32(classes))
	s.active.Store(uint32(classes.Active()))
}

// publishEvent sends a message, whose bytes will not be modified, to the subscribers of a channel without waiting for any. As
// a message, it is lost to other processes where the bus is overloaded, or not running.
func (db *DB) publishEvent(channel, payload []byte) {
	db.hub.Publish(pubsub.Channel, channel, payload)
	if !db.bus.Elsewhere(bus.Published) {
		return
	}
	err := db.bus.Start(message(pubsub.Channel, channel, payload), nil)
	if err == nil || errors.Is(err, fault.ErrNotRunning) {
		return
	}
	now, last := time.Now().UnixNano(), db.events.reported.Load()
	if now-last > int64(time.Minute) && db.events.reported.CompareAndSwap(last, now) {
		db.opts.Logger.Warn("howdah: events are not sent to other processes", "error", fault.OneLine(err))
	}
}

// send publishes an event of a cache: by key first, as Redis does.
func (s *events) send(label string, e values.Event) {
	wants := values.Class(s.active.Load())
	if wants&e.Class == 0 {
		return
	}
	if wants&values.ByKey != 0 {
		s.publish([]byte("__keyspace@"+label+"__:"+e.Key), []byte(e.Name))
	}
	if wants&values.ByEvent != 0 {
		s.publish([]byte("__keyevent@"+label+"__:"+e.Name), []byte(e.Key))
	}
}

// transactionEvents are published when their transaction has committed.
type transactionEvents struct {
	mu   sync.Mutex
	list []cacheEvent
}

type cacheEvent struct {
	label string
	values.Event
}

// collect begins to keep the events of a transaction. The caller calls end, which
// publishes them if the transaction has committed.
func (s *events) collect(tx Tx) (end func(committed bool)) {
	if s.active.Load() == 0 {
		return func(bool) {}
	}
	kept := new(transactionEvents)
	s.open.Store(tx, kept)
	return func(committed bool) {
		s.open.Delete(tx)
		if !committed {
			return
		}
		for _, e := range kept.list {
			s.send(e.label, e.Event)
		}
	}
}

// keptFor returns where the events of a transaction are kept, nil if DB.Transact does not
// run it.
func (s *events) keptFor(tx Tx) *transactionEvents {
	if tx == nil || !reflect.TypeOf(tx).Comparable() { // none of PostgreSQL's driver
		return nil
	}
	if kept, ok := s.open.Load(tx); ok {
		return kept.(*transactionEvents)
	}
	return nil
}

func (t *transactionEvents) add(label string, list []values.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range list {
		t.list = append(t.list, cacheEvent{label, e})
	}
}

// eventLabel is what stands for a cache in the names of channels: the number of a
// database of Redis, otherwise the name of the cache.
func (c *Cache) eventLabel() string {
	if number, ok := databaseNumber(c.name); ok {
		return number
	}
	return c.name
}

// databaseNumber returns "0" for "db0", up to "15".
func databaseNumber(name string) (number string, ok bool) {
	if len(name) < 3 || name[:2] != "db" {
		return "", false
	}
	number = name[2:]
	switch {
	case len(number) == 1:
		return number, '0' <= number[0] && number[0] <= '9'
	case len(number) == 2:
		return number, number[0] == '1' && '0' <= number[1] && number[1] <= '5'
	}
	return "", false
}

// announce publishes events of the cache at once.
func (c *Cache) announce(list ...values.Event) {
	if len(list) == 0 {
		return
	}
	label := c.eventLabel()
	for _, e := range list {
		c.db.events.send(label, e)
	}
}

// announceIn publishes events when the transaction that the cache is bound to commits, at
// once if there is none.
func (c *Cache) announceIn(ctx context.Context, list []values.Event) error {
	switch kept := c.db.events.keptFor(c.tx); {
	case len(list) == 0:
		return nil
	case c.tx == nil:
		c.announce(list...)
		return nil
	case kept != nil:
		kept.add(c.eventLabel(), list)
		return nil
	}
	return c.announceAtCommit(ctx, list)
}

// announceAtCommit has PostgreSQL publish events when a transaction commits whose end
// DB.Transact does not see. Keys that are absent are left out: a transaction that only
// reads could not do it.
func (c *Cache) announceAtCommit(ctx context.Context, list []values.Event) error {
	var classes, names []string
	var keys [][]byte
	for _, e := range list {
		if e.Class != values.KeyMissEvent {
			classes, names, keys = append(classes, e.Class.Letters()), append(names, e.Name), append(keys, []byte(e.Key))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	_, err := c.tx.Exec(ctx, schema.Query("announce"), c.name, classes, names, keys)
	return txFailure(err)
}

// NotifyMisses returns what takes the keys that a read has not found, nil if nobody wants
// them. It takes other events too.
func (c *Cache) NotifyMisses() func(class values.Class, name string, key []byte) {
	if c.db.WantedEvents()&values.KeyMissEvent == 0 {
		return nil
	}
	return func(class values.Class, name string, key []byte) {
		c.announce(values.Event{Class: class, Name: name, Key: string(key)})
	}
}

// announceEdit has the events of an edit published when it is done.
func (c *Cache) announceEdit(e *edit.Edit) {
	if e.Wants = c.db.WantedEvents(); e.Wants != 0 {
		e.Committed = func(e *edit.Edit) { c.announce(e.Events...) }
	}
}
