package redisapi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// runs runs the database of a server until the end of the test, or until stop.
func (s *testServer) runs() (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.db.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(stop)
	if err := (*core.DB)(s.db).Bus().Await(ctx); err != nil {
		s.t.Fatal(err)
	}
	return stop
}

// twoServers starts two servers on one database.
func twoServers(t *testing.T) (a, b *testServer, url string) {
	url = pgtest.New(t)
	a, b = serveURL(t, url, Options{}), serveURL(t, url, Options{})
	a.runs()
	b.runs()
	return a, b, url
}

// subscribers is what the servers say of themselves in the database, as soon as it is that.
func awaitSubscribers(t *testing.T, s *testServer, want int) {
	t.Helper()
	got := -1
	await.True(t, fmt.Sprintf("%d subscribers", want), func() bool {
		err := s.db.Pool().QueryRow(context.Background(), "SELECT coalesce(sum(subscribers), 0)::integer FROM howdah_internal.server").Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		return got == want
	})
}

// Messages go from each server to the subscribers of the other, in every kind, and
// from EXEC, scripts and SQL.
func TestMessagesBetweenServers(t *testing.T) {
	t.Parallel()
	a, b, _ := twoServers(t)
	subscriber, publisher := dial(t, a.addr()), dial(t, b.addr())
	subscriber.want("*3\r\n"+bulk("subscribe")+bulk("c")+":1\r\n", "SUBSCRIBE", "c")
	subscriber.do("PSUBSCRIBE", "p*")
	subscriber.do("SSUBSCRIBE", "c")
	wants := func(messages ...string) {
		t.Helper()
		for _, want := range messages {
			if got := subscriber.reply(); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
	publisher.want(":0\r\n", "PUBLISH", "c", "1")
	publisher.want(":0\r\n", "PUBLISH", "pq", "2")
	publisher.want(":0\r\n", "SPUBLISH", "c", "3")
	wants(message("c", "1"), "*4\r\n"+bulk("pmessage")+bulk("p*")+bulk("pq")+bulk("2"), "*3\r\n"+bulk("smessage")+bulk("c")+bulk("3"))

	publisher.do("MULTI")
	publisher.do("PUBLISH", "c", "4")
	publisher.do("SET", "k", "v")
	publisher.want("*2\r\n:0\r\n"+resp.OK, "EXEC")
	publisher.do("EVAL", "redis.call('SET', KEYS[1], '1') return redis.call('PUBLISH', 'c', '5')", "1", "k")
	if _, err := b.db.Pool().Exec(t.Context(), "SELECT howdah.publish('c', '6')"); err != nil {
		t.Fatal(err)
	}
	wants(message("c", "4"), message("c", "5"), message("c", "6"))
	if _, err := a.db.Publish(t.Context(), "c", []byte("7")); err != nil {
		t.Fatal(err)
	}
	wants(message("c", "7"))

	// Subscribed in EXEC.
	multi := dial(t, a.addr())
	multi.do("MULTI")
	multi.do("SUBSCRIBE", "m")
	multi.do("EXEC")
	publisher.do("PUBLISH", "m", "8")
	if got := multi.reply(); got != message("m", "8") {
		t.Fatalf("%q", got)
	}
}

// A pipeline of messages and other commands: replies in their order, messages in theirs,
// and what was written before a message is there when it comes.
func TestPipelinesBetweenServers(t *testing.T) {
	t.Parallel()
	a, b, _ := twoServers(t)
	subscriber, publisher, reader := dial(t, a.addr()), dial(t, b.addr()), dial(t, a.addr())
	subscriber.do("SUBSCRIBE", "c")
	const rounds = 300
	var batch []byte
	for i := range rounds {
		batch = resp.AppendCommand(batch, "SET", "k", fmt.Sprint(i))
		for j := range 3 {
			batch = resp.AppendCommand(batch, "PUBLISH", "c", fmt.Sprint(3*i+j))
		}
		batch = resp.AppendCommand(batch, "PING")
	}
	var work sync.WaitGroup
	work.Go(func() {
		publisher.send(batch)
		for range rounds {
			for _, want := range []string{resp.OK, ":0\r\n", ":0\r\n", ":0\r\n", "+PONG\r\n"} {
				if got := publisher.reply(); got != want {
					t.Errorf("got %q, want %q", got, want)
					return
				}
			}
		}
	})
	for i := range 3 * rounds {
		if got := subscriber.reply(); got != message("c", fmt.Sprint(i)) {
			t.Fatalf("got %q at %d", got, i)
		}
		var n int
		if _, err := fmt.Sscanf(strings.SplitN(reader.do("GET", "k"), "\r\n", 2)[1], "%d", &n); err != nil || n < i/3 {
			t.Fatalf("message %d came before its write: %d %v", i, n, err)
		}
	}
	work.Wait()
}

// A subscription that is confirmed takes what other servers publish afterwards, while they
// publish all the time; behind it, the pipeline goes on.
func TestSubscribeWhileOthersPublish(t *testing.T) {
	t.Parallel()
	a, b, _ := twoServers(t)
	publisher := dial(t, b.addr())
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var mu sync.Mutex
	n := 0
	work.Go(func() {
		for ctx.Err() == nil {
			mu.Lock()
			next := n
			n++
			mu.Unlock()
			publisher.do("PUBLISH", "c", fmt.Sprint(next))
		}
	})
	c := dial(t, a.addr())
	c.send(append(resp.AppendCommand(resp.AppendCommand(nil, "SET", "k", "v"), "SUBSCRIBE", "c"), resp.AppendCommand(nil, "PING")...))
	if got := c.reply(); got != resp.OK {
		t.Fatalf("%q", got)
	}
	if got := c.reply(); !strings.Contains(got, "subscribe") {
		t.Fatalf("%q", got)
	}
	mu.Lock()
	first := n
	mu.Unlock()
	next := -1
	for next < first+100 {
		got := c.reply()
		if strings.Contains(got, "pong") {
			continue
		}
		var came int
		fmt.Sscan(payload(t, got), &came)
		if next >= 0 && came != next || next < 0 && came > first {
			t.Fatalf("%d came; the first that had to was %d, the one before %d", came, first, next-1)
		}
		next = came + 1
	}
	cancel()
	work.Wait()
}

// The other servers send nothing for subscribers that have left.
func TestSubscribersLeave(t *testing.T) {
	t.Parallel()
	a, _, _ := twoServers(t)
	var clients []*testClient
	for i := range 5 {
		c := dial(t, a.addr())
		c.do("SUBSCRIBE", fmt.Sprint(i))
		c.do("PSUBSCRIBE", "x*")
		clients = append(clients, c)
	}
	awaitSubscribers(t, a, 5)
	clients[0].do("UNSUBSCRIBE", "0")
	clients[0].do("PUNSUBSCRIBE", "x*")
	clients[1].do("RESET")
	clients[2].conn.Close()
	clients[3].do("UNSUBSCRIBE", "3")
	awaitSubscribers(t, a, 2)
	clients[3].do("SUBSCRIBE", "3")
	clients[0].want("*3\r\n"+bulk("subscribe")+bulk("0")+":1\r\n", "SUBSCRIBE", "0")
	awaitSubscribers(t, a, 3)
	for _, c := range []*testClient{clients[0], clients[1], clients[3], clients[4]} {
		c.conn.Close()
	}
	awaitSubscribers(t, a, 0)
}

// Where PostgreSQL does not answer, PUBLISH and SUBSCRIBE say so instead of serving this
// server alone.
func TestMessagesWithoutPostgreSQL(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	s := serveURL(t, server.NewURL(), Options{})
	s.runs()
	c := dial(t, s.addr())
	c.want(":0\r\n", "PUBLISH", "c", "1")
	server.Stop("immediate")
	for _, command := range []string{"SUBSCRIBE c", "SSUBSCRIBE c"} {
		if got := c.do(strings.Fields(command)...); !strings.HasPrefix(got, "-LOADING ") {
			t.Fatalf("%q: %q", command, got)
		}
	}
	// For up to 250 ms it knows that there are no others.
	await.True(t, "PUBLISH fails", func() bool { return strings.HasPrefix(c.do("PUBLISH", "c", "1"), "-") })
	server.Start()
	await.True(t, "it subscribes again", func() bool { return c.do("SUBSCRIBE", "c")[0] == '*' })
}
