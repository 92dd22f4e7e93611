package redisapi

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/leaks"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

// waitFor waits until a condition holds.
func waitFor(t testing.TB, what string, condition func() bool) {
	t.Helper()
	await.True(t, what, condition)
}

// closed reads the rest of the input and fails unless the server closed the connection.
func (c *testClient) closed() (rest string) {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	var all strings.Builder
	_, err := c.in.WriteTo(&all)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		c.t.Fatalf("the connection stays open; it sent %q", all.String())
	}
	return all.String()
}

func TestOrderWithinConnection(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	var data []byte
	var want []string
	add := func(reply string, args ...string) {
		data = resp.AppendCommand(data, args...)
		want = append(want, reply)
	}
	// Calls, commands without a call and tasks in turn; keys that repeat.
	for i := range 500 {
		key, value := fmt.Sprint("k", i%7), fmt.Sprint(i)
		add(resp.OK, "SET", key, value)
		add(bulk(value), "GET", key)
		add(bulk("e"+value), "ECHO", "e"+value)
		add(fmt.Sprintf(":%d\r\n", i+1), "INCR", key)
		add(fmt.Sprintf(":%d\r\n", len(fmt.Sprint(i+1))), "STRLEN", key)
		if i%50 == 0 {
			add(resp.OK, "RENAME", key, "renamed")
			add(resp.Zero, "EXISTS", key)
			add(bulk(fmt.Sprint(i+1)), "GETDEL", "renamed")
		} else {
			add(resp.One, "DEL", key)
		}
		add("$-1\r\n", "GET", key)
	}
	go c.conn.Write(data)
	for i, want := range want {
		if got := c.reply(); got != want {
			t.Fatalf("reply %d: got %q, want %q", i, got, want)
		}
	}
}

// TestBackpressure sends far more than may be pending and reads late.
func TestBackpressure(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{MaxPending: 10, MaxPendingBytes: 64 << 10})
	c := dial(t, s.addr())
	value := strings.Repeat("v", 20<<10)
	const n = 300
	sent := make(chan error, 1)
	go func() {
		var err error
		for i := range n {
			var data []byte
			data = resp.AppendCommand(data, "SET", "k", fmt.Sprint(i, value))
			data = resp.AppendCommand(data, "GET", "k")
			data = resp.AppendCommand(data, "PING")
			if _, err = c.conn.Write(data); err != nil {
				break
			}
		}
		sent <- err
	}()
	held := func() (most int) {
		for _, conn := range s.engine.connections() {
			load := conn.pipe.Load()
			if load.Requests > 10 {
				t.Errorf("%d commands are pending, at most 10 may be", load.Requests)
			}
			most = max(most, load.Bytes)
		}
		return most
	}
	for i := range n {
		if got := c.reply(); got != resp.OK {
			t.Fatalf("SET %d: %q", i, got)
		}
		if got := c.reply(); got != bulk(fmt.Sprint(i, value)) {
			t.Fatalf("GET %d: %d bytes", i, len(got))
		}
		if got := c.reply(); got != resp.Pong {
			t.Fatalf("PING %d: %q", i, got)
		}
		if got := held(); got > 64<<10+11*(21<<10) {
			t.Fatalf("%d bytes are held", got)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	waitFor(t, "nothing to be held", func() bool { return held() == 0 })
}

func TestProtocolErrorsClose(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	for input, want := range map[string]string{
		"*1\r\n$4\r\nPING\r\n*1\r\nfoo\r\n":                      "+PONG\r\n-ERR Protocol error: expected '$', got 'f'\r\n",
		"*99999999999999999999\r\n":                              "-ERR Protocol error: invalid multibulk length\r\n",
		"*2\r\n$3\r\nGET\r\n$-5\r\n":                             "-ERR Protocol error: invalid bulk length\r\n",
		"GET \"x\r\n":                                            "-ERR Protocol error: unbalanced quotes in request\r\n",
		"PING\r\nPOST / HTTP/1.1\r\nHost: x\r\n\r\nFLUSHALL\r\n": "+PONG\r\n",
		"QUIT\r\nPING\r\n":                                       "+OK\r\n",
		"SET k v\r\nGET k\r\nquit now\r\n":                       "+OK\r\n$1\r\nv\r\n+OK\r\n",
	} {
		c := dial(t, s.addr())
		c.send([]byte(input))
		if got := c.closed(); got != want {
			t.Errorf("%q\n got %q\nwant %q", input, got, want)
		}
	}
}

func TestClientReply(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	for _, args := range [][]string{
		{"CLIENT", "REPLY", "OFF"}, {"PING"}, {"SET", "k", "v"}, {"GET", "k"}, {"KEYS", "*"}, {"nosuch"}, {"GET"},
		{"CLIENT", "REPLY", "SKIP"}, {"MULTI"}, {"INCR", "n"}, {"EXEC"},
	} {
		c.send(resp.AppendCommand(nil, args...))
	}
	c.want(resp.OK, "CLIENT", "REPLY", "ON")
	c.want(bulk("1"), "GET", "n")
	c.send(resp.AppendCommand(nil, "CLIENT", "REPLY", "SKIP"))
	c.send(resp.AppendCommand(nil, "GET", "k"))
	c.want(resp.Pong, "PING")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "CLIENT", "REPLY", "OFF")
	c.want("*1\r\n-ERR CLIENT REPLY is not allowed in transactions\r\n", "EXEC")
}

