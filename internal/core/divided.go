package core

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/howdah/howdah/internal/engine"
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
	again := shares
	for tries := 0; ; tries++ {
		c.tryShares(ctx, again)
		err := errorOf(shares)
		if !c.movesOn(ctx, err, tries) {
			if err == nil {
				return nil
			}
			for _, s := range shares {
				s.call.Err = c.db.naming(s.cache.number, s.call.Err)
			}
			return errorOf(shares)
		}
		again = movedOf(shares)
		for i := range again {
			again[i].cache = c.part(again[i].cache.number)
		}
	}
}

// errorOf is the error of shares: of one that may be tried again, if there is one.
func errorOf(shares []share) (err error) {
	for _, s := range shares {
		if err == nil || isElsewhere(s.call.Err) {
			err = s.call.Err
		}
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

// tryShares runs shares once: at once on all servers that hold them. Each has its error.
func (c *Cache) tryShares(ctx context.Context, shares []share) {
	if len(shares) == 1 {
		// A call that its caller has left has no error of its own: its flight may still have it.
		if err := shares[0].cache.doNow(ctx, []*verb.Call{shares[0].call}); err != nil {
			shares[0].call.Err = err
		}
		return
	}
	c.together(ctx, shares)
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
func (c *Cache) together(ctx context.Context, shares []share) {
	type lane struct {
		calls   []*verb.Call
		engines []*engine.Engine
	}
	lanes := make(map[*engine.Set]*lane)
	for _, s := range shares {
		e, err := s.cache.usable(ctx)
		if err != nil {
			s.call.Err = err
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
	var all sync.WaitGroup
	for set, l := range lanes {
		all.Go(func() { _ = set.DoAll(ctx, l.calls, func(i int) *engine.Engine { return l.engines[i] }) })
	}
	all.Wait()
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
	servers.start(number, func(at *DB, end func(elsewhere bool) (again bool)) {
		c.partAt(number, at).Start(s.call, func(call *verb.Call) {
			if end(isElsewhere(call.Err)) {
				return
			}
			c.db.missing(call.Err)
			call.Err = c.db.naming(number, call.Err)
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
