package howdah

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A backlog is worked off gently at first, and with all force if that does not
// help; another cache's backlog waits.
func TestBacklog(t *testing.T) {
	began := time.Now()
	at := func(d time.Duration) time.Time { return began.Add(d) }
	var b backlog
	b.note(Upkeep{Cache: "quiet"}, began)
	b.note(Upkeep{Cache: "held", More: true, HeldBack: true}, began)
	require.Empty(t, b.cache)
	b.note(Upkeep{Cache: "a", More: true}, began)
	b.note(Upkeep{Cache: "b", More: true}, at(time.Second))
	require.Equal(t, "a", b.cache)

	require.Equal(t, gentleTime, b.roundTime(began))
	require.Equal(t, gentleTime, b.roundTime(at(patience)))
	require.Equal(t, 2*gentleTime, b.roundTime(at(patience+time.Second)))
	require.Equal(t, 4*gentleTime, b.roundTime(at(patience+16*time.Second)))
	require.Equal(t, roundTime, b.roundTime(at(time.Hour)))

	// The hand may meet blocks with nothing to remove: a second of them ends it.
	b.note(Upkeep{Cache: "a", More: true}, at(10*time.Second))
	b.note(Upkeep{Cache: "a"}, at(11*time.Second))
	require.Equal(t, "a", b.cache)
	b.note(Upkeep{Cache: "b"}, at(12*time.Second))
	require.Equal(t, "a", b.cache)
	b.note(Upkeep{Cache: "a"}, at(12*time.Second))
	require.Empty(t, b.cache)
	b.note(Upkeep{Cache: "b", More: true}, at(13*time.Second))
	require.Equal(t, "b", b.cache)
	require.Equal(t, gentleTime, b.roundTime(at(14*time.Second)))
}
