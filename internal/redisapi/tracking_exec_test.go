package redisapi

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

// queue begins a transaction and queues commands.
func (c *trackingClient) queue(commands ...string) {
	c.t.Helper()
	c.wantReply(resp.OK, "MULTI")
	for _, command := range commands {
		c.wantReply(resp.Queued, strings.Fields(command)...)
	}
}

// wantExec expects the reply of EXEC before any message.
func (c *trackingClient) wantExec(want string) {
	c.t.Helper()
	c.wantReply(want, "EXEC")
	if len(c.messages) > 0 {
		c.t.Fatalf("before the reply comes %q", c.messages)
	}
}

// readBeforeItExpires lets a client read a key, whatever the machine takes for it, while the
// key has a value that expires soon.
func readBeforeItExpires(write func(ms string), read func() (reply string)) {
	readInTime(write, func() bool { return strings.Contains(read(), bulk("expires")) })
}

// readInTime is readBeforeItExpires for a read that says whether it came in time.
func readInTime(write func(ms string), read func() bool) {
	for ms := 200; ; ms *= 2 {
		if write(strconv.Itoa(ms)); read() {
			return
		}
	}
}

// watchBeforeItExpires lets a client watch a key that expires soon, while it is there. It
// returns with the key watched, and nothing heard. forget takes what has been heard.
func watchBeforeItExpires(c *testClient, key string, forget func()) {
	c.t.Helper()
	for ms := 200; ; ms *= 2 {
		c.want(resp.OK, "SET", key, "v", "PX", strconv.Itoa(ms))
		c.want(resp.OK, "WATCH", key)
		if c.do("EXISTS", key) == resp.One {
			return
		}
		c.want(resp.OK, "UNWATCH")
		c.do("DEL", key) // waits behind what removes the key
		forget()
	}
}

// A connection that never tracked begins to in a transaction, which also changes what it
// has read: that is told behind its reply.
func TestExecThatBeginsToTrack(t *testing.T) {
	t.Parallel()
	for _, near := range []time.Duration{0, slowPolls} {
		t.Run(fmt.Sprintf("near %v", near), func(t *testing.T) {
			s := serveTracking(t, newTrackingDatabase(t), near)
			dial(t, s.addr()).want(resp.OK, "SET", "k", "1")
			c := dialTracking(t, s.addr(), "3")
			c.queue("CLIENT TRACKING ON", "GET k", "SET k 2")
			if reply := "*3\r\n" + resp.OK + bulk("1") + resp.OK; near == slowPolls {
				c.wantExec(reply)
			} else {
				c.wantReply(reply, "EXEC")
				c.messages = nil // a poll may have told of it before
			}
			c.wantMessage("k")
			c.wantReply(bulk("2"), "GET", "k")
		})
	}
}

// What it has read may also expire.
func TestExecThatBeginsToTrackWhatExpires(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s := serveTracking(t, newTrackingDatabase(t), near)
		other := dial(t, s.addr())
		var late *trackingClient
		readBeforeItExpires(func(ms string) { other.want(resp.OK, "SET", "e", "expires", "PX", ms) }, func() string {
			late = dialTracking(t, s.addr(), "3")
			late.queue("CLIENT TRACKING ON", "GET e")
			return late.run("EXEC")
		})
		late.wantMessage("e")
	})
}

// What changes between the read and the reply is told behind the reply, whether it was told
// before or nobody tracked then.
func TestExecThatBeginsToTrackAndWaits(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string][]string{
		"the client tracks already":  {"CLIENT TRACKING ON", "GET k", "INCR l"},
		"its snapshot is older":      {"GET j", "INCR l", "CLIENT TRACKING ON", "GET k"},
		"it tracks by prefix":        {"CLIENT TRACKING ON BCAST PREFIX k", "GET k", "INCR l"},
		"it tracks by prefix, later": {"GET j", "INCR l", "CLIENT TRACKING ON BCAST PREFIX k", "GET k"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveBroadcast(t, newTrackingDatabase(t), 0)
			s.sql("SELECT howdah.set_text('db0', 'k', 'old')")
			s.sql("SELECT howdah.set_text('db0', 'l', '0')")
			c := dialTracking(t, s.addr(), "3")
			c.run("GET", "k") // the table is known then
			s.caughtUp()
			release := s.hold("l")
			c.queue(commands...)
			c.send(resp.AppendCommand(nil, "EXEC"))
			s.awaitWaiting()
			s.sql("SELECT howdah.set_text('db0', 'k', 'new')")
			s.caughtUp()
			release()
			if reply := c.next(); !strings.Contains(reply, bulk("old")) {
				t.Fatalf("%q", reply)
			}
			c.messages = nil // those before the reply
			for c.await() != invalidation("k") {
				// j is ended too
			}
			c.wantReply(bulk("new"), "GET", "k")
		})
	}
}

// A client that was told by prefix reads keys in the transaction with which that ends.
func TestExecThatEndsBroadcast(t *testing.T) {
	t.Parallel()
	s, c := broadcasts(t, newTrackingDatabase(t), 0, "PREFIX", "user:")
	c.queue("CLIENT TRACKING OFF", "CLIENT TRACKING ON", "GET k")
	c.wantExec("*3\r\n" + resp.OK + resp.OK + "_\r\n")
	c.wantMessage("k")
	c.wantReply("_\r\n", "GET", "k")
	dial(t, s.addr()).want(resp.OK, "SET", "k", "v")
	c.wantMessage("k")
}

// What a transaction reads behind SELECT is judged by the database that is chosen then.
func TestExecThatSelects(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := tracks(t, newTrackingDatabase(t), near)
		writer := dial(t, s.addr())
		writer.want(resp.OK, "SELECT", "1")
		s.sql("SELECT howdah.alter_cache('db1', near => true)")
		readBeforeItExpires(func(ms string) { writer.want(resp.OK, "SET", "k", "expires", "PX", ms) }, func() string {
			c.wantReply(resp.OK, "SELECT", "0")
			s.caughtUp()
			c.heard()
			c.queue("GET j", "SELECT 1", "GET k")
			return c.run("EXEC")
		})
		c.wantMessage("k")

		s.sql("SELECT howdah.alter_cache('db1', near => false)")
		writer.want("$-1\r\n", "GET", "k")
		s.caughtUp()
		c.heard()
		for _, commands := range [][]string{{"SELECT 0", "GET j", "SELECT 1", "GET k"}, {"SELECT 1", "GET k", "SELECT 0", "GET j"}} {
			c.wantReply(resp.OK, "SELECT", "0")
			c.queue(commands...)
			c.run("EXEC")
			c.wantMessage("k")
			c.wantNone()
		}
	})
}
