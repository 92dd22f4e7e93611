package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A server that polls for messages is found, unless it has just begun, or has ended.
func TestServersThatPoll(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	const polling = "messages-polled"
	run(t, conn, "INSERT INTO howdah_internal.server (id, name, kinds, notified, subscribers, waiters, started_at, renewed_at) VALUES"+
		" (1, 'app/7', 2, false, 3, 0, now() + interval '1 min', 'infinity'), (2, 'app/8', 2, true, 1, 1, now() + interval '1 min', 'infinity')")
	require.Nil(t, find(examine(t, conn, low), polling, ""), "it may be about to find out")
	run(t, conn, "UPDATE howdah_internal.server SET started_at = now() - interval '1 min'")
	found := await(t, conn, low, polling, "app/7")
	require.Equal(t, doctor.Warning, found.Severity)
	require.Equal(t, "the server with 3 subscribers and 0 clients that wait for keys polls for messages each 50 ms", found.Evidence)
	require.Contains(t, found.Note, "--listen-url")
	require.Nil(t, find(examine(t, conn, low), polling, "app/8"))
	for _, end := range []string{"SET notified = true", "SET rushing = true, notified = false", "SET renewed_at = now() - interval '1 min', rushing = false"} {
		run(t, conn, "UPDATE howdah_internal.server "+end)
		gone(t, conn, low, found)
	}
}
