package redisapi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// slowPolls is a bound with which polls come when caughtUp asks for them. In between, a poll
// may find a write before its answer has come, and tells even the client that wrote.
const slowPolls = 10 * time.Second

// serveTracking starts a server whose databases have a change log, and which follows it.
func serveTracking(t testing.TB, url string, near time.Duration) *testServer {
	t.Helper()
	s := serveWith(t, url, howdah.Options{Near: howdah.NearOptions{Bound: near}}, Options{})
	db := s.engine.options.DB
	if _, err := db.Pool().Exec(t.Context(), "SELECT howdah.alter_cache('db0', near => true)"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { _ = db.Run(ctx) })
	t.Cleanup(func() { stop(); run.Wait() })
	return s
}

// serveBroadcast is serveTracking for a database whose change log has keys.
func serveBroadcast(t testing.TB, url string, near time.Duration) *testServer {
	t.Helper()
	s := serveTracking(t, url, near)
	if _, err := s.db.Pool().Exec(t.Context(), "SELECT howdah.alter_cache('db0', log_keys => true)"); err != nil {
		t.Fatal(err)
	}
	return s
}

// newTrackingDatabase makes a database for servers.
func newTrackingDatabase(t testing.TB) string { return pgtest.New(t) }

// caughtUp waits until the server has applied a poll that was sent after the call.
func (s *testServer) caughtUp() {
	s.t.Helper()
	if err := s.engine.options.DB.Cache("db0").Track(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

// trackingClient is a connection that tells replies and messages apart.
type trackingClient struct {
	*testClient
	messages   []string // that came, and were not taken
	subscribed bool     // in RESP2, where few commands are allowed then
}

const trackingSentinel = "sentinel"

func dialTracking(t testing.TB, addr, proto string) *trackingClient {
	t.Helper()
	c := &trackingClient{testClient: dial(t, addr)}
	c.do("HELLO", proto, "SETNAME", trackingSentinel)
	return c
}

// next reads a reply, and keeps the messages before it.
func (c *trackingClient) next() string {
	c.t.Helper()
	for {
		reply := c.reply()
		if !strings.HasPrefix(reply, ">") && !strings.HasPrefix(reply, "*3\r\n$7\r\nmessage") {
			return reply
		}
		c.messages = append(c.messages, reply)
	}
}

// run sends a command and returns its reply.
func (c *trackingClient) run(args ...string) string {
	c.t.Helper()
	c.send(resp.AppendCommand(nil, args...))
	switch args[0] {
	case "SUBSCRIBE":
		c.subscribed = true
	case "UNSUBSCRIBE":
		c.subscribed = false
	}
	return c.next()
}

// heard returns the messages that have come by now.
func (c *trackingClient) heard() []string {
	c.t.Helper()
	command := []string{"CLIENT", "GETNAME"}
	if c.subscribed {
		command = []string{"PING", trackingSentinel}
	}
	if reply := c.run(command...); !strings.Contains(reply, trackingSentinel) {
		c.t.Fatalf("%q gives %q", command, reply)
	}
	messages := c.messages
	c.messages = nil
	return messages
}

// await waits for a message.
func (c *trackingClient) await() string {
	c.t.Helper()
	if len(c.messages) == 0 {
		c.messages = append(c.messages, c.reply())
	}
	message := c.messages[0]
	c.messages = c.messages[1:]
	return message
}

// wantMessage waits for the invalidation of a key; "": of all.
func (c *trackingClient) wantMessage(key string) {
	c.t.Helper()
	if message := c.await(); message != invalidation(key) {
		c.t.Fatalf("the message is %q, and not the invalidation of %q", message, key)
	}
}

// wantNone expects that no message has come.
func (c *trackingClient) wantNone() {
	c.t.Helper()
	if messages := c.heard(); len(messages) > 0 {
		c.t.Fatalf("messages came: %q", messages)
	}
}

func invalidation(key string) string {
	if key == "" {
		return ">2\r\n$10\r\ninvalidate\r\n_\r\n"
	}
	return fmt.Sprintf(">2\r\n$10\r\ninvalidate\r\n*1\r\n$%d\r\n%s\r\n", len(key), key)
}
