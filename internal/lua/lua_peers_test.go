//go:build peers

package lua_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/lua"
	"github.com/howdah/howdah/internal/test/peers"
)

// redisServer is a redis-server of one test.
type redisServer struct{ socket string }

func startRedis(t *testing.T) *redisServer {
	t.Helper()
	return &redisServer{peers.Redis(t).Socket}
}

// connection speaks to redis-server.
type connection struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func (s *redisServer) dial(t *testing.T, protocol int) *connection {
	t.Helper()
	conn, err := net.Dial("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &connection{t, conn, bufio.NewReaderSize(conn, 1<<16)}
	c.do("HELLO", strconv.Itoa(protocol))
	return c
}

func (c *connection) do(args ...string) string {
	c.t.Helper()
	list := make([][]byte, len(args))
	for i, a := range args {
		list[i] = []byte(a)
	}
	reply, err := c.send(list)
	if err != nil {
		c.t.Fatalf("redis-server: %v after %q", err, args)
	}
	return string(reply)
}

func (c *connection) send(args [][]byte) ([]byte, error) {
	c.conn.SetDeadline(time.Now().Add(30 * time.Second))
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := c.conn.Write(out); err != nil {
		return nil, err
	}
	return readReply(nil, c.r)
}

// readReply appends the bytes of the next reply.
func readReply(dst []byte, r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return dst, err
	}
	dst = append(dst, line...)
	n, _ := strconv.Atoi(line[1 : len(line)-2])
	switch line[0] {
	case '$', '=':
		if n >= 0 {
			body := make([]byte, n+2)
			_, err = io.ReadFull(r, body)
			dst = append(dst, body...)
		}
		return dst, err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return dst, nil
	}
	for range n {
		if dst, err = readReply(dst, r); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// proxy is a host that sends commands to redis-server. The errors of commands
// that scripts may not call are those that Redis gives to scripts.
type proxy struct{ byProtocol map[int]*connection }

func newProxy(t *testing.T, s *redisServer) *proxy {
	return &proxy{map[int]*connection{2: s.dial(t, 2), 3: s.dial(t, 3)}}
}

func (p *proxy) Call(args [][]byte, protocol int, dst []byte) ([]byte, error) {
	switch strings.ToLower(string(args[0])) {
	case "multi", "subscribe", "hello", "eval", "watch", "debug", "config":
		return append(dst, "-ERR This Redis command is not allowed from script\r\n"...), nil
	}
	reply, err := p.byProtocol[protocol].send(args)
	switch {
	case bytes.HasPrefix(reply, []byte("-ERR unknown command")), bytes.HasPrefix(reply, []byte("-ERR unknown subcommand")):
		reply = []byte("-ERR Unknown Redis command called from script\r\n")
	case bytes.HasPrefix(reply, []byte("-ERR wrong number of arguments for")) && (len(args) < 4 || !strings.EqualFold(string(args[0]), "hset")): // HSET counts pairs itself
		reply = []byte("-ERR Wrong number of args calling Redis command from script\r\n")
	}
	return append(dst, reply...), err
}

func (p *proxy) Allowed(args [][]byte) (allowed, known bool) {
	return true, string(args[0]) != "nosuch"
}

func (p *proxy) Log(int, string) {}

// ours runs a script as EVAL does.
func ours(t *testing.T, host lua.Host, protocol int, source string, keys, args []string) string {
	t.Helper()
	p, err := lua.Compile("user_script", []byte(source))
	if err != nil {
		return "-" + err.Error() + "\r\n"
	}
	r := &lua.Run{Host: host, Protocol: protocol}
	for _, k := range keys {
		r.Keys = append(r.Keys, []byte(k))
	}
	for _, a := range args {
		r.Args = append(r.Args, []byte(a))
	}
	reply, err := p.Run(context.Background(), r)
	if err != nil {
		return "! " + err.Error()
	}
	return string(reply)
}

// compare runs a script on both, each beginning with no keys.
func compare(t *testing.T, peer *connection, host lua.Host, protocol int, source string) {
	t.Helper()
	peer.do("FLUSHALL")
	want := peer.do("EVAL", source, "2", "k1", "k2", "a1", "a2")
	peer.do("FLUSHALL")
	if got := ours(t, host, protocol, source, []string{"k1", "k2"}, []string{"a1", "a2"}); got != want {
		t.Errorf("RESP%d: %s\n got %q\nwant %q", protocol, source, got, want)
	}
}

// TestCorpusEqualsRedis runs each script of the corpus here and there.
func TestCorpusEqualsRedis(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	for _, protocol := range []int{2, 3} {
		peer, host := server.dial(t, protocol), newProxy(t, server)
		for _, source := range slices.Concat(corpus, libraryCorpus, languageCorpus, nulCorpus, lineCorpus, zeroCorpus, shebangCorpus(), limitCorpus()) {
			compare(t, peer, host, protocol, source)
		}
	}
}
