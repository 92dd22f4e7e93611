package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Three processes that publish to one another: none gets its own messages, the others get
// each once, in the order of each publisher.
func TestMessagesArriveOnceAndInOrder(t *testing.T) {
	t.Parallel()
	const publishers, each = 8, 300
	url := pgtest.New(t)
	all := []*process{start(t, url, ""), start(t, url, ""), start(t, url, "none")}
	var joined sync.WaitGroup
	for _, p := range all {
		joined.Go(func() { p.subscribe(Published) })
	}
	joined.Wait()
	var working sync.WaitGroup
	for i, p := range all {
		for n := range publishers {
			working.Go(func() {
				for j := range each {
					if err := p.publishOne(t.Context(), message(fmt.Sprint(i, "/", n), fmt.Sprint(j))); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	working.Wait()
	for i, p := range all {
		got := p.await((len(all) - 1) * publishers * each)
		p.nothingElse(all[(i+1)%len(all)], (len(all)-1)*publishers*each)
		require.Len(t, got, (len(all)-1)*publishers)
		for channel, payloads := range got {
			require.NotEqual(t, fmt.Sprint(i), channel[:1], "its own")
			require.Equal(t, series(each), payloads, channel)
		}
		// The marker reached the third process too.
		if third := all[(i+2)%len(all)]; i < len(all)-1 {
			third.forgetMarker()
		}
	}
	for _, p := range all {
		s := p.Stats()
		require.InDelta(t, publishers*each, s.Sent, 1, "a marker may be among them")
		require.Less(t, s.Flights, s.Sent, "messages share statements")
	}
}

// forgetMarker waits for a marker and removes it.
func (p *process) forgetMarker() {
	p.t.Helper()
	eventually(p.t, "the marker", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, m := range p.got {
			if string(m.Channel) == "marker" {
				p.got = append(p.got[:i:i], p.got[i+1:]...)
				return true
			}
		}
		return false
	})
}

// While another process publishes without a pause, and so knows for up to 250 ms that
// no other process listens, a subscription is confirmed: each message published after that comes.
func TestConfirmedSubscriptionMissesNothing(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	publisher := start(t, url, "")
	for round := range 4 {
		subscriber := start(t, url, []string{"", "none"}[round%2])
		ctx, cancel := context.WithCancel(t.Context())
		var next sync.Mutex
		n := 0
		var publishing sync.WaitGroup
		publishing.Go(func() {
			for ctx.Err() == nil {
				next.Lock()
				payload := fmt.Sprint(n)
				n++
				next.Unlock()
				if err := publisher.publishOne(context.Background(), message("c", payload)); err != nil {
					t.Error(err)
					return
				}
			}
		})
		eventually(t, "it publishes", func() bool { next.Lock(); defer next.Unlock(); return n > 100 })
		subscriber.subscribe(Published)
		next.Lock()
		first := n // no call with this number had begun
		next.Unlock()
		eventually(t, "it goes on", func() bool { next.Lock(); defer next.Unlock(); return n > first+100 })
		cancel()
		publishing.Wait()
		publisher.publish("end", "")
		eventually(t, "the end", func() bool { return subscriber.has("end") })
		got := subscriber.await(0)["c"]
		for i, payload := range got {
			if payload == fmt.Sprint(first) {
				require.Len(t, got[i:], n-first)
				got = nil
				break
			}
		}
		require.Nil(t, got, "message %d came not", first)
		subscriber.stop()
	}
}

func (p *process) has(channel string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.got {
		if string(m.Channel) == channel {
			return true
		}
	}
	return false
}

// Nothing is written for others while no other process wants it, and kinds are kept apart.
func TestNoOtherProcess(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn := connect(t, url)
	a, b := start(t, url, ""), start(t, url, "")
	a.subscribe(Published)
	for range 50 {
		a.publish("c", "x") // its own subscribers have it from elsewhere
	}
	require.Zero(t, one[int](t, conn, "SELECT count(*) FROM howdah_internal.bus"))
	require.LessOrEqual(t, a.Stats().Flights, uint64(50))
	b.subscribe(Ready)
	require.Equal(t, 2, one[int](t, conn, "SELECT count(*) FROM howdah_internal.server WHERE kinds IN (2, 8) AND subscribers + waiters = 1"))
	eventually(t, "it sees that no other process wants the kind", func() bool { return !a.Elsewhere(Published) || a.publishes("c") })
	require.Zero(t, one[int](t, conn, "SELECT count(*) FROM howdah_internal.bus"))
	require.NoError(t, a.publishOne(t.Context(), Message{Kind: Ready, Channel: []byte("db0"), Payload: []byte("12345678")}))
	b.await(1)
	require.Equal(t, []Message{{Ready, []byte("db0"), []byte("12345678")}}, b.got)
}

func (p *process) publishes(channel string) bool {
	p.publish(channel, "")
	return false
}

// A process that wants nothing and publishes nothing asks nothing.
func TestIdleProcessAsksNothing(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off")
	p := start(t, server.NewURL(), "")
	server.Stop("immediate") // it would be logged
	require.Equal(t, Stats{}, p.Stats())
	p.stop()
	require.Equal(t, Stats{}, p.Stats())
	require.Empty(t, p.logs)
	require.Zero(t, p.pool.Stat().NewConnsCount())
}

// Without Run, a receiver is refused, and a message is sent by a statement of its own.
func TestWithoutRun(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	quiet, subscriber := newProcess(t, url, ""), start(t, url, "")
	require.ErrorIs(t, quiet.tryJoin(Published), fault.ErrNotRunning)
	require.ErrorIs(t, quiet.Start(message("c", "x"), nil), fault.ErrNotRunning)
	subscriber.subscribe(Published)
	for i := range 3 {
		quiet.publish("c", fmt.Sprint(i))
	}
	require.Equal(t, map[string][]string{"c": series(3)}, subscriber.await(3))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, quiet.Await(ctx), fault.ErrNotRunning)

	quiet.run()
	require.Error(t, quiet.Run(t.Context()), "twice")
	quiet.subscribe(Published)
	quiet.stop()
	require.ErrorIs(t, quiet.tryJoin(Published), fault.ErrNotRunning)
	quiet.publish("c", "3")
	subscriber.await(4)
}

// What waits to be sent is bounded, and senders that wait are told when Run ends.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off")
	p := start(t, server.NewURL(), "")
	server.Freeze()
	defer server.Thaw()
	outcomes := make(chan error, 200)
	payload := make([]byte, 1<<20)
	accepted := 0
	var refused error
	for range 200 {
		refused = p.Start(Message{Published, nil, payload}, func(err error) { outcomes <- err })
		if refused != nil {
			break
		}
		accepted++
	}
	require.ErrorIs(t, refused, fault.ErrOverloaded)
	require.InDelta(t, 64, accepted, 2)
	require.LessOrEqual(t, p.Stats().Waiting, 64<<20)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.publishOne(ctx, message("c", "x")), fault.ErrTimeout, "it was not sent")
	p.stop()
	told := 0
	for range accepted {
		if err := <-outcomes; errors.Is(err, fault.ErrNotRunning) {
			told++
		}
	}
	require.GreaterOrEqual(t, told, accepted-2, "all but what was on its way")
}
