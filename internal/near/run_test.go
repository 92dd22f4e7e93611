package near

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/bubble"
)

// served is a Memory under Run in the fake time of synctest, with a database
// that answers as the test says.
type served struct {
	m       *Memory
	c       *Cache
	began   time.Time
	stop    context.CancelFunc
	stopped chan error

	mu    sync.Mutex // held by the test, but for pauses
	log   bytes.Buffer
	polls []time.Duration // when they were sent
	takes time.Duration   // to answer
	fail  error
	unlit bool

	changes  []Change // of the next poll
	snapshot string
}

// Write is the log.
func (s *served) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

// pause lets time pass, and all others come to rest.
func (s *served) pause(d time.Duration) {
	s.mu.Unlock()
	defer s.mu.Lock()
	bubble.Pass(d)
	synctest.Wait()
}

// underRun runs test against a Memory with a bound of 90 ms: a poll every 30.
func underRun(t *testing.T, test func(*testing.T, *served)) {
	synctest.Test(t, func(t *testing.T) {
		s := &served{began: time.Now(), stopped: make(chan error, 1)}
		m, err := New(Options{Bound: 90 * time.Millisecond, Bytes: MinBytes, Poll: s.poll, Logger: slog.New(slog.NewTextHandler(s, nil))})
		require.NoError(t, err)
		s.m, s.c = m, m.Cache(1, false)
		ctx, cancel := context.WithCancel(t.Context())
		s.stop = cancel
		go func() { s.stopped <- m.Run(ctx) }()
		synctest.Wait()
		s.mu.Lock()
		test(t, s)
		s.mu.Unlock()
		s.stop()
		require.NoError(t, <-s.stopped)
	})
}

func (s *served) poll(ctx context.Context, since Cursor) (Answer, error) {
	s.mu.Lock()
	s.polls = append(s.polls, bubble.Since(s.began))
	takes := s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return Answer{}, s.fail
	}
	changes := s.changes
	s.changes = nil
	return Answer{Snapshot: cmp.Or(s.snapshot, "3:3:"), Lit: !s.unlit, Changes: changes}, nil
}

// end waits for the end of Run.
func (s *served) end() error {
	s.mu.Unlock()
	defer s.mu.Lock()
	return <-s.stopped
}

// reads reads every millisecond for a while, and returns how often memory
// answered.
func (s *served) reads(d time.Duration) (hits int) {
	for range d / time.Millisecond {
		if _, ok := s.c.Get(name); ok {
			hits++
		} else {
			s.c.Fill(s.c.Begin(hash), name, Entry{}, 0)
		}
		s.pause(time.Millisecond)
	}
	return hits
}

// gaps are the times between polls, the last n of them.
func (s *served) gaps(n int) []time.Duration {
	gaps := make([]time.Duration, n)
	for i := range gaps {
		at := len(s.polls) - n + i
		gaps[i] = s.polls[at] - s.polls[at-1]
	}
	return gaps
}

func TestPollsWhileRead(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		require.Equal(t, 299, s.reads(300*time.Millisecond))
		require.InDelta(t, 10, len(s.polls), 1)
		for _, gap := range s.gaps(9) {
			require.Equal(t, 30*time.Millisecond, gap)
		}
		s.takes = 20 * time.Millisecond
		require.Equal(t, 300, s.reads(300*time.Millisecond))
		for _, gap := range s.gaps(9) {
			require.Equal(t, 30*time.Millisecond, gap, "from one sending to the next")
		}
		s.takes = 40 * time.Millisecond
		require.Equal(t, 300, s.reads(300*time.Millisecond))
		require.Equal(t, 40*time.Millisecond, s.gaps(1)[0], "at once")
		stats := s.m.Stats()
		require.Zero(t, stats.Lapses)
		require.Less(t, stats.MaxAge, 90*time.Millisecond)
		require.EqualValues(t, stats.Hits, 899)
	})
}

