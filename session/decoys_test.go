package session_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

// What others may create in the schema public runs in no statement on sessions.
func TestDecoys(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	pgtest.Decoys(t, url, "../schema/queries/*.sql", "../schema/functions/*.sql")
	m, pool := openURL(t, url, session.Options{
		UserLimit: 3, RevokeOldest: true, FlushInterval: 5 * time.Millisecond, ExpireInterval: 5 * time.Millisecond,
	})
	verbs(t, m)
	s := create(t, m, session.Start{User: "eve"})
	m.Keep(s.ID)
	require.NoError(t, m.Flush(t.Context()))
	_, _, err := m.Expire(t.Context())
	require.NoError(t, err)
	list, err := m.All(t.Context(), session.ID{}, 10)
	require.NoError(t, err)
	require.NotEmpty(t, list)

	run(t, pool, "UPDATE howdah.session SET idle_expires_at = '2001-01-01'")
	running, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- m.Run(running) }()
	eventually(t, "Run removes what has expired", func() bool {
		return one[bool](t, pool, "SELECT NOT EXISTS (SELECT FROM howdah.session)")
	})
	stop()
	require.NoError(t, <-done)
}
