package near

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// closed tells whether a channel of Changed is.
func closed(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	default:
		return false
	}
}

// Whoever waits for a change of a slot is woken by the poll that reports it, and by
// each that may lack it.
func TestChanged(t *testing.T) {
	t.Parallel()
	const other = hash + 1
	for name, x := range map[string]struct {
		poll  func(s *stage)
		woken bool
	}{
		"its key":        {func(s *stage) { s.poll("11:11:", Change{Xid: 10, Cache: 1, Hashes: []int64{other, hash}}) }, true},
		"all of a cache": {func(s *stage) { s.poll("11:11:", Change{Xid: 10, Cache: 1}) }, true},
		"another key":    {func(s *stage) { s.poll("11:11:", Change{Xid: 10, Cache: 1, Hashes: []int64{other}}) }, false},
		"another cache":  {func(s *stage) { s.poll("11:11:", Change{Xid: 10, Cache: 2, Hashes: []int64{hash}}) }, false},
		"nothing":        {func(s *stage) { s.poll("11:11:") }, false},
		"another server": {func(s *stage) { s.answer.Start++; s.poll("11:11:") }, true},
		"a trim":         {func(s *stage) { s.answer.Floor = s.answer.Tick + 1; s.poll("11:11:") }, true},
		"too many":       {func(s *stage) { s.answer.Overflow = true; s.poll("11:11:") }, true},
		"the end of Run": {func(s *stage) { s.m.leave() }, true},
		"one of its own": {func(s *stage) {
			s.c.Own(s.read(), 10, stageStart)
			s.poll("11:11:", Change{Xid: 10, Cache: 1, Hashes: []int64{hash}})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var all []<-chan struct{}
			var stops []func()
			for range 2 {
				changed, stop := s.c.Changed(hash)
				require.NotNil(t, changed)
				all, stops = append(all, changed), append(stops, stop)
			}
			gone, stop := s.c.Changed(hash)
			stop()
			require.True(t, s.m.awaited())
			x.poll(s)
			for _, changed := range append(all, gone) {
				require.Equal(t, x.woken, closed(changed))
			}
			require.Equal(t, !x.woken, s.m.awaited())
			for _, stop := range stops {
				stop()
			}
			require.False(t, s.m.awaited())
		})
	}
}

// What has waited for a change that came stops nothing that waits for the next.
func TestStopAfterAChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, first := s.c.Changed(hash)
	s.poll("11:11:", Change{Xid: 10, Cache: 1, Hashes: []int64{hash}})
	changed, stop := s.c.Changed(hash)
	first()
	require.False(t, closed(changed))
	s.poll("12:12:", Change{Xid: 11, Cache: 1, Hashes: []int64{hash}})
	require.True(t, closed(changed))
	stop()
}

// Without a lease nothing tells of changes.
func TestChangedWithoutALease(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.pass(stageBound, stageBound)
	changed, stop := s.c.Changed(hash)
	require.Nil(t, changed)
	stop()
	require.False(t, s.m.awaited())
}

// Polls go on as long as somebody waits, and a poll that fails wakes.
func TestChangedKeepsPolls(t *testing.T) {
	t.Parallel()
	underRun(t, func(t *testing.T, s *served) {
		s.reads(10 * time.Millisecond)
		changed, stop := s.c.Changed(hash)
		before := len(s.polls)
		s.pause(30 * time.Second)
		require.InDelta(t, 1000, len(s.polls)-before, 2)
		require.False(t, closed(changed))
		s.fail = errors.New("connection refused")
		s.pause(30 * time.Millisecond)
		require.True(t, closed(changed))
		stop()
		s.fail = nil
		s.pause(time.Minute)
		require.InDelta(t, 1000, len(s.polls)-before, 60)

		changed, stop = s.c.Changed(hash)
		require.Nil(t, changed, "polls have stopped, and so has the lease")
		stop()
		s.pause(0)
		changed, stop = s.c.Changed(hash)
		require.NotNil(t, changed, "that call has woken them")
		stop()
	})
}
