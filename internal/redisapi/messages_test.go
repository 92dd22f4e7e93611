package redisapi

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// message is what a subscriber in RESP2 is sent.
func message(channel, payload string) string {
	return "*3\r\n" + bulk("message") + bulk(channel) + bulk(payload)
}

// payload takes the payload out of a message.
func payload(t testing.TB, reply string) string {
	t.Helper()
	parts := elements(strings.Replace(reply, ">", "*", 1))
	if len(parts) != 3 || parts[0] != bulk("message") {
		t.Fatalf("not a message: %q", reply)
	}
	_, text, _ := strings.Cut(parts[2], "\r\n")
	return strings.TrimSuffix(text, "\r\n")
}

// TestMessageFollowsWrites pipelines writes and messages about them: a subscriber that takes a
// message finds what was written before it, and replies keep their order.
func TestMessageFollowsWrites(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := serveURL(t, url, Options{})
	subscriber, publisher := dial(t, s.addr()), dial(t, s.addr())
	// In the server of the publisher a read waits for the writes before it anyway.
	reader := dial(t, serveURL(t, url, Options{}).addr())
	subscriber.do("SUBSCRIBE", "c")
	const rounds = 200
	var batch []byte
	for i := range rounds {
		n := strconv.Itoa(i)
		batch = resp.AppendCommand(batch, "SET", "k", n)
		batch = resp.AppendCommand(batch, "HSET", "h", "f", n)
		batch = resp.AppendCommand(batch, "PUBLISH", "c", n)
		batch = resp.AppendCommand(batch, "GET", "k")
	}
	var work sync.WaitGroup
	work.Go(func() {
		publisher.send(batch)
		for i := range rounds {
			for _, want := range []string{resp.OK, ":0\r\n", ":1\r\n", bulk(strconv.Itoa(i))} {
				if i == 0 && want == ":0\r\n" {
					want = ":1\r\n"
				}
				if got := publisher.reply(); got != want {
					t.Errorf("round %d: got %q, want %q", i, got, want)
				}
			}
		}
	})
	for i := range rounds {
		if got := payload(t, subscriber.reply()); got != strconv.Itoa(i) {
			t.Errorf("message %d is %s", i, got)
		}
		for _, command := range [][]string{{"GET", "k"}, {"HGET", "h", "f"}} {
			_, text, _ := strings.Cut(reader.do(command...), "\r\n")
			if n, err := strconv.Atoi(strings.TrimSpace(text)); err != nil || n < i {
				t.Errorf("message %d came before its write: %v is %q", i, command, text)
			}
		}
	}
	work.Wait()
}

// TestMessagesOfRepeatedTransactions has transactions and scripts of two servers compete
// for one key, so that they run again: each message is sent once, by those that were committed.
func TestMessagesOfRepeatedTransactions(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	const clients, rounds = 3, 30
	var work sync.WaitGroup
	var servers [2]*testServer
	var subscribers [2]*testClient
	var committed [2]atomic.Int64
	for i := range servers {
		servers[i] = serveURL(t, url, Options{})
		subscribers[i] = dial(t, servers[i].addr())
		subscribers[i].do("SUBSCRIBE", "c")
	}
	for i, s := range servers {
		for client := range clients {
			c := dial(t, s.addr())
			work.Go(func() {
				for round := range rounds {
					name := fmt.Sprint(client, " ", round)
					if (client+round)%2 == 0 {
						for _, command := range [][]string{{"MULTI"}, {"PUBLISH", "c", name}, {"INCR", "n"}} {
							c.do(command...)
						}
						if reply := c.do("EXEC"); reply[0] == '*' {
							committed[i].Add(1)
						}
						continue
					}
					reply := c.do("EVAL", "redis.call('PUBLISH', 'c', ARGV[1]) return redis.call('INCR', KEYS[1])", "1", "n", name)
					if reply[0] == ':' {
						committed[i].Add(1)
					}
				}
			})
		}
	}
	work.Wait()
	for i, s := range servers {
		dial(t, s.addr()).want(":1\r\n", "PUBLISH", "c", "end")
		seen := make(map[string]bool)
		for {
			name := payload(t, subscribers[i].reply())
			if name == "end" {
				break
			}
			if seen[name] {
				t.Errorf("%s was sent twice", name)
			}
			seen[name] = true
		}
		if int64(len(seen)) != committed[i].Load() || len(seen) == 0 {
			t.Errorf("%d messages of %d transactions", len(seen), committed[i].Load())
		}
	}
}

