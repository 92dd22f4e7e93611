package stat

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// twoLooks are a busy cache with a budget, an idle one, and the sessions.
func twoLooks() (before, now *Snapshot) {
	vacuumed, round := noon.Add(-40*time.Second), noon.Add(-300*time.Millisecond)
	pages := Table{
		Name: "pages", Relation: "howdah.cache_pages", Class: "unlogged", Eviction: "allkeys-lru", MaxBytes: 1 << 30,
		TableBytes: 800 << 20, IndexBytes: 40 << 20,
		Scans: 10_000, Fetched: 8_000, Inserted: 1_000, Updated: 2_000, HOT: 1_500, Deleted: 900,
		Live: 1_200_000, Dead: 34_567, Vacuumed: &vacuumed, LastRound: &round,
		BlocksHit: 1000, Expired: 50, Evicted: 100,
		Sample: &Sample{Rows: 1000, Live: 900, Gone: 100, RowBytes: 500},
	}
	later := pages
	later.Scans += 40_000 + 2_000 + 4_000 // reads, inserts, updates
	later.Fetched += 30_000 + 4_000
	later.Inserted += 2_000
	later.Updated += 4_000
	later.HOT += 3_000
	later.Deleted += 500
	later.Expired += 200
	later.Evicted += 300
	later.BlocksHit += 990
	later.BlocksRead += 10
	small := Table{Name: "small", Relation: "howdah.cache_small", Class: "sync", Eviction: "noeviction", MaxEntries: 10, Full: true,
		Live: 99, Sample: &Sample{Whole: true, Rows: 12, Live: 10, Gone: 2, RowBytes: 100}}
	sessions := Table{Name: "sessions", Sessions: true, Relation: "howdah.session", Class: "logged", Live: 7}
	before = &Snapshot{At: noon.Add(-2 * time.Second), Number: 150000, Tables: []Table{pages, small, sessions}}
	now = &Snapshot{
		At: noon, Number: 150000, Database: "app", Role: "howdah\x1b[2J", Server: "15.18", Tables: []Table{later, small, sessions},
		Leader: Leader{"ABCDEFGHIJ", noon.Add(time.Second)}, Resets: 2, Since: noon.Add(-time.Hour),
		Oldest: &Holder{Who: "session 7 (psql)", Age: 12_345, Seconds: 600}, Hidden: []string{"rows of howdah.session"},
	}
	return before, now
}

func TestCompare(t *testing.T) {
	t.Parallel()
	before, now := twoLooks()
	r := Compare(before, now, nil)
	require.Equal(t, 2.0, r.Seconds)
	require.Equal(t, "ABCDEFGHIJ", r.Upkeep.Leader)
	pages := r.Tables[0]
	require.EqualValues(t, 1_080_000, pages.Entries, "a tenth of the sample has expired")
	require.EqualValues(t, 120_000, *pages.Expired)
	require.EqualValues(t, 540_000_000, *pages.Bytes)
	require.Equal(t, 0.503, *pages.Used)
	require.Equal(t, 15_000.0, *pages.Reads)
	require.Equal(t, 3_000.0, *pages.Writes)
	require.Equal(t, 0.0, *pages.Deletes, "upkeep deleted these")
	require.Equal(t, 100.0, *pages.Gone)
	require.Equal(t, 150.0, *pages.Evicted)
	require.Equal(t, 0.75, *pages.Hit)
	require.Equal(t, 0.75, *pages.HOT)
	require.Equal(t, 0.99, *pages.Memory)

	small := r.Tables[1]
	require.True(t, small.Exact)
	require.EqualValues(t, 10, small.Entries)
	require.Equal(t, 1.0, *small.Used)
	require.Nil(t, small.Hit)
	require.Nil(t, r.Tables[2].Bytes)
	require.Nil(t, r.Tables[2].Expired, "not looked at is not none")

	// PostgreSQL 17 cannot tell what was missed; servers can.
	before.Number, now.Number = 170000, 170000
	require.Nil(t, Compare(before, now, nil).Tables[0].Hit)
	require.Equal(t, 0.5, *Compare(before, now, map[string]float64{"pages": 0.5}).Tables[0].Hit)

	// No rates from one look, from reset statistics, of a cache that is new.
	require.Nil(t, Compare(nil, now, nil).Tables[0].Reads)
	require.Nil(t, Compare(now, before, nil).Tables[0].Reads)
	now.Tables[0].Fetched = 0
	require.Nil(t, Compare(before, now, nil).Tables[0].Writes)
	now.Tables[0].Relation = "howdah.cache_other"
	require.Nil(t, Compare(before, now, nil).Tables[0].Reads)

	// A lease that ran out leads nobody.
	now.Leader.Until = noon.Add(-time.Second)
	require.Empty(t, Compare(before, now, nil).Upkeep.Leader)

	// What upkeep estimated goes before a sample, but not before a count.
	kept, bytes := int64(5), int64(50)
	now.Tables[0].Kept, now.Tables[0].KeptBytes = &kept, &bytes
	now.Tables[1].Kept, now.Tables[1].KeptBytes = &kept, &bytes
	r = Compare(before, now, nil)
	require.EqualValues(t, 5, r.Tables[0].Entries)
	require.EqualValues(t, 10, r.Tables[1].Entries)
}

