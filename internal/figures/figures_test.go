package figures

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/bubble"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// open returns the figures of a database.
func open(t *testing.T, url string, o Options) *Figures {
	t.Helper()
	db, err := core.Open(t.Context(), url, core.Options{Timeout: 10 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	o.DB = db
	f := New(o)
	t.Cleanup(f.Close)
	return f
}

// eventually looks until there is a value.
func eventually[T any](t *testing.T, look func(context.Context) Seen[T]) (seen Seen[T]) {
	t.Helper()
	require.Eventually(t, func() bool {
		seen = look(t.Context())
		return seen.Value != nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, seen.Err)
	return seen
}

// number is a figure for tests: the number of its reading.
func number(f *Figures, read func(n int) error) *shared[int] {
	n := 0
	return &shared[int]{
		room: f, interval: time.Second, timeout: time.Minute,
		connect: func(context.Context) (*pgx.Conn, func(), error) { return nil, func() {}, nil },
		read: func(context.Context, *pgx.Conn) (*int, error) {
			n++
			if err := read(n); err != nil {
				return nil, err
			}
			value := n
			return &value, nil
		},
	}
}

// room is a Figures without a database.
func room() *Figures {
	f := &Figures{patience: 800 * time.Millisecond}
	f.day.interval = time.Minute
	f.closed, f.close = context.WithCancel(context.Background())
	f.explain = func(err error) error { return err }
	return f
}

// However many look at the same time, one reads.
func TestOneReadingForAllViewers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := room()
		defer f.Close()
		release := make(chan struct{})
		s := number(f, func(int) error { <-release; return nil })
		var viewers sync.WaitGroup
		seen := make([]Seen[int], 100)
		for i := range seen {
			viewers.Go(func() { seen[i] = s.look(t.Context()) })
		}
		synctest.Wait()
		close(release)
		viewers.Wait()
		for i := range seen {
			require.NoError(t, seen[i].Err)
			require.Same(t, seen[0].Value, seen[i].Value)
		}
		require.Equal(t, 1, *seen[0].Value)

		bubble.Pass(999 * time.Millisecond)
		require.Equal(t, 1, *s.look(t.Context()).Value, "it is not a second old")
		bubble.Pass(time.Millisecond)
		require.Equal(t, 2, *s.look(t.Context()).Value)
		require.Equal(t, 3, *s.again(t.Context()).Value, "asked for again, it is read whatever its age")
	})
}

// A reading that takes long does not hold up a page: it shows what was there before, or
// that there is nothing yet.
func TestSlowReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := room()
		defer f.Close()
		s := number(f, func(int) error { bubble.Pass(5 * time.Second); return nil })
		began := time.Now()
		seen := s.look(t.Context())
		require.ErrorIs(t, seen.Err, ErrCounting)
		require.Equal(t, f.patience, bubble.Since(began))
		bubble.Pass(5 * time.Second)
		require.Equal(t, 1, *s.last().Value)
		bubble.Pass(time.Minute)
		seen = s.look(t.Context())
		require.Equal(t, 1, *seen.Value)
		require.Greater(t, seen.Age(), time.Minute)
		require.NoError(t, seen.Err)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, 1, *s.look(ctx).Value, "a viewer who leaves does not end what others wait for")
		require.Equal(t, 2, *s.again(t.Context()).Value)
	})
}

// A failure is shown with the last good figures, and tried again before their interval is
// over.
func TestFailedReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := room()
		defer f.Close()
		away := errors.New("away")
		s := number(f, func(n int) error {
			if n == 2 || n == 3 {
				return away
			}
			return nil
		})
		s.interval = time.Hour
		require.Equal(t, 1, *s.look(t.Context()).Value)
		bubble.Pass(2 * time.Hour)
		seen := s.look(t.Context())
		require.ErrorIs(t, seen.Err, away)
		require.Equal(t, 1, *seen.Value)
		require.Equal(t, 2*time.Hour, seen.Age())
		require.ErrorIs(t, s.look(t.Context()).Err, away, "not read again at once")
		bubble.Pass(retryAfter)
		require.ErrorIs(t, s.look(t.Context()).Err, away)
		bubble.Pass(retryAfter)
		seen = s.look(t.Context())
		require.NoError(t, seen.Err)
		require.Equal(t, 4, *seen.Value)
		require.Zero(t, seen.Age())
	})
}

// A look is one reading: after the last one nothing is read, however long the server runs and records.
func TestNothingIsReadWithoutViewers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := room()
		var reads atomic.Int64
		s := number(f, func(int) error { reads.Add(1); return nil })
		f.day.count = func() totals { return totals{} }
		f.work.Go(func() { f.Record(t.Context()) })
		bubble.Pass(time.Hour)
		require.Zero(t, reads.Load(), "nobody has looked")
		for range 3 { // an open page asks for itself
			s.look(t.Context())
			bubble.Pass(2 * time.Second)
		}
		require.EqualValues(t, 3, reads.Load())
		bubble.Pass(time.Hour)
		require.EqualValues(t, 3, reads.Load(), "nobody looks any more")
		f.Close()
		require.ErrorIs(t, s.again(t.Context()).Err, fault.ErrClosed)
	})
}

// The samples of a few caches are kept, those that were looked at last.
func TestSamplesAreBounded(t *testing.T) {
	t.Parallel()
	f := open(t, pgtest.New(t), Options{})
	first := eventually(t, func(ctx context.Context) Seen[stat.Sampling] { return f.Sample(ctx, "db0") })
	require.True(t, first.Value.Exact)
	for i := range 3 * maxSamples {
		seen := f.sample(string(rune('a'+i%26)) + string(rune('a'+i/26))).again(t.Context())
		require.ErrorIs(t, seen.Err, fault.ErrCacheNotFound)
		require.Nil(t, seen.Value)
		if i < maxSamples/2 {
			require.Same(t, first.Value, f.Sample(t.Context(), "db0").Value)
		}
	}
	require.Len(t, f.samples, maxSamples)
	require.NotContains(t, f.samples, "db0")
}
