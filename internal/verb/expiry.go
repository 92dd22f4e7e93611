package verb

import (
	"fmt"
	"math"
	"time"

	"github.com/howdah/howdah/internal/fault"
)

// NoExpiry as a TTL stores an entry that does not expire, unless the cache has a
// maximum TTL, which then applies.
const NoExpiry time.Duration = math.MaxInt64

// Expiry says when an entry expires. The zero value is the cache's default TTL.
type Expiry struct {
	Kind  ExpiryKind
	Value int64 // microseconds: a duration, or since the Unix epoch
}

// ExpiryKind says how Expiry.Value is read.
type ExpiryKind uint8

// The kinds of an Expiry.
const (
	Default ExpiryKind = iota // the cache's default TTL
	Never                     // no TTL
	In                        // a duration from now
	At                        // an instant
	Keep                      // as the entry that is overwritten
)

// ExpireIn is a TTL from now, by the database's clock: 0 is the cache's
// default, NoExpiry none.
func ExpireIn(ttl time.Duration) Expiry {
	switch ttl {
	case 0:
		return Expiry{}
	case NoExpiry:
		return Expiry{Kind: Never}
	}
	return Expiry{Kind: In, Value: ceilMicroseconds(ttl)}
}

// TTL is ExpireIn for a TTL that an application gave. Error: ErrInvalidTTL for
// a negative one.
func TTL(ttl time.Duration) (Expiry, error) {
	if ttl < 0 {
		return Expiry{}, fmt.Errorf("%w: %v is negative; use 0 for the cache's default or NoExpiry", fault.ErrInvalidTTL, ttl)
	}
	return ExpireIn(ttl), nil
}

// ExpireAt is an instant; the database's clock decides when it has come.
func ExpireAt(t time.Time) Expiry { return Expiry{Kind: At, Value: t.UnixMicro()} }

// maxInstant is the latest expiry that is stored, in milliseconds since 1970: the year
// 287396. PostgreSQL's timestamps end soon after it.
const maxInstant = 1 << 53

// ExpireAtMilli is ExpireAt for milliseconds since 1970. What is before that or later than
// PostgreSQL can store is the nearest instant that is not.
func ExpireAtMilli(ms int64) Expiry { return ExpireAt(time.UnixMilli(min(max(ms, 0), maxInstant))) }

// ExpireNever stores without a TTL, or takes one away (PERSIST).
func ExpireNever() Expiry { return Expiry{Kind: Never} }

// KeepExpiry keeps the expiry of the entry that is overwritten (KEEPTTL); a
// new entry gets the cache's default.
func KeepExpiry() Expiry { return Expiry{Kind: Keep} }

// ceilMicroseconds rounds up, so that a TTL of a nanosecond is not zero.
func ceilMicroseconds(d time.Duration) int64 {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	return us
}
