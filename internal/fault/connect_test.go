package fault

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// The driver lists what it tried, an unknown host twice: with TLS and without.
func TestLastReason(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"failed to connect to `user=u database=d`:\n\thostname resolving error: lookup h: no such host\n\tlookup h: no such host": "lookup h: no such host",
		"failed to connect:\n\t127.0.0.1:1 (h): dial error: dial tcp 127.0.0.1:1:\n\tconnect: connection refused":                 "dial tcp 127.0.0.1:1: connect: connection refused",
		"no more": "no more",
	} {
		require.Equal(t, want, lastReason(errors.New(said)))
	}
}
