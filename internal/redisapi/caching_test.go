package redisapi

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
)

// What CLIENT CACHING has set is for the command that a pause holds, when that begins.
func TestCachingOutlastsAPause(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"OPTIN", "YES"}, {"OPTOUT", "NO"}} {
		t.Run(words[0], func(t *testing.T) {
			s, c := tracks(t, newTrackingDatabase(t), 0, words[0])
			other := dial(t, s.addr())
			c.wantReply(resp.OK, "CLIENT", "CACHING", words[1])
			other.want(resp.OK, "CLIENT", "PAUSE", "600000", "ALL")
			c.send(resp.AppendCommand(nil, "GET", "k"))
			s.awaitHeld(1)
			s.engine.pause.stop()
			if reply := c.next(); reply != "_\r\n" {
				t.Fatalf("the reply is %q", reply)
			}
			other.want(resp.OK, "SET", "k", "1")
			if words[0] == "OPTIN" {
				c.wantMessage("k")
			}
			c.wantNone()
			// The next one is a command as any other again.
			c.wantReply("$1\r\n1\r\n", "GET", "k")
			other.want(resp.OK, "SET", "k", "2")
			if words[0] == "OPTOUT" {
				c.wantMessage("k")
			}
			c.wantNone()
		})
	}
}

// awaitHeld waits until a pause holds so many connections.
func (s *testServer) awaitHeld(n int) {
	s.t.Helper()
	held := func() int {
		s.engine.pause.mu.Lock()
		defer s.engine.pause.mu.Unlock()
		return len(s.engine.pause.held)
	}
	await.True(s.t, fmt.Sprintf("the pause holds %d connections", n), func() bool { return held() == n })
}

// Changes are told, by whichever goroutine, while the client goes on to say what it will
// keep. The race detector judges.
func TestCachingBesideChanges(t *testing.T) {
	t.Parallel()
	s, c := tracks(t, newTrackingDatabase(t), 0, "OPTIN")
	other := dial(t, s.addr())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			other.want(resp.OK, "SET", "k", strconv.Itoa(i))
		}
	}()
	for told := 0; ; {
		c.wantReply(resp.OK, "CLIENT", "CACHING", "YES")
		c.run("GET", "k")
		told += len(c.messages)
		c.messages = nil
		select {
		case <-done:
			if told == 0 {
				t.Fatal("no change was told")
			}
			return
		default:
		}
	}
}