func TestPollsStopUnread(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.reads(10 * time.Millisecond)
		s.pause(time.Hour)
		require.LessOrEqual(t, len(s.polls), 36)
		require.Zero(t, s.m.Stats().Lag, "no polls are wanted")
		last := s.polls[len(s.polls)-1]
		require.Less(t, last, 1100*time.Millisecond)
		require.Greater(t, last, 950*time.Millisecond)

		before := len(s.polls)
		_, ok := s.c.Get(name)
		require.False(t, ok)
		s.pause(0)
		require.Len(t, s.polls, before+1, "a read wakes the polls")
		s.takes = 20 * time.Millisecond
		s.pause(40 * time.Millisecond)
		require.Equal(t, 40*time.Millisecond, s.m.Stats().Lag, "since the poll that was answered last, not the pause")
		s.takes = 0
		require.Equal(t, 100, s.reads(100*time.Millisecond), "the entry is still there")
		require.Zero(t, s.m.Stats().Lapses, "a pause is no lapse")
		require.Zero(t, s.log.String())
	})
}

func TestParkedWriteKeepsPolls(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.pause(time.Minute)
		before := len(s.polls)
		p := s.c.Park(hash)
		p.Until(99)
		s.pause(30 * time.Second)
		require.InDelta(t, 1000, len(s.polls)-before, 2)
		p.Release()
		s.pause(time.Minute)
		require.InDelta(t, 1000, len(s.polls)-before, 40)
	})
}

func TestOutage(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.reads(300 * time.Millisecond)
		s.fail = errors.New("connection refused")
		hits := s.reads(300 * time.Millisecond)
		require.Greater(t, hits, 50)
		require.Less(t, hits, 91, "the lease of the last poll")
		require.Equal(t, 90*time.Millisecond, s.gaps(1)[0], "backoff up to the bound")
		require.Zero(t, s.m.Stats().Lag%(30*time.Millisecond))
		require.InDelta(t, 300, s.m.Stats().Lag.Milliseconds(), 30)
		s.reads(time.Second)
		require.Equal(t, 1, strings.Count(s.log.String(), "\n"), s.log.String())
		require.Contains(t, s.log.String(), "level=WARN")
		require.Contains(t, s.log.String(), "connection refused")

		s.fail = nil
		require.Greater(t, s.reads(200*time.Millisecond), 109)
		require.Equal(t, 2, strings.Count(s.log.String(), "\n"), s.log.String())
		require.Contains(t, s.log.String(), "level=INFO")
		stats := s.m.Stats()
		require.EqualValues(t, 1, stats.Lapses)
		require.EqualValues(t, 1, stats.Drops.First, "the cursor outlives an outage")
		require.Positive(t, stats.Lapsed)
	})
}

// One poll that fails is tried again before its lease is over.
func TestOneFailure(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.reads(45 * time.Millisecond)
		s.fail = errors.New("connection reset")
		for len(s.polls) < 3 {
			s.reads(time.Millisecond)
		}
		s.fail = nil
		require.Equal(t, 300, s.reads(300*time.Millisecond))
		require.EqualValues(t, 1, s.m.Stats().FailedPolls)
		require.Empty(t, s.log.String())
	})
}

func TestFrozenDatabase(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.reads(45 * time.Millisecond)
		s.takes = time.Hour
		s.reads(3 * time.Second)
		require.GreaterOrEqual(t, s.m.Stats().FailedPolls, uint64(2), "a poll ends after a second")
		require.Contains(t, s.log.String(), "deadline exceeded")
		s.takes = 0
		s.reads(1200 * time.Millisecond)
		require.Equal(t, 100, s.reads(100*time.Millisecond))
	})
}

func TestLatePolls(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.reads(45 * time.Millisecond)
		s.takes = 100 * time.Millisecond
		s.reads(150 * time.Millisecond)
		require.Zero(t, s.reads(time.Second))
		require.Contains(t, s.log.String(), "longer than the bound")
		require.Equal(t, 1, strings.Count(s.log.String(), "\n"), s.log.String())
		require.Equal(t, 100*time.Millisecond, s.gaps(1)[0], "no backoff")
		require.Greater(t, s.m.Stats().Lapses, uint64(5))
		s.takes = 0
		s.reads(200 * time.Millisecond)
		require.Equal(t, 100, s.reads(100*time.Millisecond))
		require.Equal(t, 2, strings.Count(s.log.String(), "\n"), s.log.String())
	})
}

