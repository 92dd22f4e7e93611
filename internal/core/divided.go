package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/verb"
)

// share is a call on one partition: one that was asked for, or a share of one.
type share struct {
	cache *Cache
	call  *verb.Call
}

// divided is a call with keys of several partitions, and its shares.
type divided struct {
	call   *verb.Call
	shares []*verb.Call
	places [][]int // of the keys of each share in those of the call
}

// gather gives the call the results of its shares.
func (d *divided) gather() { d.call.Gather(d.shares, d.places) }

// divide finds the partitions of a call: one share, or several that are to be gathered.
// Error: ErrCrossPartition.
func (c *Cache) divide(call *verb.Call) ([]share, *divided, error) {
	if len(call.Keys) == 0 {
		return []share{{c.of(call.Key), call}}, nil, nil
	}
	places := make([][]int, c.db.partitions.number)
	for i, key := range call.Keys {
		number := c.db.partitions.of(key)
		places[number] = append(places[number], i)
	}
	first := slices.IndexFunc(places, func(p []int) bool { return p != nil })
	switch {
	case len(places[first]) == len(call.Keys):
		return []share{{c.part(first), call}}, nil, nil
	case call.Verb == nil || call.Verb.Whole:
		return nil, nil, errPartitions
	}
	d := &divided{call: call}
	var shares []share
	for number, list := range places {
		if list != nil {
			part := call.Share(list)
			shares = append(shares, share{c.part(number), part})
			d.shares, d.places = append(d.shares, part), append(d.places, list)
		}
	}
	return shares, d, nil
}

// doDivided is do for a cache in partitions.
func (c *Cache) doDivided(ctx context.Context, calls []*verb.Call) error {
	var shares []share
	var gather []*divided
	for _, call := range calls {
		found, d, err := c.divide(call)
		if err != nil {
			call.Err = err
			continue
		}
		shares = append(shares, found...)
		if d != nil {
			gather = append(gather, d)
		}
	}
	var err error
	if c.tx != nil {
		err = doInTurn(ctx, shares)
	} else {
		err = c.doShares(ctx, shares)
	}
	for _, d := range gather {
		d.gather()
	}
	var first error
	for _, call := range calls {
		first = cmp.Or(first, call.Err)
	}
	return cmp.Or(first, err)
}

// doShares runs shares, those again whose partition was on another server.
func (c *Cache) doShares(ctx context.Context, shares []share) error {
	err := c.tryShares(ctx, shares)
	s := c.db.servers()
	if err == nil || s == nil {
		return err
	}
	for range maxReroute {
		moved := movedOf(shares)
		if len(moved) == 0 {
			if errors.Is(err, fault.ErrUnavailable) {
				s.lost()
			}
			return err
		}
		if failed := s.reroute(ctx); failed != nil {
			return err
		}
		for i := range moved {
			moved[i].cache = c.part(moved[i].cache.number)
		}
		again := c.tryShares(ctx, moved)
		if len(moved) == len(shares) {
			err = again
		}
		shares = moved
	}
	return err
}

// movedOf are the shares whose partition is on another server.
func movedOf(shares []share) (moved []share) {
	for _, s := range shares {
		if isElsewhere(s.call.Err) {
			moved = append(moved, s)
		}
	}
	return moved
}

// tryShares runs shares once: at once on all servers that hold them.
func (c *Cache) tryShares(ctx context.Context, shares []share) error {
	if len(shares) == 1 {
		return shares[0].cache.doNow(ctx, []*verb.Call{shares[0].call})
	}
	return c.together(ctx, shares)
}

// doInTurn runs shares in a transaction, in their order, those that follow each other in
// one partition together. It ends at the first error, which the rest then has too.
func doInTurn(ctx context.Context, shares []share) error {
	for len(shares) > 0 {
		first, calls := shares[0].cache, []*verb.Call{}
		for len(shares) > 0 && shares[0].cache.table == first.table {
			calls, shares = append(calls, shares[0].call), shares[1:]
		}
		if err := first.doNow(ctx, calls); err != nil {
			for _, rest := range shares {
				rest.call.Err = err
			}
			return err
		}
	}
	return nil
}

// together runs shares at once, on all servers that hold them.
func (c *Cache) together(ctx context.Context, shares []share) (first error) {
	type lane struct {
		calls   []*verb.Call
		engines []*engine.Engine
	}
	lanes := make(map[*engine.Set]*lane)
	for _, s := range shares {
		e, err := s.cache.usable(ctx)
		if err != nil {
			s.call.Err, first = err, cmp.Or(first, err)
			continue
		}
		s.cache.watch(e, s.call)
		l := lanes[e.Set()]
		if l == nil {
			l = new(lane)
			lanes[e.Set()] = l
		}
		l.calls, l.engines = append(l.calls, s.call), append(l.engines, e)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for set, l := range lanes {
		all.Go(func() {
			err := set.DoAll(ctx, l.calls, func(i int) *engine.Engine { return l.engines[i] })
			mu.Lock()
			first = cmp.Or(first, err)
			mu.Unlock()
		})
	}
	all.Wait()
	return first
}

// startDivided is Start for a cache in partitions.
func (c *Cache) startDivided(call *verb.Call, done func(*verb.Call)) {
	shares, d, err := c.divide(call)
	if err != nil {
		call.Err = err
		done(call)
		return
	}
	if d == nil {
		c.startShare(shares[0], done)
		return
	}
	left := new(atomic.Int32)
	left.Store(int32(len(shares)))
	for _, s := range shares {
		c.startShare(s, func(*verb.Call) {
			if left.Add(-1) == 0 {
				d.gather()
				done(call)
			}
		})
	}
}

// startShare begins a share, again if its partition was on another server.
func (c *Cache) startShare(s share, done func(*verb.Call)) {
	servers := c.db.servers()
	if servers == nil {
		s.cache.Start(s.call, done)
		return
	}
	number := s.cache.number
	servers.start(number, func(end func(elsewhere bool) (again bool)) {
		c.part(number).Start(s.call, func(call *verb.Call) {
			if end(isElsewhere(call.Err)) {
				return
			}
			if errors.Is(call.Err, fault.ErrUnavailable) {
				servers.lost()
			}
			done(call)
		})
	})
}

// watch has the events of a call published, if there are any.
func (c *Cache) watch(e *engine.Engine, call *verb.Call) {
	if wants := c.db.WantedEvents(); wants != 0 {
		c.watchEvents(e, call, wants)
	}
}

// forgive makes a miss of an error of reads, in a cache that fails open.
func (c *Cache) forgive(err error, calls []*verb.Call) error {
	if err != nil && c.failOpen && isForgivable(err) && readsOnly(calls) {
		return &missed{err}
	}
	return err
}
