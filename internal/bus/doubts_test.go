package bus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/relay"
)

// behindRelay starts a subscriber, and a publisher whose connections a test can hold.
func behindRelay(t *testing.T) (publisher, subscriber *process, between *relay.Relay) {
	url := pgtest.New(t)
	between = relay.New(t, pgtest.TCP(url))
	subscriber = start(t, url, "")
	subscriber.subscribe(Published)
	return start(t, between.URL(), "none"), subscriber, between
}

// A message whose connection was lost while it was on its way does not come when later ones
// were sent, and those are not refused.
func TestMessageThatWasCutOffNeverComesLate(t *testing.T) {
	t.Parallel()
	publisher, subscriber, between := behindRelay(t)
	publisher.publish("c", "0")
	for _, text := range []string{"late 1", "late 2"} {
		held := between.Hold("", text)
		lost := make(chan error, 1)
		go func() { lost <- publisher.publishOne(t.Context(), message("c", text)) }()
		held.Cut()
		require.ErrorIs(t, <-lost, fault.ErrUnknownOutcome)
		publisher.publish("c", "after "+text)
		held.Release()
	}
	publisher.publish("c", "last")
	require.Equal(t, []string{"0", "after late 1", "after late 2", "last"}, subscriber.await(4)["c"])
	subscriber.nothingElse(publisher, 4)
}

// A message that was committed without an answer comes once, before later ones.
func TestMessageWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	publisher, subscriber, between := behindRelay(t)
	hushed := between.Hush("", "unknown")
	lost := make(chan error, 1)
	go func() { lost <- publisher.publishOne(t.Context(), message("c", "unknown")) }()
	subscriber.await(1)
	hushed.Cut()
	require.ErrorIs(t, <-lost, fault.ErrUnknownOutcome)
	publisher.publish("c", "next")
	require.Equal(t, []string{"unknown", "next"}, subscriber.await(2)["c"])
	subscriber.nothingElse(publisher, 2)
}

// A backend of another role that has the number by chance, after a failover, say, goes on.
func TestBackendOfAnotherRoleIsNotEnded(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	super := connect(t, pgtest.SuperURL(url))
	publisher, subscriber := start(t, url, "none"), start(t, url, "")
	subscriber.subscribe(Published)
	publisher.publish("c", "0")
	pid := one[uint32](t, super, "SELECT pg_backend_pid()")
	publisher.doubts.add(pid)
	publisher.publish("c", "1")
	require.Empty(t, publisher.doubts.list())
	require.NoError(t, super.Ping(t.Context()))
	require.Equal(t, series(2), subscriber.await(2)["c"])
}

// A sender whose patience ends while its message is on its way waits for the outcome: what it
// sends next in a transaction would overtake the message.
func TestSenderWaitsForItsFlight(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	between := relay.New(t, pgtest.TCP(url))
	subscriber, publisher := start(t, url, ""), newProcess(t, between.URL(), "none")
	subscriber.subscribe(Published)
	publisher.options.Timeout = 2 * time.Second // both statements wait so long in vain
	publisher.run()
	first := between.Hold("", "first")
	between.Hold("", "second")
	lost := make(chan error, 1)
	go func() { lost <- publisher.publishOne(t.Context(), message("c", "first")) }()
	first.Await()
	require.Error(t, publisher.publishOne(t.Context(), message("c", "second")))
	require.Zero(t, publisher.queue.open.Load(), "it may still be sent")
	require.Error(t, <-lost)
}
