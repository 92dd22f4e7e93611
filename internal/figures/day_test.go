package figures

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/bubble"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// busy counts as a process does that answers 2 reads and 1 write a second, and finds half of what is read.
func busy(began time.Time) totals {
	seconds := uint64(bubble.Since(began) / time.Second)
	latency := engine.Latencies()
	latency.Counts[3] = 3 * seconds
	return totals{
		calls:   counts{calls: 3 * seconds, reads: 2 * seconds, hits: seconds, misses: seconds, latency: latency},
		evicted: seconds / 2, clients: int32(seconds / 60), connections: 4,
	}
}

// One point a minute, whether anybody looks or not, and no more of them than a day has minutes.
func TestADayIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := room()
		began := time.Now()
		f.day.count = func() totals { return busy(began) }
		f.work.Go(func() { f.Record(t.Context()) })
		synctest.Wait()
		minutes, since := f.Day()
		require.Empty(t, minutes)
		require.True(t, began.Equal(since))

		bubble.Pass(3*time.Minute + time.Second)
		minutes, _ = f.Day()
		require.Len(t, minutes, 3)
		last := minutes[2]
		require.True(t, last.At.Equal(began.Add(3*time.Minute)))
		require.Equal(t, []float64{60, 3, 2, 1, 0, 0.5, 0},
			[]float64{last.Seconds, last.Calls, last.Reads, last.Writes, last.Errors, last.Evicted, last.Expired})
		require.Equal(t, []any{0.5, engine.Latencies().Bounds[3], int64(3), int64(4)},
			[]any{*last.Hit, *last.P99, *last.Clients, last.Connections})
		require.True(t, last.Follows(&minutes[1]))

		bubble.Pass(25 * time.Hour)
		minutes, _ = f.Day()
		require.Len(t, minutes, DayPoints)
		for i := range minutes {
			require.True(t, minutes[i].At.Equal(began.Add(time.Duration(64+i)*time.Minute)), "%d: %v", i, minutes[i].At)
		}
		f.Close() // and Record ends, or this would not
	})
}

// What nobody called has neither a hit ratio nor a latency, and a process without a listener for Redis clients
// no number of them.
func TestAMinuteWithoutCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := room()
		defer f.Close()
		f.day.count = func() totals { return totals{clients: -1} }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Record(ctx); close(ended) }()
		bubble.Pass(time.Minute + time.Second)
		minutes, _ := f.Day()
		require.Equal(t, []Minute{{At: minutes[0].At, Seconds: 60}}, minutes)
		cancel()
		<-ended
	})
}

// The clock goes on while a machine sleeps, the process does not: that time is a gap.
func TestAMinuteThatIsMissing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	before, after := Minute{At: now, Seconds: 60}, Minute{At: now.Add(time.Hour), Seconds: 60}
	require.False(t, after.Follows(&before))
	after.Seconds = 3600 // it was held up, and counted all of it
	require.True(t, after.Follows(&before))
}

// A sum over several servers shrinks when one of them leaves. That is no rate.
func TestCountersThatShrink(t *testing.T) {
	t.Parallel()
	var d day
	more, less := totals{calls: counts{calls: 9, reads: 5, hits: 4, errors: 3}, evicted: 7}, totals{calls: counts{calls: 8, reads: 1}}
	d.keep(time.Now(), time.Minute, &less, &more)
	kept := d.kept[0].shown()
	require.Equal(t, []float64{0, 0, 0, 0, 0}, []float64{kept.Calls, kept.Reads, kept.Writes, kept.Errors, kept.Evicted})
	require.Nil(t, kept.Hit)
}

// The memory of a day is what its constant says.
func TestBytesOfADay(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, minuteBytes, unsafe.Sizeof(minute{}))
	require.EqualValues(t, DayBytes, unsafe.Sizeof(day{}.kept))
}

// What is kept is what the process has counted of real calls, and counting takes no connection to PostgreSQL.
func TestADayOfRealCalls(t *testing.T) {
	t.Parallel()
	f := open(t, pgtest.New(t), Options{Clients: func() int { return 5 }})
	before := f.day.count()
	cache := f.db.Cache("db0")
	set := verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte("v")}
	get := verb.Call{Verb: statement.Get, Key: []byte("k")}
	absent := verb.Call{Verb: statement.Get, Key: []byte("absent")}
	for _, call := range []verb.Call{set, get, get, get, absent} {
		require.NoError(t, cache.Do(t.Context(), &call))
	}
	acquired := f.db.Pool().Stat().AcquireCount()
	now := f.day.count()
	require.Equal(t, acquired, f.db.Pool().Stat().AcquireCount())
	f.day.keep(time.Now(), time.Second, &now, &before)
	minutes, since := f.Day()
	require.Zero(t, since, "nothing records")
	require.Len(t, minutes, 1)
	m := minutes[0]
	require.Equal(t, []float64{5, 4, 1, 0, 0.75}, []float64{m.Calls, m.Reads, m.Writes, m.Errors, *m.Hit})
	require.Positive(t, *m.P99)
	require.Equal(t, int64(5), *m.Clients)
	require.Positive(t, m.Connections)
}
