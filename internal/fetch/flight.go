package fetch

import (
	"bytes"
	"context"
	"sync/atomic"
	"time"
)

// call is one Fetch that waits for one key.
type call struct {
	ctx    context.Context
	load   Load
	o      Options
	answer chan Result // has room for the one answer
	left   atomic.Bool // its caller waits no more
}

// flight is the way of one key to a value for those who wait for it: one round
// after the other, until all are answered. A round is a claim and, if that says
// so, a load.
type flight struct {
	key     string
	waiting []*call // who came after the last step of the round began; guarded by Group.mu

	pause  time.Duration // before the next round, which asks again for the lease of another process
	left   time.Duration // of that lease, when it was seen last
	leases int           // of other processes, seen one after the other
	news   News          // of the key since the last claim
}

// hush ends the news.
func (f *flight) hush() {
	if f.news.Stop != nil {
		f.news.Stop()
	}
	f.news = News{}
}

// party is a step of a flight: the callers that it may answer, who came before
// it began, and what it knows.
type party struct {
	f     *flight // nil: a refresh in the background, which has no callers
	key   string
	calls []*call

	token Token
	lease bool      // the Group has it
	ends  time.Time // of the lease, at the earliest
	stale *stale
}

// expired tells whether the lease has ended: then another process may have it, under
// the same token, and must not lose it by a release.
func (p *party) expired() bool { return !time.Now().Before(p.ends) }

// stale is an expired value that may be served if the load fails.
type stale struct {
	Claim
	seen time.Time
}

func (s *stale) age() time.Duration { return s.Age + time.Since(s.seen) }

// take returns all who wait for a flight now, without those who have left. Who
// comes later may be answered by a later step only.
func (g *Group) take(f *flight) []*call {
	if f == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var calls []*call
	for _, c := range f.waiting {
		if !c.left.Load() {
			calls = append(calls, c)
		}
	}
	f.waiting = nil
	return calls
}

// proceed ends a flight that nobody waits for, and otherwise begins its next
// round. back are callers of the last round who are not answered.
func (g *Group) proceed(f *flight, back ...*call) {
	if f == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.waiting = append(back, f.waiting...); len(f.waiting) == 0 {
		f.hush()
		delete(g.flights, f.key)
		return
	}
	g.rounds.Go(func() { g.round([]*flight{f}, nil) })
}

// round makes one round of a flight, or of several that a Fetch of many keys has
// begun. lead is the call whose load and options count; nil: the first that
// waits.
func (g *Group) round(flights []*flight, lead *call) {
	first := flights[0] // another round than the first one is that of one flight
	open := g.rest(first.pause, first.news.Changed)
	first.hush()
	if !open {
		g.abandon(flights)
		return
	}
	var parties []*party
	var keys []string
	for _, f := range flights {
		calls := g.take(f)
		if len(calls) == 0 {
			g.proceed(f)
			continue
		}
		if lead == nil {
			lead = calls[0]
		}
		if f.pause > 0 { // it may have to wait for long
			f.news = g.store.Changed(f.key)
		}
		parties = append(parties, &party{f: f, key: f.key, calls: calls})
		keys = append(keys, f.key)
	}
	if len(parties) == 0 {
		return
	}
	ends := time.Now().Add(lead.o.Lease)
	claims := g.store.Claim(context.WithoutCancel(lead.ctx), keys, lead.o.Lease)
	var missing []*party
	for i, p := range parties {
		p.ends = ends
		if g.settle(p, lead, claims[i]) {
			missing = append(missing, p)
		} else {
			g.proceed(p.f, p.calls...)
		}
	}
	if len(missing) > 0 {
		g.load(missing, lead)
	}
}

// rest waits before a round, or until something changed. It returns false if the
// Group is closed.
func (g *Group) rest(pause time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-g.done:
		return false
	case <-changed:
	case <-timer.C:
	}
	select {
	case <-g.done:
		return false
	default:
		return true
	}
}

