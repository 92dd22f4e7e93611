package near

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// heard is a Listener that writes down what it is told.
type heard struct {
	unwanted atomic.Bool
	changed  []int64
	missed   int
	ticks    int
	keys     []string // a word for each call
	during   func()   // called whenever it is told of a change
}

func (h *heard) Wanted() bool { return !h.unwanted.Load() }

func (h *heard) Changed(hash int64) {
	h.changed = append(h.changed, hash)
	if h.during != nil {
		h.during()
	}
}

func (h *heard) Missed() {
	h.missed++
	if h.during != nil {
		h.during()
	}
}

func (h *heard) ChangedKeys(keys [][]byte) {
	h.keys = append(h.keys, string(bytes.Join(keys, []byte(" "))))
	if h.during != nil {
		h.during()
	}
}

func (h *heard) MissedKeys() { h.keys = append(h.keys, "?") }

func (h *heard) Tick(time.Time) { h.ticks++ }

// listen gives a stage a listener.
func (s *stage) listen() *heard {
	h := new(heard)
	s.m.options.Listener = h
	return h
}

// Whoever begins to listen while the listener is being told will not be told of this
// change. So it must not find the old value in memory any more.
func TestListenerIsToldLast(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *stage){
		"a key":             func(s *stage) { s.poll("12:12:", changed(hash)) },
		"a cache":           func(s *stage) { s.poll("12:12:", Change{Cache: 1}) },
		"too many changes":  func(s *stage) { s.answer.Overflow = true; s.poll("12:12:") },
		"another log":       func(s *stage) { s.answer.Incarnation[0]++; s.poll("12:12:") },
		"another server":    func(s *stage) { s.answer.Start++; s.poll("12:12:") },
		"a trimmed log":     func(s *stage) { s.answer.Floor = 11; s.poll("12:12:") },
		"stranded":          func(s *stage) { s.answer.Stranded = true; s.poll("12:12:") },
		"no log any more":   func(s *stage) { s.answer.Lit = false; s.unlit() },
		"the end of Run":    func(s *stage) { s.m.leave() },
		"a key after a nap": func(s *stage) { s.pass(time.Minute, time.Minute); s.poll("12:12:", changed(hash)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.fill(s.read(), "old", 1)
			s.serves("old")
			h, told := s.listen(), false
			h.during = func() {
				told = true
				s.misses("what is invalidated must not be found when the listener is told")
			}
			change(s)
			require.True(t, told)
		})
	}
}

// unlit applies a poll that found no log.
func (s *stage) unlit() {
	a := s.answer
	a.Snapshot = "12:12:"
	require.ErrorIs(s.t, s.m.apply(s.m.send(), a), errUnlit)
}

func TestListenerHearsOthersOnly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	h := s.listen()
	token := s.read()
	s.c.Wrote(token, name, Entry{Value: []byte("own"), Version: 2}, stageStart)
	s.c.Own(token, 11, stageStart)
	s.poll("13:13:", s.change(11), s.change(12))
	require.Equal(t, []int64{hash}, h.changed, "the row of this process, which told of it, is passed over")
	require.Zero(t, h.missed)

	h.unwanted.Store(true)
	s.poll("14:14:", s.change(13))
	require.Len(t, h.changed, 1)
}

// The keys of a poll come at once, without those of rows that the process has written and
// told of itself, and after all hashes.
func TestListenerHearsOfKeys(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	h := s.listen()
	named := func(xid uint64, keys ...string) Change {
		c := s.change(xid)
		c.Keys = [][]byte{}
		for _, key := range keys {
			c.Keys = append(c.Keys, []byte(key))
		}
		return c
	}
	own := named(13, "own")
	own.Own = true
	s.poll("15:15:", named(11, "a", "b"), s.change(12), own, named(14, "c"))
	require.Equal(t, []string{"a b c"}, h.keys)
	require.Equal(t, []int64{hash, hash, hash, hash}, h.changed, "hashes are told in any case")
	s.poll("18:18:", s.change(16), named(17))
	require.Equal(t, []string{"a b c", "?"}, h.keys, "a row without the keys that it should have")

	token := s.read()
	s.c.Wrote(token, name, Entry{Value: []byte("own"), Version: 2}, stageStart)
	s.c.Own(token, 19, stageStart)
	s.poll("20:20:", named(19, "own"))
	require.Len(t, h.keys, 2, "a write that memory has recognized")
	require.Zero(t, h.missed)
}