func TestNoChangeLog(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.unlit = true
		s.reads(time.Second)
		require.Contains(t, s.log.String(), "no state row")
		require.Equal(t, 1, strings.Count(s.log.String(), "\n"))
		s.unlit = false
		s.reads(200 * time.Millisecond)
		require.Equal(t, 100, s.reads(100*time.Millisecond))
		require.Equal(t, 2, strings.Count(s.log.String(), "\n"))
	})
}

func TestRunEnds(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.reads(10 * time.Millisecond)
		require.EqualError(t, s.m.Run(t.Context()), "near: Run is called already; one call serves a Memory")
		s.stop()
		require.NoError(t, s.end())
		_, ok := s.c.Get(name)
		require.False(t, ok, "the lease has ended")
		require.Zero(t, s.m.Stats().FailedPolls)

		ctx, cancel := context.WithCancel(t.Context())
		s.stop = cancel
		go func() { s.stopped <- s.m.Run(ctx) }()
		s.pause(0)
		_, ok = s.c.Get(name)
		require.True(t, ok, "a second Run goes on at the cursor")
	})
	// A poll under way ends with the context.
	underRun(t, func(t *testing.T, s *served) {
		s.reads(10 * time.Millisecond)
		s.takes = time.Hour
		s.reads(40 * time.Millisecond)
		polled := len(s.polls)
		s.stop()
		s.stopped <- s.end() // underRun takes it again
		require.Len(t, s.polls, polled)
		require.NotContains(t, s.log.String(), "canceled")
	})
}

// Without a Logger and with a clock of the caller.
func TestDefaults(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	m, err := New(Options{Bound: MinBound, Bytes: MinBytes, Poll: noPoll, Now: func() time.Time { return time.Unix(0, now.Load()) }})
	require.NoError(t, err)
	require.NoError(t, m.apply(m.send(), Answer{Snapshot: "3:3:", Lit: true}))
	c := m.Cache(1, false)
	c.Fill(c.Begin(hash), name, Entry{Expires: time.Unix(0, 5)}, 0)
	for _, at := range []struct {
		now int64
		hit bool
	}{{4, true}, {5, false}} {
		now.Store(at.now)
		_, ok := c.Get(name)
		require.Equal(t, at.hit, ok)
	}
}

// Entries that are not valid any more leave by themselves.
func TestSweep(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		fill := func(cache int32, hash int64, key string, ttl time.Duration) {
			c := s.m.Cache(cache, false)
			e := Entry{Value: make([]byte, 100)}
			if ttl > 0 {
				e.Expires = time.Now().Add(ttl)
			}
			c.Fill(c.Begin(hash), []byte(key), e, 0)
		}
		s.reads(10 * time.Millisecond)
		s.c.Bump(hash)
		fill(1, 1, "expires", time.Second)
		fill(1, 2, "changes", 0)
		fill(1, 3, "stays", time.Minute)
		fill(2, 4, "flushed", 0)
		s.c.Bump(2)
		require.Equal(t, 5, s.m.Stats().Entries)
		s.pause(sweepEvery)
		require.Equal(t, 2, s.m.Stats().Entries)
		s.m.Cache(2, false).DropAll()
		s.pause(0)
		require.Equal(t, 1, s.m.Stats().Entries, "at once")
	})
}

// An entry that took the place of one that shall leave stays.
func TestRemoveOnlyWhatWasMeant(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "old", 1)
	key := entryKey{1, string(name)}
	old, _ := s.m.entries.GetIfPresent(key)
	s.fill(s.read(), "new", 2)
	s.m.remove(key, old)
	s.serves("new")
}
