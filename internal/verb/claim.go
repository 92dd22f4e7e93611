package verb

import "time"

// LeaseState is what a claim found.
type LeaseState uint8

// The states of a claim.
const (
	NoClaim     LeaseState = iota // the call was no claim
	Hit                           // a live value
	Stale                         // an expired value that may still be served
	Won                           // no value; the caller holds the lease: it loads and stores
	Lost                          // no value; somebody else holds the lease
	KnownAbsent                   // somebody loaded a moment ago, and there was nothing
	// Unleased says that there is no value and no lease: the caller may load, but
	// must not store. The cache is full, another live key has the same hash, or an
	// open transaction holds the row.
	Unleased
)

var leaseStates = [...]string{
	NoClaim: "none", Hit: "hit", Stale: "stale", Won: "won", Lost: "lost", KnownAbsent: "absent", Unleased: "unleased",
}

// String returns the state as the doors name it.
func (s LeaseState) String() string { return leaseStates[s] }

// Claim is what a claim answers beside the entry.
type Claim struct {
	State LeaseState
	// Won says that the caller holds the lease now, and is to load: in the states
	// Won and Stale. The token of the lease is the version of the entry.
	Won bool
	// Left is what remains of the lease, of the caller or of somebody else, or of
	// the time for which the key is known to be absent; 0: there is no lease. A
	// live value has one while somebody loads a new one early.
	Left time.Duration
	// Snapshot is what the claim saw, if a lease was won: a fulfil with tags takes it.
	// It is opaque but for SplitSnapshot.
	Snapshot string
	// Expired is how long ago a stale value expired.
	Expired time.Duration
}
