package contract

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Stats say what memory did, and what bounds it.
func TestStatsOfMemory(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := dbtest.OpenNear(t, url)
	cache := db.Cache("near")
	require.NoError(t, cache.Set(t.Context(), "k", []byte("v"), 0))
	dbtest.Warm(t, cache, "k")
	dbtest.Warm(t, cache, "absent")
	s := db.Stats().Near
	require.Equal(t, dbtest.NearBound, s.Bound)
	require.EqualValues(t, 64<<20, s.MaxBytes)
	require.Positive(t, s.Bytes)
	require.GreaterOrEqual(t, s.Hits, uint64(2))
	require.Positive(t, s.AbsentHits)
	require.Less(t, s.AbsentHits, s.Hits)
	require.Positive(t, s.Misses)
	require.GreaterOrEqual(t, s.Fills, uint64(2))
	require.Positive(t, s.Polls)
	require.EqualValues(t, 1, s.Drops.First)
	require.LessOrEqual(t, s.MaxAge, s.Bound)
	require.Equal(t, s.Hits, s.Ages.Count)
	require.Len(t, s.Ages.Counts, len(s.Ages.Bounds)+1)
	require.Zero(t, s.Ages.Counts[len(s.Ages.Bounds)], "no hit is older than the bound")
	require.Equal(t, dbtest.NearBound.Seconds(), s.Ages.Bounds[len(s.Ages.Bounds)-1])
	dbtest.Eventually(t, "no poll comes while the figures are read", func() bool {
		s = db.Stats().Near
		return s.Polls == s.PollLatency.Count
	})
	require.Len(t, s.PollLatency.Counts, len(s.PollLatency.Bounds)+1)
	require.Positive(t, s.PollLatency.Sum)

	plain := dbtest.Open(t, url, nil)
	require.Equal(t, howdah.NearStats{}, plain.Stats().Near)
}
