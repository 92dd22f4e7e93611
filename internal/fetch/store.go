package fetch

import (
	"context"
	"errors"
	"time"
)

// Store is one cache, as a Group asks it. Calls that take several keys take each
// key once, and answer in the order of the keys. Each call returns soon, also
// where the cache cannot be reached.
type Store interface {
	// Claim reads keys, and takes the lease of those that have no live value and
	// no lease.
	Claim(ctx context.Context, keys []string, lease time.Duration) []Claim

	// Refresh takes the lease of a live value that still has this version. It
	// reports whether it did, and returns the token.
	Refresh(ctx context.Context, key string, version int64, lease time.Duration) (token Token, won bool, err error)

	// Fulfil stores values, each only if its token is still good, and ends their
	// leases. Its errors are nil for a value that was stored, ErrVoided for one
	// whose token is void, and others for one that could not be stored.
	Fulfil(ctx context.Context, values []Value) []error

	// Release ends leases without storing anything, and reports for each whether
	// its token was still good.
	Release(ctx context.Context, leases []Lease) []bool

	// Changed returns what tells of changes of a key that are made from now on: a
	// store under a lease, the end of a lease by Release, every other change.
	Changed(key string) News
}

// News tells of the changes of a key. The zero News tells of none.
type News struct {
	Changed <-chan struct{} // closed after the first change; or when no more is told
	Within  time.Duration   // how long after it, usually
	Stop    func()          // must be called; nil: nothing is told
}

// ErrVoided is the error of Store.Fulfil for a value that something has
// invalidated or overwritten since its claim.
var ErrVoided = errors.New("the token is void")

// Token names what a key held, or that it was absent, when its lease was taken.
// Every change of the key from then on makes it void.
type Token struct {
	Version  int64
	Snapshot string // what the claim saw: by it the Store knows which tags were invalidated since
}

// State is what a claim found.
type State uint8

// The states.
const (
	Hit      State = iota // a live value
	Stale                 // an expired value that may still be served
	Absent                // the key is known to be absent: a load has said so
	Won                   // nothing; the caller has the lease
	Lost                  // nothing; another caller has the lease
	Unleased              // nothing, and there is no lease to be had: load, and do not store
)

// Claim is the answer to a claim of one key.
type Claim struct {
	State  State
	Value  []byte        // Hit, Stale: the value, which belongs to the Group
	Shared bool          // the value is also in other hands: it must not be changed
	Token  Token         // Hit, Won, Stale
	Left   time.Duration // Hit: of the value's life, Forever without an end; otherwise of the lease
	Age    time.Duration // Stale: since the value expired
	Won    bool          // Stale: the caller has the lease
	Leased bool          // Hit: another caller has the lease, and refreshes the value
	Err    error         // the claim failed, and so will its callers
}

// Forever is Claim.Left of a value that does not expire.
const Forever time.Duration = 1<<63 - 1

// Lease is the right to store a value.
type Lease struct {
	Key   string
	Token Token
}

// Value is what Fulfil stores under a lease.
type Value struct {
	Lease
	Value  []byte
	Absent bool          // store instead that the key is absent
	TTL    time.Duration // as the caller gave it; of Absent: how long that is known
	Stale  time.Duration // how long the value may be served after its TTL
	Tags   []string
}
