package memcached

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
)

func TestExpiration(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 500_000_000)
	for _, test := range []struct {
		ttl  time.Duration
		want int32
	}{
		{howdah.NoExpiry, 0},
		{1, 1},
		{time.Second, 1},
		{time.Second + 1, 2},
		{maxRelative, 30 * 24 * 3600},
		{maxRelative + 1, 1_800_000_000 + 30*24*3600 + 1}, // 0.5 s past a second: rounded up
		{maxRelative + 500*time.Millisecond, 1_800_000_000 + 30*24*3600 + 1},
		{maxRelative + 501*time.Millisecond, 1_800_000_000 + 30*24*3600 + 2},
		{LatestExpiry().Sub(now), math.MaxInt32},
	} {
		got, err := expirationAt(now, test.ttl)
		require.NoError(t, err, test.ttl)
		require.Equal(t, test.want, got, test.ttl)
	}
	for _, ttl := range []time.Duration{-1, math.MinInt64, LatestExpiry().Sub(now) + 1, math.MaxInt64 - 1} {
		_, err := expirationAt(now, ttl)
		require.ErrorIs(t, err, howdah.ErrInvalidTTL, ttl)
	}
}

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"k", strings.Repeat("k", MaxKeyBytes), "käse", "\x80\xff", "!~"} {
		require.NoError(t, checkKey(key), "%q", key)
	}
	for _, key := range []string{"", " ", "a b", "a\n", "\x00", "\x7f", "a\r\nset x 0 0 1\r\n"} {
		require.ErrorIs(t, checkKey(key), ErrUnsupportedKey, "%q", key)
	}
	err := checkKey(strings.Repeat("k", MaxKeyBytes+1))
	require.ErrorIs(t, err, ErrUnsupportedKey)
	require.ErrorIs(t, err, howdah.ErrKeyTooLong)
}

func TestSplitURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][]string{
		"memcached://a":                     {"a:11211"},
		"memcached://a/":                    {"a:11211"},
		"memcached://a:1,b,c:3?timeout=1s":  {"a:1", "b:11211", "c:3"},
		"memcached://[::1]:7,[::2],1.2.3.4": {"[::1]:7", "[::2]:11211", "1.2.3.4:11211"},
	} {
		servers, _, err := splitURL(url)
		require.NoError(t, err, url)
		require.Equal(t, want, servers, url)
	}
	for _, url := range []string{
		"", "memcached:", "memcached://", "memcached://?timeout=1s", "memcached://a,,b", "memcached://:11211",
		"memcached://user:secret@a", "memcached://a/db", "memcached://a?%zz", "redis://a",
	} {
		_, _, err := splitURL(url)
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestOpenRefusesParameters(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"default_ttl=10", "default_ttl=-1s", "timeout=x", "max_value_bytes=0", "max_idle_conns=x", "unknown=1"} {
		_, err := Open(t.Context(), "memcached://127.0.0.1:1?"+query)
		require.ErrorContains(t, err, strings.SplitN(query, "=", 2)[0])
	}
}
