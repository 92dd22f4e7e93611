package redisapi

import (
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// TestTimeoutsNameWhoIsToBlame: the error of a command whose time has run out says what took it.
// On a busy machine that may be PostgreSQL, before it is what the test has made.
func TestTimeoutsNameWhoIsToBlame(t *testing.T) {
	t.Parallel()
	s := serveWith(t, pgtest.New(t), howdah.Options{Timeout: 500 * time.Millisecond}, Options{TaskTimeout: time.Hour})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	waitFor(t, "the first command", func() bool { return c.do("SET", "k", "v") == resp.OK })
	blames := func(who string, do func() string) {
		t.Helper()
		want, got := "-ERR timeout: "+who+"; the command was not applied\r\n", ""
		waitFor(t, "the blame of "+who, func() bool {
			got = do()
			return got == want || !strings.HasPrefix(got, "-ERR timeout: PostgreSQL")
		})
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}

	blames("the script ran too long, for all the time that was left to its transaction", func() string {
		c.want(resp.OK, "MULTI")
		c.want("+QUEUED\r\n", "EVAL", "while true do end", "0")
		return c.do("EXEC")
	})

	c.send(resp.AppendCommand(nil, "EVAL", "while true do end", "1", "k"))
	waitFor(t, "the script to run", func() bool {
		s.engine.scripts.mu.Lock()
		defer s.engine.scripts.mu.Unlock()
		return len(s.engine.scripts.running) > 0
	})
	blames("earlier calls for the same key took the time", func() string { return other.do("SET", "k", "w") })
	other.do("SCRIPT", "KILL") // unless it has ended before
	if got := c.reply(); got != killedScript && !strings.HasPrefix(got, string("-"+errScriptTime)) {
		t.Errorf("a script that ran for longer than a call may take: %q", got)
	}

	release := s.holdRow("k")
	defer release()
	blames("another transaction holds the row", func() string { return c.do("SET", "k", "w") })
	c.want(resp.OK, "MULTI") // a message needs no more time than a call has
	c.want(resp.Queued, "SET", "k", "w")
	c.want(resp.Queued, "PUBLISH", "channel", "message")
	if got := c.do("EXEC"); !strings.HasPrefix(got, "-ERR timeout: ") {
		t.Errorf("EXEC with a message, while the row is held: %q", got)
	}
}
