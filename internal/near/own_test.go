package near

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// wrote is a write of this process that succeeded.
func (s *stage) wrote(value string, version int64) {
	t := s.c.Begin(hash)
	s.c.Wrote(t, name, Entry{Value: []byte(value), Version: version}, stageStart)
}

func (s *stage) change(xid uint64) Change {
	return Change{Xid: xid, Cache: s.c.id, Hashes: []int64{hash}}
}

func TestWhatWasWrittenIsServed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "old", 1)
	s.c.Bump(hash)
	s.wrote("new", 2)
	e, ok := s.c.Get(name)
	require.True(t, ok)
	require.Equal(t, "new", string(e.Value))
	require.EqualValues(t, 2, e.Version)
}

// Whatever Wrote does with the value, it ends what was kept before.
func TestWroteInvalidates(t *testing.T) {
	t.Parallel()
	for name, wrote := range map[string]func(s *stage, t Token){
		"kept": func(s *stage, t Token) { s.c.Wrote(t, []byte("other"), Entry{}, stageStart) },
		"from another server": func(s *stage, t Token) {
			s.c.Wrote(t, []byte("other"), Entry{}, stageStart+1)
		},
		"overtaken": func(s *stage, t Token) {
			s.fill(s.read(), "old", 1)
			s.c.Wrote(t, []byte("other"), Entry{}, stageStart)
		},
		"too large": func(s *stage, t Token) {
			s.c.Wrote(t, []byte("other"), Entry{Value: make([]byte, MinBytes)}, stageStart)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.fill(s.read(), "old", 1)
			token := s.read()
			wrote(s, token)
			_, ok := s.c.Get([]byte("key"))
			require.False(t, ok)
		})
	}
}

func TestWroteWithoutALog(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "old", 1)
	token := s.read()
	s.answer.Lit = false
	a := s.answer
	a.Snapshot = "11:11:"
	require.ErrorIs(t, s.m.apply(s.m.send(), a), errUnlit)
	before := s.m.slots.load(token.slot)
	s.c.Wrote(token, name, Entry{}, stageStart)
	require.NotEqual(t, before.mark(), s.m.slots.load(token.slot).mark())
}

// A poll passes over the row of an own write once, and over no other row.
func TestOwnRowsArePassedOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	token := s.read()
	s.wrote("own", 1)
	s.c.Own(token, 10, stageStart)
	s.poll("11:11:", s.change(10))
	_, ok := s.c.Get(name)
	require.True(t, ok, "the poll dropped what an own write left")
	for _, c := range []Change{s.change(10), s.change(11), {Xid: 10, Cache: s.c.id + 1, Hashes: []int64{hash}}} {
		before := s.m.slots.load(slotOf(c.Cache, hash)).mark()
		s.poll("12:12:", c)
		require.NotEqual(t, before, s.m.slots.load(slotOf(c.Cache, hash)).mark(), "%+v", c)
	}
}

// A foreign write in the same poll, before or after the own one, counts.
func TestForeignWritesBesideOwnOnes(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]uint64{{10, 11}, {11, 10}} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			s := newStage(t)
			token := s.read()
			s.wrote("own", 1)
			s.c.Own(token, 10, stageStart)
			s.poll("12:12:", s.change(rows[0]), s.change(rows[1]))
			_, ok := s.c.Get(name)
			require.False(t, ok)
		})
	}
}

// After a crash or a promotion xids are given again: what was noted before counts
// for nothing, whenever it is noted.
func TestOwnRowsEndWithTheirServer(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(*Answer){
		"another log":    func(a *Answer) { a.Incarnation[0]++ },
		"another server": func(a *Answer) { a.Start++ },
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", late ", late), func(t *testing.T) {
				s := newStage(t)
				token := s.read()
				if !late {
					s.c.Own(token, 10, stageStart)
				}
				replace(&s.answer)
				s.poll("10:10:")
				if late {
					s.c.Own(token, 10, s.answer.Start)
				}
				before := s.m.slots.load(token.slot).mark()
				s.poll("11:11:", s.change(10))
				require.NotEqual(t, before, s.m.slots.load(token.slot).mark())
			})
		}
	}
	t.Run("answered by another server", func(t *testing.T) {
		s := newStage(t)
		s.c.Own(s.read(), 10, stageStart+1)
		require.Empty(t, s.m.own.rows)
	})
}

func TestOwnRowsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	token := s.read()
	for xid := range uint64(2 * maxOwnRows) {
		s.c.Own(token, xid+1, stageStart)
	}
	require.Len(t, s.m.own.rows, maxOwnRows)
}

// A write that is noted after a poll has reported its row does not stay noted.
func TestOwnRowsThatWereReportedExpire(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.poll("11:11:", s.change(10))
	s.c.Own(s.read(), 10, stageStart)
	require.Len(t, s.m.own.rows, 1)
	sent := s.m.send()
	s.c.Own(s.read(), 12, stageStart) // answered after the poll was sent, which may not see it
	a := s.answer
	a.Snapshot = "12:12:"
	require.NoError(t, s.m.apply(sent, a))
	require.Len(t, s.m.own.rows, 1)
	require.Contains(t, s.m.own.rows, ownRow{12, s.c.id})
}
