package core

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/fetch"
)

// FetchOptions tune a Fetch. Package howdah documents the fields.
type FetchOptions struct {
	Stale        time.Duration
	StaleIfError time.Duration
	Early        float64
	Lease        time.Duration
	Timeout      time.Duration
	Absent       time.Duration
	Tags         []string
	Local        bool
}

// defaultLease is FetchOptions.Lease if it is 0.
const defaultLease = 10 * time.Second

// withDefaults checks and fills in. Error: ErrInvalidTTL.
func (o FetchOptions) withDefaults(ttl time.Duration) (fetch.Options, error) {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"ttl", ttl}, {"FetchOptions.Stale", o.Stale}, {"FetchOptions.StaleIfError", o.StaleIfError},
		{"FetchOptions.Lease", o.Lease}, {"FetchOptions.Timeout", o.Timeout}, {"FetchOptions.Absent", o.Absent},
	} {
		if d.value < 0 {
			return fetch.Options{}, fmt.Errorf("%w: %s is %v; it must not be negative", fault.ErrInvalidTTL, d.name, d.value)
		}
	}
	lease := cmp.Or(o.Lease, defaultLease)
	return fetch.Options{
		TTL: ttl, Stale: o.Stale, StaleIfError: o.StaleIfError, Early: o.early(), Lease: lease,
		Timeout: cmp.Or(o.Timeout, lease), Absent: o.Absent, Tags: o.Tags, Local: o.Local,
	}, nil
}

func (o *FetchOptions) early() float64 { return cmp.Or(o.Early, 1) }

// Fetch returns the value of a key, and loads and stores it if there is none. See
// howdah.Cache.Fetch.
func (c *Cache) Fetch(ctx context.Context, key string, ttl time.Duration, load func(context.Context) ([]byte, error), o FetchOptions) ([]byte, error) {
	group, err := c.fetching()
	if err != nil {
		return nil, err
	}
	value, refresh, ok := c.remembered(group, key, o.early())
	if ok && refresh == 0 {
		return value, nil
	}
	settled, err := o.withDefaults(ttl)
	if err != nil {
		return nil, err
	}
	if ok {
		group.Refresh(ctx, key, refresh, one(key, load), settled)
		return value, nil
	}
	ctx, span := c.traced(ctx, "fetch", 1, false)
	results := group.Fetch(ctx, []string{key}, one(key, load), settled)
	value, err = fetched(results[0])
	span.End(fetchedResult(results, notMiss(err)))
	return value, err
}

// one makes a load of many keys of a load of one. That there is no value is no
// error of a load of many.
func one(key string, load func(context.Context) ([]byte, error)) fetch.Load {
	return func(ctx context.Context, _ []string) (map[string][]byte, error) {
		value, err := load(ctx)
		switch {
		case errors.Is(err, fault.ErrMiss):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return map[string][]byte{key: value}, nil
	}
}

// FetchMany is Fetch for many keys, with one load for those that are not there. See
// howdah.Cache.FetchMany.
func (c *Cache) FetchMany(ctx context.Context, keys []string, ttl time.Duration, load func(ctx context.Context, missing []string) (map[string][]byte, error), o FetchOptions) (map[string][]byte, error) {
	group, err := c.fetching()
	if err != nil {
		return nil, err
	}
	settled, err := o.withDefaults(ttl)
	if err != nil {
		return nil, err
	}
	found := make(map[string][]byte, len(keys))
	var missing []string
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		value, refresh, ok := c.remembered(group, key, o.early())
		switch {
		case !ok:
			missing = append(missing, key)
			continue
		case refresh != 0:
			group.Refresh(ctx, key, refresh, load, settled)
		}
		found[key] = value
	}
	if len(missing) == 0 {
		return found, nil
	}
	ctx, span := c.traced(ctx, "fetch", len(missing), false)
	results := group.Fetch(ctx, missing, load, settled)
	for i, r := range results {
		switch value, e := fetched(r); {
		case e == nil:
			found[missing[i]] = value
		default:
			err = cmp.Or(err, notMiss(e))
		}
	}
	span.End(fetchedResult(results, err))
	return found, err
}