func TestClientKillAndList(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	a, b := dial(t, s.addr()), dial(t, s.addr())
	a.want(resp.OK, "CLIENT", "SETNAME", "alice")
	b.want(resp.OK, "CLIENT", "SETNAME", "bob")
	b.want(resp.OK, "CLIENT", "SETINFO", "lib-name", "bobs-lib")
	b.want(resp.OK, "SELECT", "2")
	b.want(resp.OK, "MULTI")
	b.want(resp.Queued, "GET", "k")
	list := a.do("CLIENT", "LIST")
	for _, field := range []string{"name=alice", "name=bob", "lib-name=bobs-lib", "db=2", "flags=x", "multi=1", "cmd=client|list", "addr=" + b.conn.LocalAddr().String()} {
		if !strings.Contains(list, field) {
			t.Errorf("CLIENT LIST lacks %q: %s", field, list)
		}
	}
	a.want(resp.One, "CLIENT", "KILL", "ADDR", b.conn.LocalAddr().String())
	b.closed()
	waitFor(t, "the connection to be forgotten", func() bool { return s.engine.Stats().Clients == 1 })
	a.want(resp.OK, "CLIENT", "KILL", a.conn.LocalAddr().String())
	a.closed()
}

// TestGarbage feeds random bytes and random commands, cut anywhere, and
// expects answers or a closed connection, and no panic.
func TestGarbage(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	s := serve(t, Options{MaxBulk: 1 << 20})
	var names []string
	s.engine.commands.each(func(cmd *Command) {
		// What would wait, stop or speak of other connections is left out.
		switch cmd.fullName {
		case "client|reply", "client|kill", "quit":
		default:
			names = append(names, strings.Split(cmd.fullName, "|")[0])
		}
	})
	words := []string{"", "k", "0", "-1", "1", "NX", "XX", "GET", "EX", "PX", "99999999999999999999", "\x00", "*", "MATCH", "DB", "SETNAME", "AUTH", "HELP", "LIST", "INFO", "ENCODING", "ID", "TYPE", "SAMPLES", "default"}
	for range 60 {
		c := dial(t, s.addr())
		var data []byte
		for range random.IntN(60) {
			args := []string{names[random.IntN(len(names))]}
			for range random.IntN(5) {
				args = append(args, words[random.IntN(len(words))])
			}
			data = resp.AppendCommand(data, args...)
		}
		for range random.IntN(3) {
			if len(data) > 0 {
				data[random.IntN(len(data))] = byte(random.Uint32())
			}
		}
		data = append(data, "\r\n*1\r\n$4\r\nQUIT\r\n*x\r\n"...)
		for len(data) > 0 {
			n := 1 + random.IntN(len(data))
			if _, err := c.conn.Write(data[:n]); err != nil {
				break
			}
			data = data[n:]
		}
		c.conn.(*net.TCPConn).CloseWrite()
		c.closed()
	}
	dial(t, s.addr()).want(resp.Pong, "PING")
}

