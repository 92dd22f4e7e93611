package redisapi

import (
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// A client sends its commands, and closes its direction of the connection while the first one
// waits: a command that may block behind it takes what is there, and does not wait.
func TestABlockingCommandOfAClientThatHasEnded(t *testing.T) {
	t.Parallel()
	for blocking, want := range map[string]string{
		"k": ":1\r\n*2\r\n" + bulk("k") + bulk("a"),
		"j": ":1\r\n",
	} {
		t.Run(blocking, func(t *testing.T) {
			s := serve(t, Options{})
			release := s.hold("k")
			c := newTestConn(s.engine)
			defer c.Close()
			input := resp.AppendCommand(resp.AppendCommand(nil, "RPUSH", "k", "a"), "BLPOP", blocking, "0")
			if n := c.Feed(input); n != len(input) {
				t.Fatalf("%d of %d bytes are taken", n, len(input))
			}
			s.awaitWaiting()
			c.Ended()
			release()
			for c.Pending() {
				<-c.woken
				c.Output(&c.out)
			}
			if got := string(c.out.Bytes()); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if closing := c.Output(&c.out); closing != (blocking == "j") {
				t.Errorf("closing is %v", closing)
			}
			if n := s.engine.options.DB.Waiters().Count(); n != 0 {
				t.Errorf("%d wait", n)
			}
		})
	}
}
