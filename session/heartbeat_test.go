package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHeartbeatAges(t *testing.T) {
	t.Parallel()
	var h heartbeats
	require.Equal(t, unknown, h.age(0), "no row")
	require.Equal(t, unknown, h.age(1), "not ours")
	_, known := h.primaryClock()
	require.False(t, known)
	for range 40 {
		h.next()
	}
	last, sent := h.next()
	require.EqualValues(t, 41, last)
	h.sent[40%len(h.sent)] = time.Now().Round(0).Add(-time.Hour)
	require.Less(t, h.age(41), time.Hour)
	require.GreaterOrEqual(t, h.age(40), time.Hour)
	require.NotEqual(t, unknown, h.age(41-15))
	for _, other := range []int64{41 - 16, 1, 42, -3, 1 << 62} {
		require.Equal(t, unknown, h.age(other), other)
	}
	// The primary's clock is whatever it says.
	at := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	h.confirm(at, sent)
	now, known := h.primaryClock()
	require.True(t, known)
	require.WithinRange(t, now, at, at.Add(time.Hour))
}

func TestRecentWrites(t *testing.T) {
	t.Parallel()
	r := recent{span: time.Hour}
	require.False(t, r.has(subject{}), "nothing was written")
	r.note(subject{})
	require.False(t, r.has(subject{}), "nobody's session")
	r.note(subject{id: ID{1}})
	r.note(subject{user: "ada"})
	require.True(t, r.has(subject{id: ID{1}}))
	require.True(t, r.has(subject{id: ID{2}}, subject{user: "ada"}))
	require.False(t, r.has(subject{id: ID{2}}, subject{user: "eve"}))
	r.turned = r.turned.Add(-2 * time.Hour) // a span has gone by since the first
	r.note(subject{id: ID{3}})
	require.True(t, r.has(subject{id: ID{1}}), "not since this one")
	r.before[subject{id: ID{1}}] = time.Now().Add(-2 * time.Hour)
	require.False(t, r.has(subject{id: ID{1}}))

	// More than it remembers: then everything counts as written.
	for i := range maxRecent + 1 {
		r.note(subject{id: ID{4, byte(i), byte(i >> 8), byte(i >> 16)}})
	}
	require.LessOrEqual(t, len(r.now), maxRecent)
	require.True(t, r.has(subject{id: ID{9}}))
	r.all = r.all.Add(-2 * time.Hour)
	require.False(t, r.has(subject{id: ID{9}}))
}

func TestBucket(t *testing.T) {
	t.Parallel()
	b := bucket{perSecond: 10}
	taken := func() (n int) {
		for b.take() {
			n++
		}
		return n
	}
	require.GreaterOrEqual(t, taken(), 10, "full at first")
	b.at = b.at.Add(-time.Second / 2)
	require.GreaterOrEqual(t, taken(), 5)
	b.at = b.at.Add(-time.Hour)
	require.Less(t, taken(), 100, "a pause is not saved up")
}
