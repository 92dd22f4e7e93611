package stat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Rows are put into the order that is asked for; what is not known comes last.
func TestSort(t *testing.T) {
	t.Parallel()
	some := func(f float64) *float64 { return &f }
	report := func() *Report {
		return &Report{Tables: []Row{
			{Name: "a", Reads: some(1), Hit: some(0.9), Entries: 5},
			{Name: "b", Reads: some(3), Hit: some(0.2), Entries: 5, TableBytes: 10},
			{Name: "c", IndexBytes: 20, Used: some(0.5), Dead: 4},
			{Name: "sessions", Sessions: true, Reads: some(2), Writes: some(1), Deletes: some(1)},
		}}
	}
	for by, want := range map[string]string{
		"reads": "bsac", "writes": "sabc", "deletes": "sabc", "hit": "bacs", "entries": "abcs", "bytes": "cbas",
		"dead": "cabs", "used": "cabs", "name": "abcs", "": "abcs",
	} {
		r := report()
		r.Sort(by)
		got := ""
		for _, row := range r.Tables {
			got += row.Name[:1]
		}
		require.Equal(t, want, got, by)
	}
	require.Len(t, Sorts(), 9)
}

// sampled is a sample of 4 of about 400 entries, one of which has expired.
func sampled() *Sampling {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	entry := func(key string, bytes int, ttl, idle time.Duration) Sampled {
		e := Sampled{Key: []byte(key), KeyBytes: len(key), Bytes: bytes, Written: now.Add(-idle), Used: now.Add(-idle)}
		if ttl > 0 {
			e.ExpiresAt = now.Add(ttl)
		}
		return e
	}
	return &Sampling{Cache: "c", At: now, Rows: 4, total: 400, Entries: []Sampled{
		entry("user:1:a", 892, time.Hour, time.Minute),
		entry("user:2\x1b[31m", 89, 0, time.Hour),
		entry("x", 3899, time.Minute, time.Second),
	}}
}

func TestBigKeysText(t *testing.T) {
	t.Parallel()
	row := &Row{Name: "c", TableBytes: 1 << 20, IndexBytes: 1 << 18, Dead: 1234}
	b := BigPrefixes(row, sampled(), nil, 10)
	require.EqualValues(t, 300, b.Entries)
	require.EqualValues(t, 100, b.Expired)
	require.EqualValues(t, 100, b.Forever)
	require.EqualValues(t, 100*(1000+200+4000), b.Bytes)
	require.Equal(t, 2.52, *b.Bloat)
	require.Equal(t, `c: about 300 entries, 508K; looked at 3
  without a TTL  about 100 entries, 20K
  on disk        table 1.0M, index 256K, out of line 0K; 1.23k dead rows, about 100 expired
                 2.52 bytes for each byte of an entry

ENTRIES  BYTES  SHARE  NO TTL  PREFIX
   ~200  ~117K    23%    ~100  user:
   ~100  ~391K    77%      ~0  (keys without a further : or /)
`, b.Text(0))
	for by, want := range map[Order]string{
		BySize: `BYTES  TTL  IDLE    KIND  KEY
   4K  60s  1.0s  string  x
`,
		ByTTL: `BYTES   TTL  IDLE    KIND  KEY
   0K  none   60m  string  user:2?[31m
`,
		ByIdle: `BYTES   TTL  IDLE    KIND  KEY
   0K  none   60m  string  user:2?[31m
`,
	} {
		require.Contains(t, BigEntries(row, sampled(), by, 1).Text(0), "\n\n"+want, by)
	}
	require.LessOrEqual(t, len([]rune(b.Text(20))), 9*21)

	empty := BigPrefixes(&Row{Name: "e"}, &Sampling{Cache: "e", Exact: true, Entries: []Sampled{}}, nil, 10)
	require.Nil(t, empty.Bloat)
	require.Contains(t, empty.Text(0), "e: 0 entries, 0K; looked at 0\n")
}
