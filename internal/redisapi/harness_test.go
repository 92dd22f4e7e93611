package redisapi

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// testServer drives an Engine over TCP: the smallest server there can be.
type testServer struct {
	t        testing.TB
	db       *howdah.DB
	engine   *Engine
	listener net.Listener
	work     sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool
}

// serve starts a server over a fresh database.
func serve(t testing.TB, options Options) *testServer {
	t.Helper()
	return serveURL(t, pgtest.New(t), options)
}

func serveURL(t testing.TB, url string, options Options) *testServer {
	t.Helper()
	return serveWith(t, url, howdah.Options{}, options)
}

// patience is how long a command may take on a busy machine: hundreds that wait for
// one key come after one another.
const patience = time.Minute

func serveWith(t testing.TB, url string, dbOptions howdah.Options, options Options) *testServer {
	t.Helper()
	dbOptions.Timeout = cmp.Or(dbOptions.Timeout, patience)
	db, err := howdah.Open(context.Background(), url, &dbOptions)
	if err != nil {
		t.Fatal(err)
	}
	options.DB = (*core.DB)(db)
	engine, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	engine.slotWait = patience
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{t: t, db: db, engine: engine, listener: listener, open: make(map[net.Conn]bool)}
	s.work.Go(s.accept)
	t.Cleanup(func() {
		listener.Close()
		s.mu.Lock()
		for conn := range s.open {
			conn.Close()
		}
		s.mu.Unlock()
		s.work.Wait()
		engine.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *testServer) addr() string { return s.listener.Addr().String() }

func (s *testServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open[conn] = true
		s.mu.Unlock()
		s.work.Go(func() { s.drive(conn) })
	}
}

// drive is one connection: one goroutine reads, this one feeds and writes.
func (s *testServer) drive(nc net.Conn) {
	input := make(chan []byte)
	stop := make(chan struct{})
	woken := make(chan struct{}, 1)
	c := s.engine.Connect(Info{RemoteAddr: nc.RemoteAddr().String(), LocalAddr: nc.LocalAddr().String()}, func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	s.work.Go(func() {
		defer close(input)
		for {
			buffer := make([]byte, 16<<10)
			n, err := nc.Read(buffer)
			if err != nil {
				return
			}
			select {
			case input <- buffer[:n]:
			case <-stop:
				return
			}
		}
	})
	defer func() {
		close(stop)
		nc.Close()
		c.Close()
		s.mu.Lock()
		delete(s.open, nc)
		s.mu.Unlock()
	}()
	var backlog []byte
	for {
		select {
		case data, ok := <-input:
			if !ok {
				return
			}
			backlog = append(backlog, data...)
		case <-woken:
		}
		for {
			n := c.Feed(backlog)
			backlog = backlog[n:]
			out, closing := output(c)
			if len(out) > 0 {
				if _, err := io.WriteString(nc, out); err != nil {
					return
				}
			}
			if closing {
				return
			}
			if n == 0 || len(backlog) == 0 {
				break
			}
		}
	}
}

// output takes the replies of a connection.
func output(c *Conn) (replies string, closing bool) {
	var out pipeline.Output
	closing = c.Output(&out)
	return string(out.Bytes()), closing
}

// testClient is one client connection.
type testClient struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

func dial(t testing.TB, addr string) *testClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &testClient{t: t, conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

func (c *testClient) send(data []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(data); err != nil {
		c.t.Fatal(err)
	}
}

// reply reads one reply, byte by byte as it came.
func (c *testClient) reply() string {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(2 * patience))
	reply, err := readRaw(c.in)
	if err != nil {
		c.t.Fatalf("no reply: %v", err)
	}
	return reply
}

// do sends one command and reads its reply.
func (c *testClient) do(args ...string) string {
	c.t.Helper()
	c.send(resp.AppendCommand(nil, args...))
	return c.reply()
}

// again is do, and repeats a command that answers TRYAGAIN, of which nothing is done then.
func (c *testClient) again(args ...string) (reply string) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		reply = c.do(args...)
		if !strings.HasPrefix(reply, "-TRYAGAIN") || time.Now().After(deadline) {
			return reply
		}
	}
}

// want sends one command and compares its reply.
func (c *testClient) want(reply string, args ...string) {
	c.t.Helper()
	if got := c.do(args...); got != reply {
		c.t.Fatalf("%q: got %q, want %q", args, got, reply)
	}
}

// readRaw reads one reply of either protocol.
func readRaw(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	var raw strings.Builder
	raw.WriteString(line)
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return line, nil
	case '$', '=':
		if n >= 0 {
			if _, err := io.CopyN(&raw, r, int64(n)+2); err != nil {
				return "", err
			}
		}
		return raw.String(), nil
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return "", fmt.Errorf("not a reply: %q", line)
	}
	for range n {
		element, err := readRaw(r)
		if err != nil {
			return "", err
		}
		raw.WriteString(element)
	}
	return raw.String(), nil
}

func bulk(s string) string { return string(resp.AppendBulkString(nil, s)) }

// unbulk returns the text of a bulk string.
func unbulk(reply string) string {
	_, text, _ := strings.Cut(reply, "\r\n")
	return strings.TrimSuffix(text, "\r\n")
}

// elements splits an array into its elements.
func elements(reply string) []string {
	r := bufio.NewReader(strings.NewReader(reply))
	header, err := r.ReadString('\n')
	if err != nil || header[0] != '*' {
		return []string{reply}
	}
	n, _ := strconv.Atoi(strings.TrimSpace(header[1:]))
	var all []string
	for range n {
		element, err := readRaw(r)
		if err != nil {
			return []string{reply}
		}
		all = append(all, element)
	}
	return all
}