// What is not committed sends nothing.
func TestNoMessageWithoutCommit(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	subscriber, other, c := dial(t, s.addr()), dial(t, s.addr()), dial(t, s.addr())
	subscriber.do("SUBSCRIBE", "c")
	c.do("WATCH", "k")
	other.do("SET", "k", "v")
	c.do("MULTI")
	c.do("PUBLISH", "c", "lost")
	c.do("SUBSCRIBE", "d")
	c.want("*-1\r\n", "EXEC")
	c.want("+PONG\r\n", "PING")
	other.want(":0\r\n", "PUBLISH", "d", "x")
	c.do("MULTI")
	c.do("PUBLISH", "c", "lost")
	c.do("DISCARD")
	if reply := c.do("EVAL", "redis.call('PUBLISH', 'c', 'lost') local t = {} while true do t[#t + 1] = string.rep('x', 1000000) .. #t end", "0"); reply[0] != '-' {
		t.Errorf("a script without a bound ended: %q", reply)
	}
	c.want(":1\r\n", "PUBLISH", "c", "kept")
	if got := subscriber.reply(); got != message("c", "kept") {
		t.Errorf("got %q", got)
	}
}

// TestMessagesBetweenConfirmations subscribes and unsubscribes while others publish: no
// message comes before the confirmation or behind that of the end, and those
// of one publisher keep their order. After HELLO they look as the protocol says.
func TestMessagesBetweenConfirmations(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	stop := make(chan struct{})
	var work sync.WaitGroup
	for p := range 2 {
		c := dial(t, s.addr())
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					c.do("PUBLISH", "c", fmt.Sprintf("%d %d", p, n))
				}
			}
		})
	}
	defer work.Wait()
	defer close(stop)
	c := dial(t, s.addr())
	last := [2]int{-1, -1}
	// until reads messages, which begin with kind, and returns the first other reply.
	until := func(kind string) string {
		for {
			reply := c.reply()
			if !strings.Contains(reply, bulk("message")) {
				return reply
			}
			if reply[:1] != kind {
				t.Fatalf("a message in the other protocol: %q", reply)
			}
			var p, n int
			fmt.Sscan(payload(t, reply), &p, &n)
			if n <= last[p] {
				t.Fatalf("%q after %d", reply, last[p])
			}
			last[p] = n
		}
	}
	command := func(args ...string) { c.send(resp.AppendCommand(nil, args...)) }
	expect := func(want, got string) {
		t.Helper()
		if !strings.HasPrefix(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	for range 100 {
		c.do("HELLO", "3")
		expect(">3\r\n"+bulk("subscribe"), c.do("SUBSCRIBE", "c"))
		command("PING")
		expect("+PONG", until(">"))
		command("HELLO", "2")
		expect("*14\r\n", until(">"))
		command("PING")
		expect("*2\r\n"+bulk("pong"), until("*"))
		command("UNSUBSCRIBE", "c")
		expect("*3\r\n"+bulk("unsubscribe"), until("*"))
		c.want("+PONG\r\n", "PING")
	}
	if last[0] < 0 || last[1] < 0 {
		t.Error("no message came")
	}
}

// A message that is on its way when the subscription ends is not sent any more.
func TestLateMessages(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := deaf(t, s, []string{"HELLO", "3"}, []string{"SUBSCRIBE", "c"}, []string{"PSUBSCRIBE", "c*"}, []string{"SSUBSCRIBE", "c"})
	late := []pubsub.Message{
		{Kind: pubsub.Channel, Channel: []byte("c")},
		{Kind: pubsub.Pattern, Pattern: "c*", Channel: []byte("c")},
		{Kind: pubsub.Shard, Channel: []byte("c")},
	}
	delivered := func() (n int) {
		for _, m := range late {
			c.Deliver(&m)
			if got, _ := output(c); got != "" {
				n++
			}
		}
		return n
	}
	for n, command := range [][]string{{"UNSUBSCRIBE"}, {"PUNSUBSCRIBE", "c*"}, {"SUNSUBSCRIBE", "c"}} {
		if got := delivered(); got != 3-n {
			t.Errorf("%d subscriptions took a message, want %d", got, 3-n)
		}
		c.Feed(resp.AppendCommand(nil, command...))
		output(c)
	}
	for _, end := range []func(){func() { c.Feed(resp.AppendCommand(nil, "RESET")); output(c) }, c.Close} {
		c.Feed(resp.AppendCommand(nil, "PSUBSCRIBE", "c*"))
		output(c)
		end()
		if got := delivered(); got != 0 {
			t.Errorf("%d messages came after the end", got)
		}
	}
}

// A client that publishes to itself gets its message before the reply, as in Redis.
func TestMessageToItself(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.do("HELLO", "3")
	c.do("SUBSCRIBE", "c")
	c.want(">3\r\n"+bulk("message")+bulk("c")+bulk("m"), "PUBLISH", "c", "m")
	if got := c.reply(); got != ":1\r\n" {
		t.Errorf("got %q", got)
	}
}

// A client that wants no replies gets confirmations and messages, as in Redis.
func TestMessagesWithoutReplies(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	c.send(resp.AppendCommand(nil, "CLIENT", "REPLY", "OFF"))
	c.want("*3\r\n"+bulk("subscribe")+bulk("c")+":1\r\n", "SUBSCRIBE", "c")
	other.want(":1\r\n", "PUBLISH", "c", "m")
	if got := c.reply(); got != message("c", "m") {
		t.Errorf("got %q", got)
	}
	c.want("*3\r\n"+bulk("unsubscribe")+bulk("c")+":0\r\n", "UNSUBSCRIBE")
	c.want("+OK\r\n", "CLIENT", "REPLY", "ON")
}

// Large messages come whole, with and without patterns, beside small ones.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	var subscribers []*testClient
	for i := range 4 {
		c := dial(t, s.addr())
		c.do("HELLO", strconv.Itoa(2+i%2))
		c.do("SUBSCRIBE", "c")
		subscribers = append(subscribers, c)
	}
	publisher := dial(t, s.addr())
	for _, size := range []int{0, 1, 1000, 4000, 4096, 5000, 100_000, 3 << 20, 10} {
		text := strings.Repeat(string(rune('a'+size%26)), size)
		publisher.want(":4\r\n", "PUBLISH", "c", text)
		for _, c := range subscribers {
			if got := payload(t, c.reply()); got != text {
				t.Fatalf("%d bytes came as %d", size, len(got))
			}
		}
	}
}

