package bus

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestCadence(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	c := cadence{rush: rush}
	second := func(found int) {
		for range found {
			c.look(1)
			c.look(0)
		}
		now = now.Add(renewal)
		c.decide(now)
	}
	c.decide(now)
	require.False(t, c.rushing)
	require.Equal(t, backstop, c.pause(now, true, true))
	for _, step := range []struct {
		found   int
		rushing bool
	}{{400, false}, {401, true}, {100, true}, {99, false}, {100, false}, {0, false}, {5000, true}, {0, false}} {
		second(step.found)
		require.Equal(t, step.rushing, c.rushing, step.found)
		if c.rushing {
			require.Equal(t, rushPause, c.pause(now, false, true))
		} else {
			require.Equal(t, unnotified, c.pause(now, false, true))
		}
	}
	// Too little time has passed to judge by.
	for range 100 {
		c.look(1)
	}
	c.decide(now.Add(renewal / 10))
	require.False(t, c.rushing)
	// A statement that has begun before the row was written does not notify.
	c.rung = now
	require.Equal(t, unnotified, c.pause(now, true, true))
	require.Equal(t, backstop, c.pause(now.Add(known), true, true))
	require.Equal(t, unnotified, c.pause(now.Add(known), true, false))
}

// A receiver to which many messages come polls for them, and nobody notifies it meanwhile.
// Nothing is lost or comes out of order when it begins, nor when it ends.
func TestRush(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	observer, ear := connect(t, url), connect(t, url)
	run(t, ear, "LISTEN howdah")
	publisher, subscriber := start(t, url, ""), newProcess(t, url, "")
	subscriber.Bus.rush = 8 // so that a slow machine reaches it too
	subscriber.run()
	subscriber.subscribe(Published)
	row := func(condition string) bool {
		return one[bool](t, observer, "SELECT coalesce(bool_and("+condition+"), false) FROM howdah_internal.server")
	}
	eventually(t, "it is notified", func() bool { return row("notified AND NOT rushing") })
	sent := 0
	publish := func(n int) {
		for _, text := range series(sent + n)[sent:] {
			publisher.publish("c", text)
		}
		sent += n
	}
	eventually(t, "it polls, and is not notified", func() bool {
		publish(10)
		if !row("rushing AND NOT notified") {
			return false
		}
		heard(t, ear)
		publish(100)
		// Where this took long, fewer messages than enough came, and it was notified again.
		payloads := heard(t, ear)
		return row("rushing AND NOT notified") && !slices.Contains(payloads, payloadOf(publisher.self()))
	})
	require.True(t, subscriber.Stats().Listening)
	eventually(t, "it is notified again", func() bool { return row("notified AND NOT rushing") })
	publish(1)
	require.Contains(t, heard(t, ear), payloadOf(publisher.self()))
	require.Equal(t, map[string][]string{"c": series(sent)}, subscriber.await(sent))
}

// heard are the notifications that have come to a connection.
func heard(t *testing.T, conn *pgx.Conn) (payloads []string) {
	t.Helper()
	run(t, conn, "SELECT pg_notify('howdah', 'heard')")
	for {
		n, err := conn.WaitForNotification(t.Context())
		require.NoError(t, err)
		if n.Payload == "heard" {
			return payloads
		}
		if !strings.HasPrefix(n.Payload, testPrefix) {
			payloads = append(payloads, n.Payload)
		}
	}
}