// notMiss is an error, nil if it says that there is no value.
func notMiss(err error) error {
	if errors.Is(err, fault.ErrMiss) {
		return nil
	}
	return err
}

// fetched turns a result into what the caller of a Fetch gets.
func fetched(r fetch.Result) ([]byte, error) {
	var late *fetch.LateError
	var left *fetch.LeftError
	var panicked *fetch.PanicError
	switch {
	case r.Found:
		return r.Value, nil
	case r.Err == nil:
		return nil, fault.ErrMiss
	case errors.Is(r.Err, fetch.ErrClosed):
		return nil, fault.ErrClosed
	case errors.As(r.Err, &late):
		return nil, fault.Timeout(late.Error(), nil)
	case errors.As(r.Err, &left) && errors.Is(left.Cause, context.DeadlineExceeded):
		return nil, fault.Timeout("there is no value yet", nil)
	case errors.As(r.Err, &left), errors.As(r.Err, &panicked):
		return nil, fmt.Errorf("howdah: %w", r.Err)
	}
	return nil, r.Err
}

// remembered answers a Fetch from memory, if it can. refresh is the version for an
// early refresh, if that is due, and otherwise 0.
func (c *Cache) remembered(group *fetch.Group, key string, early float64) (value []byte, refresh int64, ok bool) {
	if c.fresh {
		return nil, 0, false
	}
	name := unsafe.Slice(unsafe.StringData(key), len(key)) // is not modified, and not kept
	e := c.readyFor(name)
	if e == nil { // only the Group has asked for it so far
		c = c.of(name)
		if e = c.db.engines.Known(c.settings()); e == nil || !e.Table().Known() {
			return nil, 0, false
		}
		c.keep(e)
	}
	entry, found := e.RecallOne(name)
	if !found || entry.Absent {
		return nil, 0, false
	}
	group.Remembered()
	if !entry.Expires.IsZero() && group.Due(time.Until(entry.Expires), early) {
		refresh = entry.Version
	}
	return bytes.Clone(entry.Value), refresh, true
}

// fetches are the groups of the caches that were fetched from.
type fetches struct {
	mu     sync.RWMutex
	closed bool
	groups map[string]*fetch.Group
}

// fetching returns the group of the cache. Errors: ErrClosed, and one that says
// that a Fetch has no place in a transaction.
func (c *Cache) fetching() (*fetch.Group, error) {
	if c.tx != nil {
		return nil, errors.New("howdah: Fetch in a transaction would hold its lease until the end: call it on the cache itself, not on Cache.With")
	}
	if group := c.group.Load(); group != nil {
		return group, nil
	}
	group, err := c.db.fetches.group(c)
	if err == nil {
		c.group.Store(group)
	}
	return group, err
}

func (f *fetches) group(c *Cache) (*fetch.Group, error) {
	f.mu.RLock()
	group := f.groups[c.name]
	f.mu.RUnlock()
	if group != nil {
		return group, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fault.ErrClosed
	}
	if f.groups == nil {
		f.groups = map[string]*fetch.Group{}
	}
	if group = f.groups[c.name]; group == nil {
		cache := c.db.Cache(c.name)
		group = fetch.New(fetchStore{cache}, func(err error) {
			c.db.opts.Logger.Warn("howdah: a value could not be loaded anew in the background", "cache", c.name, "error", err)
		})
		group.Loading = cache.loading()
		f.groups[c.name] = group
	}
	return group, nil
}

// close waits for loads, each for its Timeout at most.
func (f *fetches) close() {
	f.mu.Lock()
	f.closed = true
	groups := f.groups
	f.mu.Unlock()
	for _, group := range groups {
		group.Close()
	}
}

// stats returns the counters by cache.
func (f *fetches) stats() map[string]fetch.Stats {
	f.mu.RLock()
	defer f.mu.RUnlock()
	all := map[string]fetch.Stats{}
	for name, group := range f.groups {
		all[name] = group.Stats()
	}
	return all
}
