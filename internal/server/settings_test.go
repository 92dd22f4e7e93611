package server

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTimeoutByConfigSet: CONFIG SET timeout holds for connections that there are already.
func TestTimeoutByConfigSet(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	idle, other := s.dial(), s.dial()
	other.send("CONFIG", "SET", "timeout", "1")
	require.Equal(t, "OK", string(other.reply().Str))
	_, err := io.ReadAll(idle)
	require.NoError(t, err)
}
