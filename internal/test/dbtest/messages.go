package dbtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
)

// Subscribe subscribes, and closes at the end of the test.
func Subscribe(t *testing.T, db *howdah.DB, opts howdah.SubscribeOptions) *howdah.Subscription {
	t.Helper()
	s, err := db.Subscribe(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// NextMessage awaits a message and returns it as "pattern channel payload".
func NextMessage(t *testing.T, s *howdah.Subscription) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := s.Next(ctx)
	require.NoError(t, err)
	return fmt.Sprintf("%s %s %s", m.Pattern, m.Channel, m.Payload)
}
