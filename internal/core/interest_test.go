package core

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/test/bubble"
)

var errAway = errors.New("away")

// serversWith is servers with one beside home, to which it is said through a membership who
// listens.
func serversWith(m *membership) (*servers, *server) {
	other := &server{db: &DB{engines: new(engine.Set)}, interests: map[bus.Kind]*interest{
		bus.Published: {bus: m, kind: bus.Published},
	}}
	return &servers{others: map[int]*server{1: other}, listens: map[bus.Kind]int{}}, other
}

// A server to which it could not be said who listens is told again while somebody listens,
// and one that could not be told is not left.
func TestServerThatCouldNotBeTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(membership)
		s, other := serversWith(m)
		ctx, cancel := context.WithCancel(t.Context())
		go s.keepListening(ctx, other)
		again := func() {
			bubble.Pass(2 * listenEvery)
			synctest.Wait()
		}

		s.listen(bus.Published, 1)
		m.answer(errAway)
		m.refuse(true)
		again()
		require.Zero(t, m.joined())
		m.refuse(false)
		again()
		require.Equal(t, 1, m.joined())
		m.answer(nil)
		s.listen(bus.Published, 1)
		s.listen(bus.Published, -1)
		require.Equal(t, 1, m.joined())
		s.listen(bus.Published, -1)
		require.Zero(t, m.joined())

		m.forget()
		s.listen(bus.Published, 1)
		m.answer(errAway)
		s.listen(bus.Published, -1)
		again()
		require.Zero(t, m.joined(), "one that has not joined has left")
		s.listen(bus.Published, 1)
		s.listen(bus.Published, -1) // while it is asked
		require.Equal(t, 1, m.joined())
		m.answer(nil)
		require.Zero(t, m.joined())
		cancel()
	})
}

// Who could not be told that others listen for it does not count at other servers.
func TestListenThatFailed(t *testing.T) {
	t.Parallel()
	m := &membership{settled: true}
	s, _ := serversWith(m)
	db := &DB{partitions: &partitions{servers: s}, bus: bus.New(bus.Options{
		Acquire: func(context.Context) (*pgxpool.Conn, error) { return nil, errAway },
		Failure: func(err error, _ bool) error { return err },
		Timeout: time.Second, Logger: slog.New(slog.DiscardHandler),
	})}
	_, err := db.Listen(pubsub.Channel, nil)
	require.Error(t, err, "it does not run")
	require.Zero(t, m.joined())

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.bus.Run(ctx) }()
	require.NoError(t, db.bus.Await(ctx))
	told := make(chan error, 1)
	joined, err := db.Listen(pubsub.Pattern, func(err error) { told <- err })
	require.NoError(t, err)
	require.False(t, joined)
	require.ErrorIs(t, <-told, errAway)
	require.Zero(t, m.joined())
	require.Zero(t, s.listens[bus.Published])
	cancel()
	require.NoError(t, <-ended)
}
