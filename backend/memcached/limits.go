package memcached

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend/internal/remote"
)

// maxRelative is the longest TTL that the protocol counts from now; a larger
// number is a Unix time. See "Expiration times" in Memcached's protocol.txt.
const maxRelative = 30 * 24 * time.Hour

// LatestExpiry is the last second that the protocol's 32 bits can name, in
// January 2038.
func LatestExpiry() time.Time { return time.Unix(math.MaxInt32, 0).UTC() }

// expirationAt is the protocol's number for a TTL.
func expirationAt(now time.Time, ttl time.Duration) (int32, error) {
	switch {
	case ttl < 0:
		return 0, fmt.Errorf("%w: %v is negative; use 0 for the default or howdah.NoExpiry", howdah.ErrInvalidTTL, ttl)
	case ttl == howdah.NoExpiry:
		return 0, nil
	case ttl <= maxRelative:
		return int32((ttl + time.Second - 1) / time.Second), nil
	}
	at := now.Add(ttl)
	if at.After(LatestExpiry()) {
		return 0, fmt.Errorf("%w: Memcached cannot name a time after %s; use a shorter TTL or howdah.NoExpiry",
			howdah.ErrInvalidTTL, LatestExpiry().Format(time.DateOnly))
	}
	seconds := at.Unix()
	if at.Nanosecond() > 0 && seconds < math.MaxInt32 {
		seconds++
	}
	return int32(seconds), nil
}

// checkKey refuses what the text protocol cannot carry: keys end at a space,
// requests at a line break.
func checkKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: it is empty; Memcached needs at least one byte", ErrUnsupportedKey)
	}
	if len(key) > MaxKeyBytes {
		return fmt.Errorf("%w: %w: %d bytes, Memcached takes at most %d", ErrUnsupportedKey, howdah.ErrKeyTooLong, len(key), MaxKeyBytes)
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] == 0x7f {
			return fmt.Errorf("%w: byte %d is %#02x; Memcached's keys hold no space and no control character", ErrUnsupportedKey, i, key[i])
		}
	}
	return nil
}

func failure(direction remote.Direction, err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, new(*memcache.ConnectTimeoutError)), errors.Is(err, memcache.ErrNoServers):
		return fmt.Errorf("%w: memcached: %w", howdah.ErrUnavailable, err)
	case strings.Contains(err.Error(), "object too large for cache"):
		return fmt.Errorf("%w: the server's item limit (-I) is below this store's MaxValueBytes: %w", howdah.ErrValueTooLarge, err)
	case strings.Contains(err.Error(), "out of memory storing object"):
		return fmt.Errorf("%w: memcached: %w", howdah.ErrCacheFull, err)
	}
	return remote.Failure("memcached", direction, err)
}
