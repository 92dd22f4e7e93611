package fetch

import (
	"context"
	"math"
	"time"
)

// longestGap bounds -ln(x) for the smallest x that a random number gives, 2^-53.
const longestGap = 37

// Due reports whether a hit of a value with so much of its life left shall begin to
// refresh it, by the rule of XFetch: the sooner the end and the longer a load takes,
// the likelier. Of many hits one begins, about as long before the end as a load
// takes.
func (g *Group) Due(left time.Duration, early float64) bool {
	if early <= 0 {
		return false
	}
	gap := early * float64(g.cost.Load())
	if float64(left) > gap*longestGap { // true of nearly all hits
		return false
	}
	return gap*-math.Log(1-g.random()) >= float64(left)
}

// Refresh loads a live value anew in the background, if nobody does yet, and if
// the cache still holds this version of it.
func (g *Group) Refresh(ctx context.Context, key string, version int64, load Load, o Options) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.refreshing[key] {
		return
	}
	g.refreshing[key] = true
	lead := &call{ctx: ctx, load: load, o: o}
	g.rounds.Go(func() {
		defer func() {
			g.mu.Lock()
			delete(g.refreshing, key)
			g.mu.Unlock()
		}()
		ends := time.Now().Add(o.Lease)
		token, won, err := g.store.Refresh(context.WithoutCancel(ctx), key, version, o.Lease)
		if err == nil && won {
			g.counts.early.Add(1)
			g.load([]*party{{key: key, token: token, lease: true, ends: ends}}, lead)
			return
		}
		g.rest(retryPause, nil) // another process refreshes it: hits do not ask again and again
	})
}

// noteCost keeps a moving average of how long loads take.
func (g *Group) noteCost(took time.Duration) {
	before := g.cost.Load()
	after := before + (int64(took)-before)/8
	if before == 0 {
		after = int64(took)
	}
	g.cost.CompareAndSwap(before, max(after, 1)) // of two at the same moment one counts
}
