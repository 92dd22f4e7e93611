package transfer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A note says nothing of options that the server has not had.
func TestNotesOfTheirTime(t *testing.T) {
	t.Parallel()
	const note = "The reply is 1.5 times as long. IFEQ and IFNE are those of Redis 8.4. It waits."
	require.Equal(t, "The reply is 1.5 times as long. It waits.", ofItsTime(note, "7.0.15"))
	require.Equal(t, note, ofItsTime(note, "8.4.0"))
	require.Equal(t, note, ofItsTime(note, "10.0.1"))
	require.Empty(t, ofItsTime("IFEQ is that of Redis 8.4.", "8.2.3"))
	require.Equal(t, "A note without an end", ofItsTime("A note without an end", "7.0.15"))
	require.Empty(t, ofItsTime("", "7.0.15"))
}
