package redisapi

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

// withMemory makes an engine of a database that keeps entries in memory, for so
// long that no test sees a lease lapse.
func withMemory(t testing.TB, options Options) *Engine {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	db, err := howdah.Open(ctx, pgtest.New(t), &howdah.Options{Timeout: 30 * time.Second, Near: howdah.NearOptions{Bound: near.MaxBound}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateCache(ctx, howdah.CacheConfig{Name: "near", Near: true}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	options.DB, options.Database = (*core.DB)(db), func(int) string { return "near" }
	engine, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		engine.Close()
		stop()
		<-ended
		db.Close()
	})
	return engine
}

// testConn is a connection without a socket.
type testConn struct {
	*Conn
	woken chan struct{}
	out   pipeline.Output
}

func newTestConn(e *Engine) *testConn {
	c := &testConn{woken: make(chan struct{}, 1)}
	c.Conn = e.Connect(Info{}, func() {
		select {
		case c.woken <- struct{}{}:
		default:
		}
	})
	return c
}

// run feeds commands and waits for the last reply. The replies are in out.
func (c *testConn) run(input []byte) {
	for {
		input = input[c.Feed(input):]
		c.Output(&c.out)
		if len(input) == 0 && !c.Pending() {
			return
		}
		<-c.woken
	}
}

// do runs commands in one pipeline and returns the replies.
func (c *testConn) do(commands ...string) string {
	var input []byte
	for _, command := range commands {
		input = resp.AppendCommand(input, strings.Fields(command)...)
	}
	c.run(input)
	replies := string(c.out.Bytes())
	c.out.Reset()
	return replies
}

// hits returns how many reads memory has answered.
func (e *Engine) hits() uint64 { return e.options.DB.Near().Stats().Hits }

// warm reads keys until memory answers all of them.
func (c *testConn) warm(t testing.TB, keys ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		before := c.engine.hits()
		for _, key := range keys {
			c.do("GET " + key)
		}
		if c.engine.hits() == before+uint64(len(keys)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("memory does not answer ", keys)
		}
	}
}

// calls is how often GET was called, as INFO commandstats says.
func (e *Engine) calls() uint64 { return e.get.stats.calls() }

func TestRecall(t *testing.T) {
	t.Parallel()
	e := withMemory(t, Options{})
	c := newTestConn(e)
	defer c.Close()
	large := strings.Repeat("x", 3*pipeline.Large)
	c.do("SET a 1", "SET b 22", "SET large "+large)
	c.warm(t, "a", "b", "large", "none")

	check := func(name string, fromMemory int, want string, commands ...string) {
		t.Helper()
		hits := e.hits()
		if got := c.do(commands...); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if got := int(e.hits() - hits); got != fromMemory {
			t.Errorf("%s: %d answers from memory, want %d", name, got, fromMemory)
		}
	}
	null := "$-1\r\n"
	calls := e.calls()
	check("a pipeline", 5, bulk("1")+bulk("22")+null+bulk(large)+bulk("1"), "GET a", "get b", "gEt none", "GET large", "GET a")
	if got := e.calls() - calls; got != 5 {
		t.Errorf("%d calls were counted", got)
	}
	if got := e.Stats().PerCommand; len(got) == 0 || got[0].Time <= 0 {
		t.Errorf("no time was counted: %+v", got)
	}
	check("a miss between", 2, bulk("1")+"$-1\r\n"+bulk("22"), "GET a", "GET nowhere", "GET b")
	check("other commands between", 3, bulk("1")+"+PONG\r\n"+bulk("22")+":1\r\n"+bulk("1"), "GET a", "PING", "GET b", "STRLEN a", "GET a")
	check("a write is read", 1, bulk("22")+resp.OK+bulk("3"), "GET b", "SET a 3", "GET a")
	c.warm(t, "a")
	check("silence", 2, bulk("3"), "CLIENT REPLY SKIP", "GET a", "GET a")
	check("MULTI", 0, resp.OK+resp.Queued+"*1\r\n"+bulk("3"), "MULTI", "GET a", "EXEC")
	check("WATCH", 0, resp.OK+bulk("3")+resp.OK, "WATCH b", "GET a", "UNWATCH")
	c.do("HELLO 3")
	check("RESP3", 2, "_\r\n"+bulk("3"), "GET none", "GET a")
	if c.Feed([]byte("*2\r\n$3\r\nGET\r\n$1\r\nb\r\n*2\r\n$3\r\nGE")) != 20 || c.Output(&c.out) {
		t.Error("half a command is not consumed")
	}
	c.out.Reset()
	check("half a command", 1, bulk("3"), "GET a")
}

// A client that owes the password is answered nothing from memory.
func TestRecallAsksForThePassword(t *testing.T) {
	t.Parallel()
	e := withMemory(t, Options{Password: "secret"})
	c := newTestConn(e)
	defer c.Close()
	c.do("AUTH secret", "SET a 1")
	c.warm(t, "a")
	other := newTestConn(e)
	defer other.Close()
	if got := other.do("GET a", "GET a"); got != strings.Repeat("-"+string(errNoAuth)+"\r\n", 2) {
		t.Errorf("%q", got)
	}
}

// Whatever a connection sends in one pipeline, its replies are those of commands
// that run one after another.
func TestRecallInOrder(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	e := withMemory(t, Options{MaxPending: 20})
	c := newTestConn(e)
	defer c.Close()
	before := e.hits()
	values := map[string]string{}
	for range 200 {
		var commands []string
		var want strings.Builder
		for range 1 + r.IntN(60) {
			key := fmt.Sprint("key", r.IntN(8))
			value, found := values[key]
			switch n := r.IntN(40); {
			case n == 0:
				values[key] = fmt.Sprint(r.Uint64())
				commands = append(commands, "SET "+key+" "+values[key])
				want.WriteString(resp.OK)
			case n == 1:
				delete(values, key)
				commands = append(commands, "DEL "+key)
				if found {
					want.WriteString(resp.One)
				} else {
					want.WriteString(resp.Zero)
				}
			case n == 2:
				commands = append(commands, "PING")
				want.WriteString(resp.Pong)
			default:
				commands = append(commands, "GET "+key)
				if found {
					want.WriteString(bulk(value))
				} else {
					want.WriteString("$-1\r\n")
				}
			}
		}
		if got := c.do(commands...); got != want.String() {
			t.Fatalf("%q:\n%q, want\n%q", commands, got, want.String())
		}
	}
	if e.hits() == before {
		t.Error("memory has answered nothing")
	}
}
