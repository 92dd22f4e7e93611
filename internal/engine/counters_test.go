package engine

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A latency is counted in the first bucket whose bound it does not exceed.
func TestLatencyBucket(t *testing.T) {
	t.Parallel()
	bounds := Latencies().Bounds
	require.Equal(t, 1./32768, bounds[0])
	require.Equal(t, 32., bounds[len(bounds)-1])
	check := func(nanoseconds int64) {
		want, _ := slices.BinarySearch(bounds, float64(nanoseconds)/1e9)
		require.Equal(t, want, latencyBucket(nanoseconds), "%d ns", nanoseconds)
	}
	for _, bound := range bounds {
		nanoseconds := int64(math.Floor(bound * 1e9))
		for near := nanoseconds - 2; near <= nanoseconds+2; near++ {
			check(near)
		}
	}
	for _, nanoseconds := range []int64{0, 1, 100, 999_999, int64(time.Minute), int64(24 * time.Hour)} {
		check(nanoseconds)
	}
}
