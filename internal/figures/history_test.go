package figures

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/engine"
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
