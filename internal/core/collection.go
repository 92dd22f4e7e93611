package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/howdah/howdah/internal/edit"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// collection is a pointer to a kind of collection, whose methods take a nil one for an
// empty one.
type collection[V any] interface {
	*V
	values.Value
}

// read returns the collection of a key, nil if the key is absent. Memory may answer.
// A cache that fails open has an absent one. Errors: ErrWrongType, and those of reads.
func read[V any, T collection[V]](ctx context.Context, c *Cache, key []byte) (T, error) {
	found, err := c.load(ctx, key)
	if err != nil {
		return nil, err
	}
	value, err := decode[V, T](found)
	if err == nil && value != nil {
		c.seen.note(found, value)
	}
	return value, err
}

// load returns the entry of read.
func (c *Cache) load(ctx context.Context, key []byte) (*verb.Entry, error) {
	call := &verb.Call{Verb: statement.GetEntry, Key: key, AnyKind: true, Recall: true}
	err := c.Do(ctx, call)
	switch {
	case errors.Is(err, fault.ErrMiss):
		return &verb.Entry{}, nil
	case err != nil:
		return nil, err
	}
	return &call.Result, nil
}

// readMany is read for several keys, in one snapshot. Memory is not asked.
func readMany[V any, T collection[V]](ctx context.Context, c *Cache, keys [][]byte) ([]T, error) {
	list := make([]T, len(keys))
	c, err := c.ofAll(keys)
	if err != nil {
		return nil, err
	}
	call := &verb.Call{Verb: statement.GetMany, Keys: keys, AnyKind: true}
	err = c.Do(ctx, call)
	switch {
	case errors.Is(err, fault.ErrMiss):
		return list, nil
	case err != nil:
		return nil, err
	}
	for i := range call.Entries {
		if list[i], err = decode[V, T](&call.Entries[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// decode returns the collection that an entry holds, without fields that had expired
// when it was read, by the clock of the database.
func decode[V any, T collection[V]](found *verb.Entry) (T, error) {
	if !found.Found {
		return nil, nil
	}
	value, err := edit.Decode(found.Kind, found.Value)
	if err != nil {
		return nil, err
	}
	entry := values.Entry{Value: value} // without its expiry, which the database has judged
	entry.Expire(found.Now / 1000)
	return valueOf[V, T](&entry)
}

// valueOf returns the collection of an entry, nil if there is none. Error:
// ErrWrongType.
func valueOf[V any, T collection[V]](entry *values.Entry) (T, error) {
	if entry.Value == nil {
		return nil, nil
	}
	value, ok := entry.Value.(T)
	if !ok {
		return nil, fault.ErrWrongType
	}
	return value, nil
}

// alteration changes the collection of a key, an empty one if the key is absent, and
// names the events of that. It reports whether it changed something; what it changed is
// not stored if it returns an error. It may run more than once.
type alteration[T values.Value, R any] func(value T, o *occasion) (result R, changed bool, err error)

// occasion is one run of an alteration.
type occasion struct {
	now    int64 // milliseconds since 1970
	events []string
}

// name names an event of the collection.
func (o *occasion) name(event string) { o.events = append(o.events, event) }

// nameIf is name under a condition.
func (o *occasion) nameIf(happened bool, event string) {
	if happened {
		o.name(event)
	}
}

// eventClasses are those of the events of collections.
var eventClasses = [...]values.Class{
	values.KindHash: values.HashEvent, values.KindList: values.ListEvent, values.KindSet: values.SetEvent, values.KindSortedSet: values.SortedSetEvent,
}

// announce names the events of an alteration that has changed an entry of a kind.
func (o *occasion) announce(v *edit.View, key []byte, kind values.Kind, created, removed bool) {
	notify := v.Notify()
	if notify == nil {
		return
	}
	if created {
		notify(values.NewEvent, "new", key)
	}
	for _, event := range o.events {
		notify(eventClasses[kind], event, key)
	}
	if removed {
		notify(values.GenericEvent, "del", key)
	}
}

// add runs an alteration that may make the collection, with a TTL, or make it larger;
// one that exists keeps its TTL. bytes is what its arguments take.
func add[V any, R any, T collection[V]](ctx context.Context, c *Cache, key []byte, bytes int, ttl time.Duration, run alteration[T, R]) (R, error) {
	expiry, err := verb.TTL(ttl)
	if err != nil {
		var none R
		return none, err
	}
	return alter(ctx, c, key, bytes, true, expiry, run)
}

// remove runs an alteration that makes nothing larger.
func remove[V any, R any, T collection[V]](ctx context.Context, c *Cache, key []byte, bytes int, run alteration[T, R]) (R, error) {
	return alter(ctx, c, key, bytes, false, verb.Expiry{}, run)
}

func alter[V any, R any, T collection[V]](ctx context.Context, c *Cache, key []byte, bytes int, room bool, expiry verb.Expiry, run alteration[T, R]) (R, error) {
	// What Run leaves is read only when the edit is done: a caller that leaves early
	// must not look at it.
	type outcome struct {
		result R
		err    error
	}
	var last outcome
	e := &edit.Edit{Keys: [][]byte{key}, Bytes: len(key) + bytes, Room: room, Caller: observe.Caller{Command: "edit"}, Run: func(v *edit.View) {
		last = outcome{}
		last.result, last.err = alterEntry(v, key, c.guard, expiry, run)
	}}
	if err := c.Edit(ctx, e); err != nil {
		return outcome{}.result, err
	}
	return last.result, last.err
}

// alterEntry runs an alteration on an entry, if its guard holds.
func alterEntry[V any, R any, T collection[V]](v *edit.View, key []byte, guard *Guard, expiry verb.Expiry, run alteration[T, R]) (result R, err error) {
	entry := v.Entry(key)
	entry.Expire(v.Now)
	if !guard.holds(v, key, entry) {
		return result, fault.ErrNotStored
	}
	entry.NotifyExpiredFields(key, v.Notify())
	value, err := valueOf[V, T](entry)
	if err != nil {
		return result, err
	}
	created := value == nil
	if created {
		value = new(V)
	}
	o := occasion{now: v.Now}
	result, changed, err := run(value, &o)
	if err != nil || !changed {
		return result, err
	}
	if created {
		v.SetExpiry(entry, expiry)
	}
	entry.Put(value)
	o.announce(v, key, value.Kind(), created, !created && entry.Value == nil)
	return result, nil
}

// sizeOf is the bytes of a list.
func sizeOf[S ~string | ~[]byte](list []S) (bytes int) {
	for _, s := range list {
		bytes += len(s)
	}
	return bytes
}

// Type returns the kind of what a key holds. Error: ErrMiss.
func (c *Cache) Type(ctx context.Context, key []byte) (values.Kind, error) {
	call := &verb.Call{Verb: statement.Stat, Key: key}
	if err := c.One(ctx, call); err != nil {
		return 0, err
	}
	return values.Kind(call.Result.Kind), nil
}

// fieldError turns an error of the room of values into one of this module.
func fieldError(err error) error {
	switch {
	case errors.Is(err, values.ErrHashInteger):
		return fmt.Errorf("%w (a field of a hash)", fault.ErrNotInteger)
	case errors.Is(err, values.ErrOverflow):
		return fault.ErrOverflow
	}
	return err
}
