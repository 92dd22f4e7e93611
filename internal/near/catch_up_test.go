package near

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/bubble"
)

const otherHash = hash + 1

var otherName = []byte("other")

// catchUp calls CatchUp, and returns what it returned, and how long that took.
func (s *served) catchUp(ctx context.Context) (caught bool, took time.Duration) {
	began := time.Now()
	s.mu.Unlock()
	defer s.mu.Lock()
	return s.m.CatchUp(ctx), bubble.Since(began)
}

// CatchUp polls at once, and by then what others have changed is not served, and
// the rest still is.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.reads(5 * time.Millisecond)
		s.c.Fill(s.c.Begin(otherHash), otherName, Entry{}, 0)
		s.changes = []Change{{Xid: 10, Cache: 1, Hashes: []int64{hash}}}
		caught, took := s.catchUp(t.Context())
		require.True(t, caught)
		require.Zero(t, took)
		_, ok := s.c.Get(name)
		require.False(t, ok)
		_, ok = s.c.Get(otherName)
		require.True(t, ok)

		// A poll that was sent before does not count.
		s.takes = 20 * time.Millisecond
		polled := len(s.polls)
		for len(s.polls) == polled {
			s.pause(time.Millisecond)
		}
		caught, took = s.catchUp(t.Context())
		require.True(t, caught)
		require.Greater(t, took, s.takes)
		require.LessOrEqual(t, took, 2*s.takes)

		// Not even while nothing is read.
		s.takes = 0
		s.pause(time.Minute)
		caught, took = s.catchUp(t.Context())
		require.True(t, caught)
		require.Zero(t, took)
	})
}

func TestCatchUpInVain(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.reads(5 * time.Millisecond)
		s.fail = errors.New("connection refused")
		caught, took := s.catchUp(t.Context())
		require.False(t, caught)
		require.Equal(t, s.m.options.Bound, took)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		caught, took = s.catchUp(ctx)
		require.False(t, caught)
		require.Equal(t, time.Millisecond, took)
		require.Empty(t, s.m.catching)

		s.fail = nil
		s.stop()
		s.stopped <- s.end() // underRun takes it again
		caught, took = s.catchUp(t.Context())
		require.True(t, caught, "nothing is served before a poll")
		require.Zero(t, took)
	})
}

// A transaction that wrote keys which are not known hides all of the cache. When a
// poll has found its end, what it has not changed is served again.
func TestParkAllKeepsTheRest(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (s *stage, p *Parking, served func(...bool)) {
		s = newStage(t)
		s.fill(s.read(), "old", 1)
		s.c.Fill(s.c.Begin(otherHash), otherName, Entry{}, stageStart)
		served = func(want ...bool) {
			t.Helper()
			for i, key := range [][]byte{name, otherName} {
				_, ok := s.c.Get(key)
				require.Equal(t, want[i], ok, "%s", key)
			}
		}
		served(true, true)
		p = s.c.ParkAll()
		served(false, false)
		return s, p, served
	}
	change := Change{Xid: 10, Cache: 1, Hashes: []int64{hash}}
	t.Run("a poll sees the end", func(t *testing.T) {
		s, p, served := begin(t)
		p.Until(10)
		s.poll("10:10:")
		served(false, false)
		s.poll("11:11:", change)
		served(false, true)
	})
	t.Run("the end is known before a poll", func(t *testing.T) {
		_, p, served := begin(t)
		p.Release()
		served(false, false)
	})
	t.Run("two, in either order", func(t *testing.T) {
		for _, first := range []bool{true, false} {
			s, p, served := begin(t)
			q := s.c.ParkAll()
			p.Until(10)
			if first {
				q.Release()
			}
			s.poll("11:11:", change)
			served(false, false)
			q.Release()
			served(false, false)
		}
	})
	t.Run("a read from before", func(t *testing.T) {
		s, p, served := begin(t)
		token, other := s.read(), s.c.Begin(otherHash+1)
		p.Until(10)
		s.poll("11:11:", change)
		s.fill(token, "old", 1)
		s.c.Fill(other, []byte("third"), Entry{}, stageStart)
		served(false, true)
	})
}
