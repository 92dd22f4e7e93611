package near

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leased makes a Memory of a size with a lease, and with time that stands still.
func leased(t testing.TB, bytes int64) *Cache {
	m, err := New(Options{Bound: MaxBound, Bytes: bytes, Poll: noPoll})
	require.NoError(t, err)
	now := m.clock()
	m.clock = func() Instant { return now }
	require.NoError(t, m.apply(m.send(), Answer{Snapshot: "3:3:", Lit: true}))
	return m.Cache(1, false)
}

func (c *Cache) put(i int, key string, e Entry) { c.Fill(c.Begin(int64(i)), []byte(key), e, 0) }

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// The overhead that an entry is charged for is what it takes.
func TestOverhead(t *testing.T) {
	for _, entries := range []int{15_000, 50_000} {
		c := leased(t, 256<<20)
		key := make([]byte, 16)
		before := heap()
		for i := range entries {
			binary.LittleEndian.PutUint64(key, uint64(i))
			c.put(i, string(key), Entry{Expires: time.Now().Add(time.Hour)})
		}
		took := float64(heap()-before)/float64(entries) - float64(len(key))
		require.Equal(t, entries, c.m.Stats().Entries)
		t.Logf("%d entries: %.0f bytes each beside the key", entries, took)
		require.InDelta(t, overhead, took, overhead/8)
	}
}

// Memory stays within its budget, and holds about as much.
func TestBudget(t *testing.T) {
	const budget = 4 << 20
	c := leased(t, budget)
	before := heap()
	for i := range 30_000 {
		c.put(i, fmt.Sprint("key", i), Entry{Value: make([]byte, 256)})
		if i%1000 == 0 {
			require.LessOrEqual(t, c.m.Stats().Bytes, int64(budget))
		}
	}
	s := c.m.Stats()
	require.LessOrEqual(t, s.Bytes, int64(budget))
	require.Greater(t, s.Bytes, int64(budget*9/10))
	require.InDelta(t, budget, heap()-before, budget/4)
	runtime.KeepAlive(c)
}

// A smaller budget holds at once, and a larger one is used.
func TestResize(t *testing.T) {
	t.Parallel()
	const budget = 4 << 20
	c := leased(t, budget)
	fill := func() {
		for i := range 30_000 {
			c.put(i, fmt.Sprint("key", i), Entry{Value: make([]byte, 256)})
			c.put(i, fmt.Sprint("absent", i), Entry{Absent: true})
		}
	}
	fill()
	c.m.Resize(budget / 8)
	require.LessOrEqual(t, c.m.Stats().Bytes, int64(budget/8))
	fill()
	require.LessOrEqual(t, c.m.Stats().Bytes, int64(budget/8))
	require.LessOrEqual(t, c.m.absents.weight, int64(budget/64))
	c.put(1, "large", Entry{Value: make([]byte, budget/64)})
	_, ok := c.Get([]byte("large"))
	require.False(t, ok, "an eighth is the most for one entry")
	c.m.Resize(2 * budget)
	fill()
	require.Greater(t, c.m.Stats().Bytes, int64(budget))
	c.m.Resize(0)
	require.Zero(t, c.m.Stats().Bytes)
	fill()
	require.Zero(t, c.m.Stats().Bytes)
}

// Absent keys, of which there may be endlessly many, leave most of the budget to
// values.
func TestAbsentKeysWithinTheirPart(t *testing.T) {
	t.Parallel()
	const budget = 4 << 20
	c := leased(t, budget)
	for i := range 5000 {
		c.put(i, fmt.Sprint("value", i), Entry{Value: make([]byte, 256)})
	}
	for i := range 30_000 {
		c.put(i, fmt.Sprint("absent", i), Entry{Absent: true})
	}
	values, absent, bytes := 0, 0, int64(0)
	for key, it := range c.m.entries.All() {
		if it.absent {
			absent++
			bytes += it.weight(key)
		} else {
			values++
		}
	}
	require.Equal(t, 5000, values)
	require.Greater(t, absent, 1000)
	require.LessOrEqual(t, bytes, int64(budget/8))
	_, ok := c.Get([]byte("absent29999"))
	require.True(t, ok, "the newest stay")

	// A key that comes and goes does not displace itself.
	for i := range 10_000 {
		c.put(1, "again", Entry{Absent: true})
		c.put(1, "again", Entry{Value: []byte{byte(i)}})
	}
	require.LessOrEqual(t, len(c.m.absents.queue), budget/8/overhead)
	c.put(1, "again", Entry{Value: []byte("v")})
	e, ok := c.Get([]byte("again"))
	require.True(t, ok)
	require.Equal(t, "v", string(e.Value))
}

func TestLargeValue(t *testing.T) {
	t.Parallel()
	c := leased(t, MinBytes)
	c.put(1, "key", Entry{Value: make([]byte, MinBytes/8)})
	_, ok := c.Get([]byte("key"))
	require.False(t, ok)
	require.EqualValues(t, 1, c.m.Stats().Refused.Large)
	c.put(1, "key", Entry{Value: make([]byte, MinBytes/8-1024)})
	_, ok = c.Get([]byte("key"))
	require.True(t, ok)
}

// A hit allocates nothing, and neither does a miss.
func TestAllocations(t *testing.T) {
	c := leased(t, MinBytes)
	c.put(1, "key", Entry{Value: make([]byte, 250), Expires: time.Now().Add(time.Hour)})
	hit, miss := []byte("key"), []byte("none")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if _, ok := c.Get(hit); !ok {
			t.Error("missed")
		}
	}))
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		var entries [Batch]Entry
		if hits, run := c.GetBatch([][]byte{miss, hit}, &entries, 1<<30); hits != 1<<1 || run != 0 {
			t.Error("missed")
		}
	}))
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if _, ok := c.Get(miss); ok {
			t.Error("hit")
		}
		c.Begin(5)
		c.Bump(6)
	}))
}

// The policy of eviction learns of every hit from the poll on that finds memory
// nearly full, and of few before: then nothing is evicted, whatever is read.
func TestCrowded(t *testing.T) {
	t.Parallel()
	m, err := New(Options{Bound: MaxBound, Bytes: MinBytes, Poll: func(context.Context, Cursor) (Answer, error) {
		return Answer{Snapshot: "3:3:", Lit: true}, nil
	}})
	require.NoError(t, err)
	c := m.Cache(1, false)
	poll := func() { require.NoError(t, m.poll(t.Context(), m.send())) }
	poll()
	for i := range 500 {
		c.put(i, fmt.Sprint("key", i), Entry{Value: make([]byte, 800)})
	}
	poll()
	require.False(t, m.crowded.Load(), "half full")
	for i := range 500 {
		c.put(500+i, fmt.Sprint("more", i), Entry{Value: make([]byte, 800)})
	}
	poll()
	require.True(t, m.crowded.Load())
	c.DropAll()
	m.sweepOnce(t.Context())
	poll()
	require.False(t, m.crowded.Load(), "empty")
}
