package upkeep

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A backlog is worked off gently at first, and with all force if that does not
// help. Several take turns.
func TestBacklogs(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := func(d time.Duration) time.Time { return began.Add(d) }
	var s backlogs
	s.note(Round{Cache: "quiet", Expired: 1}, began)
	s.note(Round{Cache: "locked", More: true}, began)
	s.note(Round{Cache: "held", More: true, Expired: 1, HeldBack: true}, began)
	require.Empty(t, s)
	s.note(Round{Cache: "a", More: true, Expired: 1}, began)
	s.note(Round{Cache: "b", More: true, Expired: 1}, at(time.Second))
	s.note(Round{Cache: "a", More: true, Expired: 1}, at(time.Second))
	require.Len(t, s, 2)
	require.Equal(t, "a", s.turn().cache)
	require.Equal(t, "b", s.turn().cache)
	a := s.turn()
	require.Equal(t, "a", a.cache)

	require.Equal(t, gentleTime, a.roundTime(began))
	require.Equal(t, gentleTime, a.roundTime(at(patience)))
	require.Equal(t, 2*gentleTime, a.roundTime(at(patience+time.Second)))
	require.Equal(t, 4*gentleTime, a.roundTime(at(patience+16*time.Second)))
	require.Equal(t, roundTime, a.roundTime(at(time.Hour)))

	s.note(Round{Cache: "b", More: true, Expired: 1}, at(3*time.Second))
	s.note(Round{Cache: "a", Expired: 1}, at(3*time.Second))
	s.forget(at(3 * time.Second))
	require.Len(t, s, 2)
	s.forget(at(4 * time.Second))
	require.Len(t, s, 1)
	require.Equal(t, "b", s.turn().cache)
	s.forget(at(6 * time.Second))
	require.Empty(t, s)
}
