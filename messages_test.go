package howdah_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

func TestPublishAndSubscribe(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	one, other := dbtest.Open(t, url, nil), dbtest.Open(t, url, nil)
	dbtest.Run(t, one)
	dbtest.Run(t, other)
	here := dbtest.Subscribe(t, one, howdah.SubscribeOptions{Channels: []string{"news"}, Patterns: []string{"n?ws", "x*"}})
	there := dbtest.Subscribe(t, other, howdah.SubscribeOptions{Channels: []string{"news", ""}})
	publish := func(db *howdah.DB, channel, message string, receivers int) {
		t.Helper()
		n, err := db.Publish(t.Context(), channel, []byte(message))
		require.NoError(t, err)
		require.Equal(t, receivers, n)
	}
	publish(one, "news", "1", 2)
	publish(other, "news", "2", 1)
	dbtest.Exec(t, one, "SELECT howdah.publish('news', '\\x0033')")
	publish(other, "", "", 1)
	publish(other, "xyz", "5", 0)
	require.ElementsMatch(t, []string{" news 1", "n?ws news 1"}, []string{dbtest.NextMessage(t, here), dbtest.NextMessage(t, here)})
	require.ElementsMatch(t, []string{" news 2", "n?ws news 2"}, []string{dbtest.NextMessage(t, here), dbtest.NextMessage(t, here)})
	require.ElementsMatch(t, []string{" news \x003", "n?ws news \x003"}, []string{dbtest.NextMessage(t, here), dbtest.NextMessage(t, here)})
	require.Equal(t, "x* xyz 5", dbtest.NextMessage(t, here))
	got := []string{dbtest.NextMessage(t, there), dbtest.NextMessage(t, there), dbtest.NextMessage(t, there), dbtest.NextMessage(t, there)}
	require.ElementsMatch(t, []string{" news 1", " news 2", " news \x003", "  "}, got)

	for _, o := range []howdah.SubscribeOptions{{}, {Channels: []string{"c"}, MaxBytes: -1}} {
		_, err := one.Subscribe(t.Context(), o)
		require.ErrorIs(t, err, howdah.ErrInvalidSetting)
	}
	for _, o := range []howdah.SubscribeOptions{{Channels: []string{strings.Repeat("c", 65<<10+1)}}, {Patterns: []string{"*", strings.Repeat("a*", 513)}}} {
		_, err := one.Subscribe(t.Context(), o)
		require.ErrorIs(t, err, howdah.ErrKeyTooLong)
	}
	_, err := one.Publish(t.Context(), string(make([]byte, 65<<10+1)), nil)
	require.ErrorIs(t, err, howdah.ErrKeyTooLong)
	there.Close()
	there.Close()
	_, err = there.Next(t.Context())
	require.ErrorIs(t, err, howdah.ErrClosed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = here.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// Subscriptions need Run, wait for it a moment, and end with it.
func TestSubscriptionNeedsRun(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), &howdah.Options{Timeout: dbtest.Timeout, MaxValueBytes: 100})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := db.Subscribe(ctx, howdah.SubscribeOptions{Channels: []string{"c"}})
	require.ErrorIs(t, err, howdah.ErrNotRunning)
	_, err = db.Publish(t.Context(), "c", make([]byte, 101))
	require.ErrorIs(t, err, howdah.ErrValueTooLarge)
	_, err = db.Publish(t.Context(), "c", []byte("without Run"))
	require.NoError(t, err)

	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(running) }()
	s := dbtest.Subscribe(t, db, howdah.SubscribeOptions{Channels: []string{"c"}})
	_, err = db.Publish(t.Context(), "c", []byte("last"))
	require.NoError(t, err)
	stop()
	require.NoError(t, <-ended)
	require.Equal(t, " c last", dbtest.NextMessage(t, s))
	_, err = s.Next(t.Context())
	require.ErrorIs(t, err, howdah.ErrNotRunning)
}

// Who does not read loses the subscription, not the publisher's time.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	dbtest.Run(t, db)
	slow := dbtest.Subscribe(t, db, howdah.SubscribeOptions{Channels: []string{"c"}, MaxBytes: 1000})
	quick := dbtest.Subscribe(t, db, howdah.SubscribeOptions{Channels: []string{"c"}})
	for i := range 20 {
		_, err := db.Publish(t.Context(), "c", fmt.Appendf(nil, "%100d", i))
		require.NoError(t, err)
	}
	for i := range 20 {
		require.Equal(t, fmt.Sprintf(" c %100d", i), dbtest.NextMessage(t, quick))
	}
	read := 0
	for {
		_, err := slow.Next(t.Context())
		if err != nil {
			require.ErrorIs(t, err, howdah.ErrOverloaded)
			break
		}
		read++
	}
	require.Equal(t, 6, read)
	require.NoError(t, db.Close())
	_, err := quick.Next(t.Context())
	require.ErrorIs(t, err, howdah.ErrClosed)
}

// A role with the least rights publishes, subscribes and removes what is old, and no
// longer after they were taken back.
func TestMessagesOfARuntimeRole(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	owner := dbtest.Open(t, url, nil)
	dbtest.Run(t, owner)
	role, appURL := dbtest.NewRole(t, url)
	dbtest.Exec(t, owner, "SELECT howdah.grant_runtime($1)", role)
	app := dbtest.Open(t, appURL, nil)
	dbtest.Run(t, app)
	mine, its := dbtest.Subscribe(t, owner, howdah.SubscribeOptions{Channels: []string{"c"}}), dbtest.Subscribe(t, app, howdah.SubscribeOptions{Channels: []string{"c"}})
	_, err := app.Publish(t.Context(), "c", []byte("1"))
	require.NoError(t, err)
	dbtest.Exec(t, app, "SELECT howdah.publish('c', '2')")
	for _, s := range []*howdah.Subscription{mine, its} {
		require.Equal(t, " c 1", dbtest.NextMessage(t, s))
		require.Equal(t, " c 2", dbtest.NextMessage(t, s))
	}
	dbtest.Eventually(t, "its row is renewed", func() bool {
		return dbtest.Number(t, owner, "SELECT count(*) FROM howdah_internal.server WHERE renewed_at > started_at") == 2
	})
	_, err = app.Pool().Exec(t.Context(), schema.Query("bus_trim"), 50)
	require.NoError(t, err)
	_, err = app.Pool().Exec(t.Context(), "UPDATE howdah_internal.bus SET sender = 7")
	require.ErrorContains(t, err, "permission denied")

	dbtest.Exec(t, owner, "SELECT howdah.revoke_runtime($1)", role)
	_, err = app.Publish(t.Context(), "c", []byte("3"))
	require.ErrorIs(t, err, howdah.ErrPermission)
}

func TestListenURL(t *testing.T) {
	t.Parallel()
	_, err := howdah.Open(t.Context(), pgtest.New(t), &howdah.Options{ListenURL: "postgres://[", Timeout: time.Second})
	require.ErrorContains(t, err, "ListenURL")

	url := pgtest.New(t)
	db := dbtest.Open(t, url, &howdah.Options{Timeout: dbtest.Timeout, ListenURL: url})
	dbtest.Run(t, db)
	dbtest.Subscribe(t, db, howdah.SubscribeOptions{Channels: []string{"c"}})
	dbtest.Eventually(t, "a connection that listens has the name of the others", func() bool {
		return dbtest.Number(t, db, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'howdah' AND query ~ 'LISTEN' AND pid <> pg_backend_pid()`) == 1
	})
}
