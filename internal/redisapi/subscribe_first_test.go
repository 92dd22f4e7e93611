package redisapi

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/relay"
)

// unconfirmed starts a server whose first subscription is not confirmed before Release: what
// would tell others of it is held. Of messages and calls nothing is.
func unconfirmed(t *testing.T) (*testServer, *relay.Held) {
	t.Helper()
	url := pgtest.New(t)
	between := relay.New(t, pgtest.TCP(url))
	s := serveWith(t, between.URL(), howdah.Options{ListenURL: url}, Options{})
	s.runs()
	return s, between.Hold("", "INSERT INTO howdah_internal.server")
}

// awaitNumber waits until a command answers so.
func awaitNumber(t *testing.T, c *testClient, want string, command ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return c.do(command...) == want }, patience, time.Millisecond)
}

// numSub is the answer of PUBSUB NUMSUB, or SHARDNUMSUB, to one channel.
func numSub(channel string, n int) string {
	return "*2\r\n" + bulk(channel) + fmt.Sprintf(":%d\r\n", n)
}

// The first subscription of a server takes what this server publishes from the moment on in
// which it is there. It is confirmed when other servers know of it, and its messages come
// behind that, each once and in their order.
func TestFirstSubscriptionTakesMessagesAtOnce(t *testing.T) {
	t.Parallel()
	pattern := func(text string) string {
		return "*4\r\n" + bulk("pmessage") + bulk("c*") + bulk("c") + bulk(text)
	}
	for name, c := range map[string]struct {
		commands      [][]string
		known         []string // how others see it
		is            string
		publish       string
		confirmations []string
		message       func(string) string
	}{
		"SUBSCRIBE": {[][]string{{"SUBSCRIBE", "c"}}, []string{"PUBSUB", "NUMSUB", "c"}, numSub("c", 1), "PUBLISH",
			[]string{"*3\r\n" + bulk("subscribe") + bulk("c") + ":1\r\n"}, func(text string) string { return message("c", text) }},
		"PSUBSCRIBE": {[][]string{{"PSUBSCRIBE", "c*"}}, []string{"PUBSUB", "NUMPAT"}, ":1\r\n", "PUBLISH",
			[]string{"*3\r\n" + bulk("psubscribe") + bulk("c*") + ":1\r\n"}, pattern},
		"SSUBSCRIBE": {[][]string{{"SSUBSCRIBE", "c"}}, []string{"PUBSUB", "SHARDNUMSUB", "c"}, numSub("c", 1), "SPUBLISH",
			[]string{"*3\r\n" + bulk("ssubscribe") + bulk("c") + ":1\r\n"},
			func(text string) string { return "*3\r\n" + bulk("smessage") + bulk("c") + bulk(text) }},
		"in a pipeline": {[][]string{{"SET", "k", "v"}, {"SUBSCRIBE", "c"}, {"PING"}}, []string{"PUBSUB", "NUMSUB", "c"}, numSub("c", 1), "PUBLISH",
			[]string{resp.OK, "*3\r\n" + bulk("subscribe") + bulk("c") + ":1\r\n"}, func(text string) string { return message("c", text) }},
		"EXEC": {[][]string{{"MULTI"}, {"SUBSCRIBE", "c"}, {"EXEC"}}, []string{"PUBSUB", "NUMSUB", "c"}, numSub("c", 1), "PUBLISH",
			[]string{resp.OK, resp.Queued, "*1\r\n*3\r\n" + bulk("subscribe") + bulk("c") + ":1\r\n"}, func(text string) string { return message("c", text) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, held := unconfirmed(t)
			subscriber, publisher := dial(t, s.addr()), dial(t, s.addr())
			var batch []byte
			for _, command := range c.commands {
				batch = resp.AppendCommand(batch, command...)
			}
			subscriber.send(batch)
			awaitNumber(t, publisher, c.is, c.known...)
			for i := range 3 {
				publisher.want(":1\r\n", c.publish, "c", fmt.Sprint(i))
			}
			publisher.want(":1\r\n", "EVAL", "return redis.call(ARGV[1], 'c', '3')", "0", c.publish)
			held.Release()
			for _, want := range c.confirmations {
				require.Equal(t, want, subscriber.reply())
			}
			publisher.want(":1\r\n", c.publish, "c", "4")
			for i := range 5 {
				got := subscriber.reply()
				if strings.Contains(got, "pong") {
					got = subscriber.reply()
				}
				require.Equal(t, c.message(fmt.Sprint(i)), got)
			}
		})
	}
}

// A first subscription of which others could not be told is refused, and takes nothing.
// Messages for what the client had subscribed to before come all the same.
func TestFirstSubscriptionThatFails(t *testing.T) {
	t.Parallel()
	s, held := unconfirmed(t)
	subscriber, publisher := dial(t, s.addr()), dial(t, s.addr())
	subscriber.send(resp.AppendCommand(nil, "SUBSCRIBE", "c", "d"))
	awaitNumber(t, publisher, numSub("c", 1), "PUBSUB", "NUMSUB", "c")
	publisher.want(":1\r\n", "PUBLISH", "c", "lost")
	held.Cut()
	require.True(t, strings.HasPrefix(subscriber.reply(), "-LOADING "))
	publisher.want(numSub("c", 0), "PUBSUB", "NUMSUB", "c")
	subscriber.want("*3\r\n"+bulk("subscribe")+bulk("d")+":1\r\n", "SUBSCRIBE", "d")
	publisher.want(":0\r\n", "PUBLISH", "c", "nobody")
	publisher.want(":1\r\n", "PUBLISH", "d", "first")
	require.Equal(t, message("d", "first"), subscriber.reply())
}

// A client that leaves before its subscription is confirmed leaves nothing behind.
func TestClientLeavesBeforeItsSubscriptionIsConfirmed(t *testing.T) {
	t.Parallel()
	s, held := unconfirmed(t)
	subscriber, publisher := dial(t, s.addr()), dial(t, s.addr())
	subscriber.send(resp.AppendCommand(nil, "SUBSCRIBE", "c"))
	awaitNumber(t, publisher, numSub("c", 1), "PUBSUB", "NUMSUB", "c")
	publisher.want(":1\r\n", "PUBLISH", "c", "x")
	subscriber.conn.Close()
	awaitNumber(t, publisher, numSub("c", 0), "PUBSUB", "NUMSUB", "c")
	held.Release()
	other := dial(t, s.addr())
	other.want("*3\r\n"+bulk("subscribe")+bulk("c")+":1\r\n", "SUBSCRIBE", "c")
	awaitSubscribers(t, s, 1)
}

// Go's Subscribe takes messages from its begin on.
func TestFirstSubscriptionInGoTakesMessagesAtOnce(t *testing.T) {
	t.Parallel()
	s, held := unconfirmed(t)
	type result struct {
		messages *howdah.Subscription
		err      error
	}
	begun := make(chan result, 1)
	go func() {
		messages, err := s.db.Subscribe(context.Background(), howdah.SubscribeOptions{Channels: []string{"c"}})
		begun <- result{messages, err}
	}()
	awaitNumber(t, dial(t, s.addr()), numSub("c", 1), "PUBSUB", "NUMSUB", "c")
	n, err := s.db.Publish(t.Context(), "c", []byte("0"))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	held.Release()
	got := <-begun
	require.NoError(t, got.err)
	defer got.messages.Close()
	_, err = s.db.Publish(t.Context(), "c", []byte("1"))
	require.NoError(t, err)
	for i := range 2 {
		m, err := got.messages.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(m.Payload))
	}
}
