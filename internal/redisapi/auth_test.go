package redisapi

import (
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

const (
	noAuth    = "-NOAUTH Authentication required.\r\n"
	wrongPass = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
)

func TestAuth(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Password: "secret"})
	c := dial(t, s.addr())
	c.want(noAuth, "PING")
	c.want(noAuth, "GET", "k")
	c.want(noAuth, "MULTI")
	c.want("-EXECABORT Transaction discarded because of: NOAUTH Authentication required.\r\n", "EXEC")
	c.want(noAuth, "KEYS", "*")
	c.want(noAuth, "CLIENT", "SETNAME", "x")
	c.want("-ERR unknown command 'nosuch', with args beginning with: \r\n", "nosuch")
	c.want("-ERR wrong number of arguments for 'get' command\r\n", "GET")
	if got := c.do("HELLO", "3"); !strings.HasPrefix(got, "-NOAUTH HELLO must be called with the client already authenticated") {
		t.Errorf("HELLO: %q", got)
	}
	c.want(wrongPass, "AUTH", "wrong")
	c.want(wrongPass, "AUTH", "default", "")
	c.want(wrongPass, "AUTH", "other", "secret")
	c.want(wrongPass, "HELLO", "3", "AUTH", "default", "wrong")
	c.want(noAuth, "PING")
	c.want("+RESET\r\n", "RESET")
	if got := c.do("HELLO", "3", "AUTH", "default", "secret"); !strings.HasPrefix(got, "%7\r\n") {
		t.Errorf("HELLO: %q", got)
	}
	c.want(resp.Pong, "PING")
	c.want(wrongPass, "AUTH", "wrong")
	c.want(resp.Pong, "PING") // a failure does not take the authentication away
	c.want("+RESET\r\n", "RESET")
	c.want(noAuth, "PING")
	c.want(resp.OK, "AUTH", "secret")
	c.want("$-1\r\n", "GET", "k")
	c.want(resp.OK, "AUTH", "default", "secret")
	if got := s.engine.Stats().AuthFailures; got != 5 {
		t.Errorf("%d failures were counted, want 5", got)
	}
}

// The time without authentication counts from the start of the connection, and
// again from RESET if the client was authenticated.
func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Password: "secret"})
	begun := time.Now()
	c := s.engine.Connect(Info{}, func() {})
	defer c.Close()
	owes := func(since time.Time) {
		t.Helper()
		if got := c.Unauthenticated(); got <= 0 || got > time.Since(since) {
			t.Errorf("without the password for %v, at most %v", got, time.Since(since))
		}
	}
	owes(begun)
	owed := c.Unauthenticated()
	c.Feed([]byte("RESET\r\n"))
	if got := c.Unauthenticated(); got < owed {
		t.Errorf("after RESET without the password: %v, before it %v", got, owed)
	}
	c.Feed([]byte("AUTH secret\r\n"))
	if got := c.Unauthenticated(); got != 0 {
		t.Errorf("with the password: %v", got)
	}
	begun = time.Now()
	c.Feed([]byte("RESET\r\n"))
	owes(begun)
}

func TestLimitsBeforeAuth(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Password: "secret"})
	for input, want := range map[string]string{
		"*11\r\n":                        "-ERR Protocol error: unauthenticated multibulk length\r\n",
		"*2\r\n$4\r\nAUTH\r\n$16385\r\n": "-ERR Protocol error: unauthenticated bulk length\r\n",
		"QUIT\r\n":                       resp.OK,
	} {
		c := dial(t, s.addr())
		c.send([]byte(input))
		if got := c.closed(); got != want {
			t.Errorf("%q: got %q, want %q", input, got, want)
		}
	}
	c := dial(t, s.addr())
	c.want(resp.OK, "AUTH", "secret")
	c.want(resp.OK, "SET", "k", strings.Repeat("v", 20000))
}

// TestWrongPasswordsArePaced checks that guessing becomes slow, and that a client
// with the right password does not wait.
func TestWrongPasswordsArePaced(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Password: "secret"})
	guesser := dial(t, s.addr())
	const guesses = authBurst + 20
	begin := time.Now()
	for range guesses {
		guesser.want(wrongPass, "AUTH", "guess")
	}
	if took := time.Since(begin); took < (guesses-authBurst-1)*authPace {
		t.Errorf("%d guesses took only %v", guesses, took)
	}
	s.engine.failures.Most = patience // or a slow machine would find the answer due already
	for range 1000 {                  // many more guesses
		s.engine.failures.Delay(time.Now())
	}
	for password, want := range map[string]string{"guess": "", "secret": resp.OK} {
		c := s.engine.Connect(Info{}, func() {})
		defer c.Close()
		c.Feed([]byte("AUTH " + password + "\r\n"))
		if got, _ := output(c); got != want {
			t.Errorf("%s: at once %q, want %q", password, got, want)
		}
	}
}