// abandon ends flights of a Group that is closed.
func (g *Group) abandon(flights []*flight) {
	for _, f := range flights {
		p := &party{calls: g.take(f)}
		p.reply(Result{Err: ErrClosed})
		g.proceed(f)
	}
}

// settle answers those of a party for whom a claim is enough. It reports whether
// a load shall follow; otherwise those who are left wait for another process.
func (g *Group) settle(p *party, lead *call, c Claim) (load bool) {
	p.token = c.Token
	if c.State != Lost && (c.State != Stale || c.Won) {
		p.f.pause, p.f.leases = 0, 0
		p.f.hush()
	}
	switch {
	case c.Err != nil:
		p.reply(Result{Err: c.Err})
		return false
	case c.State == Hit:
		g.counts.hits.Add(uint64(len(p.calls)))
		p.reply(Result{Value: c.Value, Found: true}, c.Shared)
		if !c.Leased && g.Due(c.Left, lead.o.Early) {
			g.Refresh(lead.ctx, p.key, c.Token.Version, lead.load, lead.o)
		}
		return false
	case c.State == Absent:
		g.counts.hits.Add(uint64(len(p.calls)))
		p.reply(Result{})
		return false
	case c.State == Stale:
		return g.settleStale(p, lead, c)
	case c.State == Lost:
		return lead.o.Local || g.tired(p, c.Left)
	}
	p.lease = c.State == Won
	return true
}

// settleStale serves an expired value to those who take one. With the lease, the
// load follows: in the background if all are served.
func (g *Group) settleStale(p *party, lead *call, c Claim) (load bool) {
	p.stale = &stale{c, time.Now()}
	p.calls = g.serveStale(p, func(o *Options) time.Duration { return o.Stale })
	switch {
	case len(p.calls) == 0 && c.Won:
		background := &party{key: p.key, token: c.Token, lease: true, ends: p.ends}
		g.rounds.Go(func() { g.load([]*party{background}, lead) })
		return false
	case len(p.calls) == 0:
		return false
	case c.Won:
		p.lease = true
		return true
	}
	return lead.o.Local || c.Left <= 0 || g.tired(p, c.Left)
}

// serveStale gives the expired value to those for whom it is not too old, and
// returns the others.
func (g *Group) serveStale(p *party, limit func(*Options) time.Duration) (others []*call) {
	served := &party{}
	for _, c := range p.calls {
		if p.stale.age() <= limit(&c.o) {
			served.calls = append(served.calls, c)
		} else {
			others = append(others, c)
		}
	}
	g.counts.stale.Add(uint64(len(served.calls)))
	served.reply(Result{Value: p.stale.Value, Found: true}, true)
	return others
}

// Bounds of a flight that waits for the lease of another process.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = 50 * time.Millisecond

	// toldPause is the pause where news come earlier than the next pause would end.
	// It is for what they may not tell of.
	toldPause = 250 * time.Millisecond

	// patience is how many leases a flight sees, none of which brought a value,
	// before it loads without one.
	patience = 3
)

// tired plans the next round of a flight that met the lease of another process,
// of which so much is left. It reports whether the flight has waited for too many
// leases: what they load is voided again and again.
func (g *Group) tired(p *party, left time.Duration) bool {
	f := p.f
	if f.pause == 0 || left > f.left {
		f.leases++
	}
	if f.pause == 0 {
		g.counts.waits.Add(1)
	}
	f.left = left
	f.pause = min(max(f.pause+f.pause/2, shortestPause), longestPause)
	if f.news.Changed != nil && f.pause >= f.news.Within {
		f.pause = toldPause
	}
	f.pause = min(f.pause, max(left, time.Millisecond))
	return f.leases > patience
}

// reply answers all of a party. Each gets a copy of the value; the last one, when
// all copies are made, the value itself, unless it is in other hands too.
func (p *party) reply(r Result, shared ...bool) {
	value := r.Value
	for i, c := range p.calls {
		r.Value = value
		if i < len(p.calls)-1 || len(shared) > 0 && shared[0] {
			r.Value = bytes.Clone(value)
		}
		c.answer <- r
	}
	p.calls = nil
}