func TestText(t *testing.T) {
	t.Parallel()
	before, now := twoLooks()
	r := Compare(before, now, nil)
	const at80 = `app, PostgreSQL 15.18, as howdah?[2J, 12:00:00 UTC
upkeep   led by ABCDEF, last round 0.3s ago
crashes  2 resets of unlogged caches, the last 60m ago
oldest   12.3k transactions old, 10m: session 7 (psql) (other roles' are hidden~
hidden   rows of howdah.session`
	text := r.Text(80, 24)
	lines := strings.Split(text, "\n")
	require.Equal(t, strings.Split(at80, "\n"), lines[:5])
	for _, width := range []int{40, 60, 80, 100, 120, 200} {
		for line := range strings.Lines(r.Text(width, 0)) {
			require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), width, line)
		}
	}
	for title, shown := range map[string]bool{"ENTRIES": true, "USED": true, "READ/s": true, "HIT": true, "WRITE/s": true, "DEAD": true, "SIZE": true, "POLICY": false} {
		require.Equal(t, shown, strings.Contains(lines[6], title), lines[6])
	}
	require.Regexp(t, `(?m)^pages +1\.08M +50% +15\.0k +75% +3\.00k`, text)
	require.Contains(t, text, "FULL")
	require.Contains(t, r.Text(0, 0), "allkeys-lru")
	require.Contains(t, r.Text(0, 0), "[sessions]")
	require.NotContains(t, text, "\x1b")

	// A low window shows what fits, and says so.
	low := r.Text(80, 9)
	require.Equal(t, 9, strings.Count(low, "\n"))
	require.Contains(t, low, "... 2 more")
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{0: "0", 999: "999", 999.6: "1.00k", 1234: "1.23k", 12_345: "12.3k", 123_456: "123k", 99_950: "100k", 9_999: "10.0k", 1e9: "1.00G"} {
		require.Equal(t, want, short(n))
	}
	for n, want := range map[int64]string{0: "0K", 1 << 20: "1.0M", 700 << 20: "700M", 5 << 30: "5.0G", 1023 << 10: "1.0M"} {
		require.Equal(t, want, sizeText(&n))
	}
	for d, want := range map[time.Duration]string{-1: "0.0s", 1500 * time.Millisecond: "1.5s", time.Minute: "60s", time.Hour: "60m", 36 * time.Hour: "36h", 72 * time.Hour: "3d"} {
		require.Equal(t, want, age(d))
	}
}

func TestHits(t *testing.T) {
	t.Parallel()
	h, err := parseHits(strings.NewReader(`# HELP howdah_keys_total x
howdah_keys_total{cache="a",op="read",result="hit"} 4e1
howdah_keys_total{cache="a",op="write",result="hit"} 1000
howdah_keys_total{cache="a",op="read",result="miss"} 10
howdah_keys_total{cache="b",op="read",result="miss"} 7
howdah_near_hits_total{found="value"} 50
howdah_near_hits_total{found="absent"} 10
howdah_near_misses_total{reason="absent"} 15
howdah_near_misses_total{reason="lapsed"} 5
howdah_near_fills_total 12
`))
	require.NoError(t, err)
	require.Equal(t, Hits{"a": {40, 10}, "b": {0, 7}, nearHits: {60, 20}}, h)
	require.Equal(t, map[string]float64{"a": 0.8, "b": 0, nearHits: 0.75}, HitShares(nil, []Hits{h}))
	require.Equal(t, map[string]float64{"a": 0.5}, HitShares([]Hits{{"a": {30, 0}, "b": {0, 7}, nearHits: {60, 20}}}, []Hits{h}))
	require.Equal(t, map[string]float64{"a": 0.8, "b": 0, nearHits: 0.75}, HitShares([]Hits{{"a": {300, 10}}}, []Hits{h}), "the server was started again")
	report := Compare(nil, new(Snapshot), HitShares(nil, []Hits{h}))
	require.Contains(t, report.Text(0, 0), "memory   answered 75% of the reads that it may answer\n")
	require.NotContains(t, Compare(nil, new(Snapshot), nil).Text(0, 0), "memory")
	_, err = parseHits(strings.NewReader(`howdah_keys_total{cache="a",op="read",result="hit"} x`))
	require.Error(t, err)
}
