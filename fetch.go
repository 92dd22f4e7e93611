package howdah

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/core"
)

// FetchOptions tune Fetch and FetchMany. Every field may be left out.
// docs/fetch.md says when each of them helps.
type FetchOptions struct {
	// Stale is how long an expired value is still served while one caller loads a
	// new one in the background. Whole seconds, rounded up. Default: not at all.
	Stale time.Duration

	// StaleIfError is how long an expired value is still served if load fails.
	// Whole seconds, rounded up. Default: not at all.
	StaleIfError time.Duration

	// Early is how eagerly a value is loaded anew before it expires, in the
	// background, by one of the callers who read it (beta of XFetch). At the
	// default of 1 that happens about as long before its end as a load takes.
	// Negative: never.
	Early float64

	// Lease is how long other callers wait for one load, before one of them
	// loads. Default 10 s. A load that takes longer is not stored if another
	// one was.
	Lease time.Duration

	// Timeout bounds load: its context ends then, and those who wait get
	// ErrTimeout even if load does not return. Default: Lease.
	Timeout time.Duration

	// Absent is how long it is remembered that load returned ErrMiss, or left a
	// key out. Default: it is not.
	Absent time.Duration

	// Tags are those of the entry that is stored.
	Tags []string

	// Local says not to wait for loads of other processes: where one has the
	// lease, the value is loaded here too, and not stored. Default: wait.
	Local bool
}

// Fetch returns the value of a key. If there is none, load makes it, and it is
// stored with a TTL. However many callers in however many processes ask for it
// meanwhile, one loads, and the others wait for its value.
//
// A Fetch that begins after a change of the key was acknowledged (Delete, Set,
// the commit of a transaction with either) returns no value that was loaded before
// that change, and never stores one: an invalidation also voids the loads that are
// under way. Where Options.Near is on, a value may come from the memory of this
// process, as that of Get. The slice is the caller's.
//
// load returns ErrMiss if there is no value, and so does Fetch then. Other errors
// of load are returned as they are, to all who wait for it in this process. load
// runs on a goroutine of its own. Its context has the values of ctx, but does not
// end with it: a caller that leaves does not end the load for others. What load
// returns must not be changed afterwards. DB.Close waits until load returns, or
// its Timeout is over.
//
// A load costs two statements, one before it and one after. If PostgreSQL does
// not answer, the value is loaded and not stored; nor is one that is too large, or
// for which a full cache has no room.
//
// Errors: those of load, one with the stack if load panics, ErrMiss,
// ErrTimeout, ErrInvalidTTL for a negative time, ErrCacheNotFound, ErrPermission,
// ErrKeyTooLong, ErrClosed, and one for a cache that is bound to a transaction.
func (c *Cache) Fetch(ctx context.Context, key string, ttl time.Duration, load func(ctx context.Context) ([]byte, error), o FetchOptions) ([]byte, error) {
	return c.core().Fetch(ctx, key, ttl, load, core.FetchOptions(o))
}

// FetchMany is Fetch for many keys. load is called once, for all keys that have no
// value and that nobody loads yet, in no order; a key that it leaves out has no
// value. Later, load may be called for one key, if another caller's load of it
// brought nothing. What has no value is not in the map. If a key fails, the map
// holds the values of the others, and the error is that of one that failed.
func (c *Cache) FetchMany(ctx context.Context, keys []string, ttl time.Duration, load func(ctx context.Context, missing []string) (map[string][]byte, error), o FetchOptions) (map[string][]byte, error) {
	return c.core().FetchMany(ctx, keys, ttl, load, core.FetchOptions(o))
}