// FuzzFeed checks that no input makes Feed panic or consume more than it was given.
func FuzzFeed(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n"), 3)
	f.Add([]byte("MULTI\r\nSET k v\r\nEXEC\r\nCLIENT LIST\r\nCOMMAND DOCS\r\nHELLO 3\r\n"), 10)
	f.Add([]byte("*1\r\n$-1\r\n"), 0)
	db, err := howdah.Open(context.Background(), pgtest.New(f), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	engine, err := New(Options{DB: (*core.DB)(db), MaxBulk: 1 << 16})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(engine.Close)
	f.Fuzz(func(t *testing.T, input []byte, cut int) {
		c := engine.Connect(Info{}, func() {})
		defer c.Close()
		cut = min(max(cut, 0), len(input))
		n := c.Feed(input[:cut])
		if n > cut {
			t.Fatalf("consumed %d of %d", n, cut)
		}
		rest := len(input) - n
		if n := c.Feed(input[n:]); n > rest {
			t.Fatalf("consumed %d of %d", n, rest)
		}
		output(c)
	})
}

// TestDisconnects closes connections at random points and checks that the engine
// forgets them.
func TestDisconnects(t *testing.T) {
	pgtest.New(t) // starts what all tests use, if it is the first
	before := goleak.IgnoreCurrent()
	t.Run("load", func(t *testing.T) {
		s := serve(t, Options{})
		var work sync.WaitGroup
		for i := range 20 {
			work.Go(func() {
				for j := range 10 {
					conn, err := net.Dial("tcp", s.addr())
					if err != nil {
						t.Error(err)
						return
					}
					var data []byte
					for k := range 20 {
						data = resp.AppendCommand(data, "SET", fmt.Sprint(k), "v")
						data = resp.AppendCommand(data, "MGET", "0", "1", "2")
					}
					data = resp.AppendCommand(data, "KEYS", "*")
					data = resp.AppendCommand(data, "MULTI")
					data = resp.AppendCommand(data, "INCR", "n")
					data = resp.AppendCommand(data, "EXEC")
					conn.Write(data[:len(data)-(i*j)%40])
					conn.Close()
				}
			})
		}
		work.Wait()
		waitFor(t, "all connections to be forgotten", func() bool { return s.engine.Stats().Clients == 0 })
		dial(t, s.addr()).want(resp.Pong, "PING")
	})
	leaks.Await(t, before)
}

// A connection wakes its server when there is something to do, and stops doing so
// after a command that waited.
func TestIdleConnectionWakesNobody(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	for _, commands := range [][]string{{"DBSIZE"}, {"SELECT", "1"}, {"INFO"}, {"SET", "k", "v"}} {
		woken := make(chan struct{}, 1000)
		c := s.engine.Connect(Info{RemoteAddr: "r", LocalAddr: "l"}, func() { woken <- struct{}{} })
		input := resp.AppendCommand(nil, commands...)
		if n := c.Feed(input); n != len(input) {
			t.Fatalf("%s: Feed took %d bytes of %d", commands, n, len(input))
		}
		replies, _ := output(c)
		for len(replies) == 0 {
			<-woken
			replies, _ = output(c)
		}
		if c.Pending() {
			t.Errorf("%s: something is pending after the reply", commands)
		}
		for range 10 {
			output(c)
		}
		if len(woken) > 1 { // one may have been on its way when Output was called
			t.Errorf("%s: after the reply there were %d calls of wake", commands, len(woken))
		}
		c.Close()
	}
}
