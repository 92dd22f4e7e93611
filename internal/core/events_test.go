package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/values"
)

// The reader of the setting learns whether events of expired keys are published. What this
// process has set meanwhile counts, not what was read before.
func TestAskWhetherExpiredKeysAreEvents(t *testing.T) {
	t.Parallel()
	s := new(events)
	for setting, want := range map[string]bool{"": false, "x": false, "KE": false, "Eg": false, "Ex": true, "KA": true, "Kgx": true} {
		require.Equal(t, want, s.ask()(setting), setting)
	}
	answer := s.ask()
	s.change(func() { s.use(values.ByKey | values.ExpiredEvent) })
	require.True(t, answer(""))
}
