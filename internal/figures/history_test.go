package figures

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/test/bubble"
)

// TestCountsAfterANewCache: a cache that was made since the last reading has no counts of
// then, which may be added before those of others.
func TestCountsAfterANewCache(t *testing.T) {
	t.Parallel()
	older := counts{calls: 7, latency: engine.Histogram{Bounds: []float64{0.001}, Counts: []uint64{5, 2}}}
	var all counts
	all.add(counts{})
	all.add(older)
	all.add(counts{})
	all.add(older)
	require.Equal(t, counts{calls: 14, latency: engine.Histogram{Bounds: []float64{0.001}, Counts: []uint64{10, 4}}}, all)
}

// What is older than five minutes is forgotten, and a point says whether somebody looked up to
// it without a break.
func TestHistoryIsOfTheLastMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observer{}
		add := func(seconds float64) {
			o.points = append(recent(o.points, time.Now()), Point{At: time.Now(), Seconds: seconds})
		}
		for range 3 {
			add(2)
			bubble.Pass(2 * time.Second)
		}
		points := o.history(time.Now())
		require.Len(t, points, 3)
		require.False(t, points[2].Begins(&points[1]))
		bubble.Pass(2 * time.Minute)
		add(2)
		points = o.history(time.Now())
		require.Len(t, points, 4)
		require.True(t, points[3].Begins(&points[2]))
		bubble.Pass(historySpan - time.Minute)
		require.Len(t, o.history(time.Now()), 1)
		bubble.Pass(2 * time.Minute)
		require.Empty(t, o.history(time.Now()))
	})
}