// underListener runs test with a Memory that keeps nothing, and a bound of 90 ms.
func underListener(t *testing.T, test func(*testing.T, *served, *heard)) {
	synctest.Test(t, func(t *testing.T) {
		s, h := &served{began: time.Now(), stopped: make(chan error, 1)}, new(heard)
		m, err := New(Options{Bound: 90 * time.Millisecond, Listener: h, Poll: s.poll, Logger: slog.New(slog.NewTextHandler(s, nil))})
		require.NoError(t, err)
		s.m = m
		ctx, cancel := context.WithCancel(t.Context())
		s.stop = cancel
		go func() { s.stopped <- m.Run(ctx) }()
		synctest.Wait()
		s.mu.Lock()
		test(t, s, h)
		s.mu.Unlock()
		s.stop()
		require.NoError(t, <-s.stopped)
	})
}

func TestPollsWhileListened(t *testing.T) {
	t.Parallel()
	underListener(t, func(t *testing.T, s *served, h *heard) {
		s.pause(3 * time.Second)
		require.Greater(t, len(s.polls), 90, "polls stop though somebody listens")
		require.Equal(t, len(s.polls), h.ticks)
		require.Equal(t, 1, h.missed, "of the first poll")
		s.changes = []Change{changed(1, 2), changed(3)}
		s.pause(30 * time.Millisecond)
		require.Equal(t, []int64{1, 2, 3}, h.changed)

		h.unwanted.Store(true)
		s.pause(time.Second)
		before := len(s.polls)
		s.pause(time.Minute)
		require.Equal(t, before, len(s.polls), "polls go on though nobody listens")

		// Another one begins: what came meanwhile is reported by the next poll.
		h.unwanted.Store(false)
		s.changes = []Change{changed(4)}
		s.mu.Unlock()
		ok := s.m.Follow(t.Context())
		s.mu.Lock()
		require.True(t, ok)
		require.Equal(t, []int64{1, 2, 3, 4}, h.changed)
		require.Equal(t, 1, h.missed)
	})
}

func TestOutageIsTold(t *testing.T) {
	t.Parallel()
	underListener(t, func(t *testing.T, s *served, h *heard) {
		s.pause(time.Second)
		require.Equal(t, 1, h.missed)
		s.fail = errors.New("PostgreSQL is away")
		s.pause(900 * time.Millisecond)
		require.Equal(t, 1, h.missed)
		s.pause(220 * time.Millisecond)
		require.GreaterOrEqual(t, h.missed, 2, "a second has passed without a poll")
		told := h.missed
		s.pause(time.Second)
		require.Greater(t, h.missed, told, "what is tracked in an outage is ended too")
		s.fail = nil
		s.pause(300 * time.Millisecond)
		told = h.missed
		s.pause(3 * time.Second)
		require.Equal(t, told, h.missed, "the outage is over")

		// A database that does not answer at all.
		s.takes = time.Hour
		s.pause(1200 * time.Millisecond)
		require.Greater(t, h.missed, told)
	})
}

// Where nothing is kept in memory the log speaks of those who are told of changes, if there are any.
func TestOutageIsLoggedForListeners(t *testing.T) {
	t.Parallel()
	underListener(t, func(t *testing.T, s *served, h *heard) {
		outage := func(d time.Duration) string {
			s.log.Reset()
			s.fail = errors.New("PostgreSQL is away")
			s.pause(d)
			s.fail = nil
			s.pause(time.Second)
			return s.log.String()
		}
		s.pause(time.Second)
		log := outage(2 * time.Second)
		require.Contains(t, log, "Clients that track keys are told late")
		require.Contains(t, log, "told of changes in time again")
		require.NotContains(t, log, "near cache")

		// Nobody listens; a caller makes the poll that fails.
		h.unwanted.Store(true)
		s.pause(time.Minute)
		s.fail = errors.New("PostgreSQL is away")
		s.log.Reset()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s.mu.Unlock()
		ok := s.m.Follow(ctx)
		s.mu.Lock()
		require.False(t, ok)
		require.Empty(t, s.log.String())
	})
}

func TestFollowGivesUp(t *testing.T) {
	t.Parallel()
	underListener(t, func(t *testing.T, s *served, _ *heard) {
		s.fail = errors.New("PostgreSQL is away")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.mu.Unlock()
		ok := s.m.Follow(ctx)
		s.mu.Lock()
		require.False(t, ok)
	})
	m, err := New(Options{Bound: time.Second, Listener: new(heard), Poll: noPoll})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, m.Follow(ctx), "nothing polls")
	_, err = New(Options{Bound: time.Second, Poll: noPoll})
	require.Error(t, err, "a Memory for nothing")
	require.False(t, slices.Contains([]bool{m.entries == nil, m.slots == nil}, false))
}
