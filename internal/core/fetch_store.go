package core

import (
	"context"
	"errors"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/fetch"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// fetchStore is a cache as package fetch asks it.
type fetchStore struct{ c *Cache }

var _ fetch.Store = fetchStore{}

// Claim implements fetch.Store. Where the database does not answer, there is no
// lease to be had.
func (s fetchStore) Claim(ctx context.Context, keys []string, lease time.Duration) []fetch.Claim {
	calls := make([]*verb.Call, len(keys))
	for i, key := range keys {
		calls[i] = &verb.Call{Verb: statement.Claim, Key: []byte(key), Lease: lease}
	}
	errs := s.do(ctx, calls)
	claims := make([]fetch.Claim, len(keys))
	for i, call := range calls {
		switch err := errs[i]; {
		case err == nil && call.Status == verb.WrongType:
			claims[i].Err = fault.ErrWrongType
		case err == nil:
			claims[i] = claimOf(call)
		case isForgivable(err) || errors.Is(err, fault.ErrUnknownOutcome):
			claims[i].State = fetch.Unleased
		default:
			claims[i].Err = err
		}
	}
	return claims
}

func claimOf(call *verb.Call) fetch.Claim {
	found := &call.Result
	c := fetch.Claim{
		State: claimStates[call.Claim.State], Value: found.Value, Shared: call.Shared, Token: fetch.Token{Version: found.Version, Snapshot: call.Claim.Snapshot},
		Left: call.Claim.Left, Age: call.Claim.Expired, Won: call.Claim.Won,
	}
	if c.State == fetch.Hit {
		c.Leased, c.Left = c.Left > 0, found.TTL // NoExpiry is Forever
	}
	return c
}

var claimStates = [...]fetch.State{
	verb.NoClaim: fetch.Unleased, verb.Hit: fetch.Hit, verb.Stale: fetch.Stale, verb.Won: fetch.Won,
	verb.Lost: fetch.Lost, verb.KnownAbsent: fetch.Absent, verb.Unleased: fetch.Unleased,
}

// Refresh implements fetch.Store.
func (s fetchStore) Refresh(ctx context.Context, key string, version int64, lease time.Duration) (fetch.Token, bool, error) {
	call := &verb.Call{Verb: statement.Refresh, Key: []byte(key), Token: version, Lease: lease}
	err := s.c.Do(ctx, call)
	return fetch.Token{Version: version, Snapshot: call.Claim.Snapshot}, err == nil && call.Status == verb.OK, err
}

// Fulfil implements fetch.Store.
func (s fetchStore) Fulfil(ctx context.Context, values []fetch.Value) []error {
	calls := make([]*verb.Call, len(values))
	for i, v := range values {
		calls[i] = &verb.Call{
			Verb: statement.Fulfil, Key: []byte(v.Key), Token: v.Token.Version, Snapshot: v.Token.Snapshot, Value: v.Value,
			Expiry: verb.ExpireIn(v.TTL), Stale: v.Stale, Absent: v.Absent, Tags: v.Tags,
		}
	}
	errs := s.do(ctx, calls)
	for i, call := range calls {
		switch {
		case errs[i] != nil:
		case call.Status == verb.NotStored:
			errs[i] = fetch.ErrVoided
		default:
			errs[i] = call.Status.Err()
		}
	}
	return errs
}

// Release implements fetch.Store.
func (s fetchStore) Release(ctx context.Context, leases []fetch.Lease) []bool {
	calls := make([]*verb.Call, len(leases))
	for i, l := range leases {
		calls[i] = &verb.Call{Verb: statement.Release, Key: []byte(l.Key), Token: l.Token.Version}
	}
	good := make([]bool, len(leases))
	for i, err := range s.do(ctx, calls) {
		good[i] = err == nil && calls[i].Status == verb.OK
	}
	return good
}

// Changed implements fetch.Store. The change log tells, if memory follows it.
func (s fetchStore) Changed(key string) fetch.News {
	e := s.c.readyFor([]byte(key))
	if e == nil {
		return fetch.News{}
	}
	changed, stop := e.Changed([]byte(key))
	return fetch.News{Changed: changed, Within: s.c.db.opts.Near.Bound / 3, Stop: stop}
}

// do runs calls together. What it returns for a call without an error may be read
// from the call.
func (s fetchStore) do(ctx context.Context, calls []*verb.Call) []error {
	errs := make([]error, len(calls))
	err := s.c.Do(ctx, calls...)
	if err == nil {
		return errs
	}
	for i, call := range calls {
		errs[i] = call.Err
		if len(calls) == 1 {
			errs[i] = err // a call that its flight still holds says nothing itself
		}
	}
	return errs
}
