package verb

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
)

// A TTL is rounded up to a microsecond, PostgreSQL's unit: one of a nanosecond is
// not zero, which would mean the cache's default or that the entry has expired.
func TestTTLsAreRoundedUp(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]int64{
		1:                           1,
		time.Microsecond:            1,
		time.Microsecond + 1:        2,
		time.Second:                 1_000_000,
		math.MaxInt64 - 1:           math.MaxInt64/1000 + 1,
		-time.Microsecond:           -1,
		-time.Microsecond - 1:       -1,
		1500 * time.Nanosecond:      2,
		time.Hour + time.Nanosecond: 3_600_000_001,
	} {
		require.Equal(t, Expiry{Kind: In, Value: want}, ExpireIn(ttl), ttl)
	}
	require.Equal(t, Expiry{}, ExpireIn(0), "the cache's default")
	require.Equal(t, ExpireNever(), ExpireIn(NoExpiry))
	_, err := TTL(-1)
	require.ErrorIs(t, err, fault.ErrInvalidTTL)
}