func TestClientsThatSubscribe(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	c.do("PING") // it has number 1
	subscriber := dial(t, s.addr())
	subscriber.do("HELLO", "3")
	for _, command := range [][]string{{"SUBSCRIBE", "a"}, {"PSUBSCRIBE", "a*"}, {"SSUBSCRIBE", "s"}, {"SSUBSCRIBE", "t"}} {
		subscriber.do(command...)
	}
	matches := func(pattern, reply string) {
		t.Helper()
		if !regexp.MustCompile(pattern).MatchString(reply) {
			t.Errorf("%q does not match %s", reply, pattern)
		}
	}
	matches(`flags=P db=0 sub=1 psub=1 ssub=2 multi=-1`, subscriber.do("CLIENT", "INFO"))
	subscriber.do("MULTI")
	matches(`^\$\d+\r\nid=2 .* flags=Px db=0 sub=1 psub=1 ssub=2 multi=0 .*\n\r\n$`, c.do("CLIENT", "LIST", "TYPE", "pubsub"))
	matches(`^\$\d+\r\nid=1 .* flags=N db=0 sub=0 psub=0 ssub=0 .*\n\r\n$`, c.do("CLIENT", "LIST", "TYPE", "NORMAL"))
	matches("pubsub_channels:1\r\npubsub_patterns:1\r\npubsubshard_channels:2\r\n", c.do("INFO", "stats"))
	if got := s.engine.Subscribers(); got != 1 {
		t.Errorf("%d subscribers", got)
	}
	c.want("+OK\r\n", "CLIENT", "NO-EVICT", "ON")
	c.want(":0\r\n", "CLIENT", "KILL", "TYPE", "pubsub", "ID", "1", "SKIPME", "no")
	c.want(":1\r\n", "CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "no")
	if _, err := readRaw(subscriber.in); err == nil {
		t.Error("the connection is open")
	}
	waitFor(t, "the subscriptions end", func() bool { return s.engine.options.DB.Hub().Stats().Subscriptions == [pubsub.Kinds]int{} })
	c.want("+PONG\r\n", "PING")
}

// Connections that are closed at any moment leave no subscription behind.
func TestSubscriptionsEndWithConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	var work sync.WaitGroup
	for g := range 4 {
		work.Go(func() {
			for n := range 40 {
				c := dial(t, s.addr())
				c.send(resp.AppendCommand(nil, "MULTI"))
				c.send(resp.AppendCommand(nil, "SUBSCRIBE", "multi"))
				c.send(resp.AppendCommand(nil, "GET", "k"))
				c.send(resp.AppendCommand(nil, "EXEC"))
				c.send(resp.AppendCommand(nil, "SUBSCRIBE", "a", fmt.Sprint(g, n)))
				c.send(resp.AppendCommand(nil, "PSUBSCRIBE", "a*"))
				if n%3 == 0 {
					c.reply()
				}
				c.conn.Close()
			}
		})
	}
	work.Wait()
	waitFor(t, "the subscriptions end", func() bool {
		stats := s.engine.options.DB.Hub().Stats()
		return stats.Subscriptions == [pubsub.Kinds]int{} && stats.Names == [pubsub.Kinds]int{}
	})
}

