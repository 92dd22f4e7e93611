package core

import (
	"context"
	"errors"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Claim is what Cache.Claim found: the state, and the entry if there is one.
type Claim struct {
	verb.Claim
	// Entry is the value of a hit, or the stale one. Entry.Version is also the
	// token of a lease that was won.
	Entry verb.Entry
}

// Fulfilment says how Cache.Fulfil stores.
type Fulfilment struct {
	Expiry verb.Expiry
	Stale  time.Duration // how long the value may be served after it expired, rounded up to seconds. 0: not at all
	// Absent stores that there is no value: until Expiry, claims answer
	// KnownAbsent, and every other reader misses the key.
	Absent bool
	// Tags are what the entry is invalidated by. Snapshot is that of the claim, or
	// of the refresh; it is needed with Tags only.
	Tags     []string
	Snapshot string
}

// Claim reads a key, and tries to win the lease to load it if there is no live
// value, in one statement. In a transaction that is not READ COMMITTED, load nothing
// within it: its snapshot is older than the claim. Errors: ErrInvalidTTL for a lease
// that is not positive, ErrWrongType, and those of a write.
func (c *Cache) Claim(ctx context.Context, key []byte, lease time.Duration) (Claim, error) {
	call := &verb.Call{Verb: statement.Claim, Key: key, Lease: lease}
	if err := c.One(ctx, call); err != nil && !errors.Is(err, fault.ErrMiss) {
		return Claim{}, err
	}
	return Claim{Claim: call.Claim, Entry: call.Result}, nil
}

// Refresh wins the lease to load a live value anew before it expires, if the entry
// still has this version and nobody has the lease. It returns what Fulfilment.Snapshot
// takes.
func (c *Cache) Refresh(ctx context.Context, key []byte, version int64, lease time.Duration) (won bool, snapshot string, err error) {
	call := &verb.Call{Verb: statement.Refresh, Key: key, Token: version, Lease: lease}
	won, err = c.holds(ctx, call)
	return won, call.Claim.Snapshot, err
}

// Fulfil stores what was loaded under a lease, if the key was neither changed nor
// removed since the lease was won, and returns the new version. Errors:
// ErrNotStored if it was, and those of a set.
func (c *Cache) Fulfil(ctx context.Context, key []byte, token int64, value []byte, o Fulfilment) (version int64, err error) {
	call := &verb.Call{Verb: statement.Fulfil, Key: key, Token: token, Value: value, Expiry: o.Expiry, Stale: o.Stale, Absent: o.Absent, Tags: o.Tags, Snapshot: o.Snapshot}
	err = c.One(ctx, call)
	return call.Result.Version, err
}

// Release ends a lease whose load failed, so that the next caller wins it at once.
// It reports whether the lease was still this one.
func (c *Cache) Release(ctx context.Context, key []byte, token int64) (released bool, err error) {
	return c.holds(ctx, &verb.Call{Verb: statement.Release, Key: key, Token: token})
}

// holds runs a call that is answered by whether the lease is the caller's.
func (c *Cache) holds(ctx context.Context, call *verb.Call) (bool, error) {
	err := c.Do(ctx, call)
	return err == nil && call.Status == verb.OK, err
}
