package fetch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"
)

// PanicError is the error of a load that panicked, or called runtime.Goexit.
type PanicError struct {
	Value any    // of the panic; nil: runtime.Goexit
	Stack string // of the load
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "load called runtime.Goexit"
	}
	return fmt.Sprintf("load panicked: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// LateError is the error of a load that did not return in time.
type LateError struct{ Timeout time.Duration }

func (e *LateError) Error() string { return fmt.Sprintf("load did not return within %v", e.Timeout) }

// loaded is what a load returned.
type loaded struct {
	values  map[string][]byte
	err     error
	loading context.Context // of Group.Loading
}

// call runs a load, and leaves it to itself when its time is over.
func (l Load) call(ctx context.Context, keys []string, timeout time.Duration) loaded {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	done := make(chan loaded, 1)
	go func() {
		defer cancel()
		result := loaded{err: &PanicError{}} // unless it returns
		defer func() {
			if p := recover(); p != nil {
				result.err = &PanicError{p, string(debug.Stack())}
			}
			done <- result
		}()
		result.values, result.err = l(ctx, keys)
	}()
	var result loaded
	select {
	case result = <-done:
	case <-ctx.Done():
		select {
		case result = <-done: // the context ended because it has returned
		default:
			result.err = &LateError{timeout}
		}
	}
	if errors.Is(result.err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		result.err = &LateError{timeout} // it has obeyed its context
	}
	return result
}

// follow calls the load of lead, and Loading before and after it.
func (g *Group) follow(parties []*party, lead *call, keys []string) loaded {
	var ctx context.Context
	var ended func(error)
	if g.Loading != nil {
		ctx, ended = g.Loading(lead.ctx, contextsOf(parties, lead), len(keys))
	}
	if ctx == nil {
		return lead.load.call(lead.ctx, keys, lead.o.Timeout)
	}
	found := lead.load.call(ctx, keys, lead.o.Timeout)
	found.loading = ctx
	ended(found.err)
	return found
}

// contextsOf are those of the calls of parties, or of lead if they have none.
func contextsOf(parties []*party, lead *call) iter.Seq[context.Context] {
	return func(yield func(context.Context) bool) {
		none := true
		for _, p := range parties {
			for _, c := range p.calls {
				if none = false; !yield(c.ctx) {
					return
				}
			}
		}
		if none {
			yield(lead.ctx)
		}
	}
}

// retryPause is how long the lease of a load in the background that failed is kept:
// callers are served without it, and an origin that is down is not asked again at
// once.
const retryPause = time.Second

// load makes the values of the keys of parties, stores those under a lease, and
// answers.
func (g *Group) load(parties []*party, lead *call) {
	keys := make([]string, len(parties))
	for i, p := range parties {
		keys[i] = p.key
		p.calls = append(p.calls, g.take(p.f)...) // they came before the load begins
	}
	g.counts.loads.Add(1)
	began := time.Now()
	found := g.follow(parties, lead, slices.Clone(keys))
	if found.err == nil {
		g.noteCost(time.Since(began))
	} else {
		g.counts.loadErrors.Add(1)
		if parties[0].f == nil {
			g.failed(found.err)
		}
	}
	var stores, releases []*party
	for _, p := range parties {
		_, present := found.values[p.key]
		switch {
		case !p.lease:
			if present {
				g.counts.unstored.Add(1)
			}
			g.conclude(p, found)
			g.proceed(p.f)
		case found.err == nil && (present || lead.o.Absent > 0):
			stores = append(stores, p)
		default:
			releases = append(releases, p)
		}
	}
	if len(stores) > 0 {
		g.fulfil(stores, found, lead)
	}
	if len(releases) > 0 {
		if found.err != nil && releases[0].f == nil {
			g.rest(retryPause, nil)
		}
		g.release(releases, found, lead)
	}
}

// conclude answers a party with what a load returned.
func (g *Group) conclude(p *party, found loaded) {
	if found.err == nil {
		value, present := found.values[p.key]
		p.reply(Result{Value: value, Found: present, Loaded: true, Loading: found.loading}, true)
		return
	}
	if p.stale != nil {
		p.calls = g.serveStale(p, func(o *Options) time.Duration { return max(o.Stale, o.StaleIfError) })
	}
	p.reply(Result{Err: found.err, Loaded: true, Loading: found.loading})
}

// fulfil stores what was loaded. Those who came while the load ran get it if it
// was stored, because nothing has invalidated it then; otherwise they go another
// round. The lease of a value that a tag has voided is still there, and would make
// them wait until its end.
func (g *Group) fulfil(parties []*party, found loaded, lead *call) {
	values := make([]Value, len(parties))
	late := make([][]*call, len(parties))
	for i, p := range parties {
		late[i] = g.take(p.f) // before the values are sent
		value, present := found.values[p.key]
		values[i] = Value{Lease: Lease{p.key, p.token}, Value: value, TTL: lead.o.TTL, Stale: max(lead.o.Stale, lead.o.StaleIfError), Tags: lead.o.Tags}
		if !present {
			values[i] = Value{Lease: values[i].Lease, Absent: true, TTL: lead.o.Absent, Tags: lead.o.Tags}
		}
	}
	var leased []*party
	for i, err := range g.store.Fulfil(context.WithoutCancel(lead.ctx), values) {
		p := parties[i]
		switch {
		case err == nil:
			p.calls = append(p.calls, late[i]...)
			late[i] = nil
		case errors.Is(err, ErrVoided):
			g.counts.voided.Add(1)
			leased = append(leased, p)
		default:
			g.counts.unstored.Add(1)
			leased = append(leased, p)
		}
		g.conclude(p, found)
	}
	g.end(lead.ctx, leased)
	for i, p := range parties {
		g.proceed(p.f, late[i]...)
	}
}

// release ends leases without a value: the load failed, or says that the keys are
// absent. Those who came while it ran share a failure. That a key is absent, or
// its expired value, is for them if nothing has changed the key meanwhile. With tags
// they load again: the invalidation of a tag leaves the token of an absent key as it
// is.
func (g *Group) release(parties []*party, found loaded, lead *call) {
	late := make([][]*call, len(parties))
	for i, p := range parties {
		late[i] = g.take(p.f) // before the leases end
	}
	good := g.end(lead.ctx, parties)
	for i, p := range parties {
		if good[p] && len(lead.o.Tags) == 0 || found.err != nil && p.stale == nil {
			p.calls = append(p.calls, late[i]...)
			late[i] = nil
		}
		g.conclude(p, found)
		g.proceed(p.f, late[i]...)
	}
}

// end releases the leases of parties, and returns those whose tokens were still good.
func (g *Group) end(ctx context.Context, parties []*party) (good map[*party]bool) {
	var held []*party
	var leases []Lease
	for _, p := range parties {
		if !p.expired() {
			held = append(held, p)
			leases = append(leases, Lease{p.key, p.token})
		}
	}
	good = map[*party]bool{}
	if len(leases) == 0 {
		return good
	}
	for i, ok := range g.store.Release(context.WithoutCancel(ctx), leases) {
		good[held[i]] = ok
	}
	return good
}