// deaf is a connection whose output is not read.
func deaf(t *testing.T, s *testServer, commands ...[]string) *Conn {
	t.Helper()
	c := s.engine.Connect(Info{RemoteAddr: "deaf"}, func() {})
	t.Cleanup(c.Close)
	for _, command := range commands {
		c.Feed(resp.AppendCommand(nil, command...))
	}
	output(c)
	return c
}

// A subscriber that does not read is closed at the hard limit, logged and counted; others,
// and what it has been sent until then, are not touched.
func TestHardLimitOfOutput(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := serve(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	slow, other := deaf(t, s, []string{"SUBSCRIBE", "c"}), deaf(t, s, []string{"SUBSCRIBE", "c"})
	normal := deaf(t, s, []string{"GET", "k"})
	c := dial(t, s.addr())
	c.want("+OK\r\n", "CONFIG", "SET", "client-output-buffer-limit", "pubsub 10000 0 0")
	size := len(message("c", strings.Repeat("x", 1000)))
	for sent := size; sent < 10000; sent += size {
		c.want(":2\r\n", "PUBLISH", "c", strings.Repeat("x", 1000))
		output(other)
	}
	if slow.Killed() {
		t.Fatal("closed too early")
	}
	slow.Backlog(10000 - 2*size) // what the socket holds counts
	output(slow)
	c.do("PUBLISH", "c", strings.Repeat("x", 1000))
	if slow.Killed() {
		t.Fatal("what was taken does not count any more")
	}
	c.do("PUBLISH", "c", strings.Repeat("x", 1000))
	if !slow.Killed() || other.Killed() || normal.Killed() {
		t.Errorf("closed: %v, others %v %v", slow.Killed(), other.Killed(), normal.Killed())
	}
	c.do("PUBLISH", "c", "x")
	if got := s.engine.Stats().Cut; got != 1 {
		t.Errorf("%d subscribers were cut", got)
	}
	if !strings.Contains(log.String(), "closing a subscriber") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("log: %s", log.String())
	}
}

// The soft limit may be exceeded for its time; the time begins anew when the client has
// read.
func TestSoftLimitOfOutput(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	slow := deaf(t, s, []string{"SUBSCRIBE", "c"})
	c := dial(t, s.addr())
	c.want("+OK\r\n", "CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 1000 3600")
	publish := func() { c.want(":1\r\n", "PUBLISH", "c", strings.Repeat("x", 1000)) }
	publish()
	publish()
	if slow.Killed() || slow.softSince.Load() == 0 {
		t.Fatal("the time has not begun")
	}
	output(slow)
	if slow.softSince.Load() == 0 {
		t.Fatal("the output is still with the server")
	}
	output(slow)
	if slow.softSince.Load() != 0 {
		t.Fatal("the client has read everything")
	}
	publish()
	if slow.Killed() {
		t.Fatal("the time has not passed")
	}
	c.want("+OK\r\n", "CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 1000 0")
	publish()
	if !slow.Killed() {
		t.Fatal("the time has passed")
	}
}

// When the clients hold too much together, a subscriber that does not read is closed; one that
// was not written to yet is not.
func TestMemoryOfSubscribers(t *testing.T) {
	t.Parallel()
	budget := pipeline.NewBudget(1 << 20)
	s := serve(t, Options{Memory: budget})
	slow, fresh := deaf(t, s, []string{"SUBSCRIBE", "c"}), deaf(t, s, []string{"SUBSCRIBE", "c"})
	hog := pipeline.NewAccount(budget)
	hog.Set(2 << 20)
	defer hog.Set(0)
	hub := s.engine.options.DB.Hub()
	slow.Backlog(1)
	hub.Publish(pubsub.Channel, []byte("c"), make([]byte, pipeline.Free/2))
	if slow.Killed() {
		t.Error("closed below what each connection may hold")
	}
	hub.Publish(pubsub.Channel, []byte("c"), make([]byte, pipeline.Free))
	if !slow.Killed() || fresh.Killed() {
		t.Errorf("slow closed: %v, fresh closed: %v", slow.Killed(), fresh.Killed())
	}
}

