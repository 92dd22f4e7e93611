package stat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// The figures of a cache are those of all its partitions.
func TestReadPartitions(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Divided(t, 8))
	run(t, conn, "SELECT howdah.create_cache('c', max_entries => 800, durability => 'async')",
		"SELECT howdah.set_text('c', 'k' || i, repeat('x', 100)) FROM generate_series(1, 360) AS i",
		"SELECT howdah.set_text('c', 'e' || i, 'x', '1 us') FROM generate_series(1, 120) AS i")
	before, err := stat.Read(t.Context(), conn)
	require.NoError(t, err)
	require.Len(t, before.Tables, 3)
	c := row(stat.Compare(nil, before, nil), "c")
	require.True(t, c.Exact)
	require.EqualValues(t, 360, c.Entries)
	require.EqualValues(t, 120, *c.Expired)
	require.EqualValues(t, 800, c.MaxEntries)
	require.Equal(t, 0.45, *c.Used)
	require.Equal(t, "async", c.Class)
	require.Equal(t, 8, c.Partitions.Number)
	require.Positive(t, c.Partitions.Smallest)
	require.Less(t, c.Partitions.Largest, int64(120), "45 on average")
	require.LessOrEqual(t, 8*c.Partitions.Smallest, int64(360))
	require.GreaterOrEqual(t, 8*c.Partitions.Largest, int64(360))
	require.InDelta(t, 360*(360*203+120*104)/480, *c.Bytes, 1000, "entries are as large as rows on average")
	require.Greater(t, c.TableBytes, int64(8*8000))

	run(t, conn, "SELECT howdah.maintain(max_time => '1 min')")
	var r *stat.Report
	require.Eventually(t, func() bool {
		now, err := stat.Read(t.Context(), conn)
		require.NoError(t, err)
		r = stat.Compare(before, now, nil)
		found := row(r, "c")
		return found.Gone != nil && *found.Gone > 0
	}, time.Minute, 10*time.Millisecond)
	require.Zero(t, *row(r, "c").Expired)
	require.NotNil(t, r.Upkeep.LastRound)
	require.Contains(t, r.Text(0, 0), "PARTITIONS")
}

// A cache that is too large to be read as a whole is estimated from all partitions.
func TestReadLargePartitions(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Divided(t, 8))
	const all = 20_000
	run(t, conn, "SELECT howdah.set_many_text('db0', array_agg('p' || i % 4 || ':' || i), array_agg(repeat('x', 400)))"+
		" FROM generate_series(1, 20000) AS i GROUP BY i / 1000")
	require.Eventually(t, func() bool {
		run(t, conn, "ANALYZE")
		now, err := stat.Read(t.Context(), conn)
		require.NoError(t, err)
		db0 := row(stat.Compare(nil, now, nil), "db0")
		return !db0.Exact && db0.Entries == all && *db0.Bytes > all*500 && *db0.Bytes < all*520 && db0.Partitions.Smallest > all/16
	}, time.Minute, 10*time.Millisecond)

	s := sample(t, conn, "db0")
	require.False(t, s.Exact)
	require.InEpsilon(t, all, s.Distribution().Entries, 0.05)
	level := s.Level(nil, 0)
	require.Len(t, level.Groups, 4)
	for _, group := range level.Groups {
		require.InEpsilon(t, all/4, group.Entries, 0.25, "%s", group.Prefix)
	}
	few, err := stat.SampleCache(t.Context(), conn, "db0", 500)
	require.NoError(t, err)
	require.LessOrEqual(t, few.Rows, 500)
}

// A small one is read from all partitions, and nothing is estimated.
func TestSamplePartitions(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Divided(t, 8))
	run(t, conn, "SELECT howdah.set_text('db0', 'user:' || i, 'x') FROM generate_series(1, 100) AS i")
	s := sample(t, conn, "db0")
	require.True(t, s.Exact)
	require.Len(t, s.Entries, 100)
	require.EqualValues(t, 100, s.Distribution().Entries)
	_, err := stat.SampleCache(t.Context(), conn, "db0/00", 0)
	require.Error(t, err)
}
