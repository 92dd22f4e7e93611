package stat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

func sample(t *testing.T, conn *pgx.Conn, cache string) *stat.Sampling {
	t.Helper()
	s, err := stat.SampleCache(t.Context(), conn, cache, 0)
	require.NoError(t, err)
	return s
}

// A small cache is read as a whole, and every figure is exact.
func TestSampleOfASmallCache(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn,
		"SELECT howdah.set_text('db0', 'user:' || i || ':name', repeat('x', 100)) FROM generate_series(1, 30) AS i",
		"SELECT howdah.set_text('db0', 'user:' || i || ':mail', repeat('x', 10), '30 min') FROM generate_series(1, 20) AS i",
		"SELECT howdah.set_text('db0', 'page/home/' || i, repeat('x', 2000), '30 s') FROM generate_series(1, 10) AS i",
		"SELECT howdah.set_text('db0', 'plain', 'x')",
		"SELECT howdah.set_text('db0', 'gone:' || i, 'x', '1 us') FROM generate_series(1, 7) AS i")
	s := sample(t, conn, "db0")
	require.True(t, s.Exact)
	require.Len(t, s.Entries, 61)

	d := s.Distribution()
	require.True(t, d.Exact)
	require.EqualValues(t, 61, d.Entries)
	require.EqualValues(t, 7, d.Expired)
	require.EqualValues(t, 61, d.Looked)
	require.Equal(t, []stat.Kind{{Kind: "string", Entries: 61, Bytes: d.Bytes}}, d.Kinds)
	entries := func(buckets []stat.Bucket) (all []int64) {
		for _, b := range buckets {
			all = append(all, b.Entries)
		}
		return all
	}
	require.Equal(t, []int64{10, 0, 20, 0, 0, 0, 0, 0, 31}, entries(d.TTL))
	require.Nil(t, d.TTL[8].UpTo)
	require.Equal(t, []int64{21, 30, 0, 10, 0, 0, 0, 0, 0}, entries(d.Size))
	require.EqualValues(t, 61, d.Idle[0].Entries, "all were written now")
	require.WithinDuration(t, s.At, *d.NewestWrite, time.Minute)
	require.False(t, d.OldestWrite.After(*d.NewestWrite))
	require.WithinDuration(t, s.At.Add(30*time.Second), *d.NextExpiry, time.Minute)
	require.WithinDuration(t, s.At.Add(30*time.Minute), *d.LastExpiry, time.Minute)

	top := s.Level(nil, 0)
	require.Equal(t, 61, top.All.Looked)
	require.Len(t, top.Groups, 2)
	require.Equal(t, "page/", string(top.Groups[0].Prefix), "the most bytes first")
	require.Equal(t, stat.Group{Prefix: stat.Text("user:"), Looked: 50, Entries: 50, Bytes: top.Groups[1].Bytes, Forever: 30}, top.Groups[1])
	require.EqualValues(t, 1, top.Keys.Entries)
	require.Equal(t, top.All.Bytes, top.Groups[0].Bytes+top.Groups[1].Bytes+top.Keys.Bytes)
	require.Equal(t, d.Bytes, top.All.Bytes)

	below := s.Level([]byte("user:"), 10)
	require.Equal(t, 50, below.All.Looked)
	require.Len(t, below.Groups, 10)
	require.Equal(t, 30, below.Others.Looked, "20 users of two entries and 10 of one; ten of the former are listed")
	require.Equal(t, "user:10:", string(below.Groups[0].Prefix))
	require.Zero(t, s.Level([]byte("nobody:"), 0).All.Looked)
	for text, want := range map[string]stat.Text{`"a\u003c:"`: stat.Text("a<:"), `{"base64":"/w=="}`: {0xff}, `""`: {}, "null": nil} {
		shown, err := json.Marshal(want)
		require.NoError(t, err)
		require.Equal(t, text, string(shown))
	}

	require.Equal(t, "page/home/10", string(s.Top(stat.BySize, 3)[0].Key))
	require.True(t, s.Top(stat.ByTTL, 1)[0].ExpiresAt.IsZero(), "no TTL at all is the longest")
	require.Len(t, s.Top(stat.ByIdle, 1000), 61)

	_, err := stat.SampleCache(t.Context(), conn, "none", 0)
	require.ErrorIs(t, err, fault.ErrCacheNotFound)
}

// Of a large cache a bounded part is read, and the estimates come close.
func TestSampleOfALargeCache(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	const all = 60_000
	run(t, conn, fmt.Sprintf("SELECT howdah.set_many_text('db0', array_agg('p' || i %% 4 || ':' || i), array_agg(repeat('x', 100)))"+
		" FROM generate_series(1, %d) AS i GROUP BY i / 1000", all))
	table := pgtest.Table(t, conn, "db0")
	require.Eventually(t, func() bool { // PostgreSQL's count arrives late, in 14 after that of ANALYZE
		var live int
		run(t, conn, "ANALYZE "+table)
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_stat_get_live_tuples('"+table+"'::regclass)").Scan(&live))
		return live == all
	}, time.Minute, 10*time.Millisecond)
	s := sample(t, conn, "db0")
	require.False(t, s.Exact)
	require.LessOrEqual(t, s.Rows, stat.MaxSampled)
	require.Greater(t, s.Rows, stat.MaxSampled/2)
	d := s.Distribution()
	require.InEpsilon(t, all, d.Entries, 0.05)
	level := s.Level(nil, 0)
	require.Len(t, level.Groups, 4)
	for _, group := range level.Groups {
		require.InEpsilon(t, all/4, group.Entries, 0.25, "%s", group.Prefix)
	}
	few, err := stat.SampleCache(t.Context(), conn, "db0", 500)
	require.NoError(t, err)
	require.LessOrEqual(t, few.Rows, 500)
	require.False(t, few.Exact)
}

// The statement reads the blocks that it samples, and never the table.
func TestSamplePlan(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	table := pgtest.Table(t, conn, "db0")
	query := strings.ReplaceAll(schema.Query("stat_entries"), "{table}", table)
	rows, err := conn.Query(t.Context(), "EXPLAIN "+query, 1.0, 512, 10)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	plan := strings.Join(lines, "\n")
	require.Contains(t, plan, "Limit")
	require.Contains(t, plan, "Sample Scan on "+strings.TrimPrefix(table, "howdah_internal."))
	require.NotContains(t, plan, "Seq Scan")
	require.NotContains(t, plan, "Sort")

	rows, err = conn.Query(t.Context(), "EXPLAIN "+schema.Query("stat_cache"), "db0")
	require.NoError(t, err)
	lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotContains(t, strings.Join(lines, "\n"), table, "it opens no table of a cache")
}

// Somebody who alters the table keeps a sample from being taken, but for a moment only.
func TestSampleOfALockedTable(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	conn, other := connect(t, databaseURL), connect(t, databaseURL)
	run(t, other, "BEGIN", "LOCK TABLE "+pgtest.Table(t, other, "db0"))
	_, err := stat.SampleCache(t.Context(), conn, "db0", 0)
	require.Equal(t, "55P03", fault.State(err))
	run(t, other, "ROLLBACK")
	require.True(t, sample(t, conn, "db0").Exact)
	require.NoError(t, conn.Ping(context.Background()))
}