func TestBoundsOfSubscriptions(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{MaxPendingBytes: 10_000})
	c := dial(t, s.addr())
	c.want("-"+string(errLongChannel)+"\r\n", "SUBSCRIBE", strings.Repeat("x", core.MaxChannelBytes+1))
	c.want("-"+string(errLongChannel)+"\r\n", "PUBLISH", strings.Repeat("x", core.MaxChannelBytes+1), "")
	if got := c.do("EVAL", "return redis.call('PUBLISH', string.rep('x', 100000), '')", "0"); !strings.HasPrefix(got, "-"+string(errLongChannel)) {
		t.Errorf("got %q", got)
	}
	c.want("-"+string(errLongChannelPattern)+"\r\n", "PSUBSCRIBE", strings.Repeat("x", core.MaxPatternBytes+1))
	c.want("-"+string(errLongChannelPattern)+"\r\n", "PUBSUB", "CHANNELS", strings.Repeat("x", core.MaxPatternBytes+1))
	c.do("SUBSCRIBE", strings.Repeat("x", 5000))
	c.want("-"+string(errManySubscriptions)+"\r\n", "SUBSCRIBE", strings.Repeat("y", 5000))
	c.do("UNSUBSCRIBE")
	if got := c.do("SUBSCRIBE", strings.Repeat("y", 5000)); got[0] != '*' {
		t.Errorf("got %q", got)
	}
}

// While the server waits for its last replies nothing more is pushed.
func TestEndMessages(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := deaf(t, s, []string{"SUBSCRIBE", "c"})
	hub := s.engine.options.DB.Hub()
	hub.Publish(pubsub.Channel, []byte("c"), []byte("1"))
	s.engine.EndMessages()
	hub.Publish(pubsub.Channel, []byte("c"), []byte("2"))
	if got, _ := output(c); got != message("c", "1") {
		t.Errorf("got %q", got)
	}
	if c.Pending() {
		t.Error("something is pending")
	}
}

// A subscriber may be silent for ever; a client without subscriptions may not.
func TestSubscriberIsKnown(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := deaf(t, s)
	for _, step := range []struct {
		want    bool
		command []string
	}{
		{false, []string{"PING"}}, {true, []string{"SUBSCRIBE", "c"}}, {true, []string{"SSUBSCRIBE", "c"}},
		{true, []string{"UNSUBSCRIBE"}}, {false, []string{"SUNSUBSCRIBE"}},
		{true, []string{"PSUBSCRIBE", "c"}}, {false, []string{"RESET"}},
	} {
		c.Feed(resp.AppendCommand(nil, step.command...))
		output(c)
		if got := c.Subscriber(); got != step.want {
			t.Errorf("%v: %v", step.command, got)
		}
		if c.Pending() {
			t.Errorf("%v: something is pending", step.command)
		}
	}
}

// PUBLISH does not wait for a place among the tasks, and ends with its engine.
func TestPublishNeedsNoSlot(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	for range cap(s.engine.slots) {
		s.engine.slots <- struct{}{}
	}
	c := dial(t, s.addr())
	c.send(bytes.Join([][]byte{
		resp.AppendCommand(nil, "SET", "k", "v"), resp.AppendCommand(nil, "PUBLISH", "c", "m"),
		resp.AppendCommand(nil, "MULTI"), resp.AppendCommand(nil, "PUBLISH", "c", "m"), resp.AppendCommand(nil, "EXEC"),
	}, nil))
	for _, want := range []string{resp.OK, ":0\r\n", resp.OK, resp.Queued, "*1\r\n:0\r\n"} {
		if got := c.reply(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for range cap(s.engine.slots) {
		<-s.engine.slots
	}
}

var _ pubsub.Receiver = (*Conn)(nil)

// BenchmarkDeliver publishes to one subscriber, whose output is taken.
func BenchmarkDeliver(b *testing.B) {
	s := serve(b, Options{})
	c := s.engine.Connect(Info{}, func() {})
	defer c.Close()
	c.Feed(resp.AppendCommand(nil, "SUBSCRIBE", "c"))
	var out pipeline.Output
	hub, text := s.engine.options.DB.Hub(), make([]byte, 100)
	b.ReportAllocs()
	for range b.N {
		hub.Publish(pubsub.Channel, []byte("c"), text)
		c.Output(&out)
		out.Reset()
	}
}
